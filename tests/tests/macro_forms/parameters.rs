//! Parameters: patterns, conditions, generics, and tools from `macro_rules!`.

use idem_runtime::{AttemptRecord, RefusalKind, ToolCall, idempotent, ledger::State, prepare};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Order, drifted, fresh, key_of, refused, replayed, told};

/// A struct that a tool takes apart, and a field of it that the tool does not look at.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct P {
    d: u8,
    hidden: u8,
}

#[idempotent(scope = "conversation", key = "args", name = "test.patterns")]
async fn patterns(
    mut a: u8,
    (b, mut c): (u8, u8),
    P { d, .. }: P,
    _: u8,
    call: &ToolCall,
    #[idem(state)] world: World,
) -> Result<u8, ToolError> {
    a += 100;
    c += a;
    world.effect(format!("{b} {c} {d}"));
    Ok(c)
}

/// The same tool, by the names that the ledger gives the patterns.
#[idempotent(scope = "conversation", key = "args", name = "test.patterns")]
async fn by_names(a: u8, arg1: (u8, u8), arg2: P, arg3: u8, call: &ToolCall) -> Result<u8, ToolError> {
    Ok(a + arg1.0 + arg2.d + arg3)
}

#[tokio::test]
async fn r126_patterns_are_arguments_under_stable_names() {
    let p = |d, hidden| P { d, hidden };
    for (setup, other) in every_store().await.into_iter().zip(every_store().await) {
        let (call, world) = (setup.call(), || setup.world.clone());
        let first = told(patterns_outcome(1, (2, 3), p(4, 5), 6, &call, world()).await);
        assert_eq!(first.0, 104);
        // The body changed `a` and `c`; the key did not.
        assert_eq!(replayed(patterns_outcome(1, (2, 3), p(4, 5), 6, &call, world()).await), (104, "args"));
        assert_eq!(fresh(patterns_outcome(101, (2, 3), p(4, 5), 6, &call, world()).await), 204);
        // What the patterns leave out counts too: the field behind `..`, and `_`.
        assert_eq!(fresh(patterns_outcome(1, (2, 3), p(4, 9), 6, &call, world()).await), 104);
        assert_eq!(fresh(patterns_outcome(1, (2, 3), p(4, 5), 9, &call, world()).await), 104);
        assert_eq!(fresh(patterns_outcome(1, (9, 3), p(4, 5), 6, &call, world()).await), 104);
        let seen = ["2 104 4", "2 204 4", "2 104 4", "2 104 4", "9 104 4"];
        assert_eq!(setup.world.effects(), seen, "{}", setup.name());
        // One name in two ledgers: the keys are comparable, and equal.
        let named = told(by_names_outcome(1, (2, 3), p(4, 5), 6, &other.call()).await).1;
        assert_eq!(first.1.record.key(), named.record.key());
        assert_eq!(first.1.operation, named.operation);
    }
}

#[idempotent(scope = "conversation", name = "test.conditional")]
async fn conditional(
    call: &ToolCall,
    #[cfg(unix)] a: u8,
    #[cfg(not(unix))] b: NoSuchType,
    #[cfg(any())] gone: NoSuchType,
    #[cfg(unix)] (c, _): (u8, u8),
    #[allow(unused, reason = "the case")] d: u8,
) -> Result<u8, ToolError> {
    Ok(a + c)
}

#[idempotent(scope = "conversation", name = "test.conditional")]
async fn unconditional(call: &ToolCall, a: u8, arg4: (u8, u8), d: u8) -> Result<u8, ToolError> {
    Ok(a + arg4.0 + d)
}

#[cfg(unix)]
#[tokio::test]
async fn r115_parameters_that_are_configured_away_are_in_neither_key_nor_call() {
    for (setup, other) in every_store().await.into_iter().zip(every_store().await) {
        let call = setup.call_as("call_1", 1);
        let with = told(conditional_outcome(&call, 1, (2, 3), 4).await);
        assert_eq!(with.0, 3);
        assert_eq!(conditional(&call, 1, (2, 3), 4).await.expect("a replay"), 3);
        let without = told(unconditional_outcome(&other.call_as("call_1", 1), 1, (2, 3), 4).await);
        assert_eq!(without.0, 7);
        assert_eq!(with.1.record.key(), without.1.record.key());
        assert_eq!(drifted(conditional_outcome(&call, 1, (2, 9), 4).await), ["arg4"]);
        assert_eq!(drifted(conditional_outcome(&call, 9, (2, 3), 4).await), ["a"]);
    }
}

#[idempotent(scope = "conversation", key = "args")]
async fn edits_its_arguments(
    call: &ToolCall,
    mut order: Order,
    #[idem(state)] world: World,
) -> Result<String, ToolError> {
    "edited in the body".clone_into(&mut order.reason);
    order.cents = 0;
    world.effect(&order.id);
    Ok(order.reason)
}

