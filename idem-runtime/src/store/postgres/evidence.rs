//! What somebody outside says about an effect, before its record is there or after.
//!
//! Must not know who says it, nor what it proves.

use std::sync::Arc;

use sqlx::{PgConnection, postgres::PgRow};

use super::{
    failure::{Stopped, misread, overtaken},
    read::{self, get},
    readers::row_of,
    sql,
    text::{maybe_said, said as words, text},
    work::{Gate, Key, Work},
};
use crate::{
    clock::Timestamp,
    id::OperationId,
    ledger::{Answer, Evidence, Finding, Grant, Reserve, Reserved, Said, State, Witnessed, course},
};

/// The same event is stored once. A result stays with it only until a record has weighed it.
const HEAR: &str = "\
    insert into idem_evidence
        (tenant, operation, source, event, nth, at, weighed, finding, kind, bytes, reference, actor, words)
    select $1, $2, $3, $4,
           coalesce((select max(nth) from idem_evidence where tenant = $1 and operation = $2), 0) + 1,
           $5, $6, $7, $8, $9, $10, $11, $12
    on conflict do nothing";

const WAITING: &str = "\
    select source, event, finding, kind, bytes, reference, actor, words from idem_evidence
    where tenant = $1 and operation = $2 and not weighed order by nth";

const WEIGHED: &str = "\
    update idem_evidence set weighed = true, kind = null, bytes = null
    where tenant = $1 and operation = $2 and not weighed";

const SAID: &str = "\
    select source, event, finding, reference, actor, words, at from idem_evidence
    where tenant = $1 and operation = $2 order by nth";

impl Work<'_> {
    pub(super) async fn witness(&mut self, evidence: &Evidence) -> Result<Witnessed, Stopped> {
        let tenant = self.catalogue.tenant(&evidence.tenant).ok_or_else(|| misread("a tenant has no number"))?;
        let row = row_of(&mut *self.db, tenant, evidence.operation).await?;
        if let Some(row) = row {
            self.hold(vec![(tenant, row)]).await?;
        }
        let held = row.map(|row| (tenant, row)).and_then(|key| Some((key, self.held(key)?)));
        if held.is_none() && *self.gate == Gate::Shared {
            // Somebody may be creating the record at this instant. Alone it is known whether it is there.
            *self.gate = Gate::Alone;
            return Err(overtaken());
        }
        if !self.hear(tenant, evidence, held.is_some()).await? {
            return Ok(Witnessed::Known { record: held.map(|(_, record)| record) });
        }
        let Some((key, record)) = held else { return Ok(Witnessed::Kept) };
        if record.has_resources {
            self.draw(0).await?;
        }
        let (change, witnessed) = course::witness(&record, evidence, self.last_fence(), self.now)?;
        self.save(key, &record, change)?;
        Ok(witnessed)
    }

    /// Keeps evidence; says whether it is new.
    async fn hear(&mut self, tenant: i64, evidence: &Evidence, weighed: bool) -> Result<bool, sqlx::Error> {
        let Evidence { operation, source, event, actor, finding, words, .. } = evidence;
        let stored = match finding {
            Finding::Applied { stored, .. } => stored.as_ref().filter(|_| !weighed),
            Finding::NotApplied | Finding::Inconclusive => None,
        };
        let query = sql(HEAR)
            .bind(tenant)
            .bind(operation.as_bytes().as_slice())
            .bind(text(source).into_owned())
            .bind(text(event).into_owned())
            .bind(self.now.as_nanos())
            .bind(weighed)
            .bind(finding.name())
            .bind(stored.map(|stored| i16::from(stored.kind.code())))
            .bind(stored.map(|stored| &*stored.bytes))
            .bind(finding.reference().map(|reference| text(reference).into_owned()))
            .bind(actor.as_deref().map(|actor| text(actor).into_owned()))
            .bind(words.as_deref().map(|words| text(words).into_owned()));
        let heard = query.execute(&mut *self.db).await?.rows_affected();
        self.rows += heard;
        Ok(heard == 1)
    }

    /// Weighs what was said about a new operation before its record was there.
    pub(super) async fn consume(&mut self, reserve: &Reserve, grant: Grant, tenant: i64) -> Result<Reserved, Stopped> {
        if !self.waiting {
            return Ok(Reserved::Granted(grant));
        }
        let key: Key = (tenant, grant.row);
        let said = waiting_for(&mut *self.db, reserve, tenant, grant.operation).await?;
        if said.is_empty() {
            return Ok(Reserved::Granted(grant));
        }
        let weighed = sql(WEIGHED).bind(tenant).bind(grant.operation.as_bytes().as_slice());
        weighed.execute(&mut *self.db).await?;
        for evidence in said {
            let Some(record) = self.held(key) else { continue };
            let (change, _) = course::witness(&record, &evidence, self.last_fence(), self.now)?;
            self.save(key, &record, change)?;
        }
        let succeeded = self.records.get_mut(&key).filter(|held| held.record.state == State::Succeeded);
        let (Some(first), Some(held)) = (reserve.identities.first(), succeeded) else {
            return Ok(Reserved::Granted(grant));
        };
        // Evidence was there before the first attempt: none was granted after all.
        Arc::make_mut(&mut held.record).attempt = 0;
        let (record, by, generations) = (Arc::clone(&held.record), first.source, grant.generations);
        Ok(Reserved::Found(Answer { record, by, generations, aliases: Vec::new(), retention_ended: false }))
    }
}

async fn waiting_for(
    db: &mut PgConnection,
    reserve: &Reserve,
    tenant: i64,
    operation: OperationId,
) -> Result<Vec<Evidence>, sqlx::Error> {
    let rows = sql(WAITING).bind(tenant).bind(operation.as_bytes().as_slice()).fetch_all(db).await?;
    let said = rows.iter().map(|row| {
        Ok(Evidence {
            tenant: reserve.tenant.clone(),
            operation,
            source: words(row, "source")?,
            event: words(row, "event")?,
            actor: maybe_said(row, "actor")?,
            finding: finding(row)?,
            words: maybe_said(row, "words")?,
        })
    });
    said.collect()
}

/// What a row of [`WAITING`] says.
fn finding(row: &PgRow) -> Result<Finding, sqlx::Error> {
    let name: &str = get(row, "finding")?;
    if name == Finding::NotApplied.name() {
        return Ok(Finding::NotApplied);
    }
    if name == Finding::Inconclusive.name() {
        return Ok(Finding::Inconclusive);
    }
    let applied = Finding::Applied { stored: read::stored(row)?, reference: maybe_said(row, "reference")? };
    if name == applied.name() { Ok(applied) } else { Err(misread("evidence has an unknown finding")) }
}

/// What was said about an operation, in order of arrival.
pub(super) async fn said(db: &mut PgConnection, tenant: i64, operation: OperationId) -> Result<Vec<Said>, sqlx::Error> {
    let rows = sql(SAID).bind(tenant).bind(operation.as_bytes().as_slice()).fetch_all(db).await?;
    let said = rows.iter().map(|row| {
        Ok(Said {
            source: words(row, "source")?,
            event: words(row, "event")?,
            finding: words(row, "finding")?,
            reference: maybe_said(row, "reference")?,
            actor: maybe_said(row, "actor")?,
            words: maybe_said(row, "words")?,
            at: Timestamp::from_nanos(get(row, "at")?),
        })
    });
    said.collect()
}
