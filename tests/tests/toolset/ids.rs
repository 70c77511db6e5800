//! Ids as providers give them: absent, blank, the tool's name, counters that begin again. None is trusted alone.

use idem_runtime::Wire;
use idem_tests::world::every_store;
use serde_json::json;

use super::{
    stage::{Shop, set},
    written::{OF_MANY, answers, response},
};

#[tokio::test]
async fn an_id_that_names_nothing_leaves_the_arguments_to_tell() {
    let nothing = [None, Some(""), Some("   "), Some("billing_refund"), Some("billing.refund")];
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for (at, id) in nothing.into_iter().enumerate() {
            let context = setup.call().conversation(format!("c-{at}"));
            let dispatch = async |turn: u64, cents: u64| {
                let arguments = json!({ "order_id": "A-1", "cents": cents }).to_string();
                let message = response(Wire::OpenAiChat, &[(id, "billing_refund", &arguments)]);
                tools.dispatch(Wire::OpenAiChat, &message, &context.clone().turn(turn)).await.expect("answers")
            };
            let before = setup.world.effects().len();
            // The same turn twice, and again in the next: one intent. Another amount in the same turn: another one.
            for (turn, cents) in [(1, 10), (1, 10), (2, 10), (1, 11)] {
                dispatch(turn, cents).await;
            }
            assert_eq!(setup.world.effects()[before..], ["refund A-1 10", "refund A-1 11"], "{id:?}");
        }
    }
}

#[tokio::test]
async fn without_an_id_the_place_in_the_turn_tells_what_takes_nothing() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for (at, id) in [None, Some(" "), Some("ring")].into_iter().enumerate() {
            for (turn, effects) in [(1, 1), (1, 1), (2, 2), (1, 2)] {
                let message = response(Wire::OpenAiChat, &[(id, "ring", "{}")]);
                let context = setup.call().conversation(format!("c-{at}")).turn(turn);
                let sent = tools.dispatch(Wire::OpenAiChat, &message, &context).await.expect("answers");
                let found = answers(Wire::OpenAiChat, &sent);
                assert_eq!(setup.world.count("ring"), at * 2 + effects, "{id:?} in turn {turn}: {found:?}");
            }
        }
    }
}

#[tokio::test]
async fn ids_that_begin_again_each_turn_are_other_operations() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for (at, id) in ["call_0", "billing_refund:0", "0"].into_iter().enumerate() {
            let before = setup.world.effects().len();
            for (turn, order) in [(1, "A-1"), (2, "A-2"), (2, "A-2"), (1, "A-1"), (3, "A-2")] {
                let arguments = json!({ "order_id": order, "cents": at }).to_string();
                let message = response(Wire::OpenAiResponses, &[(Some(id), "billing_refund", &arguments)]);
                let context = setup.call().turn(turn);
                let sent = tools.dispatch(Wire::OpenAiResponses, &message, &context).await.expect("answers");
                let found = answers(Wire::OpenAiResponses, &sent);
                assert!(found[0].text.contains(&format!("rf_{order}")), "{id} in turn {turn}: {found:?}");
            }
            let expected = [format!("refund A-1 {at}"), format!("refund A-2 {at}")];
            assert_eq!(setup.world.effects()[before..], expected, "{id}");
        }
    }
}

#[tokio::test]
async fn one_id_for_two_payloads_in_one_turn_is_a_conflict() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for (cents, effects) in [(10, 1), (11, 1)] {
            let arguments = json!({ "order_id": "A-1", "cents": cents }).to_string();
            let message = response(Wire::Anthropic, &[(Some("toolu_1"), "billing_refund", &arguments)]);
            let sent = tools.dispatch(Wire::Anthropic, &message, &setup.call().turn(1)).await.expect("answers");
            let found = answers(Wire::Anthropic, &sent);
            assert_eq!(setup.world.effects().len(), effects, "{found:?}");
            assert_eq!(found[0].is_error, Some(cents == 11), "{found:?}");
        }
    }
}

