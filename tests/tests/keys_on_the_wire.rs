//! Clients that send again by themselves: which keys arrive at the provider, and how many effects they make there.
//!
//! The SDK here is like real ones: it retries twice on a connection that breaks. Keys are counted where they arrive.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use idem_runtime::{ErrorClass, Idem, Outcome, Refusal, ToolCall, idempotent, testing::WireKeys};
use idem_tests::world::{Setup, every_store_with, memory};

/// How often the SDK sends again by itself.
const SDK_RETRIES: usize = 2;

/// How a tool here fails.
#[derive(Debug, thiserror::Error)]
enum PayError {
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// Nobody knows whether it happened.
    #[error("connection reset by peer")]
    Reset,
}

fn classify(_: &PayError) -> ErrorClass {
    ErrorClass::Unknown
}

/// What the SDK does with its caller's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sdk {
    /// Keeps it in every request.
    Keeps,
    /// Puts a key of its own in its place when it sends again: what the issue is about.
    Overwrites,
    /// Puts a key of its own in its place once a call.
    MakesItsOwn,
    /// Writes it in other letters.
    Shouts,
    /// Keeps it, and does not send again: its own retries are turned off.
    SendsOnce,
}

/// A provider that deduplicates by key, behind a network that breaks, and the SDK that speaks to it.
#[derive(Debug, Clone)]
struct Provider(Arc<Mutex<Behind>>);

#[derive(Debug)]
struct Behind {
    sdk: Sdk,
    /// How many requests lose their answers, after their effects.
    breaks: usize,
    effects: Vec<String>,
    known: HashMap<String, usize>,
    made_up: usize,
    wire: WireKeys,
}

impl Provider {
    fn new(sdk: Sdk, breaks: usize) -> Self {
        let wire = WireKeys::new();
        Self(Arc::new(Mutex::new(Behind { sdk, breaks, effects: Vec::new(), known: HashMap::new(), made_up: 0, wire })))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Behind) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn wire(&self) -> WireKeys {
        self.with(|it| it.wire.clone())
    }

    fn effects(&self, what: &str) -> usize {
        self.with(|it| it.effects.iter().filter(|effect| *effect == what).count())
    }

    /// The SDK's call: its caller's key goes in, requests go out.
    fn post(&self, what: &str, key: &str) -> Result<usize, PayError> {
        self.with(|it| {
            it.wire.handed(what, key);
            let sends = if it.sdk == Sdk::SendsOnce { 1 } else { 1 + SDK_RETRIES };
            let own = it.make_up();
            let mut sent = Err(PayError::Reset);
            for number in 0..sends {
                let key = match it.sdk {
                    Sdk::Keeps | Sdk::SendsOnce => key.to_owned(),
                    Sdk::Overwrites if number == 0 => key.to_owned(),
                    Sdk::Overwrites => it.make_up(),
                    Sdk::MakesItsOwn => own.clone(),
                    Sdk::Shouts => key.to_uppercase(),
                };
                sent = it.request(what, &key);
                if sent.is_ok() {
                    break;
                }
            }
            sent
        })
    }
}

impl Behind {
    fn make_up(&mut self) -> String {
        self.made_up += 1;
        format!("sdk-{}", self.made_up)
    }

    /// One request on the wire.
    fn request(&mut self, what: &str, key: &str) -> Result<usize, PayError> {
        self.wire.saw(what, key);
        let next = self.effects.len() + 1;
        let effect = *self.known.entry(key.to_owned()).or_insert(next);
        if effect == next {
            self.effects.push(what.to_owned());
        }
        if self.breaks > 0 {
            self.breaks -= 1;
            return Err(PayError::Reset);
        }
        Ok(effect)
    }
}

/// Pays, and sends again under the same key for as long as the provider knows it.
#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    classify = classify,
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"),
    recover(provider_key = "24h", then = operator)
)]
async fn pay(call: &ToolCall, #[idem(state)] provider: Provider, order: String) -> Result<usize, PayError> {
    provider.post(&order, call.provider_key("payment").as_str())
}

/// Two effects of one tool: each has a key of its own.
#[idempotent(
    scope = "conversation",
    key = "tool_call_id|args",
    classify = classify,
    retry(max = 3, base = "1ms", cap = "2ms", deadline = "30s"),
    recover(provider_key = "24h", then = operator)
)]
async fn pay_and_tell(call: &ToolCall, #[idem(state)] provider: Provider, order: String) -> Result<usize, PayError> {
    let paid = provider.post(&order, call.provider_key("payment").as_str())?;
    provider.post(&format!("mail about {order}"), call.provider_key("mail").as_str())?;
    Ok(paid)
}

async fn setups() -> Vec<Setup> {
    every_store_with(|| Idem::builder().jitter_seed(7)).await
}

