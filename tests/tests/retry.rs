//! The retry budget of a tool: what is tried again, how often, for how long, and what never is.
//!
//! Attempts are counted where they arrive, effects in the provider's books: they are two numbers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use idem_runtime::{
    Attempt, ErrorClass, Idem, OperationId, Outcome, Refusal, RefusalKind, ToolCall, Unsettled, Verdict, idempotent,
    ledger::State, testing::TestClock,
};
use idem_tests::{
    provider::{Bank, BankError, Provider, Refund, SendError, Sending, classify},
    world::{Setup, every_store_with},
};
use serde::{Deserialize, Serialize};

#[path = "retry/pauses.rs"]
mod pauses;
#[path = "retry/unknown.rs"]
mod unknown;

const SECOND: Duration = Duration::from_secs(1);
const ORDER: &str = "A-1";
const CENTS: u64 = 4_900;
const RECIPIENT: &str = "iban-1";
const BUSY: Sending = Sending::Refused(503);

/// The way to the provider; an attempt takes `takes` of the test's time.
#[derive(Debug, Clone)]
struct Desk {
    bank: Bank,
    clock: TestClock,
    takes: Duration,
    checks: Arc<AtomicUsize>,
}

impl Desk {
    async fn send(&self, call: &Attempt, order: &str, cents: u64) -> Result<Refund, BankError> {
        let sent = self.bank.send(call.provider_key("refund").as_str(), order, cents, RECIPIENT).await;
        if let Ok(refund) = &sent {
            call.reference(&refund.id);
        }
        self.clock.advance(self.takes);
        sent
    }

    async fn find(&self, operation: &Unsettled) -> Result<Verdict<Refund>, BankError> {
        Ok(match self.bank.by_key(operation.provider_key("refund").as_str()).await? {
            Some(refund) => Verdict::applied(refund.clone(), refund.id),
            None => Verdict::not_applied("no refund under the key"),
        })
    }
}

/// A budget, and no way to find out anything.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify, on_busy = "tell",
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"))]
async fn refund(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

/// More attempts than there is time for.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify,
    retry(max = 10, base = "1ms", cap = "2ms", deadline = "30s"))]
async fn patient(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

/// A budget, and the provider's key.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify,
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"), recover(provider_key = "24h"))]
async fn keyed(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

/// A budget, and a look-up whose "not found" proves something at once.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify,
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"), recover(lookup = find))]
async fn sure(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

/// A budget, and a look-up whose "not found" proves something after two minutes.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify,
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "10m"), recover(lookup = find), settles_in = "2m")]
async fn unsure(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

/// A budget whose pauses can be long.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify,
    retry(max = 2, base = "1s", cap = "1s", deadline = "30s"))]
async fn slow(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

/// A budget with pauses of up to an hour; whoever comes meanwhile is told.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify, on_busy = "tell",
    retry(max = 3, base = "1h", cap = "1h", deadline = "1d"))]
async fn rare(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

/// A tool that checks its arguments itself.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify, validate = refuse,
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"))]
async fn checked(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, SendError> {
    Ok(desk.send(call, &order, cents).await?)
}

async fn find(desk: &Desk, operation: Unsettled) -> Result<Verdict<Refund>, BankError> {
    desk.find(&operation).await
}

#[expect(clippy::unused_async, reason = "a check may wait; this one need not")]
async fn refuse(desk: &Desk, _order: &str, cents: &u64) -> Result<(), SendError> {
    desk.checks.fetch_add(1, Ordering::SeqCst);
    if *cents > CENTS {
        return Err(BankError::Refused { status: 503, words: "more than was paid".to_owned() }.into());
    }
    Ok(())
}

/// An error that serde can write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
enum Typed {
    #[error("busy, said attempt {0}")]
    Busy(u32),
    #[error("{0}")]
    Refused(String),
}

impl From<Refusal> for Typed {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.to_model_text())
    }
}

fn classify_typed(error: &Typed) -> ErrorClass {
    match error {
        Typed::Busy(_) => ErrorClass::Retryable,
        Typed::Refused(_) => ErrorClass::Unknown,
    }
}

/// A tool that never succeeds, and whose error says which attempt it was.
#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify_typed,
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"))]
async fn vain(call: &ToolCall, #[idem(state)] desk: Desk, order: String, cents: u64) -> Result<Refund, Typed> {
    match desk.send(call, &order, cents).await {
        Ok(refund) => Ok(refund),
        Err(_) => Err(Typed::Busy(call.number())),
    }
}

/// A tool that is a method: its body runs where it was called.
#[derive(Debug)]
struct Clerk {
    desk: Desk,
}