#[tokio::test]
async fn equal_calls_of_a_message_are_one_effect_unless_repeats_are_allowed() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for wire in OF_MANY {
            for (name, arguments, effects) in
                [("billing_refund", r#"{"order_id": "A-1", "cents": 1}"#, 1), ("ring", "{}", 1), ("roll", "{}", 3)]
            {
                for named in [true, false] {
                    let ids = ["id_1", "id_2", "id_3"].map(|id| Some(id).filter(|_| named));
                    let message = response(wire, &ids.map(|id| (id, name, arguments)));
                    let conversation = format!("{} {name} {named}", wire.name());
                    let before = setup.world.effects().len();
                    let context = setup.call().conversation(conversation).turn(4);
                    let sent = tools.dispatch(wire, &message, &context).await.expect("answers");
                    assert_eq!(answers(wire, &sent).len(), 3);
                    assert!(answers(wire, &sent).iter().all(|found| found.is_error != Some(true)), "{sent}");
                    assert_eq!(setup.world.effects().len() - before, effects, "{} {name} {named}", wire.name());
                }
            }
        }
    }
}

#[tokio::test]
async fn calls_that_differ_in_their_words_alone_are_one_effect() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        let message = response(
            Wire::OpenAiChat,
            &[
                (Some("id_1"), "billing_refund", r#"{"order_id": "A-1", "cents": 1, "reason": "damaged"}"#),
                (Some("id_2"), "billing_refund", r#"{"order_id": "A-1", "cents": 1, "reason": "it was damaged"}"#),
            ],
        );
        let sent = tools.dispatch(Wire::OpenAiChat, &message, &setup.call().turn(1)).await.expect("answers");
        let found = answers(Wire::OpenAiChat, &sent);
        assert!(found.iter().all(|found| found.text.contains("rf_A-1")), "{found:?}");
        assert_eq!(setup.world.effects(), ["refund A-1 1"]);
    }
}

#[test]
fn a_conversation_says_which_turn_is_next() {
    let calls = [(Some("id_1"), "ring", "{}")];
    let of = |wire: Wire| response(wire, &calls);
    let chat = |wire| {
        let message = &of(wire)["choices"][0]["message"];
        json!({ "messages": [{ "role": "user", "content": "ring" }, message, { "role": "tool", "tool_call_id": "id_1",
            "content": "1" }, { "role": "assistant", "content": "it rang" }, { "role": "user", "content": "again" }] })
    };
    let responses = json!({ "input": [{ "role": "user", "content": "ring" }, of(Wire::OpenAiResponses)["output"][0],
        of(Wire::OpenAiResponses)["output"][1], { "type": "function_call_output", "call_id": "id_1", "output": "1" },
        { "role": "assistant", "content": "it rang" }] });
    let anthropic = json!({ "messages": [{ "role": "user", "content": "ring" }, of(Wire::Anthropic),
        { "role": "user", "content": [] }, { "role": "assistant", "content": "it rang" }] });
    let gemini = json!({ "contents": [{ "role": "user" }, of(Wire::Gemini)["candidates"][0]["content"],
        { "role": "user", "parts": [] }, { "role": "model", "parts": [{ "text": "it rang" }] }] });
    let bedrock = json!({ "messages": [{ "role": "user", "content": [] }, of(Wire::Bedrock)["output"]["message"],
        { "role": "user", "content": [] }, { "role": "assistant", "content": [{ "text": "it rang" }] }] });
    let conversations = [
        (Wire::OpenAiChat, chat(Wire::OpenAiChat)),
        (Wire::Mistral, chat(Wire::Mistral)),
        (Wire::OpenAiResponses, responses),
        (Wire::Anthropic, anthropic),
        (Wire::Gemini, gemini),
        (Wire::Bedrock, bedrock),
    ];
    for (wire, conversation) in conversations {
        assert_eq!(wire.next_turn(&conversation), Ok(2), "{}", wire.name());
        let turns = wire.read_conversation(&conversation).expect("a conversation");
        let calls: Vec<(u64, usize)> = turns.iter().map(|(turn, message)| (*turn, message.calls.len())).collect();
        assert_eq!(calls, [(0, 1), (1, 0)], "{}", wire.name());
        assert!(wire.next_turn(&json!(7)).is_err());
    }
}
