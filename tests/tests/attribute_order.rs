//! Other attributes above ours and below it: whichever comes first, a repeat is told the first result.
//!
//! Each tool stands here in both orders. What counts is what the outside world saw, by order and tool, and how many spans
//! were opened: what is expanded first has put its span into the body, which a repeat does not run; what is left to be
//! expanded puts it around the guard. It must not know how any of these attributes expands. rmcp's `#[tool]` has its orders in the tests of its adapter.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use idem_runtime::{Idem, Outcome, Refusal, ToolCall, idempotent, outcome, testing::assert_guarded};
use idem_tests::world::{World, every_store};
use tracing::{
    Event, Metadata, Subscriber, instrument,
    span::{Attributes, Id, Record},
};

#[idempotent(scope = "conversation")]
#[instrument(skip_all, ret, err)]
async fn ours_above(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, Refusal> {
    world.effect("ours above");
    Ok(id)
}

#[instrument(skip_all, ret, err)]
#[idempotent(scope = "conversation")]
async fn ours_below(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, Refusal> {
    world.effect("ours below");
    Ok(id)
}

#[instrument(skip_all, fields(order = id))]
#[idempotent(scope = "conversation")]
#[instrument(skip_all)]
#[must_use]
async fn ours_between(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, Refusal> {
    world.effect("ours between");
    Ok(id)
}

/// As features and platforms choose attributes.
#[cfg_attr(all(), instrument(skip_all), idempotent(scope = "conversation"))]
async fn chosen_by_cfg(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, Refusal> {
    world.effect("chosen by cfg");
    Ok(id)
}

struct Desk(World);

impl Desk {
    #[idempotent(scope = "conversation")]
    #[instrument(skip_all)]
    pub(crate) async fn method_ours_above(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal> {
        self.0.effect("method, ours above");
        Ok(id)
    }

    #[instrument(skip_all)]
    #[idempotent(scope = "conversation")]
    pub(crate) async fn method_ours_below(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal> {
        self.0.effect("method, ours below");
        Ok(id)
    }
}

#[async_trait]
trait Bills: Sync {
    async fn boxed(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal>;
    async fn boxed_ours_above(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal>;
    async fn boxed_ours_below(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal>;
}

/// `#[async_trait]` stands on the block: it has boxed the futures before any attribute of a method is expanded.
#[async_trait]
impl Bills for Desk {
    #[idempotent(scope = "conversation")]
    async fn boxed(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal> {
        self.0.effect("boxed");
        Ok(id)
    }

    #[idempotent(scope = "conversation")]
    #[instrument(skip_all)]
    async fn boxed_ours_above(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal> {
        self.0.effect("boxed, ours above");
        Ok(id)
    }

    #[instrument(skip_all)]
    #[idempotent(scope = "conversation")]
    async fn boxed_ours_below(&self, call: &ToolCall, id: u64) -> Result<u64, Refusal> {
        self.0.effect("boxed, ours below");
        Ok(id)
    }
}

/// Counts the spans of this file.
#[derive(Clone, Default)]
struct Spans(Arc<AtomicUsize>);

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == module_path!()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.0.fetch_add(1, Ordering::SeqCst) as u64 + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Every tool here, called once: what it was told, by the name of its effect, and how many spans it opened.
async fn call_all(call: &ToolCall, world: &World, spans: &Spans) -> Vec<(&'static str, Outcome<u64>, usize)> {
    let desk = Desk(world.clone());
    let mut told = Vec::new();
    macro_rules! told {
        ($name:literal, $call:expr) => {
            let before = spans.0.load(Ordering::SeqCst);
            let outcome = $call.await;
            told.push(($name, outcome, spans.0.load(Ordering::SeqCst) - before));
        };
    }
    told!("ours above", ours_above_outcome(call, 1, world.clone()));
    told!("ours below", outcome(ours_below(call, 1, world.clone())));
    told!("ours between", outcome(ours_between(call, 1, world.clone())));
    told!("chosen by cfg", outcome(chosen_by_cfg(call, 1, world.clone())));
    told!("method, ours above", desk.method_ours_above_outcome(call, 1));
    told!("method, ours below", outcome(desk.method_ours_below(call, 1)));
    told!("boxed", outcome(desk.boxed(call, 1)));
    told!("boxed, ours above", outcome(desk.boxed_ours_above(call, 1)));
    told!("boxed, ours below", outcome(desk.boxed_ours_below(call, 1)));
    told
}

#[tokio::test]
async fn in_every_order_a_repeat_has_no_second_effect() {
    let spans = Spans::default();
    let _here = tracing::subscriber::set_default(spans.clone());
    for setup in every_store().await {
        let runs = call_all(&setup.call_as("call_1", 1), &setup.world, &spans).await;
        // Planned again under a new id.
        let repeats = call_all(&setup.call_as("call_2", 2), &setup.world, &spans).await;
        let names: Vec<_> = runs.iter().map(|(name, ..)| *name).collect();
        assert_eq!(setup.world.effects(), names, "{}: each effect once", setup.name());
        for ((name, run, opened), (_, repeat, again)) in runs.into_iter().zip(repeats) {
            assert!(!run.is_replay() && repeat.is_replay(), "{name}: {run:?}, {repeat:?}");
            assert_eq!(run.into_result().ok(), repeat.into_result().ok(), "{name}");
            let expected = match name {
                "boxed" => (0, 0),
                "ours between" => (2, 1),
                "ours above" | "method, ours above" | "boxed, ours above" => (1, 1),
                _ => (1, 0),
            };
            assert_eq!((opened, again), expected, "{name}: spans of a run and of a repeat");
        }
    }
}

#[tokio::test]
async fn a_probe_is_answered_by_the_guard_in_every_order() {
    let (idem, world) = (Idem::open("memory:").await.expect("a ledger"), World::default());
    let (call, desk) = (idem.call().tenant("acme").conversation("c-1"), Desk(world.clone()));
    assert_guarded!(ours_above(&call, 1, world.clone()));
    assert_guarded!(ours_below(&call, 1, world.clone()));
    assert_guarded!(ours_between(&call, 1, world.clone()));
    assert_guarded!(chosen_by_cfg(&call, 1, world.clone()));
    assert_guarded!(desk.method_ours_above(&call, 1));
    assert_guarded!(desk.method_ours_below(&call, 1));
    assert_guarded!(desk.boxed(&call, 1));
    assert_guarded!(desk.boxed_ours_above(&call, 1));
    assert_guarded!(desk.boxed_ours_below(&call, 1));
    assert_eq!(world.effects().len(), 0);
}
