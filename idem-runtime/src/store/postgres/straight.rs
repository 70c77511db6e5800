//! What nearly every batch is: operations that nobody called before, and first attempts of this process that succeeded. It is
//! carried out in one message, without a look at the ledger.
//!
//! Must not know the rules of either: they are worked off as always, on what this process knows, and written where the ledger
//! turns out to be as it was taken to be. Whatever is not as plain goes the long way, and so does a batch that was wrong about
//! the ledger: then nothing of it was written. Numbers that the server gives stand below 0 until it has given them.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use sqlx::{PgConnection, Row};

use super::{
    failure::{Stopped, corrupt, moved},
    flush::Writing,
    plainly::{Batch, Ended, New},
    script::Answered,
    transact::Applied,
    work::{Held, Key, Work},
};
use crate::{
    clock::Timestamp,
    identity::Digest,
    ledger::{Command, Ending, Record, Reply, Reserved, Scope, Settled, State},
};

/// A batch that is plain, as it will be once it is committed.
pub(super) struct Plain {
    /// The call of the function.
    call: String,
    replies: Vec<Reply>,
    records: Vec<(Key, Arc<Record>)>,
    /// Scopes that had no number, in the order in which they are asked for.
    strange: Vec<(i64, Digest)>,
}

/// What the server says of a plain batch.
enum Outcome {
    Written {
        /// Handles of the new records.
        ids: Vec<i64>,
        /// Numbers of the scopes that had none.
        scopes: Vec<i64>,
    },
    /// The ledger is not as it was taken to be.
    NotPlain,
}

impl Work<'_> {
    /// Works the commands off as if the ledger held nothing that this process does not know; `None` where more than a plain
    /// batch would have to be written.
    pub(super) async fn plain(&mut self, commands: &[Command]) -> Result<Option<Plain>, Stopped> {
        if !self.looks_plain(commands) {
            return Ok(None);
        }
        let strange: Vec<_> = self.strange_scopes(commands)?;
        for (nth, (tenant, scope)) in (1..).zip(&strange) {
            self.learned(*tenant, scope.digest, -nth, false);
        }
        let reservations = commands.iter().filter(|command| matches!(command, Command::Reserve(_))).count();
        self.provide(reservations);
        let mut replies = Vec::with_capacity(commands.len());
        for command in commands {
            let reply = match command {
                Command::Reserve(reserve) => Reply::Reserved(self.reserve(reserve).await?),
                Command::Settle(settle) => Reply::Settled(self.settle(settle)?),
                _ => return Ok(None),
            };
            if !matches!(reply, Reply::Reserved(Reserved::Granted(_)) | Reply::Settled(Settled::Recorded { .. })) {
                return Ok(None);
            }
            replies.push(reply);
        }
        let strange_digests = strange.iter().map(|(tenant, scope)| (*tenant, scope.digest)).collect();
        let Some(batch) = self.batch(strange)? else { return Ok(None) };
        Ok(Some(Plain {
            call: batch.call(),
            replies,
            records: self.records.drain().map(|(key, held)| (key, held.record)).collect(),
            strange: strange_digests,
        }))
    }

    /// Whether each command is about an operation of its own, and says nothing but the usual.
    fn looks_plain(&mut self, commands: &[Command]) -> bool {
        let (mut names, mut rows) = (FxHashSet::default(), FxHashSet::default());
        commands.iter().all(|command| match command {
            Command::Reserve(reserve) => {
                let usual = reserve.resumed.is_none()
                    && reserve.link.is_none()
                    && reserve.arguments.is_none()
                    && reserve.resources.is_empty();
                usual
                    && reserve.identities.iter().all(|identity| {
                        identity.generation.is_none_or(|generation| generation == 1)
                            && names.insert((&reserve.tenant, &reserve.scope.digest, &identity.digest))
                    })
            }
            Command::Settle(settle) => {
                let key = self.catalogue.tenant(&settle.tenant).map(|tenant| (tenant, settle.row));
                let begun = key.and_then(|key| Some((key, self.begun(key)?)));
                let Some((key, begun)) = begun.filter(|(_, begun)| begun.fence == settle.fence) else { return false };
                self.keep(key, begun);
                settle.ending == Ending::Ok && rows.insert(key)
            }
            _ => false,
        })
    }

    /// What is to be written, where that is all plain.
    fn batch<'a>(&'a self, strange: Vec<(i64, &'a Scope)>) -> Result<Option<Batch<'a>>, Stopped> {
        let mut new: Vec<New<'_>> = Vec::new();
        let mut ended: Vec<Ended<'_>> = Vec::new();
        for ((tenant, _), held) in &self.records {
            match (newly(*tenant, held, self.now), successfully(*tenant, held, self.now)) {
                (Some(one), _) => new.push(one),
                (None, Some(one)) => ended.push(one),
                (None, None) => return Ok(None),
            }
        }
        if !self.beside.is_empty() || self.taken.iter().any(|name| name.later || name.alias.generation != 1) {
            return Ok(None);
        }
        // The server gives numbers in the order in which they are asked for.
        new.sort_unstable_by_key(|new| -new.record.row);
        ended.sort_unstable_by_key(|ended| ended.record.row);
        let server = self.catalogue.server().ok_or_else(|| corrupt("no server gave these numbers"))?;
        Ok(Some(Batch { server, now: self.now, strange, new, ended, taken: &self.taken }))
    }
}

