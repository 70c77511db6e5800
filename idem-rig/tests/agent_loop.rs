//! An agent of rig's whose model plays a script: answers get lost, calls are planned again, ids come twice or not at all.
//!
//! What counts is what the bank saw. It must not know how a call gets to its tool.

mod support;

use futures::StreamExt;
use idem_rig::{Calls, guarded, within};
use idem_tests::world::{World, every_store};
use rig_agent::{
    AgentBuilder,
    tool::{ToolContext, server::ToolServer},
};
use rig_core::{
    completion::AssistantContent,
    message::{ToolCall, ToolFunction, ToolName},
    test_utils::{MockCompletionModel, MockStreamEvent, MockTurn},
};
use serde_json::json;
use support::{Bank, SendItself, agent, calls, ends, refunds, told, unguarded};

#[tokio::test]
async fn a_lost_answer_that_the_model_plans_again_is_one_effect() {
    let script = || [calls("call_1", "A-1", 4_900), calls("call_2", "A-1", 4_900), ends()];
    for setup in every_store().await {
        let (agent, model) = agent(refunds(&Bank::losing(&setup.world, 1)), script());
        let answer = within(agent.prompt("Refund A-1."), &setup.call()).max_turns(5).await.expect("an answer");
        assert_eq!((answer.output().as_str(), setup.world.effects().len()), ("Done.", 1), "{}", setup.name());
        assert!(told(&model).contains("rf_A-1"), "{}: the second call is told what the first did", told(&model));
    }
    // The control arm.
    let world = World::default();
    let (agent, _) = agent(unguarded(Bank::losing(&world, 1)), script());
    agent.prompt("Refund A-1.").max_turns(5).await.expect("an answer");
    assert_eq!(world.effects().len(), 2, "without a guard the money is sent twice");
}

#[tokio::test]
async fn an_id_that_comes_again_in_a_later_response_is_another_call() {
    for setup in every_store().await {
        let script = [calls("send_refund:0", "A-1", 4_900), calls("send_refund:0", "A-2", 1_200), ends()];
        let (agent, model) = agent(refunds(&Bank::losing(&setup.world, 0)), script);
        within(agent.prompt("Refund both."), &setup.call()).max_turns(5).await.expect("an answer");
        assert_eq!(setup.world.effects(), ["refund A-1 4900", "refund A-2 1200"], "{}", told(&model));
    }
}

#[tokio::test]
async fn a_call_without_an_id_is_known_by_its_arguments() {
    for setup in every_store().await {
        let script = [calls("", "A-1", 4_900), calls("", "A-1", 4_900), calls("", "A-2", 4_900), ends()];
        let (agent, model) = agent(refunds(&Bank::losing(&setup.world, 0)), script);
        within(agent.prompt("Refund both."), &setup.call()).max_turns(5).await.expect("an answer");
        assert_eq!(setup.world.effects(), ["refund A-1 4900", "refund A-2 4900"], "{}", told(&model));
    }
}

#[tokio::test]
async fn the_calls_of_one_message_each_have_their_own_id() {
    let call = |id: &str, order_id: &str| {
        let name = ToolName::new("send_refund").expect("a name");
        let function = ToolFunction::new(name, json!({ "order_id": order_id, "cents": 500 }));
        AssistantContent::ToolCall(ToolCall::from_wire(id, function))
    };
    for setup in every_store().await {
        let message = [call("call_1", "A-1"), call("call_2", "A-2"), call("call_3", "A-1")];
        let script = [MockTurn::from_contents(message), ends()];
        let (agent, model) = agent(refunds(&Bank::losing(&setup.world, 0)), script);
        let run = within(agent.prompt("Refund both."), &setup.call()).max_turns(5).tool_concurrency(3);
        run.await.expect("an answer");
        let mut effects = setup.world.effects();
        effects.sort();
        assert_eq!(effects, ["refund A-1 500", "refund A-2 500"], "{}: {}", setup.name(), told(&model));
    }
}

