//! Control arms: tools that are wrong, each in its way. Each has to be caught by the scenario that exists for it, as the kind
//! of failure that it is.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use idem_runtime::{
    ErrorClass, Idem, ToolCall, ToolSpec, Unsettled, Verdict, idempotent,
    testing::{
        Provider, Request,
        harness::{Answer, Failure, FailureKind, Fixture, Scenario, Subject, asked, run},
    },
};
use serde_json::json;

use super::tools::{Bank, PayError, Refund};

type Arguments = (String, u64);

/// A tool with a ledger of its own, in this process.
#[derive(Debug, Clone)]
struct Amateur {
    provider: Provider,
    done: Arc<Mutex<HashMap<String, u64>>>,
}

impl Amateur {
    async fn refund(&self, order: &str, cents: u64) -> Answer {
        let request = Request::of("refund").object(order).recipient("customer").field("cents", cents);
        match self.provider.commit(request).await {
            Ok(reply) => Answer::value(json!({ "reference": reply.reference })),
            Err(error) => Answer::failed(error.to_string()),
        }
    }

    fn done(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn amateur(records: &Path) -> Fixture<Amateur, Arguments> {
    Fixture::of(|provider| Amateur { provider: provider.clone(), done: Arc::default() })
        .arguments(("A-1".into(), 4_900))
        .other(("A-2".into(), 1_200))
        .drift("cents", ("A-1".into(), 9_400))
        .effect("refund")
        .without_postgres("it has no ledger of ours")
        .records(records)
}

static ARM: ToolSpec = ToolSpec::new("control_arm", module_path!());

fn banks(records: &Path) -> Fixture<Arc<Bank>, Arguments> {
    Fixture::of(|provider| Arc::new(Bank(provider.clone())))
        .arguments(("A-1".into(), 4_900))
        .other(("A-2".into(), 1_200))
        .drift("cents", ("A-1".into(), 9_400))
        .effect("refund")
        .without_postgres("one ledger shows it")
        .records(records)
}

/// Plays one scenario with a tool that is wrong; it has to fail, as this kind.
fn caught<S: Clone + Send + 'static>(
    test: &str,
    subject: &Subject<S, Arguments>,
    fixture: impl Fn(&Path) -> Fixture<S, Arguments>,
    scenario: Scenario,
    kind: FailureKind,
) -> Failure {
    let records = tempfile::tempdir().expect("a folder");
    let played = run(test, subject, &fixture(records.path()), scenario);
    let failure = played.expect_err("the control arm must be caught");
    assert_eq!(failure.kind, kind, "{failure}");
    let said = failure.to_string();
    for part in [kind.name(), "expected:", "seen:", "mend:", "again:", "IDEM_HARNESS_SEED="] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let record = std::fs::read_to_string(failure.record.as_ref().expect("a record")).expect("it is there");
    assert!(record.contains("\"verdict\": \"failed\""), "{record}");
    *failure
}

/// The path of a test, as a generated one says it.
macro_rules! here {
    ($test:ident) => {
        concat!(module_path!(), "::", stringify!($test))
    };
}

fn without_a_guard() -> Subject<Amateur, Arguments> {
    Subject::by_hand(&ARM, |_, tool: Amateur, (order, cents): Arguments| {
        Box::pin(async move { tool.refund(&order, cents).await })
    })
}

#[test]
fn a_tool_without_a_guard_repeats_what_lost_its_response() {
    let scenario = Scenario::LostResponseThenRetry;
    let subject = without_a_guard();
    caught(here!(x), &subject, amateur, scenario, FailureKind::NoDeduplication);
    caught(here!(x), &subject, amateur, Scenario::RetryStormOfFifty, FailureKind::NoDeduplication);
    caught(here!(x), &subject, amateur, Scenario::SameCallTwice, FailureKind::NoDeduplication);
    caught(here!(x), &subject, amateur, Scenario::LeaseEndsWhileSlow, FailureKind::NoDeduplication);
    caught(here!(x), &subject, amateur, Scenario::NoScope, FailureKind::NoDeduplication);
    caught(here!(x), &subject, amateur, Scenario::FaultsAtProviderCommit, FailureKind::NoDeduplication);
    caught(here!(x), &subject, amateur, Scenario::FaultsAtReturn, FailureKind::NoDeduplication);
}

#[test]
fn a_tool_without_a_guard_repeats_what_was_killed() {
    let test = here!(a_tool_without_a_guard_repeats_what_was_killed);
    caught(test, &without_a_guard(), amateur, Scenario::RestartAndReconcile, FailureKind::NoDeduplication);
}

mod id_only {
    use super::*;

