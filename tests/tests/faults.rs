//! A ledger that cannot be written or read: an error before the effect, a truthful answer after it.

use std::time::Duration;

use idem_runtime::{
    Config, Held, Idem, IdentityKey, OpenError, Outcome, Refusal, RefusalKind, ToolCall, idempotent,
    ledger::{Command, State, StoreError, StoreErrorKind},
};
use idem_tests::{
    home::{Home, Place},
    store::{Failing, Fault, Watch},
    timing::{poll_times, until},
    tools::{ToolError, classify},
    world::{Setup, World, config, every_store, every_store_with, memory},
};

#[idempotent(scope = "conversation", key = "tool_call_id|args", on_busy = "tell", classify = classify)]
async fn pay(call: &ToolCall, a: u64, #[idem(state)] world: World) -> Result<usize, ToolError> {
    if a == 2 && call.number() == 1 {
        return Err(ToolError::Busy);
    }
    Ok(world.effect(format!("paid {a}")))
}

async fn told(setup: &Setup, call: &ToolCall, a: u64) -> Outcome<usize> {
    pay_outcome(call, a, setup.world.clone()).await
}

fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

/// Settlements that were put off are tried again soon.
fn settings() -> Config {
    config(|it| it.tally_every = Duration::from_millis(1))
}

/// A new watched ledger there.
async fn watched(place: Place) -> (Setup, Watch) {
    idem_tests::world::watched(&settings(), place).await
}