async fn told(setup: &Setup, provider: &Provider, order: &str) -> Outcome<usize> {
    pay_outcome(&setup.call_as("call_1", 1), provider.clone(), order.to_owned()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r111_an_sdk_that_overwrites_the_key_is_found_and_the_guards_key_arrives_unchanged() {
    for setup in setups().await {
        let name = setup.name();
        // The SDK's two retries bear keys that it made up: three keys, three effects, and one is enough to see it.
        let provider = Provider::new(Sdk::Overwrites, 2);
        let _ = told(&setup, &provider, "A-1").await;
        assert_eq!(provider.wire().keys("A-1").len(), 3, "{name}: the SDK must overwrite");
        assert_eq!(provider.effects("A-1"), 3, "{name}: the provider must take other keys for other effects");
        let broken = provider.wire().check().expect_err("broken keys").to_string();
        assert!(broken.contains("A-1: 3 keys in 3 requests (`idem-"), "{name}: {broken}");
        assert!(broken.contains("turn off the retries of the client"), "{name}: {broken}");
    }
    for setup in setups().await {
        let name = setup.name();
        // One that keeps the key: the answers of two whole attempts are lost, three requests each.
        let provider = Provider::new(Sdk::Keeps, 6);
        let outcome = told(&setup, &provider, "A-1").await;
        assert_eq!(outcome.value(), Some(&1), "{name}: {outcome:?}");
        assert_eq!(provider.wire().requests("A-1"), 7, "{name}: two attempts of three requests, and one of one");
        assert_eq!(provider.wire().keys("A-1").len(), 1, "{name}");
        assert_eq!(provider.effects("A-1"), 1, "{name}");
        provider.wire().assert_one_key_per_operation();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r111_with_the_sdks_retries_off_the_guards_own_bear_one_key() {
    for setup in setups().await {
        let name = setup.name();
        let provider = Provider::new(Sdk::SendsOnce, 2);
        let outcome = told(&setup, &provider, "A-1").await;
        assert!(matches!(&outcome, Outcome::Succeeded(it) if it.told.attempt == 3), "{name}: {outcome:?}");
        assert_eq!((provider.wire().requests("A-1"), provider.effects("A-1")), (3, 1), "{name}");
        // A caller that comes again sends nothing, and another operation has another key.
        assert!(told(&setup, &provider, "A-1").await.is_replay(), "{name}");
        let other = pay_outcome(&setup.call_as("call_2", 1), provider.clone(), "A-2".to_owned()).await;
        assert_eq!(other.value(), Some(&2), "{name}: {other:?}");
        assert_eq!((provider.wire().requests("A-1"), provider.effects("A-2")), (3, 1), "{name}");
        assert_ne!(provider.wire().keys("A-1"), provider.wire().keys("A-2"), "{name}");
        provider.wire().assert_one_key_per_operation();

        // Nor does it change with the ledger: one that was lost and begun anew gives the same key.
        let anew = memory(Idem::builder()).await;
        let _ = told(&anew, &provider, "A-1").await;
        assert_eq!((provider.wire().requests("A-1"), provider.effects("A-1")), (4, 1), "{name}");
        provider.wire().assert_one_key_per_operation();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r111_a_key_that_is_replaced_or_rewritten_is_found_even_where_it_stays_the_same_for_a_call() {
    for setup in setups().await {
        let name = setup.name();
        // Five of the requests break: the second attempt has the SDK make up a second key.
        let provider = Provider::new(Sdk::MakesItsOwn, 5);
        let _ = told(&setup, &provider, "A-1").await;
        let broken = provider.wire().check().expect_err("broken keys").to_string();
        assert!(broken.contains("A-1: 2 keys in 6 requests"), "{name}: {broken}");
        assert_eq!(provider.effects("A-1"), 2, "{name}: a duplicate of a retried attempt");

        // Where nothing breaks there is one key, and yet not the one that the next attempt will hand over.
        for sdk in [Sdk::MakesItsOwn, Sdk::Shouts] {
            let provider = Provider::new(sdk, 0);
            let outcome =
                pay_outcome(&setup.call_as(&format!("{sdk:?}"), 2), provider.clone(), format!("B-{sdk:?}")).await;
            assert!(outcome.value().is_some(), "{name}: {outcome:?}");
            let broken = provider.wire().check().expect_err("a replaced key").to_string();
            assert!(broken.contains("was handed to the client"), "{name}: {broken}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_effect_of_a_tool_has_a_key_of_its_own_on_every_attempt() {
    for setup in setups().await {
        let name = setup.name();
        let provider = Provider::new(Sdk::SendsOnce, 2);
        let outcome = pay_and_tell_outcome(&setup.call_as("call_1", 1), provider.clone(), "A-1".to_owned()).await;
        assert_eq!(outcome.value(), Some(&1), "{name}: {outcome:?}");
        let wire = provider.wire();
        assert_eq!((wire.requests("A-1"), wire.requests("mail about A-1")), (3, 1), "{name}");
        assert_eq!((provider.effects("A-1"), provider.effects("mail about A-1")), (1, 1), "{name}");
        wire.assert_one_key_per_operation();

        // A tool that hands one key to both is found, and the provider had but one effect of two.
        let careless = Provider::new(Sdk::SendsOnce, 0);
        careless.post("A-1", "the same").expect("an answer");
        careless.post("mail about A-1", "the same").expect("an answer");
        assert_eq!(careless.effects("mail about A-1"), 0, "{name}");
        let broken = careless.wire().check().expect_err("a shared key").to_string();
        assert!(broken.contains("A-1 and mail about A-1: both sent `the same`"), "{name}: {broken}");
    }
}
