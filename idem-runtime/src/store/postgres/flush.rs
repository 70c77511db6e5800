//! Writing what a transaction made of its records: one statement for all that are new, one for all that moved, in one message.
//!
//! Must not know which command it was: every field that can change is written, where the version is the one that was read.

use super::{
    failure::{Stopped, at_commit, corrupt, is_gone, is_one_of, overtaken},
    nanos,
    script::{Answered, Failed, Rows, Script},
    sql,
    text::text,
    work::{Held, Key, Name, Work},
};
use crate::{
    clock::Timestamp,
    id::Principal,
    ledger::{Alias, Record, State},
};

/// What the server says where a statement wrote fewer rows than it was to: it divides by whether they are all there.
const NOT_ALL: &str = "22012";

/// What is still to be sent of what is written.
#[derive(Debug, Default)]
pub(super) struct Writing {
    script: Script,
    /// Its first statement takes identities.
    takes: bool,
}

/// Records to be written, with their tenants, in the order of their handles.
type List<'a> = Vec<(i64, &'a Held)>;

impl Writing {
    /// Whether there is nothing to send.
    pub(super) const fn is_empty(&self) -> bool {
        self.script.len() == 0
    }

    /// Sends it in the middle of a transaction.
    async fn send(self, db: &mut sqlx::PgConnection) -> Result<(), Stopped> {
        let takes = self.takes;
        self.script.send(db).await.map(drop).map_err(|failed| before_commit(takes, failed))
    }

    /// Adds one statement or more, none of which is open for a value.
    pub(super) fn say(&mut self, statements: &str, many: usize) {
        self.script.say(statements, many);
    }

    /// How many statements there are.
    pub(super) const fn len(&self) -> usize {
        self.script.len()
    }

    /// Sends it with `commit` behind it; gives what each statement answered. The first one fails where the transaction was
    /// aborted: `commit` alone would say `ROLLBACK` and be taken for success.
    pub(super) async fn commit(mut self, db: &mut sqlx::PgConnection) -> Result<Vec<Answered>, Stopped> {
        if self.is_empty() {
            self.script.say("select 1", 1);
        }
        let before = self.script.len();
        self.script.say("commit", 1);
        match self.script.send(db).await {
            Ok(answers) => Ok(answers),
            // The server itself says that it did not come so far. That it is gone is said by others, too: answers that it gave
            // may be lost.
            Err(failed)
                if failed.answered < before
                    && failed.error.as_database_error().is_some()
                    && !is_gone(&failed.error) =>
            {
                Err(before_commit(self.takes, failed))
            }
            Err(failed) => Err(at_commit(failed.error)),
        }
    }
}

fn before_commit(takes: bool, failed: Failed) -> Stopped {
    if !is_one_of(&failed.error, &[NOT_ALL]) {
        return failed.error.into();
    }
    if takes && failed.answered == 0 {
        return overtaken();
    }
    corrupt("an operation changed inside the transaction that holds it").into()
}

impl Work<'_> {
    /// Writes whatever is not written yet.
    pub(super) async fn flush(&mut self) -> Result<(), Stopped> {
        let writing = self.writing().await?;
        if !writing.is_empty() {
            writing.send(&mut *self.db).await?;
        }
        for held in self.records.values_mut() {
            (held.fresh, held.moved, held.told, held.version) = (None, false, false, held.record.version);
        }
        Ok(())
    }

    /// Writes whatever needs messages of its own; gives what is left.
    pub(super) async fn writing(&mut self) -> Result<Writing, Stopped> {
        self.rows += self.beside.write(&mut *self.db, self.now).await?;
        let taken = std::mem::take(&mut self.taken);
        self.vacate(&taken).await?;
        let (mut fresh, mut moved, mut told): (List<'_>, List<'_>, List<'_>) = (Vec::new(), Vec::new(), Vec::new());
        for ((tenant, _), held) in &self.records {
            if held.fresh.is_some() {
                fresh.push((*tenant, held));
            } else if held.moved {
                moved.push((*tenant, held));
            }
            if held.told && held.record.stored.is_some() {
                told.push((*tenant, held));
            }
        }
        for list in [&mut fresh, &mut moved, &mut told] {
            list.sort_unstable_by_key(|(_, held)| held.record.row);
        }
        let mut writing = Writing::default();
        if !taken.is_empty() {
            self.rows += taken.len() as u64;
            take(&mut writing.script, taken);
            writing.takes = true;
            // Somebody else may come first, and the server then logs the message that failed: what people said must not
            // stand in it.
            if !told.is_empty() || fresh.iter().chain(&moved).any(|(_, held)| says_anything(&held.record)) {
                std::mem::take(&mut writing).send(&mut *self.db).await?;
            }
        }
        self.rows += (fresh.len() + moved.len() + told.len()) as u64;
        if !fresh.is_empty() {
            let rows = created(changing(&fresh), &fresh);
            writing.script.say(&format!("select {}", rows.call("idem_create")), 1);
        }
        if !moved.is_empty() {
            writing.script.say(&moves(&moved), 1);
        }
        if !told.is_empty() {
            writing.script.say(&results(&told), 1);
        }
        Ok(writing)
    }

    /// First generations that lead nowhere make room for a call that names the first one.
    async fn vacate(&mut self, taken: &[Name]) -> Result<(), Stopped> {
        let first = || taken.iter().filter(|name| name.exact && name.alias.generation == 1);
        if first().next().is_some() {
            let query = sql(VACATE)
                .bind(first().map(|name| name.tenant).collect::<Vec<_>>())
                .bind(first().map(|name| name.scope).collect::<Vec<_>>())
                .bind(first().map(|name| name.alias.digest.as_slice()).collect::<Vec<_>>());
            query.execute(&mut *self.db).await?;
        }
        Ok(())
    }
}

