-- The last fencing token that no record's handle shows: of a later attempt, or of a record that was purged.
create table idem_ledger (
    one integer primary key check (one = 1),
    fence integer not null
) strict;

insert into idem_ledger (one, fence) values (1, 0);

create table idem_tenants (
    tenant integer primary key,
    name text not null unique
) strict;

create table idem_tools (
    tool integer primary key,
    name text not null,
    version integer not null,
    params text not null,
    unique (name, version, params)
) strict;

-- A scope is interned to an ascending number, so that what belongs together lies together in every index.
create table idem_scopes (
    scope integer primary key,
    tenant integer not null,
    digest blob not null,
    kind text not null,
    value text,
    unique (tenant, digest)
) strict;

create table idem_operations (
    id integer primary key,
    tenant integer not null,
    scope integer not null,
    operation blob not null,
    tool integer not null,
    principal text,
    state text not null,
    attempt integer not null,
    fence integer not null,
    lease_until integer,
    renewed_at integer,
    renewals integer not null default 0,
    version integer not null default 1,
    fingerprint blob not null,
    parts blob not null,
    content blob not null,
    identities blob not null,
    reserved_at integer not null,
    settled_at integer,
    retain_until integer,
    reference text,
    review integer not null default 0,
    check (state <> 'in_progress' or lease_until is not null)
) strict;

create table idem_identities (
    scope integer not null,
    digest blob not null,
    generation integer not null,
    operation integer not null,
    source integer not null,
    primary key (scope, digest, generation)
) strict, without rowid;

-- Attempts after the first: the first one's number, token and instant are the record's own.
create table idem_attempts (
    operation integer not null,
    attempt integer not null,
    fence integer not null,
    started_at integer not null,
    primary key (operation, attempt)
) strict, without rowid;

-- What happened to a record, in order. A first attempt that succeeded leaves no row: its record says it all.
create table idem_history (
    operation integer not null,
    version integer not null,
    at integer not null,
    attempt integer not null,
    event text not null,
    state text not null,
    detail text,
    primary key (operation, version)
) strict, without rowid;

create table idem_results (
    operation integer primary key,
    kind integer not null,
    bytes blob not null
) strict;

create table idem_tallies (
    operation integer primary key,
    tenant integer not null,
    replays integer not null,
    drifts integer not null,
    parameters text not null,
    last_at integer not null
) strict;
