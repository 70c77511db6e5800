//! The keys that requests bore when they arrived at a provider, and the check that every operation has one of its own.
//!
//! For authors of tools: clients and SDKs send again by themselves, and some put a key of their own in place of the one
//! that they were given. Must not know how a request is made: it is told what arrived.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// What arrived at a provider: one key for each request, by operation. Clones see the same requests.
///
/// A fake provider, or a hook of the HTTP client, calls [`saw`](Self::saw) for every request. The body may say first which
/// key it hands to its client ([`handed`](Self::handed)): then that very key has to arrive. What stands for an operation
/// is any text that names one effect: an order, or the operation's id with the name of the effect, where a tool has
/// several.
///
/// ```
/// use idem_runtime::testing::WireKeys;
///
/// let wire = WireKeys::new();
/// wire.handed("order A-1", "idem-41f0"); // in the body: call.provider_key("refund")
/// wire.saw("order A-1", "idem-41f0"); // in the provider: the header of the first request
/// wire.saw("order A-1", "idem-41f0"); // the client sent again by itself
/// wire.assert_one_key_per_operation();
///
/// wire.saw("order A-1", "sdk-9c2e"); // and again, with a key that it made up
/// let broken = wire.check().unwrap_err().to_string();
/// assert!(broken.contains("order A-1: 2 keys in 3 requests"), "{broken}");
/// ```
#[derive(Debug, Clone, Default)]
pub struct WireKeys(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// By operation, in the order of their first mention.
    operations: Vec<Operation>,
}

#[derive(Debug)]
struct Operation {
    name: String,
    handed: Vec<String>,
    /// The key of each request; `None` for one that bore none.
    requests: Vec<Option<String>>,
}

/// How keys on the wire broke the rule, in words: one line for each operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenKeys(Vec<String>);

impl WireKeys {
    /// Nothing has arrived.
    pub fn new() -> Self {
        Self::default()
    }

    /// The body hands this key to its client for the operation: no other may arrive.
    pub fn handed(&self, operation: impl fmt::Display, key: impl fmt::Display) {
        self.of(&operation, |it| {
            let key = key.to_string();
            if !it.handed.contains(&key) {
                it.handed.push(key);
            }
        });
    }

    /// A request for the operation arrived with this key. A blank one is none.
    pub fn saw(&self, operation: impl fmt::Display, key: impl fmt::Display) {
        let key = Some(key.to_string()).filter(|key| !key.trim().is_empty());
        self.of(&operation, |it| it.requests.push(key));
    }

    /// How many requests arrived for the operation.
    pub fn requests(&self, operation: impl fmt::Display) -> usize {
        self.of(&operation, |it| it.requests.len())
    }

    /// The keys that arrived for the operation, each of them once, in the order in which they first did.
    pub fn keys(&self, operation: impl fmt::Display) -> Vec<String> {
        self.of(&operation, |it| it.keys().into_iter().map(str::to_owned).collect())
    }

    /// Whether every request bore a key, every operation has had one key in all of its requests, the one that was handed
    /// to the client, and no two operations share one.
    ///
    /// # Errors
    /// [`BrokenKeys`], whose words name each operation and what is wrong with it.
    pub fn check(&self) -> Result<(), BrokenKeys> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = seen.operations.iter().filter_map(Operation::broken);
        let broken: Vec<String> = own.chain(seen.shared()).collect();
        if broken.is_empty() { Ok(()) } else { Err(BrokenKeys(broken)) }
    }

    /// As [`check`](Self::check), for a test that ends with it.
    ///
    /// # Panics
    /// With the words of [`BrokenKeys`], when the rule is broken; and when no request arrived at all, since then nothing
    /// was checked.
    pub fn assert_one_key_per_operation(&self) {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let requests: usize = seen.operations.iter().map(|it| it.requests.len()).sum();
        drop(seen);
        assert!(requests > 0, "keys on the wire: no request arrived, so nothing was checked");
        if let Err(broken) = self.check() {
            panic!("{broken}");
        }
    }

    fn of<T>(&self, name: &impl fmt::Display, look: impl FnOnce(&mut Operation) -> T) -> T {
        let name = name.to_string();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = seen.operations.iter().position(|it| it.name == name).unwrap_or_else(|| {
            seen.operations.push(Operation { name, handed: Vec::new(), requests: Vec::new() });
            seen.operations.len() - 1
        });
        look(&mut seen.operations[at])
    }
}

