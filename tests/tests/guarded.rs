//! `assert_guarded!` tells a guarded tool from one whose attribute another macro has dropped, without an effect of either.
//!
//! The macros that drop attributes are real ones: they write a function anew from its parts. It must not use a ledger.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use idem_runtime::{Idem, Refusal, ToolCall, idempotent, scope, testing::assert_guarded};

/// Whatever a tool does to the outside.
type Effects = Arc<AtomicUsize>;

/// Writes a tool anew as the routers of some frameworks do: the signature and the body, and not what stood above them.
macro_rules! tool {
    ($(#[$_dropped:meta])* async fn $name:ident($($parameter:ident: $ty:ty),* $(,)?) -> $result:ty $body:block) => {
        async fn $name($($parameter: $ty),*) -> $result $body
    };
}

/// As `tool!`, but it hands the attributes on.
macro_rules! kind_tool {
    ($(#[$kept:meta])* async fn $name:ident($($parameter:ident: $ty:ty),* $(,)?) -> $result:ty $body:block) => {
        $(#[$kept])*
        async fn $name($($parameter: $ty),*) -> $result $body
    };
}

tool! {
    #[idempotent(scope = "tenant")]
    async fn dropped(call: &ToolCall, effects: Effects) -> Result<(), Refusal> {
        let _ = call;
        tokio::net::TcpStream::connect("127.0.0.1:9").await.ok();
        effects.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

tool! {
    #[idempotent(scope = "tenant")]
    async fn dropped_and_waiting(call: &ToolCall, effects: Effects) -> Result<(), Refusal> {
        let _ = call;
        std::future::pending::<()>().await;
        effects.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

tool! {
    #[idempotent(scope = "tenant")]
    async fn dropped_and_spawning(call: &ToolCall, effects: Effects) -> Result<(), Refusal> {
        let _ = call;
        let sent = tokio::spawn(async move { effects.fetch_add(1, Ordering::SeqCst) });
        drop(sent.await);
        Ok(())
    }
}

tool! {
    #[idempotent(scope = "tenant")]
    async fn dropped_above_a_guarded_one(call: &ToolCall, effects: Effects) -> Result<(), Refusal> {
        plain(call, effects).await
    }
}

kind_tool! {
    #[idempotent(scope = "tenant", key = "tool_call_id", name = "another.name")]
    async fn r#yield(call: &ToolCall) -> Result<(), Refusal> {
        let _ = call;
        unreachable!("a probe starts no body")
    }
}

/// The effect of a guarded tool is a state here, so that it needs no serde.
#[idempotent(scope = "tenant", key = "tool_call_id", validate = refuse_all)]
async fn plain(call: &ToolCall, #[idem(state)] effects: Effects) -> Result<(), Refusal> {
    effects.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// A check that is an effect too, if it is asked.
#[expect(clippy::unused_async, reason = "a check asks somebody")]
async fn refuse_all(effects: &Effects) -> Result<(), Refusal> {
    effects.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

#[idempotent(scope = "tenant", key = "tool_call_id", detach = false)]
async fn of_the_task(#[idem(state)] effects: &Effects) -> Result<(), Refusal> {
    effects.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

struct Desk(Effects);

#[async_trait::async_trait]
trait Billing {
    async fn refund(&self, call: &ToolCall, order_id: &str) -> Result<(), Refusal>;
}

#[async_trait::async_trait]
impl Billing for Desk {
    #[idempotent(scope = "tenant")]
    async fn refund(&self, call: &ToolCall, order_id: &str) -> Result<(), Refusal> {
        let _ = order_id;
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

impl Desk {
    /// What a framework calls by name.
    async fn call_tool(&self, name: &str, call: &ToolCall) -> Result<(), Refusal> {
        if name == "refund" { self.refund(call, "A-1").await } else { Ok(()) }
    }
}

async fn idem() -> Idem {
    Idem::open("memory:").await.expect("a ledger")
}

/// What a failed assertion says.
fn said(assertion: impl FnOnce()) -> String {
    let panic: Box<dyn Any + Send> = catch_unwind(AssertUnwindSafe(assertion)).expect_err("the assertion failed");
    panic.downcast_ref::<String>().expect("words").clone()
}

#[tokio::test]
async fn guarded_tools_pass_and_nothing_happens() {
    let (idem, effects) = (idem().await, Effects::default());
    assert_guarded!(plain(&idem.call().tenant("acme"), Arc::clone(&effects)));
    assert_guarded!(r#yield(&idem.call()));
    assert_guarded!(of_the_task(&effects));
    assert_guarded!(scope(idem.call(), of_the_task(&effects)), of_the_task);
    let desk = Desk(Arc::clone(&effects));
    assert_guarded!(desk.refund(&idem.call(), "A-1"));
    assert_guarded!(Billing::refund(&desk, &idem.call(), "A-1"),);
    assert_guarded!(desk.call_tool("refund", &idem.call()), refund);
    assert_eq!(effects.load(Ordering::SeqCst), 0);

    let call = idem.call().tenant("acme").tool_call_id("call_1");
    plain(&call, Arc::clone(&effects)).await.expect("a probe reserves nothing");
    assert_eq!(effects.load(Ordering::SeqCst), 2, "the check and the body");
}

#[test]
fn a_probe_needs_no_runtime() {
    let effects = Effects::default();
    assert_guarded!(of_the_task(&effects));
    assert_eq!(effects.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn r_h9_a_dropped_attribute_fails_before_the_effect() {
    let (idem, effects) = (idem().await, Effects::default());
    let call = idem.call().tenant("acme");
    let told = [
        said(|| assert_guarded!(dropped(&call, Arc::clone(&effects)))),
        said(|| assert_guarded!(dropped_and_waiting(&call, Arc::clone(&effects)))),
        said(|| assert_guarded!(dropped_and_spawning(&call, Arc::clone(&effects)))),
    ];
    assert_eq!(effects.load(Ordering::SeqCst), 0, "the body did not come to its effect");
    assert!(told[0].starts_with("`dropped(&call, Arc::clone(&effects))` is not guarded: "), "{}", told[0]);
    for words in told {
        assert!(
            words.contains("put `#[idempotent(…)]` above that macro's attribute, so that it is expanded first"),
            "{words}"
        );
    }
}

#[tokio::test]
async fn a_guarded_tool_inside_an_unguarded_one_does_not_count() {
    let (idem, effects) = (idem().await, Effects::default());
    let words = said(|| assert_guarded!(dropped_above_a_guarded_one(&idem.call(), Arc::clone(&effects))));
    assert!(words.contains("the guard that answered is that of `plain`"), "{words}");
    assert_eq!(effects.load(Ordering::SeqCst), 0);
}
