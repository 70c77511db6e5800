-- The statements that every call needs, as functions: a server process plans what stands in them once, where it would plan a
-- statement that is sent to it each time anew, over every partition. No statement has a name, so a pooler may lend its
-- connections by the transaction.
--
-- A column comes as an array. What is the same in all rows comes once: where an array is shorter than the others, `unnest`
-- fills it up with null, and its first element counts. An array of values that may be missing is either whole or has one
-- element. Whatever a function is told is named like the column it is for, behind a line. A plan that is kept is made without a
-- look at the values (`plan_cache_mode`).

-- The planner goes by the indexes, also while its statistics are those of an empty table, and compiles nothing: a plan that it
-- was told not to like looks expensive to it.
create function idem_plans() returns void language plpgsql as $$
begin
    perform set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
        set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true);
end $$;

-- Where rows are joined to records that are to be written there is one way left: an index, with a condition. A full walk of an
-- index is no dearer to a planner that was told that the table is empty, and the plan would be kept.
create function idem_plans_of_writes(_on boolean) returns void language plpgsql as $$
begin
    perform set_config('enable_indexscan', case when _on then 'off' else 'on' end, true),
        set_config('enable_bitmapscan', case when _on then 'on' else 'off' end, true);
end $$;

-- Whatever the server's own defaults are: a reservation waits for the disk. No timer of the server's ends a statement: where
-- it ended the wait for a standby, `commit` would still be called a success.
create function idem_begin(_alone boolean) returns void language plpgsql as $$
begin
    perform set_config('synchronous_commit', 'on', true), set_config('statement_timeout', '0', true),
        set_config('lock_timeout', '10s', true), set_config('idle_in_transaction_session_timeout', '60s', true), idem_plans();
    if _alone then
        lock table idem_gate in exclusive mode;
    else
        lock table idem_gate in row share mode;
    end if;
end $$;