#[tokio::test]
async fn r014_a_key_is_computed_once_though_the_body_edits_the_arguments() {
    for setup in every_store().await {
        let (call, world) = (setup.call(), || setup.world.clone());
        let order = Order::new("A-1", 4_900, "broken");
        let prepared = prepare(edits_its_arguments(&call, order.clone(), world())).await.expect("a record");
        let (_, first) = told(edits_its_arguments_outcome(&call, order.clone(), world()).await);
        assert_eq!(first.record.key(), AttemptRecord::key(&prepared), "settled under the key of before the edit");
        assert_eq!(setup.record(first.operation).await.state, State::Succeeded);
        assert_eq!(setup.operations().await, 1, "no second row");
        assert_eq!(replayed(edits_its_arguments_outcome(&call, order, world()).await).0, "edited in the body");
        // Nothing was filed under the key of what the body made of its arguments.
        let edited = Order::new("A-1", 0, "edited in the body");
        fresh(edits_its_arguments_outcome(&call, edited, world()).await);
        assert_eq!(setup.world.effects(), ["A-1", "A-1"], "{}", setup.name());
        assert_eq!(setup.operations().await, 2);
    }
}

#[tokio::test]
async fn r014_the_key_of_another_operation_is_refused() {
    for setup in every_store().await {
        let world = || setup.world.clone();
        let (_, first) = told(edits_its_arguments_outcome(&setup.call(), Order::new("A-1", 1, "x"), world()).await);
        let foreign = setup.call().resume(first.record);
        let refusal = refused(edits_its_arguments_outcome(&foreign, Order::new("B-2", 1, "x"), world()).await);
        assert!(matches!(refusal.kind(), RefusalKind::Drift { .. }), "{refusal}");
        assert_eq!(setup.world.effects(), ["A-1"], "{}", setup.name());
        assert_eq!(setup.operations().await, 1);
    }
}

#[idempotent(scope = "conversation")]
async fn generic<'a, T, const N: usize>(
    call: &ToolCall,
    values: [T; N],
    #[idem(state)] seen: &'a World,
    more: impl Serialize,
) -> Result<Vec<T>, ToolError>
where
    T: Clone + Serialize + DeserializeOwned,
    [T; N]: Serialize,
{
    let _ = more;
    seen.effect(format!("{N} values"));
    Ok(values.to_vec())
}

#[tokio::test]
async fn r125_generic_tools_keep_results_of_their_own_types() {
    for setup in every_store().await {
        let (numbers, words) = (setup.call_as("call_1", 1), setup.call_as("call_2", 2));
        for _ in 0..2 {
            assert_eq!(generic(&numbers, [1_u8, 2], &setup.world, "x").await.expect("a result"), [1, 2]);
            let one = generic(&words, ["a".to_owned()], &setup.world, 3).await;
            assert_eq!(one.expect("a result"), ["a"]);
        }
        assert_eq!(setup.world.effects(), ["2 values", "1 values"], "{}", setup.name());
    }
}

macro_rules! tool {
    ($name:ident, $x:ident: $t:ty, $scope:literal) => {
        struct $name {
            inner: $t,
            world: World,
        }

        impl $name {
            #[idempotent(scope = $scope, key = "tool_call_id|template:{self.inner}-{x}")]
            pub(crate) async fn go(&self, call: &ToolCall, x: $t, $x: $t) -> Result<$t, ToolError> {
                macro_rules! inner {
                    ($me:ident) => {
                        $me.inner
                    };
                }
                self.world.effect(format!("{} {x} {}", self.inner, $x));
                Ok(inner!(self) + x + $x)
            }
        }
    };
}

// The macro's `x` and the caller's `x` would be one parameter if hygiene were lost.
tool!(FromMacro, y: u64, "conversation");

#[tokio::test]
async fn r118_a_tool_from_macro_rules_runs() {
    for setup in every_store().await {
        let tool = FromMacro { inner: 1, world: setup.world.clone() };
        let call = setup.call_as("call_1", 1);
        assert_eq!(fresh(tool.go_outcome(&call, 10, 100).await), 111);
        assert_eq!(replayed(tool.go_outcome(&call, 10, 100).await), (111, "template"));
        assert_eq!(replayed(tool.go_outcome(&setup.call_as("call_2", 2), 10, 100).await), (111, "template"));
        assert_eq!(drifted(tool.go_outcome(&call, 10, 101).await), ["y"]);
        let other = FromMacro { inner: 2, world: setup.world.clone() };
        assert_eq!(fresh(other.go_outcome(&setup.call_as("call_3", 3), 10, 100).await), 112);
        assert_eq!(setup.world.effects(), ["1 10 100", "2 10 100"], "{}", setup.name());
    }
}

#[idem_facade::idempotent(scope = "conversation", crate = idem_facade::engine)]
async fn through_a_facade(call: &ToolCall, id: u64, #[idem(state)] world: World) -> Result<u64, ToolError> {
    world.effect(format!("facade {id}"));
    Ok(id)
}

#[tokio::test]
async fn r122_a_runtime_under_another_name_guards_all_the_same() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        assert_eq!(fresh(through_a_facade_outcome(&call, 1, setup.world.clone()).await), 1);
        assert_eq!(replayed(through_a_facade_outcome(&call, 1, setup.world.clone()).await).0, 1);
        assert_eq!(setup.world.effects(), ["facade 1"], "{}", setup.name());
        let parcel = || idem_facade::pack_parcel_outcome(&call, "p-1".to_owned());
        assert_eq!(fresh(parcel().await), "p-1");
        assert_eq!(replayed(parcel().await), ("p-1".to_owned(), "args"));
        assert_eq!(key_of(parcel().await).len(), 2);
    }
}
