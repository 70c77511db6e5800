//! A process that is killed after a tool has run, and another one that goes on from what was stored.
//!
//! rig makes up an id for a call that the provider sent without one, anew in every process. What counts is what the bank saw,
//! in a file that both processes share. It must not know how a call gets to its tool.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead, BufReader, Write, stdout},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use idem_rig::{guarded, resumed, within};
use idem_runtime::{Idem, Refusal, idempotent};
use idem_tests::tools::EffectFile;
use rig_agent::{
    Agent, AgentBuilder, AgentHook, AgentRun, HookContext,
    agent::{AgentRunStep, DispatchAction, DispatchEvent, ModelTurn, OutcomeAction, OutcomeEvent},
    tool::{Tool, ToolContext, server::ToolServer},
};
use rig_core::{
    completion::CompletionRequest,
    effect::Outcome,
    message::Message,
    test_utils::{MockCompletionModel, MockTurn},
    tool::tool_definition,
};
use serde_json::{Value, json};

const ROLE: &str = "IDEM_RIG_ROLE";
const FOLDER: &str = "IDEM_RIG_FOLDER";

/// What the test harness itself prints does not begin like this.
const MARK: &str = "::";

/// Nothing that is waited for here takes this long.
const BOUND: Duration = Duration::from_mins(2);

const PROMPT: &str = "Refund A-1.";