const VACATE: &str = "\
    delete from idem_identities i using unnest($1::bigint[], $2::bigint[], $3::bytea[]) as n (tenant, scope, digest)
    where i.tenant = n.tenant and i.scope = n.scope and i.digest = n.digest and i.generation = 1 and i.operation = 0";

/// Whether there is more to a record than numbers and digests.
fn says_anything(record: &Record) -> bool {
    record.principal.is_some() || record.approval.is_some() || record.reference.is_some() || !record.content.is_empty()
}

/// Creates if absent: the unique key says whether somebody else was first. Sorted, so that two batches take what both want
/// in the same order. What has a later generation has a first one, which may lead nowhere: so whoever takes a first one need not
/// look for others.
fn take(script: &mut Script, mut taken: Vec<Name>) {
    taken.sort_unstable_by_key(Name::key);
    let all: Vec<&Name> = taken.iter().collect();
    script.say(&all_of("idem_take", &placed(&all), taken.len()), 1);
    let firsts: Vec<Name> = taken.iter().filter(|name| name.alias.generation > 1).map(Name::first).collect();
    if !firsts.is_empty() {
        script.say(&format!("select {}", placed(&firsts.iter().collect::<Vec<_>>()).call("idem_take")), 1);
    }
    let later: Vec<&Name> = taken.iter().filter(|name| name.later).collect();
    if !later.is_empty() {
        script.say(&format!("select {}", named(&later).call("idem_alias")), 1);
    }
}

fn placed<'a>(names: &[&'a Name]) -> Rows<'a> {
    named(names)
        .numbers("scope", names.iter().map(|name| name.scope))
        .numbers("source", names.iter().map(|name| name.alias.source.code().into()))
}

fn named<'a>(names: &[&'a Name]) -> Rows<'a> {
    Rows::default()
        .keys("operation", names.iter().map(|name| name.row))
        .numbers("tenant", names.iter().map(|name| name.tenant))
        .bytes("digest", names.iter().map(|name| name.alias.digest.as_slice()))
        .numbers("generation", names.iter().map(|name| name.alias.generation.into()))
}

/// Where the version is the one that was read; the rows are held, so it is.
fn moves(moved: &[(i64, &Held)]) -> String {
    let rows = changing(moved).numbers("before", moved.iter().map(|(_, held)| held.version.cast_signed()));
    all_of("idem_move", &rows, moved.len())
}

/// Fails where the function wrote fewer than all of these rows.
fn all_of(function: &str, rows: &Rows<'_>, many: usize) -> String {
    format!("select 1 / ({} = {many})::int", rows.call(function))
}

