//! A plain batch in words: the call of a function in `straight.sql`.
//!
//! Must not know what makes a batch plain. Values have no names there, so they stand here in the same order.

use super::{
    flush::{PACKED, words},
    nanos, number,
    script::Rows,
    text::text,
    work::{Fresh, Name},
};
use crate::{
    clock::Timestamp,
    id::Principal,
    ledger::{Record, Scope, Stored},
};

/// What is to be written, and for whom it holds.
pub(super) struct Batch<'a> {
    /// When the server was started that gave the numbers.
    pub(super) server: i64,
    pub(super) now: Timestamp,
    /// Scopes without a number, with their tenants.
    pub(super) strange: Vec<(i64, &'a Scope)>,
    /// In the order in which they get their handles.
    pub(super) new: Vec<New<'a>>,
    /// In the order of their handles.
    pub(super) ended: Vec<Ended<'a>>,
    /// Identities of what is new, as records keep them: those of one behind each other.
    pub(super) taken: &'a [Name],
}

/// An operation that nobody called before.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    pub(super) tenant: i64,
    pub(super) record: &'a Record,
    pub(super) fresh: &'a Fresh,
    pub(super) lease_until: Timestamp,
}

/// A first attempt that ended as expected.
#[derive(Clone, Copy)]
pub(super) struct Ended<'a> {
    pub(super) tenant: i64,
    pub(super) record: &'a Record,
    pub(super) retain_until: Timestamp,
    pub(super) stored: &'a Stored,
}

impl<'a> Batch<'a> {
    /// The call that writes all of it.
    pub(super) fn call(&self) -> String {
        let rows = Rows::default().number("server", self.server).number("now", self.now.as_nanos());
        let (function, rows) = match (self.new.as_slice(), self.ended.as_slice()) {
            ([one], []) => ("idem_straight_new", self.one_new(rows, one)),
            ([], [one]) => ("idem_straight_ended", one_ended(rows, one)),
            _ => ("idem_straight", self.all_ended(self.all_new(self.scopes(rows)))),
        };
        format!("select * from {}", rows.call_in_order(function))
    }

    /// Identities with the number that each has among all of them, in the order in which they are to be taken.
    fn units(&self) -> Vec<(i64, &'a Name)> {
        let mut units: Vec<(i64, &Name)> = (1..).zip(self.taken).collect();
        units.sort_unstable_by_key(|(_, name)| name.key());
        units
    }

    fn one_new(&self, rows: Rows<'a>, New { tenant, record, fresh, lease_until }: &New<'a>) -> Rows<'a> {
        let strange = self.strange.first().map(|(_, scope)| *scope);
        let units = self.units();
        rows.joined("of", strange.iter().map(|scope| scope.digest.as_slice()))
            .word("of_kind", words(strange.map(|scope| &*scope.kind)))
            .word("of_value", words(strange.and_then(|scope| scope.value.as_deref())))
            .number("tenant", *tenant)
            .number("scope", fresh.scope)
            .one("operation", record.operation.as_bytes())
            .number("tool", fresh.tool)
            .word("principal", words(record.principal.as_ref().map(Principal::as_str)))
            .number("first_call", record.first_call.cast_signed())
            .word("approval", words(record.approval.as_deref()))
            .number("nonce", record.nonce.cast_signed())
            .number("lease_until", lease_until.as_nanos())
            .one("fingerprint", &record.fingerprint)
            .one("parts", &record.parts)
            .one("content", &record.content)
            .one("identities", &fresh.packed)
            .number("retain", nanos(record.retain))
            .flag("needs_reference", record.needs_reference)
            .keys("unit", units.iter().map(|(unit, _)| *unit))
            .keys("source", units.iter().map(|(_, name)| name.alias.source.code().into()))
    }

    fn scopes(&self, rows: Rows<'a>) -> Rows<'a> {
        let scopes = || self.strange.iter().map(|(_, scope)| *scope);
        rows.keys("of_tenant", self.strange.iter().map(|(tenant, _)| *tenant))
            .joined("of", scopes().map(|scope| scope.digest.as_slice()))
            .each_word("of_kind", scopes().map(|scope| Some(text(&scope.kind).into_owned())))
            .each_word("of_value", scopes().map(|scope| words(scope.value.as_deref())))
    }

    fn all_new(&self, rows: Rows<'a>) -> Rows<'a> {
        let records = || self.new.iter().map(|new| new.record);
        let many = || self.new.iter().map(|new| number((new.fresh.packed.len() / PACKED) as u64));
        let begins = many().scan(1, |next, many| {
            let begins = *next;
            *next += many;
            Some(begins)
        });
        let units = self.units();
        rows.keys("tenant", self.new.iter().map(|new| new.tenant))
            .keys("scope", self.new.iter().map(|new| new.fresh.scope))
            .joined("operation", records().map(|record| record.operation.as_bytes().as_slice()))
            .numbers("tool", self.new.iter().map(|new| new.fresh.tool))
            .words("principal", records().map(|record| words(record.principal.as_ref().map(Principal::as_str))))
            .keys("first_call", records().map(|record| record.first_call.cast_signed()))
            .words("approval", records().map(|record| words(record.approval.as_deref())))
            .keys("nonce", records().map(|record| record.nonce.cast_signed()))
            .numbers("lease_until", self.new.iter().map(|new| new.lease_until.as_nanos()))
            .joined("fingerprint", records().map(|record| record.fingerprint.as_slice()))
            .bytes("parts", records().map(|record| &*record.parts))
            .bytes("content", records().map(|record| &*record.content))
            .joined("identities", self.new.iter().map(|new| new.fresh.packed.as_slice()))
            .keys("begins", begins)
            .numbers("many", many())
            .numbers("retain", records().map(|record| nanos(record.retain)))
            .flags("needs_reference", records().map(|record| record.needs_reference))
            .keys("unit", units.iter().map(|(unit, _)| *unit))
            // Until the server has given them their handles they count down from -1.
            .keys("owner", units.iter().map(|(_, name)| -name.row))
            .keys("source", units.iter().map(|(_, name)| name.alias.source.code().into()))
    }

    fn all_ended(&self, rows: Rows<'a>) -> Rows<'a> {
        let records = || self.ended.iter().map(|ended| ended.record);
        rows.keys("ended_tenant", self.ended.iter().map(|ended| ended.tenant))
            .keys("ended", records().map(|record| record.row))
            .keys("ended_nonce", records().map(|record| record.nonce.cast_signed()))
            .numbers("ended_retain", records().map(|record| nanos(record.retain)))
            .numbers("ended_retain_until", self.ended.iter().map(|ended| ended.retain_until.as_nanos()))
            .words("ended_reference", records().map(|record| words(record.reference.as_deref())))
            .numbers("ended_kind", self.ended.iter().map(|ended| ended.stored.kind.code().into()))
            .bytes("ended_bytes", self.ended.iter().map(|ended| &*ended.stored.bytes))
    }
}

fn one_ended<'a>(rows: Rows<'a>, Ended { tenant, record, retain_until, stored }: &Ended<'a>) -> Rows<'a> {
    rows.number("tenant", *tenant)
        .number("id", record.row)
        .number("nonce", record.nonce.cast_signed())
        .number("retain", nanos(record.retain))
        .number("retain_until", retain_until.as_nanos())
        .word("reference", words(record.reference.as_deref()))
        .number("kind", stored.kind.code().into())
        .one("bytes", &stored.bytes)
}