    #[idempotent(scope = "conversation", key = "tool_call_id", name = "id_only", harness)]
    pub(super) async fn refund(
        call: &ToolCall,
        #[idem(state)] bank: Arc<Bank>,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }

    #[test]
    fn a_key_of_the_id_alone_repeats_what_is_planned_again() {
        let subject = __idem_refund_subject();
        for scenario in [Scenario::Replanned, Scenario::SameCallTwice] {
            caught(here!(x), &subject, banks, scenario, FailureKind::NoDeduplication);
        }
    }
}

#[test]
fn a_ledger_that_checks_and_then_inserts_loses_races() {
    let subject = Subject::by_hand(&ARM, |_, tool: Amateur, (order, cents): Arguments| {
        Box::pin(async move {
            let known = tool.done().get(&order).copied();
            if let Some(cents) = known {
                return Answer::value(cents);
            }
            let answer = tool.refund(&order, cents).await;
            tool.done().insert(order, cents);
            if answer.is_success() { Answer::value(cents) } else { answer }
        })
    });
    let failure = caught(here!(x), &subject, amateur, Scenario::RaceOfTasks, FailureKind::NoDeduplication);
    assert!(failure.seen[0].contains("effects `refund`"), "{failure}");
}

#[test]
fn a_claim_that_is_released_on_error_repeats_what_lost_its_response() {
    let subject = Subject::by_hand(&ARM, |_, tool: Amateur, (order, cents): Arguments| {
        Box::pin(async move {
            if tool.done().insert(order.clone(), cents).is_some() {
                return Answer::value(cents);
            }
            let answer = tool.refund(&order, cents).await;
            if answer.is_success() {
                return Answer::value(cents);
            }
            tool.done().remove(&order);
            answer
        })
    });
    caught(here!(x), &subject, amateur, Scenario::LostResponseThenRetry, FailureKind::NoDeduplication);
}

mod released {
    use super::*;

    fn everything_may_be_tried_again(_: &PayError) -> ErrorClass {
        ErrorClass::Retryable
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "released", harness,
        classify = everything_may_be_tried_again)]
    pub(super) async fn refund(
        call: &ToolCall,
        #[idem(state)] bank: Arc<Bank>,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }

    #[test]
    fn an_error_that_is_called_harmless_misleads() {
        let subject = __idem_refund_subject();
        for scenario in [Scenario::LostResponseThenRetry, Scenario::FaultsAtReceiveResponse] {
            caught(here!(x), &subject, banks, scenario, FailureKind::MisleadingAnswer);
        }
    }
}

mod keyless {
    use super::*;

    /// It says that its provider knows the key, and does not send it.
    #[idempotent(
        scope = "conversation",
        key = "tool_call_id|args",
        name = "keyless",
        harness,
        recover(provider_key = "24h")
    )]
    pub(super) async fn refund(
        call: &ToolCall,
        #[idem(state)] bank: Arc<Bank>,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        let request = Request::of("refund").object(&order).recipient("customer").field("cents", cents);
        let reply = bank.0.commit(request).await?;
        call.reference(&reply.reference);
        Ok(Refund { reference: reply.reference, cents })
    }

    #[test]
    fn a_retry_without_the_providers_key_repeats() {
        let subject = __idem_refund_subject();
        for scenario in [Scenario::RecoveryByProviderKey, Scenario::LostResponseThenRetry] {
            caught(here!(x), &subject, banks, scenario, FailureKind::NoDeduplication);
        }
    }
}

mod forgetful {
    use super::*;

