//! The tool's own check: what it denies leaves no record, and what is finished is not checked again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use idem_runtime::{Outcome, RefusalKind, ToolCall, idempotent};
use idem_tests::{
    tools::ToolError,
    world::{World, every_store},
};

use crate::refusal;

#[derive(Debug, Clone, Default)]
struct Account {
    closed: Arc<AtomicBool>,
    asked: World,
}

#[expect(clippy::unused_async, reason = "a tool's own check is async, this one is quick")]
async fn is_open(_order: &String, account: &Account, _world: &World) -> Result<(), ToolError> {
    account.asked.effect("asked");
    if account.closed.load(Ordering::SeqCst) { Err(ToolError::Declined) } else { Ok(()) }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", validate = is_open)]
async fn withdraw(
    call: &ToolCall,
    order: String,
    #[idem(state)] account: Account,
    #[idem(state)] world: World,
) -> Result<usize, ToolError> {
    let _ = account;
    Ok(world.effect(order))
}

// R-R5
#[tokio::test]
async fn r097_what_the_tool_s_own_check_denied_leaves_no_record() {
    for setup in every_store().await {
        let account = Account::default();
        account.closed.store(true, Ordering::SeqCst);
        let call = setup.call_as("call_1", 1);
        let told = async || withdraw_outcome(&call, "A-1".into(), account.clone(), setup.world.clone()).await;
        let denied = refusal(told().await);
        assert_eq!((denied.kind(), denied.operation()), (&RefusalKind::Denied, None));
        assert!(denied.to_string().contains("the card was declined"), "{denied}");
        let typed = withdraw(&call, "A-1".into(), account.clone(), setup.world.clone()).await;
        assert!(matches!(typed, Err(ToolError::Declined)), "its own error, not ours: {typed:?}");
        assert_eq!((setup.operations().await, setup.world.effects().len()), (0, 0), "{}", setup.name());
        account.closed.store(false, Ordering::SeqCst);
        assert!(matches!(told().await, Outcome::Succeeded(it) if it.told.replay.is_none()));
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}

// R-R5
#[tokio::test]
async fn r098_a_finished_operation_is_replayed_before_the_tool_s_own_check() {
    for setup in every_store().await {
        let account = Account::default();
        let call = setup.call_as("call_1", 1);
        let told = async || withdraw_outcome(&call, "A-1".into(), account.clone(), setup.world.clone()).await;
        assert!(told().await.value().is_some());
        account.closed.store(true, Ordering::SeqCst);
        let asked = account.asked.effects().len();
        assert!(told().await.is_replay(), "{}", setup.name());
        assert_eq!(account.asked.effects().len(), asked, "the check was not even asked");
        // Nor is a conflict's answer the check's.
        let drift = withdraw_outcome(&call, "A-2".into(), account.clone(), setup.world.clone()).await;
        assert!(matches!(refusal(drift).kind(), RefusalKind::Drift { .. }));
        assert_eq!(setup.world.effects(), ["A-1"]);
    }
}
