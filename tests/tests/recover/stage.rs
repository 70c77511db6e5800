//! The tools under test, each with another way to recover, and the desk at which they all stand.
//!
//! Must not know which case is tested.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use idem_runtime::{
    Attempt, Builder, Config, Idem, OperationId, Outcome, Refusal, Tenant, Timestamp, ToolCall, Unsettled, Verdict,
    idempotent,
    ledger::{Detail, Record},
};
use idem_tests::{
    provider::{Bank, BankError, Provider, Refund, SendError, classify},
    timing::Gate,
    world::{Setup, TENANT, every_store_with},
};

pub(crate) const ORDER: &str = "A-1";
pub(crate) const CENTS: u64 = 4_900;
pub(crate) const RECIPIENT: &str = "iban-1";

/// How a look-up goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Looks {
    /// It asks the provider.
    #[default]
    Asks,
    /// It panics.
    Panics,
    /// It never comes to an end.
    Hangs,
    /// The provider answers, and that does not tell.
    Unclear,
    /// It asks, and leaves out the provider's reference.
    WithoutReference,
}

/// What a look-up was told about an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) tenant: String,
    pub(crate) operation: OperationId,
    pub(crate) key: String,
    pub(crate) reference: Option<String>,
    pub(crate) order: Option<String>,
    pub(crate) cents: Option<u64>,
    pub(crate) unproved: Option<Refund>,
    pub(crate) attempts: u32,
    pub(crate) first_at: Timestamp,
    pub(crate) unknown_at: Timestamp,
}

#[derive(Debug, Default)]
struct Mood {
    ends: Option<fn() -> BankError>,
    without_reference: bool,
    looks: Looks,
    seen: Vec<Seen>,
}

/// Where tools stand: the way to the provider, and what a test makes of them. Clones are the same desk.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    bank: Bank,
    /// Where an attempt stands when it has sent.
    pub(crate) sent: Gate,
    /// Where a look-up stands before it asks.
    pub(crate) asking: Gate,
    mood: Arc<Mutex<Mood>>,
}

