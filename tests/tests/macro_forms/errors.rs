//! What an error says of the effect, and how a refusal becomes an error of the tool's own.

use idem_runtime::{Refusal, RefusalKind, ToolCall, idempotent};
use idem_tests::{
    tools::{ToolError, classify},
    world::{World, every_store},
};

use crate::{refused, told};

/// Fails as its argument says, and succeeds from the second attempt on.
#[idempotent(scope = "conversation", classify = classify)]
async fn classified(call: &ToolCall, how: String, #[idem(state)] world: World) -> Result<u32, ToolError> {
    world.effect(format!("{how} {}", call.number()));
    match how.as_str() {
        _ if call.number() > 1 => Ok(call.number()),
        "busy" => Err(ToolError::Busy),
        "declined" => Err(ToolError::Declined),
        _ => Err(ToolError::Timeout),
    }
}

/// The same without a word about its errors.
#[idempotent(scope = "conversation")]
async fn unclassified(call: &ToolCall, how: String, #[idem(state)] world: World) -> Result<u32, ToolError> {
    world.effect(format!("{how} {}", call.number()));
    Err(if how == "busy" { ToolError::Busy } else { ToolError::Declined })
}

#[tokio::test]
async fn an_error_that_proves_nothing_happened_lets_the_next_call_try() {
    for setup in every_store().await {
        let run =
            async || classified_outcome(&setup.call_as("call_1", 1), "busy".to_owned(), setup.world.clone()).await;
        assert_eq!(*refused(run().await).kind(), RefusalKind::FailedRetryable);
        let (value, told) = told(run().await);
        assert_eq!((value, told.attempt, told.replay), (2, 2, None));
        assert_eq!(setup.world.effects(), ["busy 1", "busy 2"], "{}", setup.name());
    }
}

#[tokio::test]
async fn an_error_for_good_is_told_to_repeats() {
    for setup in every_store().await {
        let run =
            async || classified_outcome(&setup.call_as("call_1", 1), "declined".to_owned(), setup.world.clone()).await;
        for _ in 0..2 {
            let refusal = refused(run().await);
            assert_eq!(*refusal.kind(), RefusalKind::FailedFinal);
            assert!(refusal.to_model_text().contains("the card was declined"), "{}", refusal.to_model_text());
        }
        assert_eq!(setup.world.effects(), ["declined 1"], "{}", setup.name());
    }
}

#[tokio::test]
async fn an_error_proves_nothing_unless_the_tool_says_so() {
    for setup in every_store().await {
        for how in ["busy", "declined"] {
            let run = async || unclassified_outcome(&setup.call_as(how, 1), how.to_owned(), setup.world.clone()).await;
            for _ in 0..2 {
                assert_eq!(*refused(run().await).kind(), RefusalKind::Unknown);
            }
        }
        let timeout =
            async || classified_outcome(&setup.call_as("call_1", 1), "timeout".to_owned(), setup.world.clone()).await;
        for _ in 0..2 {
            assert_eq!(*refused(timeout().await).kind(), RefusalKind::Unknown);
        }
        assert_eq!(setup.world.effects(), ["busy 1", "declined 1", "timeout 1"], "{}", setup.name());
    }
}

/// Of a library that knows nothing of refusals.
#[derive(Debug, PartialEq, Eq)]
struct Code(u16);

mod house {
    use super::{Code, Refusal, RefusalKind};

    pub(super) fn code(refusal: Refusal) -> Code {
        let known = matches!(refusal.kind(), RefusalKind::Drift { .. });
        drop(refusal);
        Code(if known { 409 } else { 503 })
    }
}

#[idempotent(scope = "conversation", refuse = house::code)]
async fn of_another_house(call: &ToolCall, id: u64) -> Result<u64, Code> {
    Ok(id)
}

#[tokio::test]
async fn a_refusal_becomes_what_the_tool_says() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        assert_eq!(of_another_house(&call, 1).await, Ok(1));
        assert_eq!(of_another_house(&call, 2).await, Err(Code(409)), "{}", setup.name());
        assert_eq!(of_another_house(&setup.idem.call(), 1).await, Err(Code(503)));
    }
}

#[idempotent(scope = "conversation")]
async fn with_anyhow(call: &ToolCall, id: u64) -> anyhow::Result<u64> {
    anyhow::ensure!(id < 10, "too many");
    Ok(id)
}

#[idempotent(scope = "conversation")]
async fn with_boxed(call: &ToolCall, id: u64) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    if id < 10 { Ok(id) } else { Err("too many".into()) }
}

#[tokio::test]
async fn errors_without_a_type_of_their_own_take_refusals() {
    for setup in every_store().await {
        let call = setup.call_as("call_1", 1);
        assert_eq!(with_anyhow(&call, 1).await.expect("a result"), 1);
        let drift = with_anyhow(&call, 2).await.expect_err("other values");
        assert!(drift.downcast_ref::<Refusal>().is_some(), "{drift}");
        assert_eq!(with_boxed(&call, 1).await.expect("a result"), 1);
        let drift = with_boxed(&call, 2).await.expect_err("other values");
        assert!(drift.downcast_ref::<Refusal>().is_some(), "{drift}");
        let unknown = with_anyhow(&setup.call_as("call_2", 2), 11).await.expect_err("too many");
        assert_eq!(unknown.to_string(), "too many");
    }
}