impl Clerk {
    #[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify,
        retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"))]
    pub(crate) async fn refund(&self, call: &ToolCall, order: String, cents: u64) -> Result<Refund, SendError> {
        Ok(self.desk.send(call, &order, cents).await?)
    }
}

/// A ledger and a provider that live by the same clock.
struct Stage {
    setup: Setup,
    provider: Provider,
    desk: Desk,
}

impl Stage {
    fn of(setup: Setup) -> Self {
        let provider = Provider::start(&setup.clock);
        let (bank, clock) = (provider.bank(), setup.clock.clone());
        let desk = Desk { bank, clock, takes: Duration::ZERO, checks: Arc::default() };
        Self { setup, provider, desk }
    }

    /// What the next attempts come to, each of which takes so long.
    fn plan<const N: usize>(&mut self, sends: [Sending; N], takes: Duration) {
        self.provider.sends(sends);
        self.desk.takes = takes;
    }

    fn call(&self) -> ToolCall {
        self.setup.call_as("call_1", 1)
    }

    fn name(&self) -> &'static str {
        self.setup.name()
    }

    /// How many sends arrived, and how many refunds happened.
    fn sent_and_done(&self) -> (usize, usize) {
        let meant = |effect: &idem_tests::provider::Effect| {
            (effect.order.as_str(), effect.cents, effect.recipient.as_str()) == (ORDER, CENTS, RECIPIENT)
        };
        let effects = self.provider.effects();
        assert!(effects.iter().all(meant), "{effects:?}");
        (self.provider.sent(), effects.len())
    }

    async fn events(&self, operation: OperationId) -> Vec<String> {
        let tenant = idem_runtime::Tenant::new(idem_tests::world::TENANT).expect("a tenant");
        let operator = self.setup.idem.operator(&tenant, "mia").expect("a name");
        let detail = operator.show(operation).await.expect("a readable ledger").expect("an operation");
        detail.history.iter().map(|entry| entry.event.to_string()).collect()
    }
}

async fn stages() -> Vec<Stage> {
    every_store_with(|| Idem::builder().jitter_seed(7)).await.into_iter().map(Stage::of).collect()
}

/// Calls the `…_outcome` of a tool on a stage with the usual arguments.
macro_rules! call {
    ($tool:ident, $stage:expr) => {
        call!($tool, $stage, $stage.call())
    };
    ($tool:ident, $stage:expr, $call:expr) => {
        $tool(&$call, $stage.desk.clone(), ORDER.to_owned(), CENTS).await
    };
}
use call;

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

fn attempt<T: std::fmt::Debug>(outcome: Outcome<T>) -> u32 {
    match outcome {
        Outcome::Succeeded(success) if success.told.replay.is_none() => success.told.attempt,
        other => panic!("it should have run: {other:?}"),
    }
}

// R-E3
#[tokio::test]
async fn r_e3_what_proved_no_effect_is_tried_again_within_the_call() {
    for mut stage in stages().await {
        stage.plan([BUSY, Sending::Refused(429)], Duration::ZERO);
        let told = call!(refund_outcome, stage);
        let operation = told.operation().expect("an operation");
        assert_eq!((attempt(told), stage.sent_and_done()), (3, (3, 1)), "{}", stage.name());
        let keys = stage.provider.sent_under();
        assert!(keys.iter().all(|key| *key == keys[0]), "one key for all attempts: {keys:?}");
        let events = stage.events(operation).await;
        assert_eq!(events, ["settle_retryable", "reserve", "settle_retryable", "reserve", "settle_ok"]);
        assert!(call!(refund_outcome, stage).is_replay());
        assert_eq!(stage.sent_and_done(), (3, 1));
    }
}

#[tokio::test]
async fn a_method_that_runs_in_place_is_tried_again_too() {
    for mut stage in stages().await {
        stage.plan([BUSY, BUSY], Duration::ZERO);
        let clerk = Clerk { desk: stage.desk.clone() };
        let told = clerk.refund_outcome(&stage.call(), ORDER.to_owned(), CENTS).await;
        assert_eq!((attempt(told), stage.sent_and_done()), (3, (3, 1)), "{}", stage.name());
    }
}

