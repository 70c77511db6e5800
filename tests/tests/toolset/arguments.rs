//! Arguments as models write them: one meaning or none, and where there is none nothing is reserved.

use idem_runtime::Wire;
use idem_tests::world::every_store;

use super::{
    stage::{Shop, set},
    written::{answers, response},
};

/// Arguments of a tool that no call can be made of, and what the model reads.
const REFUSED: [(&str, &str, &str); 17] = [
    ("billing_refund", "", "the argument `order_id` is missing; nothing was done"),
    ("billing_refund", "null", "the argument `order_id` is missing; nothing was done"),
    ("billing_refund", "{}", "the argument `order_id` is missing; nothing was done"),
    ("billing_refund", r#"{"order_id": "A-1", "cents":"#, "the arguments were cut off; nothing was done"),
    ("billing_refund", r#"{"order_id": "A-1", "cents": 49"#, "the arguments were cut off; nothing was done"),
    ("billing_refund", r#"{"order_id": "A-1", "cents": 49, "cents": 94}"#, "name `cents` twice; nothing was done"),
    ("billing_refund", r#"{"order_id": "A-1", "cents": 49, "currency": "EUR"}"#, "there is no argument `currency`"),
    ("billing_refund", r#"{"order_id": "A-1", "cents": "49"}"#, "`cents`: invalid type: string, expected u64"),
    ("billing_refund", r#"{"order_id": "A-1", "cents": 49.5}"#, "the argument `cents`: invalid"),
    ("billing_refund", r#"{"order_id": "A-1", "cents": -49}"#, "the argument `cents`: invalid"),
    ("billing_refund", r#"{"order_id": null, "cents": 49}"#, "`order_id`: invalid type: null, expected a string"),
    ("billing_refund", r"{'order_id': 'A-1', 'cents': 49}", "the arguments are not valid JSON"),
    ("billing_refund", r#"["A-1", 49]"#, "must be a JSON object, not a list; nothing was done"),
    ("billing_refund", r#"{"order_id": "A-1", "cents": 49, "token": "t"}"#, "there is no argument `token`"),
    ("ship", r#"{"to": {"street": "a"}, "items": [], "speed": "warp", "kilos": 1}"#, "`speed`: unknown variant"),
    ("ship", r#"{"to": {"street": "a", "b": 1}, "items": [], "speed": "slow", "kilos": 1}"#, "`to`: unknown field"),
    ("roll", r#"{"sides": 6}"#, "there is no argument `sides` (there is none)"),
];

#[tokio::test]
async fn what_cannot_be_read_is_told_and_reserves_nothing() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for wire in [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Mistral, Wire::Anthropic, Wire::Mcp] {
            for (at, (name, arguments, told)) in REFUSED.into_iter().enumerate() {
                let message = response(wire, &[(Some("id_1"), name, arguments)]);
                let sent = tools.dispatch(wire, &message, &setup.call().turn(at as u64)).await.expect("answers");
                let found = answers(wire, &sent);
                // A JSON object has no field twice: that is seen in a text only.
                if arguments.contains("94") && matches!(wire, Wire::Anthropic | Wire::Mcp) {
                    continue;
                }
                assert!(found[0].text.contains(told), "{}: {:?} of {arguments}", wire.name(), found[0]);
                assert_ne!(found[0].is_error, Some(false), "{}", wire.name());
                // A value may be anybody's; names are the tool's.
                assert!(!found[0].text.contains("A-1"), "{:?}", found[0]);
            }
        }
        let twice = usize::from(!setup.world.effects().is_empty());
        assert_eq!(setup.operations().await, twice as u64, "{}: reserved", setup.name());
        assert!(setup.world.effects().iter().all(|effect| effect == "refund A-1 94"), "{:?}", setup.world.effects());
    }
}

#[tokio::test]
async fn what_means_one_thing_is_taken() {
    let taken = [
        ("billing_refund", r#"{"order_id": "A-1", "cents": 4900.0}"#, "refund A-1 4900"),
        ("billing_refund", r#"{"cents": 4901, "order_id": "A-1", "reason": null}"#, "refund A-1 4901"),
        ("billing_refund", r#""{\"cents\": 4902, \"order_id\": \"A-1\"}""#, "refund A-1 4902"),
        (
            "ship",
            r#"{"to": {"street": "b", "floor": 3.0}, "items": [1.0, 2], "speed": "fast", "kilos": 2}"#,
            "ship to b Some(3) [1, 2] Fast 2",
        ),
    ];
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for (turn, (name, arguments, effect)) in taken.into_iter().enumerate() {
            let message = response(Wire::OpenAiChat, &[(Some("id_1"), name, arguments)]);
            tools.dispatch(Wire::OpenAiChat, &message, &setup.call().turn(turn as u64)).await.expect("answers");
            assert_eq!(setup.world.count(effect), 1, "{arguments}: {:?}", setup.world.effects());
        }
        assert_eq!(setup.world.effects().len(), taken.len());
        // A whole float is the integer: the same call, worded anew.
        let message = response(Wire::Gemini, &[(None, "billing_refund", r#"{"order_id": "A-1", "cents": 4900}"#)]);
        tools.dispatch(Wire::Gemini, &message, &setup.call().turn(9)).await.expect("answers");
        assert_eq!(setup.world.effects().len(), taken.len());
    }
}

#[tokio::test]
async fn nothing_is_no_arguments_unless_the_message_was_cut_off() {
    for setup in every_store().await {
        let tools = set(&Shop::new(&setup.world));
        for (turn, arguments) in ["", "  ", "null", "{}"].into_iter().enumerate() {
            let mut message = response(Wire::OpenAiChat, &[(Some("id_1"), "ring", arguments)]);
            let context = setup.call().turn(turn as u64);
            message["choices"][0]["finish_reason"] = "length".into();
            let sent = tools.dispatch(Wire::OpenAiChat, &message, &context).await.expect("answers");
            let whole = arguments == "{}";
            assert_eq!(answers(Wire::OpenAiChat, &sent)[0].text.contains("cut off"), !whole, "{arguments:?}");
            assert_eq!(setup.world.effects().len(), turn + usize::from(whole), "{arguments:?}");
            message["choices"][0]["finish_reason"] = "tool_calls".into();
            tools.dispatch(Wire::OpenAiChat, &message, &context).await.expect("answers");
            assert_eq!(setup.world.effects().len(), turn + 1, "{arguments:?}");
        }
    }
}
