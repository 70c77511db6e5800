//! A webhook before, during and after the attempt that it tells of.

use idem_runtime::{
    Idem, RefusalKind, Verdict,
    ledger::{Detail, State, Witnessed},
};
use idem_tests::{
    timing::Gate,
    world::{config, every_store, every_store_with},
};

use crate::{
    Answer, Bank, End, Paid, answer_lost, detail, event, in_review, pay_tool, prepared, refusal, result, spawn, tenant,
    told, unknown,
};

#[tokio::test]
async fn a_webhook_before_the_record_is_kept_and_the_call_is_a_replay() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let id = prepared(&setup, &call, "A-1").await;
        let happened = event(id, "evt_1").applied(Some(result("ch_9")), Some("ch_9"));
        assert!(matches!(setup.idem.evidence(happened.clone()).await, Ok(Witnessed::Kept)));
        assert!(matches!(setup.idem.evidence(happened.clone()).await, Ok(Witnessed::Known { record: None })));
        let first = told(&setup, &call, "A-1", Ok).await;
        assert_eq!((first.is_replay(), first.operation()), (true, Some(id)), "{}: {first:?}", setup.name());
        assert_eq!(first.value(), Some(&Paid { id: "ch_9".into() }));
        assert_eq!(setup.world.effects(), [""; 0], "nothing was run: {}", setup.name());
        let Detail { record, evidence, attempts, .. } = detail(&setup, id).await;
        assert_eq!((record.state, record.review, evidence.len()), (State::Succeeded, false, 1));
        assert!(attempts.is_empty(), "nothing was tried: {attempts:?}");
        // Also for a call under another id, and when the event comes again.
        assert!(told(&setup, &setup.call_as("call_2", 2), "A-1", Ok).await.is_replay());
        assert!(matches!(setup.idem.evidence(happened).await, Ok(Witnessed::Known { record: Some(_) })));
        assert_eq!(setup.world.effects(), [""; 0], "{}", setup.name());
    }
}