/// Says something to the process that started this one.
fn say(line: &str) {
    stdout().write_all(format!("\n{MARK}{line}\n").as_bytes()).expect("a parent listens");
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", name = "rig.either")]
async fn by_either(order_id: String, #[idem(state)] bank: EffectFile) -> Result<String, Refusal> {
    bank.effect(&format!("refund {order_id}"));
    Ok(format!("rf_{order_id}"))
}

#[idempotent(scope = "conversation", key = "tool_call_id", name = "rig.id")]
async fn by_id(order_id: String, #[idem(state)] bank: EffectFile) -> Result<String, Refusal> {
    bank.effect(&format!("refund {order_id}"));
    Ok(format!("rf_{order_id}"))
}

struct SendRefund {
    bank: EffectFile,
    by_id: bool,
}

impl Tool for SendRefund {
    const NAME: &'static str = "send_refund";
    type Args = Value;
    type Output = String;
    type Error = Refusal;

    fn description(&self) -> String {
        "Gives a customer money back.".to_owned()
    }

    fn parameters(&self) -> Value {
        json!({ "type": "object", "properties": { "order_id": { "type": "string" } }, "required": ["order_id"] })
    }

    async fn call(&self, _: &mut ToolContext, args: Value) -> Result<String, Refusal> {
        let (order_id, bank) = (args["order_id"].as_str().unwrap_or_default().to_owned(), self.bank.clone());
        let outcome =
            if self.by_id { by_id_outcome(order_id, bank).await } else { by_either_outcome(order_id, bank).await };
        say(&format!("operation {}", outcome.operation().map(|id| id.to_string()).unwrap_or_default()));
        outcome.into_result()
    }
}

/// Tells which call a tool answers and what it said; then stands still, where the process is to be killed.
struct Announce {
    stops: bool,
}

impl AgentHook for Announce {
    async fn on_dispatch(&self, _: &HookContext, event: DispatchEvent<'_>) -> DispatchAction {
        if let Some(id) = event.call_id {
            say(&format!("id {id}"));
        }
        DispatchAction::proceed()
    }

    async fn on_outcome(&self, _: &HookContext, event: OutcomeEvent<'_>) -> OutcomeAction {
        if let Ok(Outcome::ToolResult { result }) = event.outcome {
            say(&format!("told {}", result.output().render()));
            if self.stops {
                std::future::pending::<()>().await;
            }
        }
        OutcomeAction::Proceed
    }
}

fn calls(id: &str) -> MockTurn {
    MockTurn::tool_call(id, "send_refund", json!({ "order_id": "A-1" }))
}

/// What was said before; it is stored, and both processes read it.
fn history() -> Vec<Message> {
    vec![Message::user("Hello."), Message::assistant("What can I do for you?")]
}

/// A run whose model has called the tool, as an application stores it between two steps.
async fn stored_run(folder: &Path, id: &str) -> AgentRun {
    let mut run = AgentRun::new(PROMPT).with_history(history()).max_turns(5);
    assert!(matches!(run.next_step(), Ok(AgentRunStep::CallModel { turn: 1, .. })));
    let model = MockCompletionModel::from_turns([calls(id)]);
    let response = model.call(CompletionRequest::new(PROMPT)).await.expect("a response");
    let tool = SendRefund { bank: EffectFile::new(folder.join("effects")), by_id: true };
    run.advertise_tools(1, vec![tool_definition(&tool)]);
    let names = BTreeSet::from(["send_refund".to_owned()]);
    run.model_response(ModelTurn::from_response_parts(&response, names.clone(), names)).expect("it is taken");
    assert!(matches!(run.next_step(), Ok(AgentRunStep::CallTools { .. })));
    run
}

fn agent(folder: &Path, by_id: bool, script: impl IntoIterator<Item = MockTurn>) -> Agent {
    let tool = SendRefund { bank: EffectFile::new(folder.join("effects")), by_id };
    let tools = ToolServer::new().registered_tool(guarded(tool)).run();
    AgentBuilder::new(MockCompletionModel::from_turns(script)).tool_server_handle(tools).build()
}

fn read<T: serde::de::DeserializeOwned>(file: PathBuf) -> T {
    serde_json::from_str(&fs::read_to_string(file).expect("a file")).expect("what was stored")
}

/// What a process does when this binary was started to be one.
#[tokio::test]
async fn child_process() {
    let (Ok(role), Ok(folder)) = (env::var(ROLE), env::var(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    let (stops, by_id, id) = match role.as_str() {
        "history, killed" => (true, false, ""),
        "history" => (false, false, ""),
        "history with an id, killed" => (true, true, "call_1"),
        _ => (false, true, "call_1"),
    };
    let idem = Idem::open(&format!("sqlite://{}", folder.join("ledger.db").display())).await.expect("a ledger");
    let call = idem.call().tenant("acme").conversation("c-42");
    let runner = if role == "stored run" {
        let run: AgentRun = read(folder.join("run.json"));
        let agent = agent(&folder, by_id, [MockTurn::text("Done.")]);
        resumed(agent.resume(run.clone()), &run, &call)
    } else {
        let history: Vec<Message> = read(folder.join("history.json"));
        let agent = agent(&folder, by_id, [calls(id), MockTurn::text("Done.")]);
        within(agent.prompt(PROMPT).history(history).max_turns(5), &call)
    };
    let answer = runner.add_hook(Announce { stops }).await.expect("an answer");
    say(&format!("done {}", answer.output()));
}

/// Another process of this binary. It is killed when this is dropped.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    fn start(role: &str, folder: &Path) -> Self {
        let mut child = Command::new(env::current_exe().expect("this binary"))
            .args(["--exact", "child_process", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            let said = output.lines().map_while(Result::ok);
            let marked = said.filter_map(|line| Some(line.strip_prefix(MARK)?.to_owned()));
            marked.map_while(|line| tell.send(line).ok()).for_each(drop);
        });
        Self { child, lines }
    }

    /// The rest of the next line that begins with this word.
    fn hear(&self, word: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(BOUND).unwrap_or_else(|error| panic!("waited for `{word}`: {error}"));
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What one process said of the call: rig's id of it, the operation, what the model was told.
fn heard(process: &Process) -> [String; 3] {
    ["id", "operation", "told"].map(|word| process.hear(word))
}

#[tokio::test]
async fn r019_ids_that_rig_makes_up_differ_after_a_restart_and_the_operation_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let bank = EffectFile::new(folder.path().join("effects"));
    fs::write(folder.path().join("history.json"), json!(history()).to_string()).expect("a stored history");
    let first = Process::start("history, killed", folder.path());
    let before = heard(&first);
    assert_eq!(bank.effects(), ["refund A-1"]);
    drop(first);
    let second = Process::start("history", folder.path());
    let after = heard(&second);
    assert_eq!(second.hear("done"), "Done.");
    assert_ne!(before[0], after[0], "rig has made up another id");
    assert_eq!(before[1..], after[1..], "the same operation, and the same answer");
    assert!(!before[1].is_empty() && before[2].contains("rf_A-1"), "{before:?}");
    assert_eq!(bank.effects(), ["refund A-1"], "one effect");
}

#[tokio::test]
async fn r019_a_stored_run_that_goes_on_in_another_process_makes_the_same_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let bank = EffectFile::new(folder.path().join("effects"));
    fs::write(folder.path().join("history.json"), json!(history()).to_string()).expect("a stored history");
    fs::write(folder.path().join("run.json"), json!(stored_run(folder.path(), "call_1").await).to_string())
        .expect("a stored run");
    let first = Process::start("history with an id, killed", folder.path());
    let before = heard(&first);
    drop(first);
    // The tool knows its calls by their ids and turns alone.
    let second = Process::start("stored run", folder.path());
    let after = heard(&second);
    assert_eq!(second.hear("done"), "Done.");
    assert_eq!(before, after, "the same id, the same operation, the same answer");
    assert_eq!((before[0].as_str(), bank.effects()), ("call_1", vec!["refund A-1".to_owned()]), "one effect");
}