    #[idempotent(scope = "tenant", key = "args", name = "forgetful")]
    pub(super) async fn refund(
        call: &ToolCall,
        #[idem(state)] bank: Arc<Bank>,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }

    /// Guarded, by a ledger that lasts no longer than its process.
    fn subject() -> Subject<(Arc<Bank>, Arc<tokio::sync::OnceCell<Idem>>), Arguments> {
        Subject::by_hand(
            &ARM,
            |_, (bank, ledger): (Arc<Bank>, Arc<tokio::sync::OnceCell<Idem>>), (order, cents): Arguments| {
                Box::pin(async move {
                    let opened = ledger.get_or_init(async || Idem::open("memory:").await.expect("a ledger")).await;
                    let call = opened.call().tenant("acme");
                    asked(async move { refund(&call, bank, order, cents).await }).await
                })
            },
        )
    }

    fn fixture(records: &Path) -> Fixture<(Arc<Bank>, Arc<tokio::sync::OnceCell<Idem>>), Arguments> {
        Fixture::of(|provider| (Arc::new(Bank(provider.clone())), Arc::default()))
            .arguments(("A-1".into(), 4_900))
            .other(("A-2".into(), 1_200))
            .effect("refund")
            .without_postgres("its ledger is its own")
            .records(records)
    }

    #[test]
    fn a_store_that_forgets_repeats_what_was_killed() {
        let test = here!(a_store_that_forgets_repeats_what_was_killed);
        caught(test, &subject(), fixture, Scenario::RestartAndReconcile, FailureKind::NoDeduplication);
    }
}

mod hopeful {
    use super::*;

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "hopeful", harness)]
    pub(super) async fn refund(
        call: &ToolCall,
        #[idem(state)] bank: Arc<Bank>,
        order: String,
        cents: u64,
    ) -> Result<u64, PayError> {
        // It does not look at what became of it.
        drop(bank.send(call, &order, cents).await);
        Ok(cents)
    }

    #[test]
    fn a_success_that_is_told_without_looking_has_no_effect() {
        let subject = __idem_refund_subject();
        for scenario in [Scenario::FaultsAtDispatch, Scenario::FinalFailureThenRetry] {
            caught(here!(x), &subject, banks, scenario, FailureKind::SuccessWithoutEffect);
        }
    }
}

mod silent {
    use super::*;

    #[expect(clippy::unused_async, reason = "a look-up is async")]
    async fn knows_nothing(_: &Bank, _: Unsettled) -> Verdict<Refund> {
        Verdict::inconclusive("who knows")
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "silent", harness,
        recover(lookup = knows_nothing))]
    pub(super) async fn refund(
        call: &ToolCall,
        #[idem(state)] bank: &Bank,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }

    #[test]
    fn a_look_up_that_never_tells_leaves_it_hanging() {
        let subject = __idem_refund_subject();
        caught(here!(x), &subject, banks, Scenario::RecoveryByLookup, FailureKind::HungLease);
    }
}

mod liar {
    use super::*;

    #[expect(clippy::unused_async, reason = "a look-up is async")]
    async fn says_no(_: &Bank, _: Unsettled) -> Verdict<Refund> {
        Verdict::not_applied("it was not looked for")
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "liar", harness, recover(lookup = says_no))]
    pub(super) async fn refund(
        call: &ToolCall,
        #[idem(state)] bank: &Bank,
        order: String,
        cents: u64,
    ) -> Result<Refund, PayError> {
        bank.send(call, &order, cents).await
    }

    #[test]
    fn a_look_up_that_says_no_without_looking_repeats() {
        let subject = __idem_refund_subject();
        caught(here!(x), &subject, banks, Scenario::RecoveryByLookup, FailureKind::NoDeduplication);
    }
}

/// Whatever it is asked for: the first answer to the same order, or to anybody.
fn by_memory(key: impl Fn(&str) -> String + Send + Sync + 'static) -> Subject<Amateur, Arguments> {
    Subject::by_hand(&ARM, move |_, tool: Amateur, (order, cents): Arguments| {
        let key = key(&order);
        Box::pin(async move {
            let known = tool.done().get(&key).copied();
            if let Some(cents) = known {
                return Answer::value(cents);
            }
            let answer = tool.refund(&order, cents).await;
            tool.done().insert(key, cents);
            if answer.is_success() { Answer::value(cents) } else { answer }
        })
    })
}

#[test]
fn a_changed_amount_that_is_given_the_first_result_misleads() {
    let subject = by_memory(str::to_owned);
    for scenario in [Scenario::DriftOnEachArgument, Scenario::ChangedAmount] {
        caught(here!(x), &subject, amateur, scenario, FailureKind::MisleadingAnswer);
    }
    // Nor does it know whose call it is, or that a second one is meant.
    for scenario in [Scenario::OtherTenant, Scenario::DeliberateRepeat] {
        caught(here!(x), &subject, amateur, scenario, FailureKind::SuccessWithoutEffect);
    }
    caught(here!(x), &subject, amateur, Scenario::DeadlineZero, FailureKind::MisleadingAnswer);
}

#[test]
fn a_key_that_is_too_coarse_loses_the_second_effect() {
    let subject = by_memory(|_| "one for all".to_owned());
    caught(here!(x), &subject, amateur, Scenario::TwoDifferentCalls, FailureKind::SuccessWithoutEffect);
}
