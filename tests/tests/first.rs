//! The first guarded tool, from call to replay.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use idem_runtime::{Idem, Outcome, Refusal, RefusalKind, ToolCall, idempotent};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Refund {
    id: String,
    cents: u64,
}

#[derive(Debug, thiserror::Error)]
enum PaymentError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("the bank timed out")]
    Timeout,
}

#[idempotent(scope = "conversation", key = "tool_call_id|args")]
async fn send_refund(
    call: &ToolCall,
    order_id: String,
    amount_cents: u64,
    #[idem(state)] effects: Arc<AtomicU32>,
) -> Result<Refund, PaymentError> {
    if order_id == "slow" {
        return Err(PaymentError::Timeout);
    }
    let id = call.provider_key("refund").to_string();
    effects.fetch_add(1, Ordering::SeqCst);
    call.reference("rf_782");
    Ok(Refund { id, cents: amount_cents })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_gets_the_first_result() {
    let folder = tempfile::tempdir().expect("a folder");
    for address in ["memory:".to_owned(), format!("sqlite://{}", folder.path().join("idem.db").display())] {
        let idem = Idem::open(&address).await.expect("a ledger");
        let effects = Arc::new(AtomicU32::new(0));
        let call = idem.call().tenant("acme").conversation("c-42").turn(7).tool_call_id("call_abc");
        let first = send_refund(&call, "A-1".into(), 4_900, effects.clone()).await.expect("a refund");
        let again = send_refund(&call, "A-1".into(), 4_900, effects.clone()).await.expect("a replay");
        assert_eq!(first, again);
        let replanned = idem.call().tenant("acme").conversation("c-42").turn(9).tool_call_id("call_new");
        let told = send_refund_outcome(&replanned, "A-1".into(), 4_900, effects.clone()).await;
        assert!(told.is_replay(), "{told:?}");
        let Outcome::Succeeded(success) = &told else { panic!("{told:?}") };
        assert_eq!(success.told.reference.as_deref(), Some("rf_782"));
        assert_eq!(effects.load(Ordering::SeqCst), 1);
        let drift = send_refund_outcome(&call, "A-1".into(), 9_400, effects.clone()).await;
        let Outcome::Refused(refusal) = &drift else { panic!("{drift:?}") };
        assert_eq!(refusal.kind().name(), "rejected_key_conflict");
        assert!(matches!(refusal.kind(), RefusalKind::Drift { parameters, .. } if parameters == &["amount_cents"]));
        let slow = idem.call().tenant("acme").conversation("c-42").turn(10).tool_call_id("call_slow");
        assert!(matches!(send_refund(&slow, "slow".into(), 1, effects.clone()).await, Err(PaymentError::Timeout)));
        let told = send_refund_outcome(&slow, "slow".into(), 1, effects.clone()).await;
        assert_eq!(told.to_json()["outcome"], "unknown_requires_reconciliation", "{}", told.to_model_text());
        assert_eq!(effects.load(Ordering::SeqCst), 1);
    }
}