#[tokio::test]
async fn other_words_before_the_record_hold_no_call_back() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        let id = prepared(&setup, &call, "A-1").await;
        for said in [event(id, "evt_1").not_applied(), event(id, "evt_2")] {
            assert!(matches!(setup.idem.evidence(said).await, Ok(Witnessed::Kept)));
        }
        let first = told(&setup, &call, "A-1", Ok).await;
        assert_eq!((first.is_replay(), first.value().is_some()), (false, true), "{}: {first:?}", setup.name());
        assert_eq!(detail(&setup, id).await.evidence.len(), 2);
        // A success whose result nobody told is one without a result.
        let call = setup.call_as("call_2", 2);
        let id = prepared(&setup, &call, "A-2").await;
        setup.idem.evidence(event(id, "evt_3").applied(None, Some("ch_9"))).await.expect("kept");
        let first = refusal(told(&setup, &call, "A-2", Ok).await);
        assert_eq!(first.kind(), &RefusalKind::ResultNotHeld);
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_while_the_attempt_runs_is_the_answer_whatever_the_attempt_believes() {
    let ends: [(&str, End, bool, usize); 3] =
        [("A-1", Ok, false, 1), ("A-1", answer_lost, false, 1), ("declined", Ok, true, 0)];
    for (order, end, review, effects) in ends {
        for setup in every_store().await {
            let call = setup.call_as("call_1", 1);
            let id = prepared(&setup, &call, order).await;
            let bank = Bank { body: Gate::new(), ..Bank::quick(&setup.world, end) };
            let running = spawn(&call, order, &bank);
            bank.body.arrived().await;
            let said = event(id, "evt_1").applied(Some(result("ch_9")), Some("ch_9"));
            let weighed = setup.idem.evidence(said).await.expect("weighed");
            assert!(matches!(&weighed, Witnessed::Weighed { record } if record.state == State::Succeeded));
            // A repeat is told at once, although the body still runs.
            let repeat = told(&setup, &call, order, Ok).await;
            assert_eq!((repeat.is_replay(), repeat.value()), (true, Some(&Paid { id: "ch_9".into() })));
            bank.body.open();
            let owner = running.await.expect("no panic");
            assert!(owner.value().is_some(), "{}: {owner:?}", setup.name());
            let record = setup.record(id).await;
            assert_eq!((record.state, record.review), (State::Succeeded, review), "{}: {order}", setup.name());
            assert_eq!(setup.world.effects().len(), effects);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_while_somebody_finds_out_settles_and_the_look_up_comes_late() {
    let verdicts: [(Answer, bool); 3] = [
        (|| Verdict::not_applied("no such charge"), true),
        (|| Verdict::inconclusive("try later"), false),
        (|| Verdict::applied(Paid { id: "ch_other".into() }, "ch_other"), false),
    ];
    for (verdict, review) in verdicts {
        for setup in every_store().await {
            let call = setup.call_as("call_1", 1);
            let id = unknown(&setup, &call).await;
            let bank = Bank { lookup: Gate::new(), verdict, ..Bank::quick(&setup.world, Ok) };
            let reconciler = setup.idem.reconciler([pay_tool(bank.clone())]);
            let finding = tokio::spawn(async move { reconciler.settle(&tenant(), id).await });
            bank.lookup.arrived().await;
            assert_eq!(setup.state(id).await, "reconciling");
            let said = event(id, "evt_1").applied(Some(result("ch_1")), Some("ch_1"));
            setup.idem.evidence(said).await.expect("weighed");
            assert_eq!(setup.state(id).await, "succeeded", "{}", setup.name());
            bank.lookup.open();
            let after = finding.await.expect("no panic").expect("a ledger").expect("a record");
            assert_eq!((after.state, after.review), (State::Succeeded, review), "{}", setup.name());
            assert_eq!(after.reference.as_deref(), Some("ch_1"), "what came first stays");
            let again = told(&setup, &call, "A-1", Ok).await;
            assert_eq!((again.is_replay(), again.value()), (true, Some(&Paid { id: "ch_1".into() })));
            assert_eq!(setup.world.effects(), ["A-1"]);
        }
    }
}

#[tokio::test]
async fn a_webhook_in_review_settles_without_a_person() {
    let strict = config(|it| it.reconcile_answers_max = 1);
    for setup in every_store_with(|| Idem::builder().config(strict.clone())).await {
        let call = setup.call_as("call_1", 1);
        let id = unknown(&setup, &call).await;
        let mut reconciler = setup.idem.reconciler([pay_tool(Bank::quick(&setup.world, Ok))]);
        assert_eq!(reconciler.run_once().await.expect("a pass").to_operators, 1);
        assert_eq!(setup.state(id).await, "operator_review");
        assert_eq!(refusal(told(&setup, &call, "A-1", Ok).await).kind(), &RefusalKind::Unknown);
        let said = event(id, "evt_1").applied(Some(result("ch_1")), Some("ch_1"));
        setup.idem.evidence(said).await.expect("weighed");
        let record = setup.record(id).await;
        assert_eq!((record.state, record.review), (State::Succeeded, false), "{}", setup.name());
        assert!(told(&setup, &call, "A-1", Ok).await.is_replay());
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}

#[tokio::test]
async fn a_webhook_after_a_recorded_failure_is_believed_and_flagged() {
    for (order, state) in [("declined", State::FailedFinal), ("busy", State::FailedRetryable)] {
        for setup in every_store().await {
            let call = setup.call_as("call_1", 1);
            let failed = told(&setup, &call, order, Ok).await;
            let id = failed.operation().expect("an operation");
            assert_eq!(setup.record(id).await.state, state);
            assert_eq!(in_review(&setup).await, []);
            let said = event(id, "evt_1").applied(Some(result("ch_1")), Some("ch_1"));
            setup.idem.evidence(said).await.expect("weighed");
            let record = setup.record(id).await;
            assert_eq!((record.state, record.review), (State::Succeeded, true), "{}", setup.name());
            assert_eq!(in_review(&setup).await, [id]);
            // A new id, so that nothing answers from memory.
            let next = told(&setup, &setup.call_as("call_2", 2), order, Ok).await;
            assert_eq!(next.value(), Some(&Paid { id: "ch_1".into() }), "{}: {next:?}", setup.name());
            assert_eq!(setup.world.effects(), [""; 0]);
        }
    }
}
