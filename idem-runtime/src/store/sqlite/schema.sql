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
    first_call integer not null default 0,
    approval text,
    state text not null,
    in_doubt integer not null default 0,
    disproved integer not null default 0,
    attempt integer not null,
    fence integer not null,
    nonce integer not null default 0,
    reconcile_fence integer not null default 0,
    passes integer not null default 0,
    answered integer not null default 0,
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
    unknown_at integer,
    next_at integer,
    settled_fence integer not null default 0,
    has_resources integer not null default 0,
    retain integer not null,
    retain_until integer,
    needs_reference integer not null default 0,
    reference text,
    review integer not null default 0,
    check (lease_until is not null or state not in ('in_progress', 'reconciling'))
) strict;

-- Indexes of what is open alone: a call that simply succeeds never enters one. A query has to repeat the `where` word for
-- word, or it walks the whole table. What is unsettled is known by its `unknown_at`, for a list of three states would be built
-- anew for every row that is written.
create index idem_operations_unsettled on idem_operations (tenant) where unknown_at is not null;

create index idem_operations_review on idem_operations (tenant) where review = 1;

create index idem_operations_reopened on idem_operations (tool) where attempt > 1 and state = 'in_progress';

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
    actor text,
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

-- What somebody outside said, also before there is a record: so by the operation's id. `nth` is the order of arrival. `kind`
-- and `bytes` hold a result until a record has weighed it.
create table idem_evidence (
    tenant integer not null,
    operation blob not null,
    source text not null,
    event text not null,
    nth integer not null,
    at integer not null,
    weighed integer not null,
    finding text not null,
    kind integer,
    bytes blob,
    reference text,
    actor text,
    words text,
    primary key (tenant, operation, source, event)
) strict, without rowid;

-- What waits for its record.
create index idem_evidence_waiting on idem_evidence (at) where weighed = 0;

-- `operation` compensates or replaces `other`; `id` is the handle of its record.
create table idem_links (
    tenant integer not null,
    operation blob not null,
    kind text not null,
    other blob not null,
    id integer not null,
    primary key (tenant, operation, kind, other)
) strict, without rowid;

create index idem_links_back on idem_links (tenant, other, id);

-- Of each resource, the latest handle of an operation that succeeded on it.
create table idem_resources (
    tenant integer not null,
    digest blob not null,
    last integer not null,
    primary key (tenant, digest)
) strict, without rowid;

create table idem_operation_resources (
    operation integer not null,
    digest blob not null,
    primary key (operation, digest)
) strict, without rowid;

create index idem_operation_resources_of on idem_operation_resources (digest);

-- The arguments of a call, where its tool allows storing them; they go with the result.
create table idem_arguments (
    operation integer primary key,
    bytes blob not null
) strict;
