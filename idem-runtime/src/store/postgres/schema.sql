-- Tables that begin with a tenant are partitioned by it; how many partitions each has is chosen when the ledger is made, see
-- the end. So every unique key of theirs contains the tenant.

-- Fencing tokens and handles of records: ascending over the whole ledger, never given twice; a batch that fails leaves a gap.
create sequence idem_fence as bigint cache 1;

-- No rows. Whoever creates records holds it shared, whoever keeps evidence for a record that is not there holds it alone: so
-- neither misses the other.
create table idem_gate (one bigint primary key);

create table idem_tenants (
    tenant bigint generated always as identity primary key,
    name text not null unique
);

create table idem_tools (
    tool bigint generated always as identity primary key,
    name text not null,
    version bigint not null,
    params text not null,
    unique (name, version, params)
);

-- A scope is interned to an ascending number, so that what belongs together lies together in every index. (No identity: before
-- version 17 a partitioned table has none.)
create sequence idem_scope as bigint cache 1;

create table idem_scopes (
    tenant bigint not null,
    digest bytea not null,
    scope bigint not null default nextval('idem_scope'),
    kind text not null,
    value text,
    primary key (tenant, digest)
) partition by hash (tenant);

create table idem_operations (
    tenant bigint not null,
    id bigint not null,
    scope bigint not null,
    operation bytea not null,
    tool bigint not null,
    principal text,
    first_call bigint not null,
    approval text,
    state text not null,
    in_doubt boolean not null,
    disproved boolean not null,
    attempt bigint not null,
    fence bigint not null,
    nonce bigint not null,
    reconcile_fence bigint not null,
    passes bigint not null,
    answered bigint not null,
    lease_until bigint,
    renewed_at bigint,
    renewals bigint not null default 0,
    version bigint not null,
    fingerprint bytea not null,
    parts bytea not null,
    content bytea not null,
    identities bytea not null,
    reserved_at bigint not null,
    settled_at bigint,
    unknown_at bigint,
    next_at bigint,
    settled_fence bigint not null,
    has_resources boolean not null,
    retain bigint not null,
    retain_until bigint,
    needs_reference boolean not null,
    reference text,
    review boolean not null,
    -- Of an attempt after the first that is under way, the end of its lease: so that the index below never sees a call that
    -- simply succeeds. Whoever writes a lease writes this; a generated column costs every write the reading of its expression.
    again_until bigint,
    primary key (tenant, id),
    check (lease_until is not null or state not in ('in_progress', 'reconciling'))
) partition by hash (tenant);

-- What walks over all tenants goes by handles.
create index idem_operations_walk on idem_operations (id);

create index idem_operations_unsettled on idem_operations (tenant, id) where unknown_at is not null;

create index idem_operations_review on idem_operations (tenant, id) where review;

create index idem_operations_reopened on idem_operations (again_until) where again_until is not null;

create table idem_identities (
    tenant bigint not null,
    scope bigint not null,
    digest bytea not null,
    generation bigint not null,
    operation bigint not null,
    source smallint not null,
    primary key (tenant, scope, digest, generation)
) partition by hash (tenant);

-- Identities that came to an operation after its creation; those of the creation stand in the record.
create table idem_aliases (
    tenant bigint not null,
    operation bigint not null,
    digest bytea not null,
    generation bigint not null,
    primary key (tenant, operation, digest, generation)
) partition by hash (tenant);

-- Attempts after the first: the first one's number, token and instant are the record's own.
create table idem_attempts (
    tenant bigint not null,
    operation bigint not null,
    attempt bigint not null,
    fence bigint not null,
    started_at bigint not null,
    primary key (tenant, operation, attempt)
) partition by hash (tenant);

-- What happened to a record, in order. A first attempt that succeeded leaves no row: its record says it all.
create table idem_history (
    tenant bigint not null,
    operation bigint not null,
    version bigint not null,
    at bigint not null,
    attempt bigint not null,
    event text not null,
    state text not null,
    actor text,
    detail text,
    primary key (tenant, operation, version)
) partition by hash (tenant);

create table idem_results (
    tenant bigint not null,
    operation bigint not null,
    kind smallint not null,
    bytes bytea not null,
    primary key (tenant, operation)
) partition by hash (tenant);

create table idem_tallies (
    tenant bigint not null,
    operation bigint not null,
    replays bigint not null,
    drifts bigint not null,
    parameters text not null,
    last_at bigint not null,
    primary key (tenant, operation)
) partition by hash (tenant);

-- What somebody outside said, also before there is a record: so by the operation's id. `nth` is the order of arrival. `kind`
-- and `bytes` hold a result until a record has weighed it.
create table idem_evidence (
    tenant bigint not null,
    operation bytea not null,
    source text not null,
    event text not null,
    nth bigint not null,
    at bigint not null,
    weighed boolean not null,
    finding text not null,
    kind smallint,
    bytes bytea,
    reference text,
    actor text,
    words text,
    primary key (tenant, operation, source, event)
) partition by hash (tenant);

-- What waits for its record.
create index idem_evidence_waiting on idem_evidence (at) where not weighed;

-- `operation` compensates or replaces `other`; `id` is the handle of its record.
create table idem_links (
    tenant bigint not null,
    operation bytea not null,
    kind text not null,
    other bytea not null,
    id bigint not null,
    primary key (tenant, operation, kind, other)
) partition by hash (tenant);

create index idem_links_back on idem_links (tenant, other, id);

-- Of each resource, the latest handle of an operation that succeeded on it.
create table idem_resources (
    tenant bigint not null,
    digest bytea not null,
    last bigint not null,
    primary key (tenant, digest)
) partition by hash (tenant);

create table idem_operation_resources (
    tenant bigint not null,
    operation bigint not null,
    digest bytea not null,
    primary key (tenant, operation, digest)
) partition by hash (tenant);

create index idem_operation_resources_of on idem_operation_resources (tenant, digest);

-- The arguments of a call, where its tool allows storing them; they go with the result.
create table idem_arguments (
    tenant bigint not null,
    operation bigint not null,
    bytes bytea not null,
    primary key (tenant, operation)
) partition by hash (tenant);

-- `idem.partitions` is set by whoever makes the ledger. Half of each page of records is left free: a call writes its record
-- twice, and the second version stays on the page and out of the indexes.
do $$
declare
    many int := current_setting('idem.partitions');
    whole text;
begin
    foreach whole in array array[
        'idem_scopes', 'idem_operations', 'idem_identities', 'idem_aliases', 'idem_attempts', 'idem_history', 'idem_results',
        'idem_tallies', 'idem_evidence', 'idem_links', 'idem_resources', 'idem_operation_resources', 'idem_arguments'
    ] loop
        for part in 0 .. many - 1 loop
            execute format(
                'create table %I partition of %I for values with (modulus %s, remainder %s) %s',
                whole || '_' || part, whole, many, part,
                case when whole = 'idem_operations' then 'with (fillfactor = 50)' end);
        end loop;
    end loop;
end $$;
