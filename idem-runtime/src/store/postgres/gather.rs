//! Reading what a batch works on, in one message: scopes are interned, records held, tokens drawn.
//!
//! Must not know what a command does. Records are held in the order of their handles, so that two batches do not wait for
//! each other. Of a first attempt that this process began, its version says whether it is still as it was committed; whatever
//! else was found is read whole.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashSet;
use sqlx::{Row as _, postgres::PgRow};

use super::{
    failure::{Stopped, corrupt},
    read::{self, get},
    script::{Rows, Script},
    text::text,
    work::{Held, Key, Work, tokens},
};
use crate::{
    clock::Timestamp,
    identity::Digest,
    ledger::{Command, Record, Reserve, Scope},
};

/// An identity that is asked for.
#[derive(Debug)]
struct Sought {
    tenant: i64,
    /// The scope's number, if this process knows it.
    scope: Option<i64>,
    /// The scope's digest.
    of: Digest,
    digest: Digest,
    /// If a certain one is asked for.
    generation: Option<i64>,
}

/// What a batch asks for.
#[derive(Debug, Default)]
struct Asked {
    names: Vec<Sought>,
    /// Handles.
    rows: FxHashSet<Key>,
}

impl Work<'_> {
    /// Reads what these commands are about, and keeps everybody else from moving it.
    pub(super) async fn read(&mut self, commands: &[Command]) -> Result<(), Stopped> {
        let strange = self.strange_scopes(commands)?;
        let asked = self.asked(commands)?;
        let tokens_needed = tokens_needed(commands);
        let mut script = Script::default();
        self.opening(&mut script);
        let place = |script: &mut Script, statement: Option<String>| {
            let at = script.len();
            statement.map(|statement| {
                script.say(&statement, 1);
                at
            })
        };
        let scopes = place(&mut script, (!strange.is_empty()).then(|| intern(&strange)));
        let held = place(&mut script, hold(&asked));
        let drawn = place(&mut script, tokens_needed.map(tokens));
        let answers = script.send(&mut *self.db).await?;
        let of = |at: Option<usize>| at.and_then(|at| answers.get(at));
        for row in of(scopes).map_or(&[][..], |answer| &answer.rows) {
            let (tenant, scope) = (row.try_get("tenant")?, row.try_get("scope")?);
            self.learned(tenant, digest(row)?, scope, row.try_get("is_new")?);
        }
        if drawn.is_some() {
            self.drawn(of(drawn))?;
        }
        let mut unknown: FxHashSet<Key> = FxHashSet::default();
        for row in of(held).map_or(&[][..], |answer| &answer.rows) {
            let key = (row.try_get("tenant")?, row.try_get("id")?);
            if let Some(scope) = row.try_get::<Option<i64>, _>("scope")? {
                let (digest, generation) = (digest(row)?, read::count(row, "generation")?);
                self.named(key.0, scope, digest).insert(generation, key.1);
            }
            match self.as_begun(key, row)? {
                Some(record) => self.keep(key, record),
                None => drop(unknown.insert(key)),
            }
        }
        self.hold(unknown.into_iter().collect()).await?;
        if tokens_needed.is_none() && self.records.values().any(|held| held.record.has_resources) {
            self.draw(0).await?;
        }
        Ok(())
    }

    /// Scopes that have no number yet, as far as this process knows.
    pub(super) fn strange_scopes<'c>(&self, commands: &'c [Command]) -> Result<Vec<(i64, &'c Scope)>, Stopped> {
        let mut strange: BTreeMap<(i64, Digest), &Scope> = BTreeMap::new();
        for command in commands {
            let Command::Reserve(reserve) = command else { continue };
            let (tenant, scope) = (self.tenant_of(reserve)?, &reserve.scope);
            if self.scope(tenant, &scope.digest).is_none() {
                strange.insert((tenant, scope.digest), scope);
            }
        }
        Ok(strange.into_iter().map(|((tenant, _), scope)| (tenant, scope)).collect())
    }

    fn tenant_of(&self, reserve: &Reserve) -> Result<i64, Stopped> {
        Ok(self.catalogue.tenant(&reserve.tenant).ok_or_else(|| corrupt("a tenant has no number"))?)
    }

    fn asked(&self, commands: &[Command]) -> Result<Asked, Stopped> {
        let mut asked = Asked::default();
        let mut seen = FxHashSet::default();
        for command in commands {
            let mut add = |tenant: &_, row: i64| {
                asked.rows.extend(self.catalogue.tenant(tenant).map(|tenant| (tenant, row)));
            };
            match command {
                Command::Reserve(reserve) => {
                    let (tenant, of) = (self.tenant_of(reserve)?, reserve.scope.digest);
                    let scope = self.scope(tenant, &of);
                    for identity in &reserve.identities {
                        let generation = identity.generation.map(i64::from);
                        if seen.insert((tenant, of, identity.digest, generation)) {
                            asked.names.push(Sought { tenant, scope, of, digest: identity.digest, generation });
                        }
                    }
                }
                Command::Settle(settle) => add(&settle.tenant, settle.row),
                Command::BeginReconcile(begin) => add(&begin.tenant, begin.row),
                Command::Verdict(judge) => add(&judge.tenant, judge.row),
                Command::Resolve(resolve) => add(&resolve.tenant, resolve.row),
                Command::EndLeases(all) => all.iter().for_each(|silent| add(&silent.tenant, silent.row)),
                Command::Renew(_) | Command::Tally(_) | Command::Purge { .. } | Command::Evidence(_) => {}
            }
        }
        Ok(asked)
    }

    /// The record of a first attempt of this process, if it is as it was committed but for its lease.
    fn as_begun(&self, key: Key, row: &PgRow) -> Result<Option<Arc<Record>>, Stopped> {
        let (version, nonce): (i64, i64) = (row.try_get("version")?, row.try_get("nonce")?);
        // A server that lost its last commits gives handles anew; a nonce is of one reservation alone.
        let seen = (version.cast_unsigned(), nonce.cast_unsigned());
        let Some(begun) = self.begun(key).filter(|begun| (begun.version, begun.nonce) == seen) else {
            return Ok(None);
        };
        let instant = |name: &str| get::<Option<i64>>(row, name).map(|nanos| nanos.map(Timestamp::from_nanos));
        let (lease_until, renewed_at) = (instant("lease_until")?, instant("renewed_at")?);
        let renewals = read::count(row, "renewals")?;
        if (begun.lease_until, begun.renewed_at, begun.renewals) == (lease_until, renewed_at, renewals) {
            return Ok(Some(begun));
        }
        Ok(Some(Arc::new(Record { lease_until, renewed_at, renewals, ..(*begun).clone() })))
    }

    pub(super) fn keep(&mut self, key: Key, record: Arc<Record>) {
        let version = record.version;
        self.records.insert(key, Held { record, version, fresh: None, moved: false, told: false });
    }
}

