//! One tool for each way of recovery. They do the same: they pay.
//!
//! Must not know what strikes.

use std::sync::Arc;

use idem_runtime::{Attempt, BoundTool, Idem, OperationId, Outcome, ToolCall, Unsettled, Verdict, idempotent, prepare};
use idem_tests::world::TENANT;

use super::{
    provider::{Bears, Down, Payment},
    site::{Checkpoint, PayError, Site, classify},
};

/// What every order costs.
pub(crate) const CENTS: u64 = 4_900;

/// The tools by their way of recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tool {
    /// The provider's own key.
    Keyed,
    /// A look-up by reference, or by key.
    LookedUp,
    /// A search.
    Searched,
    /// The provider's key, and the arguments are stored.
    Stored,
    /// None.
    Alone,
}

impl Tool {
    pub(crate) const ALL: [Self; 5] = [Self::Keyed, Self::LookedUp, Self::Searched, Self::Stored, Self::Alone];

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|it| format!("{it:?}") == name).expect("a tool")
    }

    /// Pays for an order.
    pub(crate) async fn pay(self, call: &ToolCall, site: &Site, order: &str) -> Outcome<Payment> {
        self.pay_so_much(call, site, order, CENTS).await
    }

    /// Pays this for an order.
    pub(crate) async fn pay_so_much(self, call: &ToolCall, site: &Site, order: &str, cents: u64) -> Outcome<Payment> {
        let order = order.to_owned();
        match self {
            Self::Keyed => pay_keyed_outcome(call, site, order, cents).await,
            Self::LookedUp => pay_looked_up_outcome(call, site, order, cents).await,
            Self::Searched => pay_searched_outcome(call, site, order, cents).await,
            Self::Stored => pay_stored_outcome(call, site, order, cents).await,
            Self::Alone => pay_alone_outcome(call, site, order, cents).await,
        }
    }

    /// The operation of an order, reserved or not.
    pub(crate) async fn operation(self, idem: &Idem, site: &Site, order: &str) -> OperationId {
        let (call, order) = (call(idem, order, 1), order.to_owned());
        let prepared = match self {
            Self::Keyed => prepare(pay_keyed(&call, site, order, CENTS)).await,
            Self::LookedUp => prepare(pay_looked_up(&call, site, order, CENTS)).await,
            Self::Searched => prepare(pay_searched(&call, site, order, CENTS)).await,
            Self::Stored => prepare(pay_stored(&call, site, order, CENTS)).await,
            Self::Alone => prepare(pay_alone(&call, site, order, CENTS)).await,
        };
        prepared.expect("a record").operation()
    }
}

/// All that a reconciler can see to.
pub(crate) fn bound(site: &Arc<Site>) -> [BoundTool; 4] {
    let site = || Arc::clone(site);
    [pay_keyed_tool(site()), pay_looked_up_tool(site()), pay_searched_tool(site()), pay_stored_tool(site())]
}

/// The call of an order that comes for the n-th time: the model has given it another id each time.
pub(crate) fn call(idem: &Idem, order: &str, nth: u64) -> ToolCall {
    idem.call().tenant(TENANT).conversation("c-1").turn(nth).tool_call_id(format!("call_{nth}_{order}"))
}

#[idempotent(
    scope = "conversation", key = "tool_call_id|args", validate = check, classify = classify, on_busy = "tell",
    recover(provider_key = "24h", then = operator)
)]
async fn pay_keyed(
    call: &ToolCall,
    #[idem(state)] site: &Site,
    order: String,
    cents: u64,
) -> Result<Payment, PayError> {
    pay(call, site, Bears::Key, &order, cents).await
}

#[idempotent(
    scope = "conversation", key = "tool_call_id|args", validate = check, classify = classify, on_busy = "tell",
    recover(lookup = find, then = operator), settles_in = "2m"
)]
async fn pay_looked_up(
    call: &ToolCall,
    #[idem(state)] site: &Site,
    order: String,
    cents: u64,
) -> Result<Payment, PayError> {
    pay(call, site, Bears::Field, &order, cents).await
}