/// The key, and every field that can change.
fn changing<'a>(all: &[(i64, &'a Held)]) -> Rows<'a> {
    let records = || all.iter().map(|(_, held)| &*held.record);
    let instant = |instant: Option<Timestamp>| instant.map(Timestamp::as_nanos);
    Rows::default()
        .keys("id", records().map(|record| record.row))
        .numbers("tenant", all.iter().map(|(tenant, _)| *tenant))
        .numbers("version", records().map(|record| record.version.cast_signed()))
        .words("state", records().map(|record| Some(record.state.name().to_owned())))
        .flags("in_doubt", records().map(|record| record.in_doubt))
        .flags("disproved", records().map(|record| record.disproved))
        .numbers("attempt", records().map(|record| record.attempt.into()))
        .numbers("fence", records().map(|record| record.fence))
        .numbers("nonce", records().map(|record| record.nonce.cast_signed()))
        .numbers("reconcile_fence", records().map(|record| record.reconcile_fence))
        .numbers("passes", records().map(|record| record.passes.into()))
        .numbers("answered", records().map(|record| record.answered.into()))
        .maybe("lease_until", records().map(|record| instant(record.lease_until)))
        .maybe("settled_at", records().map(|record| instant(record.settled_at)))
        .maybe("unknown_at", records().map(|record| instant(record.unknown_at)))
        .maybe("next_at", records().map(|record| instant(record.next_at)))
        .numbers("settled_fence", records().map(|record| record.settled_fence))
        .flags("has_resources", records().map(|record| record.has_resources))
        .numbers("retain", records().map(|record| nanos(record.retain)))
        .maybe("retain_until", records().map(|record| instant(record.retain_until)))
        .words("reference", records().map(|record| words(record.reference.as_deref())))
        .flags("review", records().map(|record| record.review))
        .bytes("content", all.iter().map(|(_, held)| &*held.record.content))
        .maybe("again_until", records().map(|record| instant(again_until(record))))
}

/// When somebody has to look after an attempt that began again.
fn again_until(record: &Record) -> Option<Timestamp> {
    record.lease_until.filter(|_| record.attempt > 1 && record.state == State::InProgress)
}

/// What a record has from its creation on.
fn created<'a>(rows: Rows<'a>, all: &[(i64, &'a Held)]) -> Rows<'a> {
    let records = || all.iter().map(|(_, held)| &*held.record);
    let fresh = || all.iter().filter_map(|(_, held)| held.fresh.as_ref());
    rows.numbers("scope", fresh().map(|fresh| fresh.scope))
        .bytes("operation", records().map(|record| record.operation.as_bytes().as_slice()))
        .numbers("tool", fresh().map(|fresh| fresh.tool))
        .words("principal", records().map(|record| words(record.principal.as_ref().map(Principal::as_str))))
        .numbers("first_call", records().map(|record| record.first_call.cast_signed()))
        .words("approval", records().map(|record| words(record.approval.as_deref())))
        .bytes("fingerprint", records().map(|record| record.fingerprint.as_slice()))
        .bytes("parts", records().map(|record| &*record.parts))
        .bytes("identities", fresh().map(|fresh| fresh.packed.as_slice()))
        .numbers("reserved_at", records().map(|record| record.reserved_at.as_nanos()))
        .flags("needs_reference", records().map(|record| record.needs_reference))
}

pub(super) fn words(words: Option<&str>) -> Option<String> {
    words.map(|words| text(words).into_owned())
}

fn results(told: &[(i64, &Held)]) -> String {
    let stored = || told.iter().filter_map(|(_, held)| held.record.stored.as_ref());
    let rows = Rows::default()
        .keys("operation", told.iter().map(|(_, held)| held.record.row))
        .numbers("tenant", told.iter().map(|(tenant, _)| *tenant))
        .numbers("kind", stored().map(|stored| stored.kind.code().into()))
        .bytes("bytes", stored().map(|stored| &*stored.bytes));
    format!("select {}", rows.call("idem_tell"))
}

/// A digest and its generation, as the record keeps them.
pub(super) const PACKED: usize = 36;

/// Digest and generation of each identity, so that a purge finds them without an index.
pub(super) fn packed(aliases: &[Alias]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(aliases.len() * PACKED);
    for alias in aliases {
        packed.extend_from_slice(&alias.digest);
        packed.extend_from_slice(&alias.generation.to_le_bytes());
    }
    packed
}

/// Each digest with its generation, as columns hold them.
pub(super) fn unpacked(packed: &[u8]) -> impl Iterator<Item = (&[u8], i64)> {
    packed.chunks_exact(PACKED).filter_map(|one| {
        let (digest, generation) = one.split_at_checked(32)?;
        Some((digest, u32::from_le_bytes(generation.try_into().ok()?).into()))
    })
}

/// Tenants and handles, as two columns.
pub(super) fn columns(keys: &[Key]) -> (Vec<i64>, Vec<i64>) {
    keys.iter().copied().unzip()
}