/// How many tokens are to be drawn, if any, or the last one is to be known.
fn tokens_needed(commands: &[Command]) -> Option<usize> {
    let draws = |command: &&Command| matches!(command, Command::Reserve(_) | Command::BeginReconcile(_));
    let many = commands.iter().filter(draws).count();
    let asks = commands.iter().any(|command| match command {
        Command::Settle(settle) => !settle.resources.is_empty(),
        Command::Verdict(judge) => !judge.resources.is_empty(),
        _ => false,
    });
    (many > 0 || asks).then_some(many)
}

/// The digest in a row of text.
fn digest(row: &PgRow) -> Result<Digest, Stopped> {
    let bytes: Vec<u8> = row.try_get("digest")?;
    Ok(Digest::try_from(bytes.as_slice()).map_err(|_| corrupt("a digest has another length"))?)
}

/// In the order of their keys, so that two batches take what both want in the same order.
fn intern(strange: &[(i64, &Scope)]) -> String {
    let words = |words: &str| Some(text(words).into_owned());
    let rows = Rows::default()
        .digests("digest", strange.iter().map(|(_, scope)| scope.digest.as_slice()))
        .numbers("tenant", strange.iter().map(|(tenant, _)| *tenant))
        .words("kind", strange.iter().map(|(_, scope)| words(&scope.kind)))
        .words("value", strange.iter().map(|(_, scope)| scope.value.as_deref().and_then(words)));
    format!("select * from {}", rows.call("idem_intern"))
}

/// Of each identity the newest generation, or the one that is asked for; and records by their handles.
fn hold(asked: &Asked) -> Option<String> {
    if asked.names.is_empty() && asked.rows.is_empty() {
        return None;
    }
    let names = || asked.names.iter();
    let of = |name: &'_ Sought| if name.scope.is_none() { name.of } else { [0; 32] };
    let of: Vec<Digest> = names().map(of).collect();
    let rows = Rows::default()
        .digests("digest", names().map(|name| name.digest.as_slice()))
        .numbers("tenant", names().map(|name| name.tenant))
        .maybe("scope", names().map(|name| name.scope))
        .bytes("of", of.iter().map(Digest::as_slice))
        .maybe("generation", names().map(|name| name.generation))
        .keys("ids", asked.rows.iter().map(|(_, row)| *row))
        .numbers("tenants", asked.rows.iter().map(|(tenant, _)| *tenant));
    Some(format!("select * from {}", rows.call("idem_hold")))
}
