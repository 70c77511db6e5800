//! Marks: text of the model, values that differ from attempt to attempt, secrets, state.

use idem_runtime::{RefusalKind, ToolCall, idempotent};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store, lasting},
};
use serde::{Deserialize, Serialize};

use crate::{Order, drifted, fresh, refused, replayed, told};

#[idempotent(scope = "conversation", content = "order.reason")]
async fn with_content(
    call: &ToolCall,
    order: Order,
    #[idem(content)] note: String,
    #[idem(state)] world: World,
) -> Result<String, ToolError> {
    world.effect(format!("{} {note}", order.reason));
    Ok(order.reason)
}

#[tokio::test]
async fn content_is_reported_and_decides_nothing() {
    for setup in every_store().await {
        let run = async |order, note: &str| {
            with_content_outcome(&setup.call_as("call_1", 1), order, note.to_owned(), setup.world.clone()).await
        };
        assert_eq!(fresh(run(Order::new("A-1", 100, "late"), "a").await), "late");
        let (value, again) = told(run(Order::new("A-1", 100, "late"), "a").await);
        assert_eq!((value.as_str(), again.replay.expect("a replay").reworded), ("late", Vec::<String>::new()));
        let (value, again) = told(run(Order::new("A-1", 100, "too late"), "a").await);
        assert_eq!((value.as_str(), again.replay.expect("a replay").reworded), ("late", vec!["order.reason".into()]));
        let (_, again) = told(run(Order::new("A-1", 100, "too late"), "b").await);
        assert_eq!(again.replay.expect("a replay").reworded, ["note", "order.reason"]);
        assert_eq!(drifted(run(Order::new("A-1", 101, "late"), "a").await), ["order"], "the rest still counts");
        assert_eq!(setup.world.effects(), ["late a"], "{}", setup.name());
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Renamed {
    id: String,
    #[serde(rename = "why")]
    reason: String,
}

#[idempotent(scope = "conversation", content = "order.reason")]
async fn with_a_renamed_field(
    call: &ToolCall,
    order: Renamed,
    #[idem(state)] world: World,
) -> Result<String, ToolError> {
    world.effect(&order.id);
    Ok(order.reason)
}

#[tokio::test]
async fn a_path_that_serde_calls_otherwise_is_refused_at_first_use() {
    for setup in every_store().await {
        let order = Renamed { id: "A-1".to_owned(), reason: "late".to_owned() };
        let refusal =
            refused(with_a_renamed_field_outcome(&setup.call_as("call_1", 1), order, setup.world.clone()).await);
        assert_eq!(*refusal.kind(), RefusalKind::Invalid);
        let text = refusal.to_model_text();
        assert!(text.contains("order") && text.contains("reason"), "the path is named: {text}");
        assert!(setup.world.effects().is_empty(), "{}", setup.name());
        assert_eq!(setup.operations().await, 0);
    }
}

/// What an agent hands over: with a token for this request and the time of it.
#[derive(Debug, Clone, Serialize)]
struct Authorized {
    order_id: String,
    auth: Auth,
    requested_at: u64,
}

#[derive(Debug, Clone, Serialize)]
struct Auth {
    user: String,
    token: String,
}

#[idempotent(
    scope = "conversation",
    secret = ["request.auth.token", "password"],
    volatile = "request.requested_at"
)]
async fn with_secrets(
    call: &ToolCall,
    request: Authorized,
    password: String,
    #[idem(secret)] pin: &str,
    #[idem(volatile)] now: u64,
    #[idem(state)] world: &World,
) -> Result<String, ToolError> {
    let secrets = format!("{}/{password}/{pin}", request.auth.token);
    world.effect(format!("{} {secrets} {} {now}", request.order_id, request.requested_at));
    call.reference(&request.order_id);
    Ok(request.auth.user)
}

fn authorized(user: &str, token: &str, requested_at: u64) -> Authorized {
    let auth = Auth { user: user.to_owned(), token: token.to_owned() };
    Authorized { order_id: "A-1".to_owned(), auth, requested_at }
}

#[tokio::test]
async fn r028_volatile_values_and_secrets_are_in_neither_key_nor_file() {
    for setup in lasting().await {
        let world = &setup.world;
        let run = async |turn, request, secret: &str, now| {
            let call = setup.call_as(&format!("call_{turn}"), turn);
            with_secrets_outcome(&call, request, format!("pw-{secret}"), &format!("pin-{secret}"), now, world).await
        };
        assert_eq!(fresh(run(1, authorized("ann", "tok-one", 7_000_000_001), "one", 8_000_000_001).await), "ann");
        // The same id with new values, and a new id with new values: both are the same operation.
        for turn in [1, 2] {
            let again = run(turn, authorized("ann", "tok-two", 7_000_000_002), "two", 8_000_000_002).await;
            assert_eq!(replayed(again).0, "ann");
        }
        assert_eq!(drifted(run(1, authorized("eve", "tok-two", 7_000_000_002), "two", 1).await), ["request"]);
        assert_eq!(world.effects(), ["A-1 tok-one/pw-one/pin-one 7000000001 8000000001"], "the body had them all");
        let home = setup.home.as_ref().expect("a home");
        assert!(home.holds("A-1"), "what is recorded can be seen");
        for value in ["tok-one", "tok-two", "pw-one", "pw-two", "pin-one", "pin-two", "7000000001", "8000000001"] {
            assert!(!home.holds(value), "`{value}` stands in the ledger");
        }
        // Nor in the record that a retry carries.
        let (_, told) = told(run(1, authorized("ann", "tok-one", 1), "one", 1).await);
        let record = serde_json::to_string(&*told.record).expect("a record");
        assert!(!record.contains("tok-one") && !record.contains("ann"), "{record}");
    }
}

#[idempotent(scope = "conversation", key = "args(order.id)|template:{settings.region}-{order.cents}")]
async fn with_state(
    call: &ToolCall,
    order: Order,
    #[idem(state)] settings: &Settings,
    #[idem(state)] world: &World,
) -> Result<u64, ToolError> {
    world.effect(format!("{} {}", settings.region, settings.limit));
    Ok(settings.limit)
}

/// An injected dependency; serde could not write it.
#[derive(Debug)]
struct Settings {
    region: String,
    limit: u64,
}

#[tokio::test]
async fn state_is_no_argument_except_where_a_path_names_it() {
    for setup in every_store().await {
        let settings = |region: &str, limit| Settings { region: region.to_owned(), limit };
        let run =
            async |order, settings: Settings| with_state_outcome(&setup.call(), order, &settings, &setup.world).await;
        let order = |id| Order::new(id, 100, "late");
        assert_eq!(fresh(run(order("A-1"), settings("eu", 1)).await), 1);
        assert_eq!(replayed(run(order("A-1"), settings("eu", 2)).await).0, 1);
        // Another order of the same sum in the same region: the template finds the first one.
        assert_eq!(drifted(run(order("B-2"), settings("eu", 1)).await), ["order"]);
        assert_eq!(fresh(run(order("B-2"), settings("us", 1)).await), 1);
        assert_eq!(setup.world.effects(), ["eu 1", "us 1"], "{}", setup.name());
    }
}