#[tokio::test]
async fn conversations_that_share_an_agent_share_no_calls() {
    for setup in every_store().await {
        // Both runs take their turns from one script, so each response is the same, whoever asks.
        let script = [calls("call_1", "A-1", 4_900), calls("call_1", "A-1", 4_900), ends(), ends()];
        let (agent, model) = agent(refunds(&Bank::losing(&setup.world, 0)), script);
        let (one, other) = (setup.call(), setup.idem.call().tenant("umbrella").conversation("c-1"));
        let run = |call| within(agent.prompt("Refund A-1."), call).max_turns(5);
        let (one, other) = tokio::join!(run(&one), run(&other));
        assert!(one.is_ok() && other.is_ok(), "{one:?}, {other:?}");
        assert_eq!(setup.world.count("refund A-1 4900"), 2, "{}: {}", setup.name(), told(&model));
    }
}

#[tokio::test]
async fn a_streamed_answer_calls_as_a_whole_one_does() {
    let call = |id: &str| {
        let arguments = json!({ "order_id": "A-1", "cents": 4_900 });
        vec![
            MockStreamEvent::tool_call(id, "send_refund", arguments),
            MockStreamEvent::final_response_with_default_usage(),
        ]
    };
    let end = || vec![MockStreamEvent::text("Done."), MockStreamEvent::final_response_with_default_usage()];
    for setup in every_store().await {
        let model = MockCompletionModel::from_stream_turns([call("call_1"), call("call_2"), end()]);
        let tools = ToolServer::new().registered_tool(refunds(&Bank::losing(&setup.world, 1))).run();
        let agent = AgentBuilder::new(model.clone()).tool_server_handle(tools).build();
        let mut answer = within(agent.prompt("Refund A-1."), &setup.call()).max_turns(5).stream();
        while let Some(item) = answer.next().await {
            item.expect("an item");
        }
        assert_eq!(setup.world.effects(), ["refund A-1 4900"], "{}", setup.name());
        assert!(told(&model).contains("rf_A-1"), "{}: {}", setup.name(), told(&model));
    }
}

#[tokio::test]
async fn a_run_that_nobody_named_is_refused() {
    let world = World::default();
    let (agent, model) = agent(refunds(&Bank::losing(&world, 0)), [calls("call_1", "A-1", 4_900), ends()]);
    agent.prompt("Refund A-1.").max_turns(5).await.expect("an answer");
    assert_eq!(world.effects().len(), 0);
    assert!(told(&model).contains("nothing was done"), "{}", told(&model));
}

#[tokio::test]
async fn values_of_the_applications_stay_in_the_tool_context() {
    for setup in every_store().await {
        let script = [calls("call_1", "A-1", 4_900), calls("call_2", "A-1", 4_900), ends()];
        let (agent, _) = agent(refunds(&Bank::losing(&setup.world, 0)), script);
        let calls = Calls::of(setup.call());
        let context = calls.context(ToolContext::new());
        let run = agent.prompt("Refund A-1.").add_hook(calls.hook()).tool_context(context).max_turns(5);
        run.await.expect("an answer");
        assert_eq!(setup.world.effects().len(), 1, "{}", setup.name());
    }
}

#[tokio::test]
async fn the_model_reads_a_refusals_own_words() {
    for setup in every_store().await {
        let script = [calls("call_1", "A-1", 4_900), calls("call_2", "A-1", 4_900), ends()];
        let (agent, model) = agent(guarded(SendItself(Bank::losing(&setup.world, 1))), script);
        within(agent.prompt("Refund A-1."), &setup.call()).max_turns(5).await.expect("an answer");
        assert_eq!(setup.world.effects().len(), 1, "{}", setup.name());
        assert!(told(&model).contains("Do not call again"), "{}: {}", setup.name(), told(&model));
    }
}

#[tokio::test]
async fn an_error_of_the_tools_own_tells_the_model_that_its_outcome_is_unknown() {
    for setup in every_store().await {
        let (agent, model) =
            agent(guarded(SendItself(Bank::losing(&setup.world, 1))), [calls("call_1", "A-1", 4_900), ends()]);
        within(agent.prompt("Refund A-1."), &setup.call()).max_turns(5).await.expect("an answer");
        assert!(told(&model).contains("Do not call again"), "{}: {}", setup.name(), told(&model));
    }
    // The control arm.
    let bank = Bank::losing(&World::default(), 1);
    let (agent, model) = agent(unguarded(bank), [calls("call_1", "A-1", 4_900), ends()]);
    agent.prompt("Refund A-1.").max_turns(5).await.expect("an answer");
    assert!(!told(&model).contains("Do not call again"), "{}", told(&model));
}
