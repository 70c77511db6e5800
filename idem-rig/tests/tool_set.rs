//! A tool set in the hands of rig's agent: what the model is told of it, and what becomes of the model's calls.
//!
//! What counts is what the world saw. It must not know how a call gets to its tool.

use std::sync::{Arc, Mutex};

use idem_rig::{Told, resumed, server, within};
use idem_runtime::{ToolCall, ToolSet, idempotent, tool, tools};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};
use rig_agent::{
    Agent, AgentBuilder, AgentHook, AgentRun, HookContext,
    agent::{AgentRunStep, ModelTurn, OutcomeAction, OutcomeEvent},
};
use rig_core::{
    completion::{AssistantContent, CompletionRequest},
    message::{ToolCall as Called, ToolFunction, ToolName},
    test_utils::{MockCompletionModel, MockTurn},
};
use serde_json::{Value, json};

/// Gives a customer money back.
#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "set.send_refund")]
async fn send_refund(
    call: &ToolCall,
    /// The order, as the customer knows it.
    order_id: String,
    cents: u64,
    #[idem(state)] world: World,
) -> Result<String, ToolError> {
    world.effect(format!("refund {order_id} {cents}"));
    Ok(format!("rf_{order_id}"))
}

/// Rolls a die.
#[idempotent(scope = "conversation", key = "tool_call_id", repeats = "allowed", name = "roll")]
async fn roll(call: &ToolCall, sides: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    Ok(world.effect(format!("roll {sides}")) as u64)
}

/// Rings a bell.
#[idempotent(scope = "conversation", key = "tool_call_id", name = "ring")]
async fn ring(call: &ToolCall, bell: String, #[idem(state)] world: World) -> Result<u64, ToolError> {
    Ok(world.effect(format!("ring {bell}")) as u64)
}

/// Lists orders.
#[tool(effect = "read", name = "list_orders")]
async fn list_orders(customer: String) -> Result<Vec<String>, ToolError> {
    tokio::task::yield_now().await;
    Ok(vec![format!("{customer}-1")])
}

fn set(world: &World) -> ToolSet {
    tools![send_refund(world.clone()), roll(world.clone()), ring(world.clone()), list_orders].expect("four names")
}

fn agent(world: &World, script: impl IntoIterator<Item = MockTurn>) -> (Agent, MockCompletionModel) {
    let model = MockCompletionModel::from_turns(script);
    (AgentBuilder::new(model.clone()).tool_server_handle(server(&set(world)).run()).build(), model)
}

/// The model has nothing more to call.
fn ends() -> MockTurn {
    MockTurn::text("Done.")
}

/// The conversation as the model was last sent it, as JSON.
fn told(model: &MockCompletionModel) -> String {
    let requests = model.requests();
    serde_json::to_string(&requests.last().expect("a request").chat_history).expect("messages are JSON")
}

/// What a refund is called by: models take no dots.
fn refund() -> String {
    set(&World::default()).entries().next().expect("the first").name().to_owned()
}

fn called(id: &str, name: &str, arguments: &Value) -> AssistantContent {
    let function = ToolFunction::new(ToolName::new(name).expect("a name"), arguments.clone());
    AssistantContent::ToolCall(Called::from_wire(id, function))
}

/// Keeps what hooks are told of answers.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Told>>>);

impl AgentHook for Heard {
    async fn on_outcome(&self, _: &HookContext, event: OutcomeEvent<'_>) -> OutcomeAction {
        if let Some(told) = event.context.and_then(|context| context.result::<Told>().ok().flatten()) {
            self.0.lock().expect("no panic").push(told);
        }
        OutcomeAction::Proceed
    }
}

#[tokio::test]
async fn a_call_that_is_planned_again_is_a_replay_and_hooks_are_told_so() {
    for setup in every_store().await {
        let arguments = json!({ "order_id": "A-1", "cents": 4_900 });
        let call = |id: &str| MockTurn::tool_call(id, refund(), arguments.clone());
        let (agent, model) = agent(&setup.world, [call("call_1"), call("call_2"), ends()]);
        let heard = Heard::default();
        let run = within(agent.prompt("Refund A-1."), &setup.call()).max_turns(5).add_hook(heard.clone());
        run.await.expect("an answer");
        assert_eq!(setup.world.effects(), ["refund A-1 4900"], "{}: {}", setup.name(), told(&model));
        let heard = heard.0.lock().expect("no panic").clone();
        assert_eq!(heard.iter().map(|told| told.is_replay).collect::<Vec<_>>(), [false, true], "{heard:?}");
        assert!(heard[0].operation.is_some() && heard[0].operation == heard[1].operation, "{heard:?}");
    }
}

