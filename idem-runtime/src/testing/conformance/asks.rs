//! What a [`Subject`] is asked about unknown outcomes, command by command.
//!
//! Must not judge the answers, except for their kind.

use std::sync::Arc;

use super::{
    calls::tenant,
    findings::begin,
    subject::{Checked, Subject, Wrong, same},
};
use crate::{
    OperationId,
    ledger::{
        BeginReconcile, Begun, Command, Detail, Evidence, Judge, Judged, Listing, Record, Reply, Resolve, Resolved,
        Silent, Sweep, Swept, Witnessed,
    },
};

impl Subject {
    pub(super) async fn begin(&mut self, begin: BeginReconcile) -> Checked<Begun> {
        match self.one(Command::BeginReconcile(begin)).await? {
            Reply::Begun(begun) => Ok(begun),
            other => Err(Wrong::new(format!("a reconciliation was answered with {other:?}"))),
        }
    }

    /// A reconciliation starts on the record as it stands; gives the record then.
    pub(super) async fn begun(&mut self, record: &Record) -> Checked<Record> {
        match self.begin(begin(record)).await? {
            Begun::Yours { fence, record } => {
                same("the record's token", &record.reconcile_fence, &fence)?;
                same("the record", &self.show(record.operation).await?, &*record)?;
                Ok(Record::clone(&record))
            }
            other => Err(Wrong::new(format!("the reconciliation should have started: {other:?}"))),
        }
    }

    /// A reconciliation does not start; gives the record that is told.
    pub(super) async fn not_begun(&mut self, begin: BeginReconcile) -> Checked<Record> {
        match self.begin(begin).await? {
            Begun::NotNow { record } => Ok(Record::clone(&record)),
            other => Err(Wrong::new(format!("the reconciliation should not have started: {other:?}"))),
        }
    }

    pub(super) async fn judge(&mut self, judge: Judge) -> Checked<Judged> {
        match self.one(Command::Verdict(Box::new(judge))).await? {
            Reply::Judged(judged) => Ok(judged),
            other => Err(Wrong::new(format!("a verdict was answered with {other:?}"))),
        }
    }

    /// The verdict stands; gives the record after it.
    pub(super) async fn judged(&mut self, judge: Judge) -> Checked<Record> {
        match self.judge(judge).await? {
            Judged::Recorded { record } => {
                same("the record", &self.show(record.operation).await?, &*record)?;
                Ok(Record::clone(&record))
            }
            other => Err(Wrong::new(format!("the verdict should have been recorded: {other:?}"))),
        }
    }

    /// The verdict comes too late and is evidence; gives the record after it.
    pub(super) async fn judged_late(&mut self, judge: Judge) -> Checked<Record> {
        match self.judge(judge).await? {
            Judged::Late { record } => {
                same("the record", &self.show(record.operation).await?, &*record)?;
                Ok(Record::clone(&record))
            }
            other => Err(Wrong::new(format!("the verdict should have been late: {other:?}"))),
        }
    }

    pub(super) async fn resolve(&mut self, resolve: Resolve) -> Checked<Resolved> {
        match self.one(Command::Resolve(Box::new(resolve))).await? {
            Reply::Resolved(resolved) => Ok(resolved),
            other => Err(Wrong::new(format!("a decision was answered with {other:?}"))),
        }
    }

    /// The decision stands; gives the record after it.
    pub(super) async fn resolved(&mut self, resolve: Resolve) -> Checked<Record> {
        match self.resolve(resolve).await? {
            Resolved::Recorded { record } => {
                same("the record", &self.show(record.operation).await?, &*record)?;
                Ok(Record::clone(&record))
            }
            other => Err(Wrong::new(format!("the decision should have been recorded: {other:?}"))),
        }
    }

    /// The decision rests on what is no longer so; gives the record that is told.
    pub(super) async fn outrun(&mut self, resolve: Resolve) -> Checked<Record> {
        match self.resolve(resolve).await? {
            Resolved::Changed { record } => Ok(Record::clone(&record)),
            other => Err(Wrong::new(format!("the decision should not have counted: {other:?}"))),
        }
    }

    pub(super) async fn witness(&mut self, evidence: Evidence) -> Checked<Witnessed> {
        match self.one(Command::Evidence(Box::new(evidence))).await? {
            Reply::Witnessed(witnessed) => Ok(witnessed),
            other => Err(Wrong::new(format!("evidence was answered with {other:?}"))),
        }
    }

    /// The evidence is weighed; gives the record after it.
    pub(super) async fn weighed(&mut self, evidence: Evidence) -> Checked<Record> {
        match self.witness(evidence).await? {
            Witnessed::Weighed { record } => {
                same("the record", &self.show(record.operation).await?, &*record)?;
                Ok(Record::clone(&record))
            }
            other => Err(Wrong::new(format!("the evidence should have been weighed: {other:?}"))),
        }
    }

    pub(super) async fn end_leases(&mut self, silent: &[Silent]) -> Checked<u64> {
        match self.one(Command::EndLeases(silent.to_vec())).await? {
            Reply::LeasesEnded(moved) => Ok(moved),
            other => Err(Wrong::new(format!("ended leases were answered with {other:?}"))),
        }
    }

    /// Everything that is kept about an operation that is there.
    pub(super) async fn detail(&mut self, operation: OperationId) -> Checked<Detail> {
        let detail = self.reader().detail(&tenant(), operation).await?;
        let detail = detail.ok_or_else(|| Wrong::new(format!("{operation} has no detail")))?;
        same("the record of the detail", &detail.record, &self.show(operation).await?)?;
        Ok(detail)
    }

    /// The names of what happened to an operation, in order.
    pub(super) async fn history(&mut self, operation: OperationId) -> Checked<Vec<Arc<str>>> {
        Ok(self.detail(operation).await?.history.into_iter().map(|happened| happened.event).collect())
    }

    /// The handles of the records that are listed.
    pub(super) async fn listed(&mut self, listing: &Listing) -> Checked<Vec<i64>> {
        let listed = self.reader().list(&tenant(), listing).await?;
        for record in &listed {
            same("a listed record", record, &self.show(record.operation).await?)?;
        }
        Ok(listed.iter().map(|record| record.row).collect())
    }

    pub(super) async fn sweep(&mut self, sweep: &Sweep) -> Checked<Swept> {
        Ok(self.reader().sweep(sweep, self.now).await?)
    }
}