impl Desk {
    fn with<T>(&self, set: impl FnOnce(&mut Mood) -> T) -> T {
        set(&mut self.mood.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on attempts end like this, whatever the provider said.
    pub(crate) fn ends(&self, ends: fn() -> BankError) {
        self.with(|mood| mood.ends = Some(ends));
    }

    /// From here on attempts do not tell the provider's reference.
    pub(crate) fn forgets_references(&self) {
        self.with(|mood| mood.without_reference = true);
    }

    /// From here on look-ups go like this.
    pub(crate) fn looks(&self, looks: Looks) {
        self.with(|mood| mood.looks = looks);
    }

    /// The same desk, whose look-ups stand elsewhere before they ask.
    pub(crate) fn asking_at(self, asking: Gate) -> Self {
        Self { asking, ..self }
    }

    /// What look-ups were told.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.with(|mood| mood.seen.clone())
    }

    /// Sends a refund, as every tool here does.
    async fn send(&self, call: &Attempt, order: &str, cents: u64) -> Result<Refund, SendError> {
        let sent = self.bank.send(call.provider_key("refund").as_str(), order, cents, RECIPIENT).await;
        if let Ok(refund) = &sent
            && !self.with(|mood| mood.without_reference)
        {
            call.reference(&refund.id);
        }
        stand(&self.sent).await;
        match self.with(|mood| mood.ends) {
            Some(ends) => Err(ends().into()),
            None => Ok(sent?),
        }
    }

    async fn look(&self, operation: &Unsettled) -> Result<Verdict<Refund>, BankError> {
        let key = operation.provider_key("refund");
        let seen = Seen {
            tenant: operation.tenant().as_str().to_owned(),
            operation: operation.operation(),
            key: key.to_string(),
            reference: operation.reference().map(str::to_owned),
            order: operation.argument("order"),
            cents: operation.argument("cents"),
            unproved: operation.unproved(),
            attempts: operation.attempts(),
            first_at: operation.first_at(),
            unknown_at: operation.unknown_at(),
        };
        let looks = self.with(|mood| {
            mood.seen.push(seen);
            mood.looks
        });
        stand(&self.asking).await;
        match looks {
            Looks::Panics => panic!("no page is like the other"),
            Looks::Hangs => std::future::pending().await,
            Looks::Unclear => return Ok(Verdict::inconclusive("the provider is settling its books")),
            Looks::Asks | Looks::WithoutReference => {}
        }
        Ok(match self.bank.by_key(key.as_str()).await? {
            None => Verdict::not_applied("no refund under the key"),
            Some(refund) if looks == Looks::WithoutReference => Verdict::Applied { value: refund, reference: None },
            Some(refund) => Verdict::applied(refund.clone(), refund.id),
        })
    }
}

/// Stands at a gate, within bounds: who is let through by nobody is a failure, not a test that hangs.
async fn stand(gate: &Gate) {
    tokio::time::timeout(Duration::from_mins(1), gate.pass()).await.expect("nobody opened the gate");
}

/// Asks the provider by the key under which it was sent.
async fn find(desk: &Desk, operation: Unsettled) -> Result<Verdict<Refund>, BankError> {
    desk.look(&operation).await
}

/// Asks by what was refunded: by the provider's id of it, or else among the refunds of the order.
async fn search(desk: &Desk, operation: Unsettled) -> Result<Verdict<Refund>, BankError> {
    if let Some(reference) = operation.reference()
        && let Some(refund) = desk.bank.by_reference(reference).await?
    {
        return Ok(Verdict::applied(refund, reference));
    }
    let mut found = desk.bank.of_order(ORDER).await?;
    Ok(match found.pop() {
        Some(refund) if found.is_empty() => Verdict::applied(refund.clone(), refund.id),
        Some(_) => Verdict::inconclusive("several refunds of the order"),
        None => Verdict::not_applied("no refund of the order"),
    })
}

/// Tools that send one refund and differ in how they find out what became of it.
macro_rules! tools {
    ($($(#[$doc:meta])* $name:ident($($recovery:tt)*))*) => {$(
        $(#[$doc])*
        #[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify, $($recovery)*)]
        pub(crate) async fn $name(
            call: &ToolCall,
            #[idem(state)] desk: Desk,
            order: String,
            cents: u64,
        ) -> Result<Refund, SendError> {
            desk.send(call, &order, cents).await
        }
    )*};
}

tools! {
    /// The provider's key, and nothing else.
    keyed(recover(provider_key = "24h", then = operator))
    /// The same, declared to last longer than it does at a provider that forgets after a day.
    keyed_too_long(recover(provider_key = "72h"))
    /// A look-up.
    looked_up(recover(lookup = find, then = operator), settles_in = "2m")
    /// The key first, then a look-up.
    key_then_lookup(recover(provider_key = "24h", lookup = find), settles_in = "2m")
    /// A look-up first, then the key.
    lookup_then_key(recover(lookup = find, provider_key = "24h"), settles_in = "2m")
    /// A look-up, then a bounded search.
    lookup_then_search(recover(lookup = find, search = search), settles_in = "2m")
    /// A look-up that only the reconciler makes.
    told(recover(lookup = find), settles_in = "2m", on_unknown = "tell")
    /// A look-up; whoever comes while something is under way is told.
    hasty(recover(lookup = find), settles_in = "2m", on_busy = "tell")
    /// Success needs the provider's reference.
    referenced(recover(lookup = find), settles_in = "2m", reference = required)
    /// The arguments are stored: the reconciler can send again.
    stored(recover(provider_key = "24h", lookup = find), settles_in = "2m", store_arguments)
    /// The arguments are stored, and the reconciler asks before it sends again.
    stored_lookup_first(recover(lookup = find, provider_key = "24h"), settles_in = "2m", store_arguments)
    /// The key comes first, but whoever comes again is told.
    told_with_key(recover(provider_key = "24h", lookup = find), settles_in = "2m", on_unknown = "tell", store_arguments)
    /// The key with a budget, then a look-up.
    key_with_budget(retry(max = 3, base = "1ms", cap = "2ms", deadline = "10m"), recover(provider_key = "24h", lookup = find), settles_in = "2m")
}

/// A tool that is a method, and looks up with its own state.
#[derive(Debug)]
pub(crate) struct Clerk {
    pub(crate) desk: Desk,
}

impl Clerk {
    /// A look-up that needs `self`.
    #[idempotent(scope = "conversation", key = "tool_call_id|args", classify = classify,
        recover(lookup = Self::find), settles_in = "2m")]
    pub(crate) async fn refund(&self, call: &ToolCall, order: String, cents: u64) -> Result<Refund, SendError> {
        self.desk.send(call, &order, cents).await
    }

    async fn find(&self, operation: Unsettled) -> Result<Verdict<Refund>, BankError> {
        self.desk.look(&operation).await
    }
}

/// A ledger, a provider that lives by the same clock, and the desk between them.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) setup: Setup,
    pub(crate) provider: Provider,
    pub(crate) desk: Desk,
}

