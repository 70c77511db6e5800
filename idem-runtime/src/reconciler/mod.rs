//! The reconciler: a task that sees to whatever nobody calls for any more.
//!
//! Beside the engine, not inside it: it asks the ledger as callers do. First it takes over what was in flight when a
//! process died; then it asks about every unknown outcome that is due, one worker an operation, until somebody can tell or
//! a person has to. Must not know how a tool asks its provider ([`tool`]).

mod report;
mod tool;

use std::{collections::HashMap, sync::Arc};

use tokio::task::JoinSet;

pub use report::Reconciled;
pub use tool::{Bound, BoundTool, StoredArguments, resent};

use crate::{
    call::{AttemptRecord, CarriedIdentity},
    engine::{Engine, ToolCall, budget, found, stored_arguments},
    id::{OperationId, Principal, Tenant},
    ledger::{BeginReconcile, Begun, Command, Detail, LedgerError, Record, Reply, Silent, State, Sweep},
    reconcile::{self, Chain, Unsettled},
    tool::RecoveryStep,
};

/// How many records one walk takes up.
const RECORDS_MAX: u32 = 256;

/// How many operations are asked about at the same time.
const AT_ONCE: usize = 16;

/// Settles unknown outcomes of the tools that it was given. Made by [`Idem::reconciler`](crate::Idem::reconciler).
///
/// Several may run, in one process or in many: an operation is asked about by one of them at a time.
#[derive(Debug)]
pub struct Reconciler {
    engine: Arc<Engine>,
    tools: Arc<HashMap<Arc<str>, BoundTool>>,
    sweep: Sweep,
}

impl Reconciler {
    pub(crate) fn new(engine: Arc<Engine>, tools: impl IntoIterator<Item = BoundTool>) -> Self {
        let tools: HashMap<Arc<str>, BoundTool> =
            tools.into_iter().map(|tool| (Arc::from(tool.name()), tool)).collect();
        let sweep = Sweep { tools: tools.keys().cloned().collect(), records_max: RECORDS_MAX, ..Sweep::default() };
        Self { engine, tools: Arc::new(tools), sweep }
    }

    /// Sees to what is due, again and again, until it is dropped. A ledger that fails is tried again.
    pub async fn run(mut self) {
        loop {
            match self.run_once().await {
                Ok(seen) if seen.looked_at > 0 => tracing::info!(?seen, "reconciled"),
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "a reconciler could not use the ledger; it goes on"),
            }
            tokio::time::sleep(self.engine.config.reconcile_every).await;
        }
    }

    /// Sees to everything that is due now, once, and says what became of it.
    ///
    /// # Errors
    /// [`LedgerError`], when the ledger cannot be used. What was asked about before is recorded.
    pub async fn run_once(&mut self) -> Result<Reconciled, LedgerError> {
        let now = self.engine.clock.now();
        let swept = self.engine.ledger.reader().sweep(&self.sweep, now).await?;
        let mut seen = Reconciled { looked_at: swept.due.len() as u64, ..Reconciled::default() };
        let silent = swept.due.iter().filter(|(_, record)| record.lease_ended(now)).map(|(tenant, record)| Silent {
            tenant: tenant.clone(),
            row: record.row,
            version: record.version,
        });
        let silent: Vec<Silent> = silent.collect();
        if !silent.is_empty() {
            match self.engine.ledger.ask(Command::EndLeases(silent)).await? {
                Reply::LeasesEnded(ended) => seen.taken_over += ended,
                _ => return Err(LedgerError::Confused),
            }
        }
        // What this walk took up is done or tried: only now does the next one go on behind it.
        let mut under_way = JoinSet::new();
        for (tenant, record) in swept.due {
            if under_way.len() >= AT_ONCE
                && let Some(done) = under_way.join_next().await
            {
                seen.add(done);
            }
            let (engine, tools) = (Arc::clone(&self.engine), Arc::clone(&self.tools));
            under_way.spawn(async move { see_to(&engine, &tools, &tenant, record.operation, By::Schedule).await });
        }
        while let Some(done) = under_way.join_next().await {
            seen.add(done);
        }
        self.sweep = swept.next;
        Ok(seen)
    }

    /// Asks about one operation now, also where finding out was given up; gives its record afterwards. `None` for every id
    /// that is not this tenant's.
    ///
    /// # Errors
    /// [`LedgerError`], when the ledger cannot be used.
    pub async fn settle(&self, tenant: &Tenant, operation: OperationId) -> Result<Option<Record>, LedgerError> {
        see_to(&self.engine, &self.tools, tenant, operation, By::Hand).await?;
        Ok(self.engine.ledger.reader().show(tenant, operation).await?)
    }
}

/// Who wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Schedule,
    Hand,
}

