//! A message's calls run side by side, and each has one answer, in its place.

use std::time::Duration;

use idem_runtime::Wire;
use idem_tests::world::{Setup, every_store, memory};
use serde_json::{Value, json};

use super::{
    stage::{Shop, set},
    written::{Found, OF_MANY, answers, response},
};

/// A second effect in the same place would be another one: every format has a conversation of its own.
fn of_its_own(setup: &Setup, wire: Wire) -> idem_runtime::ToolCall {
    setup.call().conversation(wire.name()).turn(1)
}

#[tokio::test]
async fn each_call_has_one_answer_in_its_place() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for wire in OF_MANY {
            let message = response(
                wire,
                &[
                    (Some("id_1"), "billing_refund", r#"{"order_id": "A-1", "cents": 4900}"#),
                    (Some("id_2"), "list_orders", r#"{"customer": "mia"}"#),
                    (Some("id_3"), "billing_refund", r#"{"order_id": "A-1", "cents": 4900}"#),
                    (Some("id_4"), "no_such_tool", "{}"),
                    (Some("id_5"), "billing_refund", r#"{"order_id": "A-2"}"#),
                    (Some("id_6"), "list_orders", r#"{"customer": "nobody"}"#),
                ],
            );
            let before = setup.world.effects().len();
            let sent = tools.dispatch(wire, &message, &of_its_own(&setup, wire)).await.expect("answers");
            let found = answers(wire, &sent);
            let to: Vec<&str> = found.iter().map(|found| found.to.as_str()).collect();
            assert_eq!(to, ["id_1", "id_2", "id_3", "id_4", "id_5", "id_6"], "{}", wire.name());
            let flags: Vec<bool> = found.iter().filter_map(|found| found.is_error).collect();
            assert!(flags.is_empty() || flags == [false, false, false, true, true, true], "{}: {flags:?}", wire.name());
            assert!(found[0].text.contains("rf_A-1"), "{found:?}");
            assert!(found[1].text.contains("mia-1"), "{found:?}");
            assert!(found[2].text.contains("Already done") && found[2].text.contains("rf_A-1"), "{found:?}");
            assert!(
                found[3].text.contains("`no_such_tool`") && found[3].text.contains("`billing_refund`"),
                "{found:?}"
            );
            assert!(found[4].text.contains("`cents` is missing"), "{found:?}");
            assert_eq!(found[5].text, "the card was declined");
            assert_eq!(setup.world.effects()[before..], ["refund A-1 4900"], "{} {}", setup.name(), wire.name());
        }
    }
}

/// A message may be put together by hand.
#[tokio::test]
async fn answers_stand_in_the_order_of_the_calls_whatever_these_say_of_their_places() {
    let setup = memory(idem_runtime::Idem::builder()).await;
    let tools = set(&Shop::new(&setup.world));
    let calls = [(Some("id_1"), "no_such_tool", "{}"), (Some("id_2"), "list_orders", r#"{"customer": "mia"}"#)];
    let mut message = Wire::OpenAiChat.read(&response(Wire::OpenAiChat, &calls)).expect("a message");
    for call in &mut message.calls {
        call.position = 7;
    }
    let answers = tools.run(&message, &of_its_own(&setup, Wire::OpenAiChat)).await;
    assert_eq!(answers.iter().map(|answer| answer.is_error).collect::<Vec<_>>(), [true, false]);
}

#[tokio::test]
async fn a_request_of_the_model_context_protocol_is_answered_by_its_result() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        let message = response(Wire::Mcp, &[(Some("id_1"), "billing.refund", r#"{"order_id": "A-1", "cents": 1}"#)]);
        let context = of_its_own(&setup, Wire::Mcp);
        let sent = tools.dispatch(Wire::Mcp, &message, &context).await.expect("answers");
        let whole = |text: &str| Found { to: "3".to_owned(), text: text.to_owned(), is_error: Some(false) };
        assert_eq!(answers(Wire::Mcp, &sent), [whole("\"rf_A-1\"")]);
        // The model's id came in `_meta`; the request's own id counts requests.
        let mut again = message.clone();
        again["id"] = 9.into();
        let sent = tools.dispatch(Wire::Mcp, &again, &context).await.expect("answers");
        assert_eq!((&sent["id"], &sent["result"]["isError"]), (&json!(9), &json!(false)));
        assert_eq!(setup.world.effects(), ["refund A-1 1"]);
    }
}

#[tokio::test]
async fn calls_of_one_message_run_side_by_side() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        let pairs = [["meet", "meet"], ["meet_reading", "meet"], ["meet_reading", "meet_reading"]];
        for (turn, [left, right]) in pairs.into_iter().enumerate() {
            let calls = [(Some("l"), left, r#"{"who": "left"}"#), (Some("r"), right, r#"{"who": "right"}"#)];
            let context = setup.call().conversation(format!("c-{turn}")).turn(turn as u64);
            let message = response(Wire::OpenAiChat, &calls);
            let running = tools.dispatch(Wire::OpenAiChat, &message, &context);
            // Neither ends before the other has begun: one after the other, they would never end.
            let sent = tokio::time::timeout(Duration::from_mins(1), running).await.expect("both at once");
            assert_eq!(answers(Wire::OpenAiChat, &sent.expect("answers")).len(), 2);
        }
        assert_eq!(setup.world.count("met left") + setup.world.count("met right"), 3);
    }
}

#[tokio::test]
async fn a_message_that_is_sent_again_is_the_same_operations() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for wire in OF_MANY {
            let calls = [
                (Some("id_1"), "billing_refund", r#"{"order_id": "A-1", "cents": 1}"#),
                (Some("id_2"), "roll", "{}"),
                (Some("id_3"), "roll", "{}"),
                (Some("id_4"), "ring", "{}"),
            ];
            // With ids, and as a provider writes that gives none.
            for named in [true, false] {
                let calls = calls.map(|(id, name, arguments)| (id.filter(|_| named), name, arguments));
                let message = response(wire, &calls);
                let context = of_its_own(&setup, wire).conversation(format!("{} {named}", wire.name()));
                let before = setup.world.effects().len();
                let first = tools.dispatch(wire, &message, &context).await.expect("answers");
                let mut effects = setup.world.effects().split_off(before);
                effects.sort();
                assert_eq!(effects, ["refund A-1 1", "ring", "roll", "roll"], "{} {named}", wire.name());
                let again = tools.dispatch(wire, &message, &context).await.expect("answers");
                assert_eq!(setup.world.effects().len(), before + 4, "{} {named}", wire.name());
                let (first, again) = (answers(wire, &first), answers(wire, &again));
                for (first, again) in first.iter().zip(&again) {
                    assert!(again.text.ends_with(&first.text), "{again:?}, at first {first:?}");
                }
                // In another turn it is another message: only equal arguments still mean the same.
                tools.dispatch(wire, &message, &context.clone().turn(2)).await.expect("answers");
                let effects = setup.world.effects().split_off(before + 4);
                assert_eq!(effects.iter().filter(|effect| *effect == "roll").count(), 2, "{} {named}", wire.name());
                assert!(!effects.iter().any(|effect| effect.starts_with("refund")), "{effects:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_no_message_of_the_format_reserves_nothing() {
    let setup = memory(idem_runtime::Idem::builder()).await;
    let tools = set(&Shop::new(&setup.world));
    let failed = json!({ "error": { "message": "overloaded" }, "type": "error", "message": "overloaded" });
    let strangers = [Value::Null, json!(7), json!([]), json!({}), json!("{}"), json!({ "choices": [] }), failed];
    for wire in Wire::ALL {
        for message in &strangers {
            match tools.dispatch(wire, message, &setup.call().turn(1)).await {
                Ok(sent) => assert!(*message == json!([]) && sent == json!([]), "{}: {message} {sent}", wire.name()),
                Err(error) => assert!(error.to_string().contains(wire.name()), "{error}"),
            }
        }
    }
    assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0));
}
