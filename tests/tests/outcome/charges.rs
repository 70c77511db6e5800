//! Five ways to charge twice, and a provider that counts.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use idem_runtime::{RefusalKind, ToolCall, idempotent};
use idem_tests::{
    tools::{ToolError, classify},
    world::{World, every_store},
};

use crate::refusal;

/// A payment provider: slow, and with a memory of keys or without.
#[derive(Debug, Clone, Default)]
struct Provider {
    charges: World,
    keys: Option<World>,
    declines: Arc<AtomicBool>,
}

impl Provider {
    fn charge(&self, key: &str, what: String) -> Result<(), ToolError> {
        if self.declines.load(Ordering::SeqCst) {
            return Err(ToolError::Declined);
        }
        let known = self.keys.as_ref().is_some_and(|keys| keys.count(key) > 0);
        if !known {
            self.keys.as_ref().map(|keys| keys.effect(key));
            self.charges.effect(what);
        }
        Ok(())
    }
}

#[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify)]
async fn buy(
    call: &ToolCall,
    order: String,
    cents: u64,
    #[idem(state)] provider: Provider,
) -> Result<String, ToolError> {
    let key = call.provider_key("charge");
    // The effect happens after two seconds have passed; who waits three hears of it.
    provider.charge(key.as_str(), format!("{order} {cents}"))?;
    if order == "slow" { Err(ToolError::Timeout) } else { Ok(order) }
}

// The reconciling half of the case comes with "Unknown outcomes": without it the second try is held with and without
// the provider's keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r114_five_ways_to_charge_twice_charge_once() {
    for setup in every_store().await {
        for keys in [None, Some(World::default())] {
            let honours = keys.is_some();
            let provider = Provider { keys, ..Provider::default() };
            let base = u64::from(honours) * 10;
            let told = async |id: &str, turn: u64, order: &str, cents: u64| {
                let order = order.to_owned();
                buy_outcome(
                    &setup.call_as(id, base + turn).occurrence(format!("{honours}")),
                    order,
                    cents,
                    provider.clone(),
                )
                .await
            };
            // 1: the client gives up before the provider answers.
            assert_eq!(refusal(told("call_1", 1, "slow", 1).await).kind(), &RefusalKind::Unknown);
            for (id, turn) in [("call_1", 1), ("call_9", 2)] {
                assert_eq!(refusal(told(id, turn, "slow", 1).await).kind(), &RefusalKind::Unknown, "held, not sent");
            }
            assert_eq!(provider.charges.count("slow 1"), 1);
            // 2: two claim the operation at once.
            let (one, other) = tokio::join!(told("call_2", 3, "race", 1), told("call_3", 3, "race", 1));
            assert_eq!([one.is_replay(), other.is_replay()].iter().filter(|it| **it).count(), 1);
            assert_eq!(provider.charges.count("race 1"), 1);
            // 3: one key for two amounts.
            assert!(told("call_4", 4, "sum", 20_000).await.value().is_some());
            assert!(matches!(refusal(told("call_4", 4, "sum", 50_000).await).kind(), RefusalKind::Drift { .. }));
            assert_eq!((provider.charges.count("sum 20000"), provider.charges.count("sum 50000")), (1, 0));
            // 4: a decline is replayed; after its cause has gone, the platform asks anew.
            provider.declines.store(true, Ordering::SeqCst);
            for _ in 0..2 {
                assert_eq!(refusal(told("call_5", 5, "card", 1).await).kind(), &RefusalKind::FailedFinal);
            }
            provider.declines.store(false, Ordering::SeqCst);
            assert_eq!(refusal(told("call_5", 5, "card", 1).await).kind(), &RefusalKind::FailedFinal);
            let anew = setup.call_as("call_5", base + 5).occurrence(format!("{honours}, new card"));
            assert!(buy_outcome(&anew, "card".into(), 1, provider.clone()).await.value().is_some());
            assert_eq!(provider.charges.count("card 1"), 1);
            // 5 is all of it without keys; in all there was one charge each.
            assert_eq!(provider.charges.effects(), ["slow 1", "race 1", "sum 20000", "card 1"], "{}", setup.name());
        }
    }
}
