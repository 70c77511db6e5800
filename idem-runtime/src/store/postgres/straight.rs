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
    flush::{PACKED, Writing, words},
    nanos, number,
    script::{Answered, Rows},
    text::text,
    transact::Applied,
    work::{Fresh, Held, Key, Name, Work},
};
use crate::{
    clock::Timestamp,
    id::Principal,
    identity::Digest,
    ledger::{Command, Ending, Record, Reply, Reserved, Settled, State},
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
        let Some(rows) = self.rows_of_plain() else { return Ok(None) };
        let server = self.catalogue.server().ok_or_else(|| corrupt("no server gave these numbers"))?;
        let kinds = || strange.iter().map(|(_, scope)| scope);
        let rows = rows
            .number("server", server)
            .number("now", self.now.as_nanos())
            .keys("of_tenant", strange.iter().map(|(tenant, _)| *tenant))
            .joined("of", kinds().map(|scope| scope.digest.as_slice()))
            .each_word("of_kind", kinds().map(|scope| Some(text(&scope.kind).into_owned())))
            .each_word("of_value", kinds().map(|scope| words(scope.value.as_deref())));
        Ok(Some(Plain {
            call: format!("select * from {}", rows.call("idem_straight")),
            replies,
            records: self.records.drain().map(|(key, held)| (key, held.record)).collect(),
            strange: strange.into_iter().map(|(tenant, scope)| (tenant, scope.digest)).collect(),
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
    fn rows_of_plain(&self) -> Option<Rows<'_>> {
        let mut new: Vec<(i64, &Held, &Fresh)> = Vec::new();
        let mut ended: Vec<(i64, &Held)> = Vec::new();
        for ((tenant, _), held) in &self.records {
            match &held.fresh {
                Some(fresh) if is_new(&held.record, self.now) => new.push((*tenant, held, fresh)),
                None if has_succeeded(&held.record, self.now) => ended.push((*tenant, held)),
                _ => return None,
            }
        }
        // The server gives numbers in the order in which they are asked for.
        new.sort_unstable_by_key(|(_, held, _)| -held.record.row);
        ended.sort_unstable_by_key(|(_, held)| held.record.row);
        if !self.beside.is_empty() || self.taken.iter().any(|name| name.later || name.alias.generation != 1) {
            return None;
        }
        let mut rows = Rows::default();
        if !new.is_empty() {
            rows = beginning(rows, &new, &self.taken);
        }
        if !ended.is_empty() {
            rows = succeeding(rows, &ended);
        }
        Some(rows)
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

/// Whether a record is as `idem_straight` writes new ones.
fn is_new(record: &Record, now: Timestamp) -> bool {
    let fresh = record.fence == record.row && record.reserved_at == now && record.lease_until.is_some();
    let never_settled = record.settled_at.is_none() && record.retain_until.is_none() && record.stored.is_none();
    let untouched = record.renewed_at.is_none() && record.renewals == 0 && record.reference.is_none();
    is_first_attempt(record, 1, State::InProgress) && fresh && never_settled && untouched
}

/// Whether a record is as `idem_straight` leaves one that was new.
fn has_succeeded(record: &Record, now: Timestamp) -> bool {
    let settled = record.settled_at == Some(now) && record.retain_until.is_some() && record.stored.is_some();
    is_first_attempt(record, 2, State::Succeeded) && settled && record.lease_until.is_none()
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

fn beginning<'a>(rows: Rows<'a>, new: &[(i64, &'a Held, &'a Fresh)], taken: &'a [Name]) -> Rows<'a> {
    let records = || new.iter().map(|(_, held, _)| &*held.record);
    let many = || new.iter().map(|(.., fresh)| number((fresh.packed.len() / PACKED) as u64));
    let begins = many().scan(1, |next, many| {
        let begins = *next;
        *next += many;
        Some(begins)
    });
    // As they were taken they stand behind each other in what the records keep of them.
    let mut units: Vec<(i64, &Name)> = (1..).zip(taken).collect();
    units.sort_unstable_by_key(|(_, name)| name.key());
    rows.keys("tenant", new.iter().map(|(tenant, ..)| *tenant))
        .keys("scope", new.iter().map(|(.., fresh)| fresh.scope))
        .joined("operation", records().map(|record| record.operation.as_bytes().as_slice()))
        .numbers("tool", new.iter().map(|(.., fresh)| fresh.tool))
        .words("principal", records().map(|record| words(record.principal.as_ref().map(Principal::as_str))))
        .keys("first_call", records().map(|record| record.first_call.cast_signed()))
        .words("approval", records().map(|record| words(record.approval.as_deref())))
        .keys("nonce", records().map(|record| record.nonce.cast_signed()))
        .maybe("lease_until", records().map(|record| record.lease_until.map(Timestamp::as_nanos)))
        .joined("fingerprint", records().map(|record| record.fingerprint.as_slice()))
        .bytes("parts", records().map(|record| &*record.parts))
        .bytes("content", new.iter().map(|(_, held, _)| &*held.record.content))
        .joined("identities", new.iter().map(|(.., fresh)| fresh.packed.as_slice()))
        .keys("begins", begins)
        .numbers("many", many())
        .numbers("retain", records().map(|record| nanos(record.retain)))
        .flags("needs_reference", records().map(|record| record.needs_reference))
        .keys("unit", units.iter().map(|(unit, _)| *unit))
        .keys("owner", units.iter().map(|(_, name)| -name.row))
        .keys("source", units.iter().map(|(_, name)| name.alias.source.code().into()))
}

fn succeeding<'a>(rows: Rows<'a>, ended: &[(i64, &'a Held)]) -> Rows<'a> {
    let records = || ended.iter().map(|(_, held)| &*held.record);
    let stored = || ended.iter().filter_map(|(_, held)| held.record.stored.as_ref());
    rows.keys("ended_tenant", ended.iter().map(|(tenant, _)| *tenant))
        .keys("ended", records().map(|record| record.row))
        .keys("ended_nonce", records().map(|record| record.nonce.cast_signed()))
        .numbers("ended_retain", records().map(|record| nanos(record.retain)))
        .maybe("ended_retain_until", records().map(|record| record.retain_until.map(Timestamp::as_nanos)))
        .words("ended_reference", records().map(|record| words(record.reference.as_deref())))
        .numbers("ended_kind", stored().map(|stored| stored.kind.code().into()))
        .bytes("ended_bytes", stored().map(|stored| &*stored.bytes))
}
