//! How a call ended, told as its provider expects it: with its flag for errors, and in words that are true.

use std::sync::Arc;

use idem_runtime::Wire;
use idem_tests::world::{every_store, memory};
use serde_json::json;

use super::{
    stage::{Shop, set},
    written::{OF_MANY, answers, response},
};

#[tokio::test]
async fn what_failed_and_what_is_unknown_are_errors_in_every_format() {
    let ends = [
        ("busy", "nothing happened. The same call may be made again", 0),
        ("declined", "Failed for good, and nothing happened", 0),
        ("timeout", "Outcome unknown: the effect may have happened", 1),
        ("panic", "Outcome unknown: ", 0),
    ];
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for wire in OF_MANY.into_iter().chain([Wire::Mcp]) {
            for (how, told, effects) in ends {
                let message = response(wire, &[(Some("id_1"), "close_account", &json!({ "how": how }).to_string())]);
                let context = setup.call().conversation(format!("{} {how}", wire.name())).turn(1);
                let before = setup.world.effects().len();
                // Told again when it is asked again, and never run again after an unknown end.
                for _ in 0..2 {
                    let sent = tools.dispatch(wire, &message, &context).await.expect("answers");
                    let [found] = answers(wire, &sent).try_into().expect("one answer");
                    assert!(found.text.contains(told), "{} {how}: {found:?}", wire.name());
                    assert_ne!(found.is_error, Some(false), "{} {how}", wire.name());
                }
                assert_eq!(setup.world.effects().len() - before, effects, "{} {how}", wire.name());
            }
            let message = response(wire, &[(Some("id_1"), "close_account", r#"{"how": "well"}"#)]);
            let context = setup.call().conversation(wire.name()).turn(1);
            let sent = tools.dispatch(wire, &message, &context).await.expect("answers");
            assert_ne!(answers(wire, &sent)[0].is_error, Some(true), "{}", wire.name());
        }
    }
}

#[tokio::test]
async fn a_reader_that_panics_is_answered_beside_the_others() {
    let setup = memory(idem_runtime::Idem::builder()).await;
    let tools = set(&Shop::new(&setup.world));
    let calls = [(Some("id_1"), "list_orders", r#"{"customer": "panic"}"#), (Some("id_2"), "ring", "{}")];
    let message = response(Wire::Bedrock, &calls);
    let sent = tools.dispatch(Wire::Bedrock, &message, &setup.call().turn(1)).await.expect("answers");
    let flags: Vec<_> = answers(Wire::Bedrock, &sent).into_iter().map(|found| found.is_error).collect();
    assert_eq!((flags, setup.world.count("ring")), (vec![Some(true), Some(false)], 1));
}

#[tokio::test]
async fn what_its_caller_no_longer_waits_for_is_done_once() {
    for setup in every_store().await {
        let shop = Shop::new(&setup.world);
        let tools = Arc::new(set(&shop));
        let message = response(Wire::Gemini, &[(None, "wait_for_gate", r#"{"who": "mia"}"#)]);
        let context = setup.call().turn(1);
        let dispatch = {
            let (tools, message, context) = (Arc::clone(&tools), message.clone(), context.clone());
            tokio::spawn(async move { tools.dispatch(Wire::Gemini, &message, &context).await })
        };
        shop.gate.arrived().await;
        dispatch.abort();
        assert!(dispatch.await.is_err_and(|error| error.is_cancelled()));
        // The body owns what it needs: it goes on alone, and whoever asks again waits for it.
        let again = {
            let (tools, context) = (Arc::clone(&tools), context.clone());
            tokio::spawn(async move { tools.dispatch(Wire::Gemini, &message, &context).await })
        };
        shop.gate.open();
        let sent = again.await.expect("a task").expect("answers");
        let found = answers(Wire::Gemini, &sent);
        assert!(found[0].is_error == Some(false) && found[0].text.contains("mia"), "{found:?}");
        assert_eq!(setup.world.effects(), ["through mia"], "{}", setup.name());
    }
}

#[tokio::test]
async fn a_call_that_lacks_its_conversation_is_refused_to_the_model() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        let message = response(Wire::Anthropic, &[(Some("id_1"), "ring", "{}")]);
        let sent = tools.dispatch(Wire::Anthropic, &message, &setup.idem.call().tenant("acme")).await.expect("answers");
        let found = answers(Wire::Anthropic, &sent);
        assert!(found[0].is_error == Some(true) && found[0].text.contains("conversation"), "{found:?}");
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0));
    }
}