impl Operation {
    fn keys(&self) -> Vec<&str> {
        let mut keys = Vec::new();
        for key in self.requests.iter().flatten() {
            if !keys.contains(&key.as_str()) {
                keys.push(key.as_str());
            }
        }
        keys
    }

    fn broken(&self) -> Option<String> {
        let Self { name, handed, requests } = self;
        let keys = self.keys();
        let without = requests.iter().filter(|key| key.is_none()).count();
        if without > 0 {
            return Some(format!(
                "{name}: {without} of {} requests bore no key: the provider takes each of them for a new effect; send \
                 the attempt's `provider_key` with every request",
                requests.len()
            ));
        }
        if let [one, other, ..] = handed.as_slice() {
            return Some(format!(
                "{name}: the body handed its client several keys (`{one}`, then `{other}`): derive it from the attempt, \
                 `call.provider_key(\"…\")`, and from nothing that changes"
            ));
        }
        let foreign = keys.iter().find(|key| handed.first().is_some_and(|handed| handed != *key));
        if keys.len() > 1 {
            let listed: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
            return Some(format!(
                "{name}: {} keys in {} requests ({}): the provider takes them for {} effects; turn off the retries of \
                 the client, or make it keep the key that it is given",
                keys.len(),
                requests.len(),
                listed.join(", "),
                keys.len()
            ));
        }
        let (foreign, handed) = (foreign?, handed.first()?);
        Some(format!(
            "{name}: `{foreign}` arrived where `{handed}` was handed to the client: it changes or replaces the key that \
             it is given, so the next attempt's may be another one"
        ))
    }
}

impl Seen {
    /// Keys that arrived for more than one operation.
    fn shared(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (at, one) in self.operations.iter().enumerate() {
            let keys = one.keys();
            for other in &self.operations[at + 1..] {
                let both = other.keys().into_iter().filter(|key| keys.contains(key));
                broken.extend(both.map(|key| {
                    format!(
                        "{} and {}: both sent `{key}`: the provider answers the second with the first one's result and \
                         does nothing; hand each effect a key of its own",
                        one.name, other.name
                    )
                }));
            }
        }
        broken
    }
}

impl fmt::Display for BrokenKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keys on the wire: each operation must have one key of its own")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for BrokenKeys {}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(wire: &WireKeys) -> String {
        wire.check().expect_err("a broken rule").to_string()
    }

    #[test]
    fn each_way_to_break_the_rule_has_words_of_its_own() {
        let wire = WireKeys::new();
        wire.saw("A", "k-1");
        wire.saw("B", "k-2");
        wire.saw("A", "k-1");
        wire.assert_one_key_per_operation();
        assert_eq!((wire.requests("A"), wire.keys("A")), (2, vec!["k-1".to_owned()]));

        let several = wire.clone();
        several.saw("B", "k-3");
        let said = words(&several);
        assert!(said.contains("B: 2 keys in 2 requests (`k-2`, `k-3`)"), "{said}");
        assert!(!said.contains("\n  A"), "{said}");

        let none = WireKeys::new();
        none.saw("A", "k-1");
        none.saw("A", " ");
        assert!(words(&none).contains("A: 1 of 2 requests bore no key"));

        let changed = WireKeys::new();
        changed.handed("A", "idem-12ab");
        changed.saw("A", "IDEM-12AB");
        assert!(words(&changed).contains("A: `IDEM-12AB` arrived where `idem-12ab` was handed to the client"));

        let handed = WireKeys::new();
        handed.handed("A", "k-1");
        handed.handed("A", "k-2");
        assert!(words(&handed).contains("A: the body handed its client several keys (`k-1`, then `k-2`)"));

        let shared = WireKeys::new();
        shared.saw("A", "k-1");
        shared.saw("B", "k-1");
        assert!(words(&shared).contains("A and B: both sent `k-1`"));
    }

    #[test]
    fn nothing_on_the_wire_is_nothing_checked() {
        let wire = WireKeys::new();
        wire.handed("A", "k-1");
        let checked = std::panic::catch_unwind(|| wire.assert_one_key_per_operation());
        assert!(checked.is_err());
    }
}
