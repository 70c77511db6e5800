//! A store under check: a clock that stands still, commands one by one, and what is said when something is wrong.

use std::{fmt, sync::Arc, time::Duration};

use super::calls::{end, scope, tenant};
use crate::{
    OperationId, Tenant, Timestamp,
    ledger::{
        Answer, Command, Conflict, Ending, Find, Grant, Hold, Identity, Match, PurgeReport, Reader, Record, Reply,
        Reserve, Reserved, Settle, Settled, Store, StoreError,
    },
};

/// What a check found wrong.
#[derive(Debug)]
pub(super) struct Wrong(String);

pub(super) type Checked<T = ()> = Result<T, Wrong>;

impl Wrong {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for Wrong {
    fn from(error: StoreError) -> Self {
        Self(format!("failed to {error}"))
    }
}

/// Two things that have to be equal.
pub(super) fn same<T: PartialEq + fmt::Debug>(what: &str, is: &T, should_be: &T) -> Checked {
    if is == should_be { Ok(()) } else { Err(Wrong(format!("{what} is {is:?} and should be {should_be:?}"))) }
}

/// Something that has to be true.
pub(super) fn holds(what: &str, is_so: bool) -> Checked {
    if is_so { Ok(()) } else { Err(Wrong(format!("it is not so that {what}"))) }
}

/// A store and the instant at which it is asked.
#[derive(Debug)]
pub(super) struct Subject {
    store: Box<dyn Store>,
    pub(super) now: Timestamp,
    pub(super) seed: u64,
}

impl Subject {
    pub(super) fn new(store: Box<dyn Store>, seed: u64) -> Self {
        // No round number, so that a store that cuts off digits is found out.
        Self { store, now: Timestamp::from_nanos(1_893_456_000_123_456_789), seed }
    }

    pub(super) fn close(&mut self) {
        self.store.close();
    }

    pub(super) fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }

    pub(super) fn advance(&mut self, span: Duration) {
        self.now = self.now.after(span);
    }

    pub(super) async fn apply(&mut self, commands: &[Command]) -> Checked<Vec<Reply>> {
        let replies = self.store.apply(commands, self.now).await?;
        same("the number of replies", &replies.len(), &commands.len())?;
        Ok(replies)
    }

    pub(super) async fn one(&mut self, command: Command) -> Checked<Reply> {
        let mut replies = self.apply(&[command]).await?;
        replies.pop().ok_or_else(|| Wrong::new("a command was not answered"))
    }

    pub(super) async fn reserve(&mut self, call: Reserve) -> Checked<Reserved> {
        match self.one(Command::Reserve(Arc::new(call))).await? {
            Reply::Reserved(reserved) => Ok(reserved),
            other => Err(Wrong(format!("a reservation was answered with {other:?}"))),
        }
    }

    /// The call owns the next attempt.
    pub(super) async fn granted(&mut self, call: Reserve) -> Checked<Grant> {
        grant(self.reserve(call).await?)
    }

    /// The call finds a record.
    pub(super) async fn found(&mut self, call: Reserve) -> Checked<Answer> {
        answer(self.reserve(call).await?)
    }

    /// The call does not fit.
    pub(super) async fn refused(&mut self, call: Reserve) -> Checked<Conflict> {
        match self.reserve(call).await? {
            Reserved::Refused(conflict) => Ok(conflict),
            other => Err(Wrong(format!("the call should have been refused: {other:?}"))),
        }
    }

    pub(super) async fn settle(&mut self, settle: Settle) -> Checked<Settled> {
        match self.one(Command::Settle(settle)).await? {
            Reply::Settled(settled) => Ok(settled),
            other => Err(Wrong(format!("a settlement was answered with {other:?}"))),
        }
    }

    /// The attempt ends, and holds its lease.
    pub(super) async fn recorded(&mut self, grant: &Grant, ending: Ending) -> Checked {
        match self.settle(end(grant, ending)).await? {
            Settled::Recorded { .. } => Ok(()),
            other => Err(Wrong(format!("the settlement should have been recorded: {other:?}"))),
        }
    }

    /// What an attempt says that does not hold the lease; gives the record after it.
    pub(super) async fn late(&mut self, settle: Settle) -> Checked<Record> {
        match self.settle(settle).await? {
            Settled::Late { record } => Ok(Record::clone(&record)),
            other => Err(Wrong(format!("the settlement should have been late: {other:?}"))),
        }
    }

    pub(super) async fn renew(&mut self, holds: &[Hold]) -> Checked<Vec<i64>> {
        match self.one(Command::Renew(holds.to_vec())).await? {
            Reply::Renewed { lost } => Ok(lost),
            other => Err(Wrong(format!("a renewal was answered with {other:?}"))),
        }
    }

    pub(super) async fn purge(&mut self, records_max: u32, tombstone: Duration) -> Checked<PurgeReport> {
        match self.one(Command::Purge { records_max, tombstone }).await? {
            Reply::Purged(report) => Ok(report),
            other => Err(Wrong(format!("a purge was answered with {other:?}"))),
        }
    }

    pub(super) async fn find(&mut self, identities: &[Identity]) -> Checked<Vec<Option<Match>>> {
        self.find_as(&tenant(), identities).await
    }

    pub(super) async fn find_as(&mut self, tenant: &Tenant, identities: &[Identity]) -> Checked<Vec<Option<Match>>> {
        let found = self.reader().find(Find { tenant, scope: &scope().digest, identities }).await?;
        same("the number of matches", &found.len(), &identities.len())?;
        Ok(found)
    }

    /// The record of an operation that is there.
    pub(super) async fn show(&mut self, operation: OperationId) -> Checked<Record> {
        let shown = self.reader().show(&tenant(), operation).await?;
        shown.ok_or_else(|| Wrong(format!("{operation} is not shown")))
    }
}

pub(super) fn grant(reserved: Reserved) -> Checked<Grant> {
    match reserved {
        Reserved::Granted(grant) => Ok(grant),
        other => Err(Wrong(format!("the call should have been granted: {other:?}"))),
    }
}

pub(super) fn answer(reserved: Reserved) -> Checked<Answer> {
    match reserved {
        Reserved::Found(answer) => Ok(answer),
        other => Err(Wrong(format!("the call should have found a record: {other:?}"))),
    }
}