/// One call while the n-th batch and, if it lasts, all after it fail; then the disk is well again.
async fn call_while_failing(place: Place, failing: Failing) -> (bool, bool) {
    let (setup, watch) = watched(place).await;
    let call = setup.call_as("call_1", 1);
    watch.fail(failing);
    let first = told(&setup, &call, 1).await;
    let failed = watch.failed();
    let effects = setup.world.effects().len();
    let mut after_effect = false;
    match &first {
        Outcome::Refused(refusal) => {
            assert_eq!(refusal.kind(), &RefusalKind::LedgerUnavailable, "{failing:?}");
            let text = refusal.to_model_text();
            assert!(text.contains("Nothing was done"), "{text}");
            assert!(std::error::Error::source(refusal).is_some(), "says what failed: {refusal}");
            assert_eq!(effects, 0, "{failing:?}: an error before the effect means that nothing was run");
        }
        Outcome::Succeeded(success) => {
            assert_eq!((success.value, effects), (1, 1), "{failing:?}: its caller gets the result");
            match &success.told.held {
                // A reservation whose answer alone was lost is sent again, and is told what it was granted.
                Held::Result => {
                    assert!(failed == 0 || matches!(failing, Failing::Only(_, Fault::AnswerLost)), "{failing:?}");
                }
                Held::NotYet(why) => {
                    assert!(!why.is_empty());
                    after_effect = true;
                }
                Held::NoResult(why) => panic!("{failing:?}: {why}"),
            }
        }
    }
    // While the result is not written, a repeat is not run.
    if after_effect && let Failing::From(_, fault) = failing {
        match told(&setup, &call, 1).await {
            Outcome::Refused(busy) => {
                let kind = busy.kind();
                assert!(matches!(kind, RefusalKind::InProgress { .. } | RefusalKind::LedgerUnavailable), "{busy:?}");
            }
            // Only the answer was lost: it is written.
            replay @ Outcome::Succeeded(_) => {
                assert!(replay.is_replay() && fault == Fault::AnswerLost, "{failing:?}: {replay:?}");
            }
        }
    }
    watch.fail(Failing::Never);
    let last = if after_effect {
        until("the result is recorded", async || {
            let told = told(&setup, &call, 1).await;
            told.is_replay().then_some(told)
        })
        .await
    } else {
        // An answer that was lost may have left a reservation: it is in progress until its lease ends, then unknown.
        let mut last = told(&setup, &call, 1).await;
        if let Outcome::Refused(refusal) = &last {
            assert!(matches!(refusal.kind(), RefusalKind::InProgress { .. }), "{failing:?}: {refusal:?}");
            setup.clock.advance(Duration::from_secs(31));
            last = told(&setup, &call, 1).await;
        }
        last
    };
    let effects = setup.world.effects().len();
    assert!(effects <= 1, "{failing:?}: {effects} effects");
    match &last {
        Outcome::Succeeded(success) => assert_eq!((success.value, effects), (1, 1)),
        Outcome::Refused(refusal) => assert_eq!((refusal.kind(), effects), (&RefusalKind::Unknown, 0), "{failing:?}"),
    }
    (failed > 0, after_effect)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_l7_a_store_that_fails_at_any_batch_is_told_before_the_effect_or_recorded_after_it() {
    for place in Place::EVERY.iter().copied() {
        for fault in [Fault::Full, Fault::AnswerLost] {
            for failing in [|at, fault| Failing::Only(at, fault), |at, fault| Failing::From(at, fault)] {
                let (mut before, mut after) = (0, 0);
                for at in 1.. {
                    let (failed, after_effect) = call_while_failing(place, failing(at, fault)).await;
                    if !failed {
                        break;
                    }
                    before += usize::from(!after_effect);
                    after += usize::from(after_effect);
                }
                assert!(before >= 1 && after >= 1, "{fault:?}: both sides of the effect were hit: {before}, {after}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_l7_one_command_that_fails_takes_none_with_it() {
    for place in Place::EVERY.iter().copied() {
        let (setup, watch) = watched(place).await;
        watch.fail(Failing::Settling(Fault::Full));
        let first = told(&setup, &setup.call_as("call_1", 1), 1).await;
        assert!(matches!(&first, Outcome::Succeeded(it) if matches!(it.told.held, Held::NotYet(_))), "{first:?}");
        // Reservations still come through, though settlements ride with them.
        let second = told(&setup, &setup.call_as("call_2", 2), 3).await;
        assert!(matches!(&second, Outcome::Succeeded(it) if matches!(it.told.held, Held::NotYet(_))), "{second:?}");
        watch.fail(Failing::Never);
        for (id, turn, a) in [("call_1", 1, 1), ("call_2", 2, 3)] {
            until("it is recorded", async || told(&setup, &setup.call_as(id, turn), a).await.is_replay().then_some(()))
                .await;
        }
        assert_eq!(setup.world.effects(), ["paid 1", "paid 3"], "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_l7_what_is_owed_is_written_soon_and_not_with_the_next_renewal() {
    #[idempotent(scope = "conversation", key = "tool_call_id|args", lease = "1h", on_busy = "tell")]
    async fn pay_long(call: &ToolCall, a: u64, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(format!("paid {a}")))
    }
    for place in Place::EVERY.iter().copied() {
        let (setup, watch) = watched(place).await;
        let call = setup.call_as("call_1", 1);
        watch.fail(Failing::Only(2, Fault::Full));
        let first = pay_long_outcome(&call, 1, setup.world.clone()).await;
        assert!(matches!(&first, Outcome::Succeeded(it) if matches!(it.told.held, Held::NotYet(_))), "{first:?}");
        // Nobody calls and no clock moves: the ledger does it by itself.
        let operation = first.operation().expect("an operation");
        until("the result is recorded", async || {
            (setup.record(operation).await.state == State::Succeeded).then_some(())
        })
        .await;
        assert!(pay_long_outcome(&call, 1, setup.world.clone()).await.is_replay(), "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_l7_what_was_owed_when_the_ledger_closes_is_written_as_it_closes() {
    for place in Place::lasting() {
        let (setup, watch) = watched(place).await;
        let Setup { idem, world, home, .. } = setup;
        let call = idem.call().tenant("acme").conversation("c-1").tool_call_id("call_1").turn(1);
        watch.fail(Failing::Only(2, Fault::Full));
        let told = pay_outcome(&call, 1, world.clone()).await;
        assert!(told.value().is_some());
        drop((call, idem, told));
        let home = home.expect("a home");
        assert_eq!(home.column::<String>("select state from idem_operations"), [State::Succeeded.name()]);
        assert_eq!(world.effects(), ["paid 1"], "{}", place.name());
    }
}

#[tokio::test]
async fn r_l7_a_ledger_whose_file_is_not_one_does_not_open() {
    let home = Home::file();
    std::fs::write(
        home.path(),
        "this is a text, and quite a long one, so that nobody takes it for an empty file".repeat(20),
    )
    .expect("a file");
    let refused = Idem::open(home.address()).await.expect_err("no ledger");
    assert!(matches!(&refused, OpenError::Store(_)), "{refused:?}");
    let missing = Idem::open("sqlite:///no/such/folder/idem.db").await.expect_err("no folder");
    let OpenError::Store(error) = &missing else { panic!("{missing:?}") };
    assert_eq!(StoreError::kind(error), StoreErrorKind::Unavailable);
}

// R-L5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r083_a_ledger_in_memory_outlives_every_caller_and_sqlite_s_own_is_refused() {
    for address in ["sqlite::memory:", "sqlite://:memory:", "sqlite:", "sqlite://"] {
        let refused = Idem::open(address).await.expect_err("refused");
        assert!(matches!(&refused, OpenError::Address { .. }), "{address}: {refused:?}");
        assert!(refused.to_string().contains("memory:"), "says what to write: {refused}");
    }
    let setup = memory(Idem::builder()).await;
    let first = told(&setup, &setup.call_as("call_1", 1), 1).await;
    // Callers that are cancelled while they acquire what they need, after any poll; and a long idle time.
    for polls in 1..20_u64 {
        let call = setup.call_as("call_2", polls).occurrence(polls.to_string());
        let _ = poll_times(pay_outcome(&call, 10 + polls, setup.world.clone()), usize::try_from(polls).expect("small"))
            .await;
    }
    setup.clock.advance(Duration::from_hours(24));
    let again = told(&setup, &setup.call_as("call_1", 1), 1).await;
    assert!(again.is_replay());
    assert_eq!(again.operation(), first.operation(), "its record is still there");
    assert!(told(&setup, &setup.call_as("call_3", 3), 3).await.value().is_some(), "and reserves again");
    assert_eq!(setup.world.count("paid 1"), 1);
}

const LIMIT: usize = 512;

// R-S4 R-L6
#[tokio::test]
async fn r_x3_what_is_too_large_is_refused_before_anything_is_reserved() {
    #[idempotent(scope = "named:cart", key = "operation_id|tool_call_id|args")]
    async fn put(call: &ToolCall, text: String, #[idem(state)] world: World) -> Result<usize, ToolError> {
        Ok(world.effect(text))
    }
    let long = "x".repeat(LIMIT + 1);
    let fits = "x".repeat(LIMIT);
    for setup in every_store().await {
        let in_cart = |cart: &str| setup.idem.call().tenant("acme").scope("cart", cart).tool_call_id("call_1").turn(1);
        let base = || in_cart("k-1");
        let calls = |id: &str| {
            [
                ("tenant", base().tenant(id)),
                ("cart", base().scope("cart", id)),
                ("tool call id", in_cart("k-2").tool_call_id(id)),
                ("turn", in_cart("k-3").turn(id)),
                ("occurrence", in_cart("k-4").occurrence(id)),
                ("operation id", in_cart("k-5").operation_id(id)),
                ("principal", in_cart("k-6").principal(id)),
            ]
        };
        for (what, call) in calls(&long) {
            let told = refusal(put_outcome(&call, "a".into(), setup.world.clone()).await);
            assert_eq!((told.kind(), told.operation()), (&RefusalKind::Invalid, None), "{what}");
            assert!(told.to_string().contains(what) && told.to_string().contains("513 bytes"), "{told}");
            assert!(!told.to_string().contains(&long), "and does not repeat it");
        }
        let limit = Config::default().arguments_bytes_max;
        // `{"text":"` and `"}` are eleven bytes of the canonical form.
        for bytes in [limit - 10, 2 * limit, 100 * limit] {
            let told = refusal(put_outcome(&base(), "y".repeat(bytes), setup.world.clone()).await);
            assert_eq!((told.kind(), told.operation()), (&RefusalKind::Invalid, None), "{bytes}");
            assert!(told.to_string().len() < 300, "{told}");
        }
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        if let Some(home) = &setup.home {
            assert_eq!(
                ["idem_scopes", "idem_tenants", "idem_tools", "idem_identities"].map(|it| home.count(it)),
                [0; 4]
            );
        }
        for (what, call) in calls(&fits) {
            let told = put_outcome(&call, format!("fits {what}"), setup.world.clone()).await;
            assert!(told.value().is_some(), "{what}: {told:?}");
        }
        let told = put_outcome(&base().turn(9), "y".repeat(limit - 11), setup.world.clone()).await;
        assert!(told.value().is_some(), "{told:?}");
    }
}

// R-L4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_l4_a_record_is_durable_before_the_effect_and_its_result_before_the_answer() {
    #[idempotent(scope = "conversation", key = "tool_call_id|args")]
    async fn look(call: &ToolCall, a: u8, #[idem(state)] watch: Watch) -> Result<usize, ToolError> {
        let _ = a;
        let reserved = watch.batches().iter().flatten().filter(|it| matches!(it, Command::Reserve(_))).count();
        Ok(reserved)
    }
    for place in Place::EVERY.iter().copied() {
        let (setup, watch) = watched(place).await;
        let call = setup.call_as("call_1", 1);
        let told = look_outcome(&call, 1, watch.clone()).await;
        assert_eq!(told.value(), Some(&1), "the body found its reservation made");
        let settled =
            |watch: &Watch| watch.batches().iter().flatten().filter(|it| matches!(it, Command::Settle(_))).count();
        assert_eq!(settled(&watch), 1, "and its answer came after it was settled");
        let operation = told.operation().expect("an operation");
        assert_eq!(setup.record(operation).await.state, State::Succeeded);
        let batches = watch.batches().len();
        assert!(look_outcome(&call, 1, watch.clone()).await.is_replay());
        let since = watch.batches()[batches..].iter().flatten().filter(|it| !matches!(it, Command::Tally(_))).count();
        assert_eq!(since, 0, "a replay asks the store for nothing: {}", setup.name());
    }
}

// R-K9 R-X2
#[tokio::test]
async fn r_k9_no_argument_stands_in_the_ledger_a_key_or_an_error() {
    #[idempotent(scope = "conversation+{iban}", key = "tool_call_id|args(iban)|template:pay-{iban}", classify = classify)]
    async fn transfer(
        call: &ToolCall,
        iban: String,
        cents: u64,
        #[idem(content)] reason: String,
        #[idem(state)] world: World,
    ) -> Result<usize, ToolError> {
        let _ = (iban, cents, reason);
        if call.number() == 1 { Err(ToolError::Busy) } else { Ok(world.effect("paid")) }
    }
    let secrets = ["DE89370400440532013000", "7734512", "for my knee surgery"];
    let keys = [None, Some(IdentityKey::new(*b"0123456789abcdef").expect("long enough"))];
    let mut seen = Vec::new();
    for key in keys {
        let builder = || match &key {
            None => Idem::builder(),
            Some(key) => Idem::builder().identity_key(key.clone()),
        };
        for setup in every_store_with(builder).await {
            let call = setup.call_as("call_1", 1);
            let told = async |cents, reason: &str| {
                transfer_outcome(&call, secrets[0].into(), cents, reason.into(), setup.world.clone()).await
            };
            let failed = refusal(told(7_734_512, secrets[2]).await);
            let done = told(7_734_512, secrets[2]).await;
            let drift = refusal(told(1, secrets[2]).await);
            let Outcome::Succeeded(success) = &done else { panic!("{done:?}") };
            let record = &success.told.record;
            let carried = serde_json::to_string(&**record).expect("JSON");
            let shown = setup.record(success.told.operation).await;
            let said = format!(
                "{failed} {failed:?} {drift} {drift:?} {done:?} {record:?} {carried} {shown:?} {call:?} {key:?}"
            );
            for secret in secrets {
                assert!(!said.contains(secret), "{secret} in {said}");
                if let Some(home) = &setup.home {
                    assert!(!home.holds(secret), "{secret} in the ledger");
                }
            }
            if let Some(home) = &setup.home {
                assert!(home.holds("faults::transfer") && home.holds("c-1"), "the search can find what is there");
            }
            seen.push((key.is_some(), record.key(), shown.fingerprint, shown.parts));
        }
    }
    // The same call, keyed and not: nothing that is kept of it can be guessed without the key.
    let (plain, keyed): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(keyed, ..)| !keyed);
    for ((_, key, fingerprint, parts), (_, other_key, other_fingerprint, other_parts)) in plain.iter().zip(&keyed) {
        assert!(key.iter().all(|digest| !other_key.contains(digest)));
        assert_ne!(fingerprint, other_fingerprint);
        assert_ne!(parts, other_parts);
    }
    assert!(IdentityKey::new(*b"fifteen bytes !").is_err(), "a key that can be guessed is none");
}

// R-L7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r_l7_a_no_effect_failure_that_cannot_be_written_is_not_retried_until_it_is() {
    for place in Place::EVERY.iter().copied() {
        let (setup, watch) = watched(place).await;
        let call = setup.call_as("call_1", 1);
        watch.fail(Failing::Settling(Fault::Full));
        refusal(told(&setup, &call, 2).await);
        let busy = refusal(told(&setup, &call, 2).await);
        assert!(matches!(busy.kind(), RefusalKind::InProgress { .. }), "{busy:?}");
        watch.fail(Failing::Never);
        let done = until("it may be tried again", async || {
            let told = told(&setup, &call, 2).await;
            told.value().is_some().then_some(told)
        })
        .await;
        assert_eq!((done.value(), done.is_replay()), (Some(&1), false));
        assert_eq!(setup.world.effects(), ["paid 2"], "{}", setup.name());
    }
}
