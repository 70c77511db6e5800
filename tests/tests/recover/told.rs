//! What the model reads while nobody knows.

use std::time::Duration;

use idem_runtime::{Refusal, ledger::State};
use idem_tests::{provider::Sending, timing::Gate};

use super::stage::{self, Looks, Stage, call, refusal, stages, stages_with};

/// The words that keep a model from trying again, whoever is finding out.
async fn says_so(stage: &Stage, told: &Refusal, state: State) {
    let operation = told.operation().expect("an operation");
    assert_eq!(stage.record(operation).await.state, state, "{}", stage.setup.name());
    let (text, json) = (told.to_model_text(), told.to_json());
    assert!(text.starts_with("Outcome unknown: the effect may have happened. Do not call again"), "{text}");
    assert!(text.ends_with(&format!("Operation: {operation}.")), "{text}");
    assert!(!text.contains(stage::ORDER) && !text.contains("4900"), "no values: {text}");
    assert_eq!(json["outcome"], "unknown_requires_reconciliation");
    assert_eq!((&json["operation"], &json["message"]), (&operation.to_string().into(), &text.into()));
    assert!(json["first_at"].is_string() && json.get("result").is_none(), "{json}");
}

// R-R2 R-R3
#[tokio::test]
async fn r_r3_an_unknown_outcome_reads_do_not_call_again_in_every_state_that_it_has() {
    for mut stage in stages_with(|it| it.reconcile_answers_max = 1).await {
        stage.provider.sends([Sending::Lost]);
        stage.desk.looks(Looks::Unclear);
        let first = refusal(call!(hasty_outcome, stage));
        says_so(&stage, &first, State::OutcomeUnknown).await;
        // Asked about within the window, which counts for nothing.
        let again = refusal(call!(hasty_outcome, stage));
        says_so(&stage, &again, State::OutcomeUnknown).await;
        assert!(again.to_model_text().contains("the provider could not tell"), "{}", again.to_model_text());
        // Somebody is finding out.
        stage.setup.clock.advance(Duration::from_mins(5));
        stage.desk.asking = Gate::new();
        let mut reconciler = stage.setup.idem.reconciler([stage::hasty_tool(stage.desk.clone())]);
        let asking = tokio::spawn(async move { reconciler.run_once().await });
        stage.desk.asking.arrived().await;
        let meanwhile = refusal(call!(hasty_outcome, stage));
        says_so(&stage, &meanwhile, State::Reconciling).await;
        assert!(meanwhile.to_model_text().contains("it is being found out"), "{}", meanwhile.to_model_text());
        // Nobody could.
        stage.desk.asking.open();
        assert_eq!(asking.await.expect("no panic").expect("a ledger").to_operators, 1);
        let review = refusal(call!(hasty_outcome, stage));
        says_so(&stage, &review, State::OperatorReview).await;
        assert!(review.to_model_text().contains("a person has to decide"), "{}", review.to_model_text());
        stage.one_effect();
    }
}

#[tokio::test]
async fn a_caller_that_gets_the_tools_own_error_gets_the_words_from_the_refusal_next_time() {
    for stage in stages().await {
        stage.provider.sends([Sending::Lost]);
        let (call, desk) = (stage.call(), stage.desk.clone());
        let told = async || stage::told(&call, desk.clone(), stage::ORDER.to_owned(), stage::CENTS).await;
        let first = told().await.expect_err("no answer");
        assert!(first.to_string().contains("no answer from the provider"), "{first}");
        let again = told().await.expect_err("a refusal");
        says_so(&stage, again.refusal(), State::OutcomeUnknown).await;
        // The first attempt's own words are kept for whoever asks why.
        assert!(again.refusal().to_model_text().contains("no answer from the provider"), "{again}");
        stage.one_effect();
    }
}