// R-E3
#[tokio::test]
async fn r_e3_a_budget_that_is_used_up_is_a_final_failure_with_the_last_error() {
    for mut stage in stages().await {
        stage.plan([BUSY, BUSY, Sending::Refused(429), BUSY, BUSY], Duration::ZERO);
        let told = call!(refund, stage).expect_err("the tool's own error");
        assert!(matches!(told, SendError::Bank(BankError::Refused { status: 429, .. })), "{told:?}");
        for _ in 0..3 {
            let again = refusal(call!(refund_outcome, stage));
            assert_eq!(again.kind(), &RefusalKind::FailedFinal, "{}", stage.name());
            assert!(again.to_model_text().contains("the provider answered 429"), "{}", again.to_model_text());
            let record = stage.setup.record(again.operation().expect("an operation")).await;
            assert_eq!((record.state, record.attempt), (State::FailedFinal, 3));
        }
        assert_eq!(stage.sent_and_done(), (3, 0), "{}", stage.name());
    }
}

// R-R1
#[tokio::test]
async fn r_r1_the_last_error_is_replayed_as_that_error() {
    for mut stage in stages().await {
        stage.plan([BUSY; 9], Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(call!(vain, stage), Err(Typed::Busy(3)), "{}", stage.name());
        }
        let told = refusal(call!(vain_outcome, stage));
        assert_eq!(told.kind(), &RefusalKind::FailedFinal);
        let events = stage.events(told.operation().expect("an operation")).await;
        assert_eq!(events.last().map(String::as_str), Some("budget_over"), "{events:?}");
        assert_eq!(stage.sent_and_done(), (3, 0), "{}", stage.name());
    }
}

// R-E3
#[tokio::test]
async fn r_e3_the_budgets_deadline_ends_it_before_its_attempts_do() {
    for mut stage in stages().await {
        stage.plan([BUSY; 9], 12 * SECOND);
        // Attempts begin at 0 s, 12 s and 24 s; at 36 s none may.
        assert!(matches!(call!(patient, stage), Err(SendError::Bank(_))));
        assert_eq!(stage.sent_and_done(), (3, 0), "{}", stage.name());
        let again = refusal(call!(patient_outcome, stage));
        assert_eq!(again.kind(), &RefusalKind::FailedFinal, "{}", stage.name());
        assert_eq!(stage.sent_and_done(), (3, 0));
    }
    // The control arm: attempts that take no time are stopped by nothing but their number.
    for mut stage in stages().await {
        stage.plan([BUSY; 9], Duration::ZERO);
        assert_eq!((attempt(call!(patient_outcome, stage)), stage.sent_and_done()), (10, (10, 1)), "{}", stage.name());
    }
}

// R-E3
#[tokio::test]
async fn r_e3_final_failures_are_never_tried_again() {
    for mut stage in stages().await {
        stage.plan([Sending::Refused(402)], Duration::ZERO);
        let told = refusal(call!(refund_outcome, stage));
        assert_eq!((told.kind(), stage.sent_and_done()), (&RefusalKind::FailedFinal, (1, 0)), "{}", stage.name());
        assert_eq!(refusal(call!(refund_outcome, stage)).kind(), &RefusalKind::FailedFinal);
        assert_eq!(stage.sent_and_done(), (1, 0), "the provider would have taken the next one");
    }
}

// R-E3 R-R5
#[tokio::test]
async fn r_e3_a_denial_is_never_tried_again() {
    for stage in stages().await {
        // Its own check says no, with an error that a body might have been tried again for.
        let told = checked_outcome(&stage.call(), stage.desk.clone(), ORDER.to_owned(), CENTS + 1).await;
        assert_eq!(refusal(told).kind(), &RefusalKind::Denied, "{}", stage.name());
        assert_eq!((stage.desk.checks.load(Ordering::SeqCst), stage.sent_and_done()), (1, (0, 0)));
        assert_eq!(stage.setup.operations().await, 0, "it leaves no record");
        assert_eq!(attempt(call!(checked_outcome, stage)), 1);
        assert_eq!(stage.sent_and_done(), (1, 1), "{}", stage.name());
    }
}

// R-C1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_c1_of_many_callers_the_budget_is_spent_once() {
    for mut stage in stages().await {
        stage.plan([BUSY; 40], Duration::ZERO);
        let barrier = Arc::new(tokio::sync::Barrier::new(12));
        let callers: Vec<_> = (0..12)
            .map(|_| {
                let (barrier, call, desk) = (Arc::clone(&barrier), stage.call(), stage.desk.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    vain(&call, desk, ORDER.to_owned(), CENTS).await
                })
            })
            .collect();
        for caller in callers {
            let told = caller.await.expect("no panic");
            assert!(matches!(told, Err(Typed::Busy(_))), "{told:?}");
        }
        assert_eq!(call!(vain, stage), Err(Typed::Busy(3)), "{}", stage.name());
        assert_eq!(stage.sent_and_done(), (3, 0), "three attempts in all: {}", stage.name());
    }
}
