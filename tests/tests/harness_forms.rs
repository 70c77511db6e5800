//! Every way of writing a tool that can have generated tests: its subject calls it, with the states and arguments that it
//! says it has.
//!
//! It must not play a scenario; that is `harness`, and the example crate `examples/harness`.

#![deny(warnings)]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use idem_runtime::{
    __private::Subject, Idem, Refusal, ToolCall, ToolCallSource, Unsettled, Verdict, idempotent,
    testing::harness::Answer,
};

type Told = Result<u64, Refusal>;

/// A bank that only adds up.
#[derive(Default)]
struct Bank(AtomicU64);

impl Bank {
    fn pays(&self, cents: u64) -> u64 {
        self.0.fetch_add(cents, Ordering::SeqCst) + cents
    }
}

#[idempotent(scope = "tenant", key = "tool_call_id", harness)]
async fn of_nothing(_call: &ToolCall) -> Told {
    Ok(7)
}

#[idempotent(scope = "tenant", key = "args", harness)]
async fn of_several(
    #[idem(state)] bank: &Bank,
    cents: u64,
    call: ToolCall,
    #[idem(state)] share: Arc<Bank>,
    (times, _): (u64, &'static str),
    #[idem(content)] _why: String,
) -> Told {
    let _ = call;
    share.pays(cents);
    Ok(bank.pays(cents * times))
}

#[idempotent(scope = "tenant", key = "args", harness)]
async fn of_the_task(#[idem(state)] bank: &Bank, r#type: u64) -> Told {
    Ok(bank.pays(r#type))
}

#[idempotent(scope = "tenant", key = "args", harness)]
async fn of_some_machines(
    #[cfg(unix)] cents: u64,
    #[cfg(not(unix))] cents: u32,
    call: &ToolCall,
    #[cfg(windows)] w: u8,
) -> Told {
    let _ = call;
    #[cfg(windows)]
    drop(w);
    #[cfg(not(unix))]
    let cents = u64::from(cents);
    Ok(cents)
}

/// What a framework hands to its tools.
struct Request {
    call: ToolCall,
}

impl From<ToolCall> for Request {
    fn from(call: ToolCall) -> Self {
        Self { call }
    }
}

impl ToolCallSource for Request {
    fn tool_call(&self) -> Option<ToolCall> {
        Some(self.call.clone())
    }
}

#[idempotent(scope = "tenant", key = "args", ctx = request, harness)]
async fn of_a_context(request: &Request, cents: u64) -> Told {
    let _ = &request.call;
    Ok(cents)
}

#[idem_facade::idempotent(scope = "tenant", key = "args", crate = idem_facade::engine, harness)]
async fn of_a_facade(call: &ToolCall, cents: u64) -> Told {
    let _ = call;
    Ok(cents)
}

struct Desk<B> {
    bank: B,
}

impl<B: AsRef<Bank> + Send + Sync + 'static> Desk<B> {
    #[idempotent(scope = "tenant", key = "args", name = "desk.borrowed", harness, recover(lookup = Self::find))]
    async fn borrowed(&self, call: &ToolCall, cents: u64) -> Told {
        let _ = call;
        Ok(self.bank.as_ref().pays(cents))
    }

    #[expect(clippy::unused_async, reason = "a look-up asks somebody")]
    async fn find(&self, operation: Unsettled) -> Verdict<u64> {
        Verdict::inconclusive(format!(
            "{} did not ask {}",
            operation.operation(),
            self.bank.as_ref().0.load(Ordering::SeqCst)
        ))
    }

    #[idempotent(scope = "tenant", key = "args", name = "desk.shared", outcome = false, harness)]
    async fn shared(self: Arc<Self>, cents: u64) -> Told {
        Ok(self.bank.as_ref().pays(cents))
    }
}

/// Calls the tool as the harness does, twice, and gives what the second call was told.
async fn twice<S: Clone, A: Clone>(subject: Subject<S, A>, states: S, arguments: A) -> Answer {
    let idem = Idem::open("memory:").await.expect("a ledger");
    let call = idem.call().tenant("acme").turn(1).tool_call_id("call_1");
    let first = subject.call(call.clone(), states.clone(), arguments.clone()).await;
    assert!(first.is_success() && !first.replayed, "{first:?}");
    let again = subject.call(call, states, arguments).await;
    assert!(again.replayed && again.value == first.value, "{again:?}");
    again
}

#[tokio::test]
async fn functions_are_called_with_what_they_take() {
    let (bank, share) = (Arc::new(Bank::default()), Arc::new(Bank::default()));
    assert_eq!(twice(__idem_of_nothing_subject(), (), ()).await.value, Some(7.into()));
    let arguments = (5, (3, "times"), "because".to_owned());
    let told = twice(__idem_of_several_subject(), (Arc::clone(&bank), Arc::clone(&share)), arguments).await;
    assert_eq!((told.value, share.0.load(Ordering::SeqCst)), (Some(15.into()), 5));
    assert_eq!(twice(__idem_of_the_task_subject(), Arc::clone(&bank), 2).await.value, Some(17.into()));
    assert_eq!(bank.0.load(Ordering::SeqCst), 17);
}

#[tokio::test]
async fn what_a_call_comes_in_is_made_for_it() {
    assert_eq!(twice(__idem_of_a_context_subject(), (), 4).await.value, Some(4.into()));
    assert_eq!(twice(__idem_of_a_facade_subject(), (), 4).await.value, Some(4.into()));
    #[cfg(unix)]
    assert_eq!(twice(__idem_of_some_machines_subject(), (), 4_u64).await.value, Some(4.into()));
}

#[tokio::test]
async fn methods_are_called_on_a_shared_self() {
    type House = Desk<Arc<Bank>>;
    let bank = Arc::new(Bank::default());
    let desk = Arc::new(Desk { bank: Arc::clone(&bank) });
    assert_eq!(twice(House::__idem_borrowed_subject(), Arc::clone(&desk), 4).await.value, Some(4.into()));
    assert_eq!(twice(House::__idem_shared_subject(), desk, 5).await.value, Some(9.into()));
    assert_eq!(bank.0.load(Ordering::SeqCst), 9);
}