impl Plain {
    /// Sends it, with `commit` behind it; `None` where it has to go the long way, and nothing was written.
    pub(super) async fn carry_out(
        self,
        db: &mut PgConnection,
        begin: Option<(&str, usize)>,
    ) -> Result<Option<Applied>, Stopped> {
        let Self { call, mut replies, mut records, strange } = self;
        let mut writing = Writing::default();
        if let Some((begin, many)) = begin {
            writing.say(begin, many);
        }
        let place = writing.len();
        writing.say(&call, 1);
        let answers = writing.commit(db).await?;
        let Outcome::Written { ids, scopes } = outcome(answers.get(place))? else { return Ok(None) };
        let given = |row: &mut i64| -> Result<(), Stopped> {
            let nth = usize::try_from(-*row).ok().and_then(|nth| nth.checked_sub(1));
            *row = nth.and_then(|nth| ids.get(nth).copied()).ok_or_else(|| corrupt("a new record has no handle"))?;
            Ok(())
        };
        for reply in &mut replies {
            if let Reply::Reserved(Reserved::Granted(grant)) = reply {
                given(&mut grant.row)?;
                grant.fence = grant.row;
            }
        }
        for ((_, row), record) in &mut records {
            if *row < 0 {
                given(row)?;
                let record = Arc::make_mut(record);
                (record.row, record.fence) = (*row, *row);
            }
        }
        Ok(Some(Applied { replies, records, scopes: strange.into_iter().zip(scopes).collect() }))
    }
}

fn outcome(answer: Option<&Answered>) -> Result<Outcome, Stopped> {
    let row = answer.and_then(|answer| answer.rows.first()).ok_or_else(|| corrupt("a batch has no outcome"))?;
    let all = |name| row.try_get::<Option<Vec<i64>>, _>(name).map(Option::unwrap_or_default);
    match row.try_get::<i64, _>("outcome")? {
        0 => Ok(Outcome::Written { ids: all("ids")?, scopes: all("scopes")? }),
        3 => Err(moved()),
        _ => Ok(Outcome::NotPlain),
    }
}

/// A record that is as plain batches write new ones.
fn newly(tenant: i64, held: &Held, now: Timestamp) -> Option<New<'_>> {
    let (fresh, record) = (held.fresh.as_ref()?, &*held.record);
    let lease_until = record.lease_until?;
    let begun = record.fence == record.row && record.reserved_at == now;
    let never_settled = record.settled_at.is_none() && record.retain_until.is_none() && record.stored.is_none();
    let untouched = record.renewed_at.is_none() && record.renewals == 0 && record.reference.is_none();
    let plain = is_first_attempt(record, 1, State::InProgress) && begun && never_settled && untouched;
    plain.then_some(New { tenant, record, fresh, lease_until })
}

/// A record that is as plain batches leave one that was new.
fn successfully(tenant: i64, held: &Held, now: Timestamp) -> Option<Ended<'_>> {
    let record = &*held.record;
    let (retain_until, stored) = (record.retain_until?, record.stored.as_ref()?);
    let settled = record.settled_at == Some(now) && record.lease_until.is_none();
    let plain = held.fresh.is_none() && is_first_attempt(record, 2, State::Succeeded) && settled;
    plain.then_some(Ended { tenant, record, retain_until, stored })
}

/// Whether nothing ever happened to a record but its first attempt.
fn is_first_attempt(record: &Record, version: u64, state: State) -> bool {
    let usual = matches!(
        record,
        Record {
            in_doubt: false,
            disproved: false,
            attempt: 1,
            reconcile_fence: 0,
            passes: 0,
            answered: 0,
            unknown_at: None,
            next_at: None,
            settled_fence: 0,
            has_resources: false,
            review: false,
            ..
        }
    );
    usual && record.version == version && record.state == state
}