-- Tokens are drawn after every row is held: so a record's next token is greater than its last one.
create function idem_tokens(_many bigint, out tokens bigint[], out last bigint, out waiting boolean, out server bigint)
language plpgsql as $$
begin
    select coalesce(array_agg(nextval('idem_fence')), '{}') into tokens from generate_series(1, _many);
    select s.last_value into last from idem_fence s;
    waiting := exists (select 1 from idem_evidence where not weighed);
    server := (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint;
end $$;

-- Scopes come in the order of their keys, so that two batches take what both want in the same order. What somebody else
-- interned at the same time is seen by the second statement.
create function idem_intern(_tenant bigint[], _digest bytea[], _kind text[], _value text[])
returns table (tenant bigint, digest bytea, scope bigint, is_new boolean) language plpgsql as $$
#variable_conflict use_column
declare
    made bigint[];
begin
    with inserted as (
        insert into idem_scopes (tenant, digest, kind, value)
        select coalesce(r.tenant, _tenant[1]), r.digest, coalesce(r.kind, _kind[1]),
               case when cardinality(_value) = 1 then _value[1] else r.value end
        from unnest(_tenant, _digest, _kind, _value) as r (tenant, digest, kind, value)
        on conflict do nothing
        returning scope
    )
    select coalesce(array_agg(i.scope), '{}') into made from inserted i;
    return query
        select s.tenant, s.digest, s.scope, s.scope = any (made)
        from unnest(_tenant, _digest) as r (tenant, digest)
        cross join lateral (
            select s.tenant, s.digest, s.scope from idem_scopes s
            where s.tenant = coalesce(r.tenant, _tenant[1]) and s.digest = r.digest offset 0
        ) as s;
end $$;

-- Of each identity the newest generation, or the one that is asked for; and records by their handles (`_tenants`, `_ids`).
-- Whoever knows no number of a scope tells its digest, `_of`. They are held one by one in the order of their handles, so that two
-- batches do not wait for each other.
create function idem_hold(
    _tenant bigint[], _scope bigint[], _of bytea[], _digest bytea[], _generation bigint[], _tenants bigint[], _ids bigint[]
)
returns table (
    tenant bigint, id bigint, version bigint, nonce bigint, lease_until bigint, renewed_at bigint, renewals bigint,
    scope bigint, digest bytea, generation bigint
) language plpgsql as $$
#variable_conflict use_column
begin
    return query
        select o.tenant, o.id, o.version, o.nonce, o.lease_until, o.renewed_at, o.renewals, n.scope, n.digest, n.generation
        from (
            select i.tenant, i.operation as id, i.scope, i.digest, i.generation
            from (
                select coalesce(r.tenant, _tenant[1]) as tenant,
                       case when cardinality(_scope) = 1 then _scope[1] else r.scope end as scope,
                       coalesce(r.of, _of[1]) as of, r.digest,
                       case when cardinality(_generation) = 1 then _generation[1] else r.generation end as generation
                from unnest(_tenant, _scope, _of, _digest, _generation) as r (tenant, scope, of, digest, generation)
            ) a
            cross join lateral (
                select * from idem_identities i
                where i.tenant = a.tenant
                  and i.scope = coalesce(
                      a.scope, (select s.scope from idem_scopes s where s.tenant = a.tenant and s.digest = a.of))
                  and i.digest = a.digest and (a.generation is null or i.generation = a.generation)
                order by i.generation desc limit 1
            ) i
            union all
            select coalesce(r.tenant, _tenants[1]), r.id, null, null, null from unnest(_tenants, _ids) as r (tenant, id)
            order by id offset 0
        ) n
        cross join lateral (
            select * from idem_operations o where o.tenant = n.tenant and o.id = n.id offset 0 for update of o
        ) as o;
end $$;

-- Creates if absent: the unique key says whether somebody else was first. Gives how many were taken. Sorted, so that two
-- batches take what both want in the same order.
create function idem_take(
    _tenant bigint[], _scope bigint[], _digest bytea[], _generation bigint[], _operation bigint[], _source bigint[]
) returns bigint language plpgsql as $$
declare
    taken bigint;
begin
    insert into idem_identities (tenant, scope, digest, generation, operation, source)
    select coalesce(r.tenant, _tenant[1]), coalesce(r.scope, _scope[1]), coalesce(r.digest, _digest[1]),
           coalesce(r.generation, _generation[1]), r.operation, coalesce(r.source, _source[1])
    from unnest(_tenant, _scope, _digest, _generation, _operation, _source)
        as r (tenant, scope, digest, generation, operation, source)
    on conflict do nothing;
    get diagnostics taken = row_count;
    return taken;
end $$;

-- Identities that came after the creation of their records.
create function idem_alias(_tenant bigint[], _operation bigint[], _digest bytea[], _generation bigint[])
returns void language plpgsql as $$
begin
    insert into idem_aliases (tenant, operation, digest, generation)
    select coalesce(r.tenant, _tenant[1]), r.operation, coalesce(r.digest, _digest[1]), coalesce(r.generation, _generation[1])
    from unnest(_tenant, _operation, _digest, _generation) as r (tenant, operation, digest, generation)
    on conflict do nothing;
end $$;

create function idem_create(
    _tenant bigint[], _id bigint[], _scope bigint[], _operation bytea[], _tool bigint[], _principal text[],
    _first_call bigint[], _approval text[], _state text[], _in_doubt boolean[], _disproved boolean[], _attempt bigint[],
    _fence bigint[], _nonce bigint[], _reconcile_fence bigint[], _passes bigint[], _answered bigint[], _lease_until bigint[],
    _version bigint[], _fingerprint bytea[], _parts bytea[], _content bytea[], _identities bytea[], _reserved_at bigint[],
    _settled_at bigint[], _unknown_at bigint[], _next_at bigint[], _settled_fence bigint[], _has_resources boolean[],
    _retain bigint[], _retain_until bigint[], _needs_reference boolean[], _reference text[], _review boolean[], _again_until bigint[]
) returns bigint language plpgsql as $$
declare
    created bigint;
begin
    insert into idem_operations (
        tenant, id, scope, operation, tool, principal, first_call, approval, state, in_doubt, disproved, attempt, fence, nonce,
        reconcile_fence, passes, answered, lease_until, version, fingerprint, parts, content, identities, reserved_at,
        settled_at, unknown_at, next_at, settled_fence, has_resources, retain, retain_until, needs_reference, reference, review,
        again_until
    )
    select coalesce(r.tenant, _tenant[1]), r.id, coalesce(r.scope, _scope[1]), coalesce(r.operation, _operation[1]),
        coalesce(r.tool, _tool[1]), case when cardinality(_principal) = 1 then _principal[1] else r.principal end,
        coalesce(r.first_call, _first_call[1]), case when cardinality(_approval) = 1 then _approval[1] else r.approval end,
        coalesce(r.state, _state[1]), coalesce(r.in_doubt, _in_doubt[1]), coalesce(r.disproved, _disproved[1]),
        coalesce(r.attempt, _attempt[1]), coalesce(r.fence, _fence[1]), coalesce(r.nonce, _nonce[1]),
        coalesce(r.reconcile_fence, _reconcile_fence[1]), coalesce(r.passes, _passes[1]), coalesce(r.answered, _answered[1]),
        case when cardinality(_lease_until) = 1 then _lease_until[1] else r.lease_until end,
        coalesce(r.version, _version[1]), coalesce(r.fingerprint, _fingerprint[1]), coalesce(r.parts, _parts[1]),
        coalesce(r.content, _content[1]), coalesce(r.identities, _identities[1]), coalesce(r.reserved_at, _reserved_at[1]),
        case when cardinality(_settled_at) = 1 then _settled_at[1] else r.settled_at end,
        case when cardinality(_unknown_at) = 1 then _unknown_at[1] else r.unknown_at end,
        case when cardinality(_next_at) = 1 then _next_at[1] else r.next_at end,
        coalesce(r.settled_fence, _settled_fence[1]), coalesce(r.has_resources, _has_resources[1]),
        coalesce(r.retain, _retain[1]),
        case when cardinality(_retain_until) = 1 then _retain_until[1] else r.retain_until end,
        coalesce(r.needs_reference, _needs_reference[1]),
        case when cardinality(_reference) = 1 then _reference[1] else r.reference end, coalesce(r.review, _review[1]),
        case when cardinality(_again_until) = 1 then _again_until[1] else r.again_until end
    from unnest(
        _tenant, _id, _scope, _operation, _tool, _principal, _first_call, _approval, _state, _in_doubt, _disproved, _attempt,
        _fence, _nonce, _reconcile_fence, _passes, _answered, _lease_until, _version, _fingerprint, _parts, _content,
        _identities, _reserved_at, _settled_at, _unknown_at, _next_at, _settled_fence, _has_resources, _retain, _retain_until,
        _needs_reference, _reference, _review, _again_until
    ) as r (
        tenant, id, scope, operation, tool, principal, first_call, approval, state, in_doubt, disproved, attempt, fence, nonce,
        reconcile_fence, passes, answered, lease_until, version, fingerprint, parts, content, identities, reserved_at,
        settled_at, unknown_at, next_at, settled_fence, has_resources, retain, retain_until, needs_reference, reference, review,
        again_until
    );
    get diagnostics created = row_count;
    return created;
end $$;

-- Moves records whose version is still the one that was read, `_before`; gives how many.
create function idem_move(
    _tenant bigint[], _id bigint[], _before bigint[], _version bigint[], _state text[], _in_doubt boolean[],
    _disproved boolean[], _attempt bigint[], _fence bigint[], _nonce bigint[], _reconcile_fence bigint[], _passes bigint[],
    _answered bigint[], _lease_until bigint[], _settled_at bigint[], _unknown_at bigint[], _next_at bigint[],
    _settled_fence bigint[], _has_resources boolean[], _retain bigint[], _retain_until bigint[], _reference text[],
    _review boolean[], _content bytea[], _again_until bigint[]
) returns bigint language plpgsql as $$
declare
    moved bigint;
begin
    perform idem_plans_of_writes(true);
    update idem_operations o set
        version = coalesce(r.version, _version[1]), state = coalesce(r.state, _state[1]),
        in_doubt = coalesce(r.in_doubt, _in_doubt[1]), disproved = coalesce(r.disproved, _disproved[1]),
        attempt = coalesce(r.attempt, _attempt[1]), fence = coalesce(r.fence, _fence[1]), nonce = coalesce(r.nonce, _nonce[1]),
        reconcile_fence = coalesce(r.reconcile_fence, _reconcile_fence[1]), passes = coalesce(r.passes, _passes[1]),
        answered = coalesce(r.answered, _answered[1]),
        lease_until = case when cardinality(_lease_until) = 1 then _lease_until[1] else r.lease_until end,
        settled_at = case when cardinality(_settled_at) = 1 then _settled_at[1] else r.settled_at end,
        unknown_at = case when cardinality(_unknown_at) = 1 then _unknown_at[1] else r.unknown_at end,
        next_at = case when cardinality(_next_at) = 1 then _next_at[1] else r.next_at end,
        settled_fence = coalesce(r.settled_fence, _settled_fence[1]),
        has_resources = coalesce(r.has_resources, _has_resources[1]), retain = coalesce(r.retain, _retain[1]),
        retain_until = case when cardinality(_retain_until) = 1 then _retain_until[1] else r.retain_until end,
        reference = case when cardinality(_reference) = 1 then _reference[1] else r.reference end,
        review = coalesce(r.review, _review[1]), content = coalesce(r.content, _content[1]),
        again_until = case when cardinality(_again_until) = 1 then _again_until[1] else r.again_until end
    from unnest(
        _tenant, _id, _before, _version, _state, _in_doubt, _disproved, _attempt, _fence, _nonce, _reconcile_fence, _passes,
        _answered, _lease_until, _settled_at, _unknown_at, _next_at, _settled_fence, _has_resources, _retain, _retain_until,
        _reference, _review, _content, _again_until
    ) as r (
        tenant, id, before, version, state, in_doubt, disproved, attempt, fence, nonce, reconcile_fence, passes, answered,
        lease_until, settled_at, unknown_at, next_at, settled_fence, has_resources, retain, retain_until, reference, review,
        content, again_until
    )
    where o.tenant = coalesce(r.tenant, _tenant[1]) and o.id = r.id and o.version = coalesce(r.before, _before[1]);
    get diagnostics moved = row_count;
    perform idem_plans_of_writes(false);
    return moved;
end $$;

create function idem_tell(_tenant bigint[], _operation bigint[], _kind bigint[], _bytes bytea[])
returns bigint language plpgsql as $$
declare
    told bigint;
begin
    insert into idem_results (tenant, operation, kind, bytes)
    select coalesce(r.tenant, _tenant[1]), r.operation, coalesce(r.kind, _kind[1]), coalesce(r.bytes, _bytes[1])
    from unnest(_tenant, _operation, _kind, _bytes) as r (tenant, operation, kind, bytes)
    on conflict (tenant, operation) do update set kind = excluded.kind, bytes = excluded.bytes;
    get diagnostics told = row_count;
    return told;
end $$;

-- What calls look for: from each identity to its record by primary keys alone, each question as if alone. What stands behind
-- `offset 0` is not planned together, so there is no order of joins to choose. Whoever asks knows no numbers: tenants come by
-- their names and scopes by their digests, 32 bytes each behind each other, once for all identities that are looked for in the
-- same place. A record that the line before led to is not given again.
create function idem_find(_name text[], _of bytea, _place bigint[], _digest bytea, _generation bigint[])
returns table (
    nth bigint, generation bigint, place bigint, handle bigint, reopened boolean, kind smallint, bytes bytea, tenant bigint,
    id bigint, version bigint, operation bytea, principal text, first_call bigint, approval text, fingerprint bytea,
    parts bytea, content bytea, state text, in_doubt boolean, disproved boolean, attempt bigint, fence bigint, nonce bigint,
    reconcile_fence bigint, passes bigint, answered bigint, lease_until bigint, renewed_at bigint, renewals bigint,
    reserved_at bigint, settled_at bigint, unknown_at bigint, next_at bigint, settled_fence bigint, has_resources boolean,
    retain bigint, retain_until bigint, needs_reference boolean, reference text, review boolean, tool_name text,
    tool_version bigint, tool_params text
) language plpgsql as $$
#variable_conflict use_column
declare
    tenants bigint[];
    scopes bigint[];
begin
    perform idem_plans(), set_config('bytea_output', 'hex', true);
    select array_agg(n.tenant order by p.nth), array_agg(s.scope order by p.nth) into tenants, scopes
    from unnest(_name) with ordinality as p (name, nth)
    left join lateral (select n.tenant from idem_tenants n where n.name = p.name offset 0) as n on true
    left join lateral (
        select s.scope from idem_scopes s
        where s.tenant = n.tenant and s.digest = substr(_of, (32 * p.nth - 31)::int, 32) offset 0) as s on true;
    return query
        select f.nth, f.generation, f.tenant, f.operation,
               o.has_resources and o.settled_fence > 0 and exists (
                   select 1 from idem_operation_resources own
                   join idem_resources l on l.tenant = own.tenant and l.digest = own.digest
                   where own.tenant = o.tenant and own.operation = o.id and l.last > o.settled_fence),
               r.kind, r.bytes, o.tenant, o.id, o.version, o.operation, o.principal, o.first_call, o.approval, o.fingerprint,
               o.parts, o.content, o.state, o.in_doubt, o.disproved, o.attempt, o.fence, o.nonce, o.reconcile_fence, o.passes,
               o.answered, o.lease_until, o.renewed_at, o.renewals, o.reserved_at, o.settled_at, o.unknown_at, o.next_at,
               o.settled_fence, o.has_resources, o.retain, o.retain_until, o.needs_reference, o.reference, o.review, t.name,
               t.version, t.params
        from (
            select a.nth, a.tenant, i.generation, i.operation,
                   (a.tenant, i.operation) is distinct from lag((a.tenant, i.operation)) over (order by a.nth) as is_first
            from (
                select q.nth, tenants[q.place] as tenant, scopes[q.place] as scope,
                       case when cardinality(_generation) = 1 then _generation[1] else q.generation end as generation
                from unnest(_place, _generation) with ordinality as q (place, generation, nth)
                offset 0
            ) as a
            cross join lateral (
                select i.generation, i.operation from idem_identities i
                where i.tenant = a.tenant and i.scope = a.scope and i.digest = substr(_digest, (32 * a.nth - 31)::int, 32)
                  and i.generation <= coalesce(a.generation, 9223372036854775807)
                order by i.generation desc limit 1) as i
            where i.generation = coalesce(a.generation, i.generation)
            offset 0
        ) as f
        left join lateral (
            select * from idem_operations o where f.is_first and o.tenant = f.tenant and o.id = f.operation offset 0) as o on true
        left join lateral (select t.name, t.version, t.params from idem_tools t where t.tool = o.tool offset 0) as t on true
        left join lateral (
            select r.kind, r.bytes from idem_results r where r.tenant = o.tenant and r.operation = o.id offset 0
        ) as r on true;
end $$;