#[idempotent(
    scope = "conversation", key = "tool_call_id|args", validate = check, classify = classify, on_busy = "tell",
    recover(search = search, then = operator), settles_in = "2m", store_arguments
)]
async fn pay_searched(
    call: &ToolCall,
    #[idem(state)] site: &Site,
    order: String,
    cents: u64,
) -> Result<Payment, PayError> {
    pay(call, site, Bears::Field, &order, cents).await
}

#[idempotent(
    scope = "conversation", key = "tool_call_id|args", validate = check, classify = classify, on_busy = "tell",
    recover(provider_key = "24h", then = operator), store_arguments
)]
async fn pay_stored(
    call: &ToolCall,
    #[idem(state)] site: &Site,
    order: String,
    cents: u64,
) -> Result<Payment, PayError> {
    pay(call, site, Bears::Key, &order, cents).await
}

#[idempotent(
    scope = "conversation", key = "tool_call_id|args", validate = check, classify = classify, on_busy = "tell"
)]
async fn pay_alone(
    call: &ToolCall,
    #[idem(state)] site: &Site,
    order: String,
    cents: u64,
) -> Result<Payment, PayError> {
    pay(call, site, Bears::Field, &order, cents).await
}

/// The tool's own check.
async fn check(site: &Site, _order: &str, _cents: &u64) -> Result<(), PayError> {
    site.pass(Checkpoint::Validate).await
}

/// The body of them all.
async fn pay(call: &Attempt, site: &Site, bears: Bears, order: &str, cents: u64) -> Result<Payment, PayError> {
    site.pass(Checkpoint::Dispatch).await?;
    let payment = site.provider.pay(bears, call.provider_key("payment").as_str(), order, cents);
    site.pass(Checkpoint::ProviderCommit).await?;
    call.reference(&payment.reference);
    site.pass(Checkpoint::ReceiveResponse).await?;
    Ok(payment)
}

/// By the provider's id of the effect where an attempt told it, else by the key that every attempt bore.
async fn find(site: &Site, operation: Unsettled) -> Result<Verdict<Payment>, Down> {
    site.step();
    tokio::task::yield_now().await;
    let found = match operation.reference() {
        Some(reference) => site.provider.by_reference(reference)?,
        None => site.provider.by_key(operation.provider_key("payment").as_str())?,
    };
    site.step();
    Ok(verdict(found, "no payment under this key"))
}

/// By the order, which is among the stored arguments.
async fn search(site: &Site, operation: Unsettled) -> Result<Verdict<Payment>, Down> {
    site.step();
    tokio::task::yield_now().await;
    let Some(order) = operation.argument::<String>("order") else {
        return Ok(Verdict::inconclusive("the order is not known"));
    };
    let found = site.provider.by_intent(&order)?;
    site.step();
    Ok(verdict(found, "no payment for this order"))
}

fn verdict(found: Option<Payment>, nothing: &str) -> Verdict<Payment> {
    match found {
        None => Verdict::not_applied(nothing),
        Some(payment) => {
            let reference = payment.reference.clone();
            Verdict::applied(payment, reference)
        }
    }
}

/// What callers do without a guard: pay, and pay again for as long as there is no answer.
pub(crate) async fn unguarded_until_it_says_so(site: &Arc<Site>, order: &str) -> Payment {
    for nth in 1_u32.. {
        let (here, order) = (Arc::clone(site), order.to_owned());
        let pays = tokio::spawn(async move {
            here.pass(Checkpoint::Dispatch).await?;
            let payment = here.provider.pay(Bears::Key, &format!("made up {nth} for {order}"), &order, CENTS);
            here.pass(Checkpoint::ProviderCommit).await?;
            here.pass(Checkpoint::ReceiveResponse).await?;
            Ok::<_, PayError>(payment)
        });
        tokio::select! {
            outcome = pays => {
                if let Ok(Ok(payment)) = outcome {
                    return payment;
                }
            }
            // Nobody waits for ever.
            () = site.gate.arrived() => {}
        }
    }
    unreachable!("it is paid for at last")
}