/// One operation, by its tool's recovery chain: the provider's key and the look-ups in the order declared.
async fn see_to(
    engine: &Arc<Engine>,
    tools: &HashMap<Arc<str>, BoundTool>,
    tenant: &Tenant,
    operation: OperationId,
    by: By,
) -> Result<Option<Arc<Record>>, LedgerError> {
    let reader = engine.ledger.reader();
    let Some(detail) = reader.detail(tenant, operation).await? else { return Ok(None) };
    let Some(tool) = tools.get(&detail.record.tool.name) else { return Ok(None) };
    let due = detail.record.state == State::OutcomeUnknown
        || (by == By::Hand && detail.record.state == State::OperatorReview);
    if !due {
        return Ok(None);
    }
    let key_first = matches!(tool.spec().recovery().first(), Some(RecoveryStep::ProviderKey(..)));
    let again = Resending::of(engine, tool, tenant, &detail);
    let (again, without_key) = match again {
        Err(why) => (None, why),
        Ok(again) if key_first => {
            let without_key =
                again.send(tool).await.err().unwrap_or("it was sent again, and the outcome is unknown still");
            (None, without_key)
        }
        Ok(again) => (Some(again), "it comes after the look-ups"),
    };
    let Some(record) = reader.show(tenant, operation).await? else { return Ok(None) };
    if record.state != detail.record.state {
        return Ok(Some(Arc::new(record)));
    }
    let found = ask(engine, tool, tenant, &record, (by, without_key)).await?;
    let unknown = found.as_ref().is_some_and(|record| record.state == State::OutcomeUnknown);
    match again.filter(|_| unknown) {
        None => Ok(found),
        Some(again) => {
            // What it came to stands in the record.
            let _ = again.send(tool).await;
            Ok(reader.show(tenant, operation).await?.map(Arc::new))
        }
    }
}

/// One pass over the tool's look-ups.
async fn ask(
    engine: &Arc<Engine>,
    tool: &BoundTool,
    tenant: &Tenant,
    record: &Record,
    (by, without_key): (By, &'static str),
) -> Result<Option<Arc<Record>>, LedgerError> {
    let (spec, timeout) = (tool.spec(), engine.config.lookup_timeout);
    let begin = BeginReconcile {
        tenant: tenant.clone(),
        row: record.row,
        version: record.version,
        lease: reconcile::lease(spec, timeout, engine.config.lease),
        by_hand: by == By::Hand,
    };
    let Begun::Yours { fence, record } = engine.begin(begin).await? else {
        return Ok(None);
    };
    let arguments = stored_arguments(engine, spec, tenant, &record).await?;
    let operation = Unsettled::new(tenant.clone(), record, arguments);
    let chain = Chain {
        spec,
        config: &engine.config,
        clock: &*engine.clock,
        jitter: &engine.jitter,
        budget: budget(spec),
        without_key,
        timeout,
    };
    let judge = tool.work().pass(engine, chain, &operation, fence).await;
    found(engine, judge).await
}

/// A call that sends an operation again under its provider's key.
struct Resending {
    call: ToolCall,
    arguments: StoredArguments,
}

impl Resending {
    /// The call, or why there is none.
    fn of(engine: &Arc<Engine>, tool: &BoundTool, tenant: &Tenant, detail: &Detail) -> Result<Self, &'static str> {
        let window = tool.spec().key_window().ok_or("the provider has no key")?;
        let lease = tool.spec().declared_lease().unwrap_or(engine.config.lease);
        if detail.record.state != State::OutcomeUnknown || !detail.record.may_resend(window, lease, engine.clock.now())
        {
            return Err("the provider's key window has ended");
        }
        let json = detail.arguments.as_deref().ok_or("the arguments are not at hand: the tool does not store them")?;
        let arguments = StoredArguments::read(json).map_err(|_| "the stored arguments are not readable")?;
        let record = carried(tenant, detail);
        Ok(Self { call: ToolCall::resending(Arc::clone(engine), Arc::new(record)), arguments })
    }

    /// Sends; says why it was not sent.
    async fn send(self, tool: &BoundTool) -> Result<(), &'static str> {
        let Self { call, arguments } = self;
        let sent = tool.work().resend(call, arguments).ok_or("the tool cannot be called with stored arguments")?;
        sent.await.map_err(|_| "the stored arguments are not readable any more")
    }
}

/// The record that an attempt of the operation would carry.
fn carried(tenant: &Tenant, detail: &Detail) -> AttemptRecord {
    let Detail { record, scope_kind, scope_value, scope, identities, .. } = detail;
    let mut identities = identities.clone();
    identities.sort_by_key(|identity| identity.source);
    let carried = identities.into_iter().map(|identity| CarriedIdentity {
        source: identity.source.code(),
        digest: identity.digest,
        generation: identity.generation,
    });
    AttemptRecord {
        version: AttemptRecord::VERSION,
        tool: Arc::clone(&record.tool.name),
        tenant: tenant.shared(),
        principal: record.principal.as_ref().map(Principal::shared),
        scope_kind: scope_kind.to_string().into(),
        scope_value: scope_value.clone(),
        scope: *scope,
        identities: carried.collect(),
        fingerprint: record.fingerprint,
        operation: record.operation,
    }
}