/// One over each store.
pub(crate) async fn stages() -> Vec<Stage> {
    stages_with(|_| {}).await
}

/// The same, with a changed configuration.
pub(crate) async fn stages_with(change: impl Fn(&mut Config)) -> Vec<Stage> {
    every_store_with(|| builder(&change)).await.into_iter().map(Stage::of).collect()
}

/// The set-up of every ledger here.
pub(crate) fn builder(change: impl FnOnce(&mut Config)) -> Builder {
    Idem::builder().jitter_seed(7).config(idem_tests::world::config(change))
}

/// Whose operations these are.
pub(crate) fn tenant() -> Tenant {
    Tenant::new(TENANT).expect("a tenant")
}

/// The refusal that an outcome is.
pub(crate) fn refusal<T: std::fmt::Debug>(outcome: Outcome<T>) -> Refusal {
    outcome.into_result().expect_err("a refusal")
}

/// No answer came.
pub(crate) fn no_answer() -> BankError {
    BankError::NoAnswer(std::io::Error::other("the line went dead"))
}

impl Stage {
    /// The provider and the desk for a ledger.
    pub(crate) fn of(setup: Setup) -> Self {
        let provider = Provider::start(&setup.clock);
        let desk = Desk { bank: provider.bank(), sent: Gate::opened(), asking: Gate::opened(), mood: Arc::default() };
        Self { setup, provider, desk }
    }

    /// The call that every test makes, and makes again.
    pub(crate) fn call(&self) -> ToolCall {
        self.setup.call_as("call_1", 1)
    }

    /// That call, made through another runtime on the same ledger.
    pub(crate) fn call_of(idem: &Idem) -> ToolCall {
        idem.call().tenant(TENANT).conversation("c-1").tool_call_id("call_1").turn(1)
    }

    /// Everything that is kept about an operation.
    pub(crate) async fn detail(&self, operation: OperationId) -> Detail {
        let operator = self.setup.idem.operator(&tenant(), "mia").expect("a name");
        operator.show(operation).await.expect("a readable ledger").expect("an operation")
    }

    /// Its record.
    pub(crate) async fn record(&self, operation: OperationId) -> Record {
        self.setup.record(operation).await
    }

    /// The names of what happened to it, in order.
    pub(crate) async fn events(&self, operation: OperationId) -> Vec<String> {
        self.detail(operation).await.history.iter().map(|entry| entry.event.to_string()).collect()
    }

    /// What the recovery steps said, in order.
    pub(crate) async fn steps(&self, operation: OperationId) -> Vec<String> {
        let history = self.detail(operation).await.history;
        let steps = history.iter().filter(|entry| &*entry.event == "step");
        steps.map(|entry| entry.detail.as_deref().unwrap_or_default().to_owned()).collect()
    }

    /// What happened at the provider: order, cents and recipient.
    pub(crate) fn effects(&self) -> Vec<(String, u64, String)> {
        let effects = self.provider.effects().into_iter();
        effects.map(|effect| (effect.order, effect.cents, effect.recipient)).collect()
    }

    /// One refund happened, and it is the one that was meant.
    pub(crate) fn one_effect(&self) {
        let meant = (ORDER.to_owned(), CENTS, RECIPIENT.to_owned());
        assert_eq!(self.effects(), [meant], "{}", self.setup.name());
    }
}

/// Calls the `…_outcome` of a tool on a stage with the usual arguments.
macro_rules! call {
    ($tool:ident, $stage:expr) => {
        call!($tool, $stage, $stage.call())
    };
    ($tool:ident, $stage:expr, $call:expr) => {
        super::stage::$tool(&$call, $stage.desk.clone(), super::stage::ORDER.to_owned(), super::stage::CENTS).await
    };
}

pub(crate) use call;
