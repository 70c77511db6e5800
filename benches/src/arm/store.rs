//! The ledger's store alone: batches handed to it by one thread, as the ledger's thread does.
//!
//! Beside the raw limit it says what the ledger's tables cost, beside our own arm what callers and threads cost.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, bail, ensure};
use idem_runtime::{
    Clock, MemoryStore, PostgresStore, Source, SqliteStore, SystemClock,
    ledger::{
        Command, Ending, Grant, Identity, Reply, Reserve, Reserved, Scope, Settle, Settled, Store, Stored, StoredKind,
        Tool,
    },
};

use super::{Keys, RESULT_BYTES, ours::Place};
use crate::{
    load::{Sample, as_f64},
    random::Random,
    tool::CALLS_A_CONVERSATION,
};

/// How long a finished record answers.
const RETAIN: Duration = Duration::from_hours(30 * 24);

/// A ledger with `rows` finished operations in it.
///
/// # Errors
/// When the store refuses.
pub async fn prefill(place: &Place, keys: Keys, rows: u64) -> Result<()> {
    let mut writer = Writer::open(place, keys, 0).await?;
    let mut left = rows;
    while left > 0 {
        let some = left.min(8_192);
        writer.calls(some).await?;
        left -= some;
    }
    writer.store.close();
    Ok(())
}

/// Runs groups of `group` calls for `span`.
///
/// # Errors
/// When the store refuses.
pub async fn run(place: &Place, keys: Keys, group: u64, span: Duration) -> Result<Sample> {
    let seed = u64::try_from(std::time::UNIX_EPOCH.elapsed()?.as_nanos()).unwrap_or(u64::MAX);
    let mut writer = Writer::open(place, keys, seed).await?;
    let begun = Instant::now();
    let mut latencies = Vec::new();
    while begun.elapsed() < span {
        let of_group = Instant::now();
        writer.calls(group).await?;
        let took = of_group.elapsed();
        latencies.extend((0..group).map(|_| took));
    }
    let mut sample = Sample::new(begun.elapsed(), latencies);
    writer.store.close();
    sample.calls_a_commit = Some(as_f64(group) / 2.0);
    Ok(sample)
}

struct Writer {
    store: Box<dyn Store>,
    clock: SystemClock,
    keys: Keys,
    random: Random,
    number: u64,
    scope: Scope,
    tool: Arc<Tool>,
    result: Arc<[u8]>,
}

impl Writer {
    async fn open(place: &Place, keys: Keys, seed: u64) -> Result<Self> {
        let mut random = Random::new(seed);
        let digest = random.digest();
        Ok(Self {
            store: match place {
                Place::Memory => Box::new(MemoryStore::new()),
                Place::Sqlite(path) => Box::new(SqliteStore::open(path)?),
                Place::Postgres(address) => Box::new(PostgresStore::open(address).await?),
            },
            clock: SystemClock::new(),
            keys,
            random,
            number: 0,
            scope: Scope { kind: "conversation".into(), value: Some("c-1".into()), digest },
            tool: Arc::new(Tool {
                name: "idem_benches::tool::pay".into(),
                version: 1,
                params: "amount_cents,currency,order_id;".into(),
            }),
            result: vec![b'r'; RESULT_BYTES].into(),
        })
    }

    /// Reserves and settles `group` operations, in two transactions.
    async fn calls(&mut self, group: u64) -> Result<()> {
        let reserves: Vec<Command> = (0..group).map(|_| self.reserve()).collect::<Result<_>>()?;
        let replies = self.apply(&reserves).await?;
        let granted = replies.into_iter().map(|reply| match reply {
            Reply::Reserved(Reserved::Granted(grant)) => self.settle(&grant),
            other => bail!("a reservation was answered with {other:?}"),
        });
        let settles: Vec<Command> = granted.collect::<Result<_>>()?;
        let settled = self.apply(&settles).await?;
        let recorded = |reply: &Reply| matches!(reply, Reply::Settled(Settled::Recorded { .. }));
        ensure!(settled.len() == settles.len() && settled.iter().all(recorded), "a settlement was not recorded");
        Ok(())
    }

    async fn apply(&mut self, commands: &[Command]) -> Result<Vec<Reply>> {
        let now = self.clock.now();
        Ok(self.store.apply(commands, now).await?)
    }

    fn reserve(&mut self) -> Result<Command> {
        self.number += 1;
        if self.keys == Keys::Scoped && self.number.is_multiple_of(CALLS_A_CONVERSATION) {
            self.scope.digest = self.random.digest();
        }
        let mut identity = |source| Identity { source, digest: self.random.digest(), generation: None };
        let identities = vec![identity(Source::Args), identity(Source::ToolCallId)];
        let fingerprint = self.random.digest();
        Ok(Command::Reserve(Arc::new(Reserve {
            tenant: idem_runtime::Tenant::new("acme")?,
            principal: None,
            scope: self.scope.clone(),
            tool: Arc::clone(&self.tool),
            identities,
            resumed: None,
            fingerprint,
            parts: vec![1; 24].into(),
            content: Vec::new().into(),
            window: None,
            after_retention: idem_runtime::__private::AfterRetention::Tell,
            lease: Duration::from_secs(30),
            nonce: 0,
            resend: None,
            paused: false,
            budget: None,
            retain: RETAIN,
            needs_reference: false,
            approval: None,
            link: None,
            resources: Arc::default(),
            arguments: None,
        })))
    }

    fn settle(&self, grant: &Grant) -> Result<Command> {
        Ok(Command::Settle(Settle {
            tenant: idem_runtime::Tenant::new("acme")?,
            row: grant.row,
            fence: grant.fence,
            attempt: grant.attempt,
            ending: Ending::Ok,
            reference: None,
            stored: Some(Stored { kind: StoredKind::Value, bytes: Arc::clone(&self.result) }),
            retain: RETAIN,
            pause: Duration::ZERO,
            budget: None,
            resources: Arc::default(),
            looks: false,
        }))
    }
}
