//! Results that come back from the ledger: read by another type than wrote them, nothing, too large.

use idem_runtime::{Idem, RefusalKind, ToolCall, idempotent};
use idem_tests::{
    tools::ToolError,
    world::{Setup, TENANT, World, every_store, lasting},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::refusal;

/// A result as three releases of a program have it.
mod releases {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct First {
        pub(super) id: String,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(super) struct Second {
        pub(super) id: String,
        pub(super) status: String,
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.result")]
    pub(super) async fn first(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<First, ToolError> {
        let _ = a;
        world.effect("first");
        Ok(First { id: "r_1".into() })
    }

    #[idempotent(scope = "conversation", key = "tool_call_id|args", name = "test.result", version = 2)]
    pub(super) async fn second(call: &ToolCall, a: u8, #[idem(state)] world: World) -> Result<Second, ToolError> {
        let _ = a;
        world.effect("second");
        Ok(Second { id: "r_2".into(), status: "ok".into() })
    }
}

// R-R4 (the part without migration functions)
#[tokio::test]
async fn r091_a_result_that_today_s_type_cannot_read_is_reported_and_not_made_again() {
    for setup in lasting().await {
        let address = setup.home.as_ref().expect("a home").address();
        let stored = releases::first_outcome(&setup.call_as("call_1", 1), 1, setup.world.clone()).await;
        let later = Idem::open(address).await.expect("the same ledger under v2");
        let call =
            |idem: &Idem, turn: u64| idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(turn);
        for _ in 0..2 {
            let told = refusal(releases::second_outcome(&call(&later, 1), 1, setup.world.clone()).await);
            assert_eq!(told.kind(), &RefusalKind::ResultUnreadable { recorded: 1, current: 2 });
            assert_eq!(told.kind().name(), "succeeded_without_result");
            assert_eq!(told.operation(), stored.operation());
            assert_eq!(told.raw_result(), Some(&br#"{"id":"r_1"}"#[..]));
            assert!(told.to_string().contains("status"), "says what is wrong with it: {told}");
            assert!(told.to_model_text().contains("Already done"), "{}", told.to_model_text());
        }
        // What v2 recorded, read under v1: serde reads it, and what v1 does not know is left out.
        let by_second = releases::second_outcome(&call(&later, 2), 2, setup.world.clone()).await;
        assert!(by_second.value().is_some());
        let first = Idem::open(address).await.expect("the same ledger under v1");
        let told = releases::first_outcome(&call(&first, 2), 2, setup.world.clone()).await;
        assert!(told.is_replay());
        assert_eq!(told.value().map(|it| it.id.as_str()), Some("r_2"));
        assert_eq!(setup.world.effects(), ["first", "second"]);
    }
}

#[idempotent(scope = "conversation", key = "args")]
async fn give<T: Serialize + DeserializeOwned + Clone>(
    call: &ToolCall,
    which: &str,
    #[idem(state)] value: &T,
    #[idem(state)] world: &World,
) -> Result<T, ToolError> {
    world.effect(which);
    Ok(value.clone())
}

#[tokio::test]
async fn r094_a_result_that_reads_as_nothing_is_a_result() {
    async fn check<T>(setup: &Setup, which: &str, value: T)
    where
        T: Serialize + DeserializeOwned + Clone + PartialEq + std::fmt::Debug,
    {
        for replay in [false, true, true] {
            let told = idem_runtime::outcome(give(&setup.call(), which, &value, &setup.world)).await;
            assert_eq!(told.is_replay(), replay, "{which} on {}: {told:?}", setup.name());
            assert_eq!(told.value(), Some(&value), "{which}");
        }
    }
    for setup in every_store().await {
        check(&setup, "unit", ()).await;
        check(&setup, "null", Value::Null).await;
        check(&setup, "none", None::<u8>).await;
        check(&setup, "empty text", String::new()).await;
        check(&setup, "zero", 0_i64).await;
        check(&setup, "false", false).await;
        check(&setup, "empty list", Vec::<u8>::new()).await;
        assert_eq!(setup.world.effects().len(), 7, "none ran again");
        if let Some(home) = &setup.home {
            assert_eq!(home.column::<i64>("select count(*) from idem_results where bytes is null"), [0]);
            assert_eq!(home.count("idem_results"), 7);
        }
    }
    // From the file, without the memory of the process that wrote it.
    for setup in lasting().await {
        idem_runtime::outcome(give(&setup.call(), "unit", &(), &setup.world)).await.into_result().expect("given");
        let idem = Idem::open(setup.home.as_ref().expect("a home").address()).await.expect("the same ledger");
        let call = idem.call().tenant(TENANT).conversation("c-1");
        assert!(idem_runtime::outcome(give(&call, "unit", &(), &setup.world)).await.is_replay());
    }
}
