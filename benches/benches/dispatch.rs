//! A provider's message of four calls, from its text to its answers, beside the same four tools called by hand.
//!
//! What parsing and dispatch add is the difference within one run: both ways take turns, so whatever else the machine does
//! is in both. It must not know how the runtime stores anything: the ledger is in memory.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use idem_runtime::{Idem, Refusal, ToolCall, ToolSet, Wire, idempotent, tools, toolset::parse};
use serde_json::json;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};

const CALLS: u64 = 4;

/// How often each way is taken for the difference.
const ROUNDS: usize = 4_000;

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn refund(
    call: &ToolCall,
    #[idem(state)] runs: Arc<AtomicU64>,
    order_id: String,
    cents: u64,
) -> Result<String, Refusal> {
    let _ = (call, cents);
    runs.fetch_add(1, Ordering::Relaxed);
    Ok(format!("rf_{order_id}"))
}

/// The message and the ledger. Every message is of a conversation of its own, so every call is a new operation.
struct Stage {
    idem: Idem,
    tools: ToolSet,
    runs: Arc<AtomicU64>,
    text: String,
    conversation: u64,
}

impl Stage {
    async fn new() -> Self {
        let idem = Idem::builder().open("memory:").await.expect("a ledger");
        let runs = Arc::new(AtomicU64::new(0));
        let calls: Vec<_> = (0..CALLS)
            .map(|at| {
                let arguments = json!({ "order_id": format!("A-{at}"), "cents": 4_900 }).to_string();
                json!({ "id": format!("call_{at}"), "type": "function",
                    "function": { "name": "refund", "arguments": arguments } })
            })
            .collect();
        let message = json!({ "role": "assistant", "content": null, "tool_calls": calls });
        let text =
            json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "tool_calls" }] }).to_string();
        let tools = tools![refund(Arc::clone(&runs))].expect("one name");
        Self { idem, tools, runs, text, conversation: 0 }
    }

    fn context(&mut self) -> ToolCall {
        self.conversation += 1;
        self.idem.call().tenant("acme").conversation(self.conversation.to_string()).turn(1)
    }

    /// From the provider's text to what it expects next.
    async fn message(&mut self) {
        let context = self.context();
        let message = parse(&self.text).expect("JSON");
        let answers = self.tools.dispatch(Wire::OpenAiChat, &message, &context).await.expect("answers");
        black_box(answers.to_string());
    }

    fn one(&self, context: &ToolCall, at: u64) -> impl Future<Output = String> + Send + 'static {
        let (call, runs) = (context.clone().tool_call_id(format!("call_{at}")), Arc::clone(&self.runs));
        async move { refund_outcome(&call, runs, format!("A-{at}"), 4_900).await.to_model_text() }
    }

    /// The tools by hand, side by side: what a message's calls do.
    async fn side_by_side(&mut self) {
        let context = self.context();
        let mut running = JoinSet::new();
        for at in 0..CALLS {
            running.spawn(self.one(&context, at));
        }
        black_box(running.join_all().await);
    }

    /// The tools by hand, one after the other.
    async fn in_turn(&mut self) {
        let context = self.context();
        for at in 0..CALLS {
            black_box(self.one(&context, at).await);
        }
    }
}

fn dispatch(criterion: &mut Criterion) {
    let many = Runtime::new().expect("a runtime");
    let one = Builder::new_current_thread().enable_all().build().expect("a runtime");
    for (name, runtime) in [("threads", many), ("one thread", one)] {
        let mut stage = runtime.block_on(Stage::new());
        let mut group = criterion.benchmark_group(format!("dispatch, {name}"));
        group.throughput(Throughput::Elements(CALLS));
        group.bench_function("message", |bencher| bencher.iter(|| runtime.block_on(stage.message())));
        group.bench_function("tools, side by side", |bencher| bencher.iter(|| runtime.block_on(stage.side_by_side())));
        group.bench_function("tools, in turn", |bencher| bencher.iter(|| runtime.block_on(stage.in_turn())));
        group.finish();
        tell_difference(name, &runtime);
    }
}

/// What a message takes over the tools themselves, way by way in turn.
fn tell_difference(name: &str, runtime: &Runtime) {
    let mut stage = runtime.block_on(Stage::new());
    let (mut message, mut beside, mut in_turn) = (Vec::new(), Vec::new(), Vec::new());
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            stage.message().await;
            message.push(begun.elapsed());
            let begun = Instant::now();
            stage.side_by_side().await;
            beside.push(begun.elapsed());
            let begun = Instant::now();
            stage.in_turn().await;
            in_turn.push(begun.elapsed());
        }
    });
    assert_eq!(stage.runs.load(Ordering::Relaxed), 3 * CALLS * ROUNDS as u64, "every call was a new operation");
    let [message, beside, in_turn] = [message, beside, in_turn].map(median);
    let added = |tools: Duration| message.as_secs_f64().mul_add(1e6, -tools.as_secs_f64() * 1e6);
    eprintln!(
        "{name}: a message of {CALLS} calls takes {message:.1?}; the tools alone {beside:.1?} side by side, {in_turn:.1?} in turn: \
         {:+.1} us and {:+.1} us",
        added(beside),
        added(in_turn)
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