#[tokio::test]
async fn equal_calls_in_one_message_are_one_effect_unless_their_tool_allows_repeats() {
    for setup in every_store().await {
        let (six, door) = (json!({ "sides": 6 }), json!({ "bell": "door" }));
        let message = [
            called("call_1", "roll", &six),
            called("call_2", "ring", &door),
            called("call_3", "roll", &six),
            called("call_4", "ring", &door),
            called("", "roll", &six),
            called("", "roll", &six),
        ];
        let response = MockTurn::from_contents(message);
        let run = stored_run(response).await;
        // The run is stored before its tools are called, and goes on twice.
        for _ in 0..2 {
            let (agent, model) = agent(&setup.world, [ends()]);
            resumed(agent.resume(run.clone()), &run, &setup.call()).await.expect("an answer");
            let counts = (setup.world.count("roll 6"), setup.world.count("ring door"));
            assert_eq!(counts, (4, 1), "{}: {}", setup.name(), told(&model));
        }
        // And the same message again, from its beginning.
        let (agent, model) = agent(&setup.world, [MockTurn::from_contents(calls_of(&run)), ends()]);
        within(agent.prompt("Go."), &setup.call()).max_turns(5).await.expect("an answer");
        let counts = (setup.world.count("roll 6"), setup.world.count("ring door"));
        assert_eq!(counts, (4, 1), "{}: {}", setup.name(), told(&model));
    }
}

/// What the model wrote last in a run.
fn calls_of(run: &AgentRun) -> Vec<AssistantContent> {
    let messages = run.full_history();
    let mut last = messages.into_iter().filter_map(|message| match message {
        rig_core::message::Message::Assistant(message) => Some(message.content),
        _ => None,
    });
    last.next_back().expect("a message of the model's")
}

/// A run whose model has written this, before any of its tools is called.
async fn stored_run(response: MockTurn) -> AgentRun {
    let world = World::default();
    let (agent, _) = agent(&world, []);
    let mut run = AgentRun::new("Go.").max_turns(5);
    assert!(matches!(run.next_step(), Ok(AgentRunStep::CallModel { turn: 1, .. })));
    let definitions = agent.tool_definitions(None).await.expect("definitions");
    let names =
        definitions.iter().map(|definition| definition.name.to_string()).collect::<std::collections::BTreeSet<_>>();
    run.advertise_tools(1, definitions);
    let model = MockCompletionModel::from_turns([response]);
    let response = model.call(CompletionRequest::new("Go.")).await.expect("a response");
    run.model_response(ModelTurn::from_response_parts(&response, names.clone(), names)).expect("it is taken");
    assert!(matches!(run.next_step(), Ok(AgentRunStep::CallTools { .. })));
    run
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_to_the_model() {
    for setup in every_store().await {
        let wrong = MockTurn::tool_call("call_1", refund(), json!({ "order_id": "A-1", "cents": "many" }));
        let unknown = MockTurn::tool_call("call_2", refund(), json!({ "order_id": "A-1", "cents": 1, "to": "me" }));
        let (agent, model) = agent(&setup.world, [wrong, unknown, ends()]);
        within(agent.prompt("Refund A-1."), &setup.call()).max_turns(5).await.expect("an answer");
        let told = told(&model);
        assert!(told.contains("the argument `cents`") && told.contains("there is no argument `to`"), "{told}");
        assert_eq!((setup.world.effects().len(), setup.operations().await), (0, 0), "{}", setup.name());
    }
}

#[tokio::test]
async fn the_model_is_told_of_arguments_and_of_no_state() {
    let world = World::default();
    let (agent, model) = agent(&world, [ends()]);
    agent.prompt("Hello.").await.expect("an answer");
    let tools = serde_json::to_value(&model.requests()[0].tools).expect("definitions are JSON");
    let names: Vec<_> = tools.as_array().into_iter().flatten().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, [json!(refund()), json!("roll"), json!("ring"), json!("list_orders")]);
    let properties = &tools[0]["parameters"]["properties"];
    let properties: Vec<_> = properties.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    assert!(properties.contains(&"order_id") && properties.contains(&"cents") && properties.len() == 2, "{tools}");
    assert!(tools.to_string().contains("The order, as the customer knows it."), "{tools}");
}

#[tokio::test]
async fn tools_that_read_are_answered_and_a_run_that_nobody_named_is_not() {
    for setup in every_store().await {
        let list = || MockTurn::tool_call("call_1", "list_orders", json!({ "customer": "C-7" }));
        let (named, model) = agent(&setup.world, [list(), ends()]);
        within(named.prompt("Which orders?"), &setup.call()).max_turns(5).await.expect("an answer");
        assert!(told(&model).contains("C-7-1"), "{}", told(&model));
        let (unnamed, model) =
            agent(&setup.world, [MockTurn::tool_call("call_1", "ring", json!({ "bell": "door" })), ends()]);
        unnamed.prompt("Ring.").max_turns(5).await.expect("an answer");
        assert_eq!(setup.world.effects().len(), 0, "{}", setup.name());
        assert!(told(&model).contains("nothing was done"), "{}", told(&model));
    }
}
