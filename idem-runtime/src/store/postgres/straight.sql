-- Plain batches, which look at nothing first.

-- Opens a batch that looks at nothing; 0, or why it has to go the long way: 2, evidence waits for records; 3, this is not the
-- server that gave the numbers.
create function idem_open(_server bigint) returns bigint language plpgsql as $$
begin
    perform idem_begin(false);
    if (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint <> _server then
        return 3;
    end if;
    if exists (select 1 from idem_evidence where not weighed) then
        return 2;
    end if;
    return 0;
end $$;

-- What nearly every batch is, whole: operations that nobody called before, and first attempts that ended as expected. Nothing is
-- read first. An outcome other than 0 has changed nothing, and the batch is carried out the long way: 2 and 3 as above; 1, an
-- identity was taken or a record is not as this process left it.
--
-- The values have no names, and none may be left out: of a call alone it took the server about as long to put them in order
-- as to write what they say. Digests stand behind each other in one value, 32 bytes each; identities with their generation, as
-- a record keeps them, 36. `_scope` below 0 is the nth of the scopes that have no number yet (`_of…`). `_unit` are identities in
-- the order of their digests, so that two batches take what both want in the same order, and `_owner` whose they are. Whatever
-- has a later generation has a first one: so whoever takes the first need not look for others.
create function idem_straight(
    _server bigint, _now bigint, _of_tenant bigint[], _of bytea, _of_kind text[], _of_value text[],
    _tenant bigint[], _scope bigint[], _operation bytea, _tool bigint[], _principal text[], _first_call bigint[],
    _approval text[], _nonce bigint[], _lease_until bigint[], _fingerprint bytea, _parts bytea[], _content bytea[],
    _identities bytea, _begins bigint[], _many bigint[], _retain bigint[], _needs_reference boolean[],
    _unit bigint[], _owner bigint[], _source bigint[],
    _ended_tenant bigint[], _ended bigint[], _ended_nonce bigint[], _ended_retain bigint[], _ended_retain_until bigint[],
    _ended_reference text[], _ended_kind bigint[], _ended_bytes bytea[],
    out outcome bigint, out ids bigint[], out scopes bigint[]
) language plpgsql as $$
declare
    places bigint[];
    written bigint;
begin
    outcome := idem_open(_server);
    if outcome > 0 then
        return;
    end if;
    perform idem_plans_of_writes(true);
    begin
        if cardinality(_of_tenant) > 0 then
            for n in 1 .. cardinality(_of_tenant) loop
                scopes[n] := nextval('idem_scope');
            end loop;
            insert into idem_scopes (tenant, digest, scope, kind, value)
            select _of_tenant[r.n], substr(_of, 32 * r.n - 31, 32), scopes[r.n], _of_kind[r.n], _of_value[r.n]
            from generate_series(1, cardinality(_of_tenant)) as r (n)
            on conflict do nothing;
            get diagnostics written = row_count;
            -- Somebody else may have given one its number.
            if written < cardinality(_of_tenant) then
                select array_agg(s.scope order by r.n) into scopes
                from generate_series(1, cardinality(_of_tenant)) as r (n)
                join idem_scopes s on s.tenant = _of_tenant[r.n] and s.digest = substr(_of, 32 * r.n - 31, 32);
            end if;
        end if;
        if cardinality(_ended) > 0 then
            update idem_operations o set
                version = 2, state = 'succeeded', lease_until = null, settled_at = _now,
                retain = _ended_retain[least(r.n, cardinality(_ended_retain))],
                retain_until = _ended_retain_until[least(r.n, cardinality(_ended_retain_until))],
                reference = _ended_reference[least(r.n, cardinality(_ended_reference))]
            from unnest(_ended_tenant, _ended, _ended_nonce) with ordinality as r (tenant, id, nonce, n)
            where o.tenant = r.tenant and o.id = r.id and o.version = 1 and o.nonce = r.nonce;
            get diagnostics written = row_count;
            if written <> cardinality(_ended) then
                raise unique_violation;
            end if;
            insert into idem_results (tenant, operation, kind, bytes)
            select _ended_tenant[r.n], _ended[r.n], _ended_kind[least(r.n, cardinality(_ended_kind))],
                _ended_bytes[least(r.n, cardinality(_ended_bytes))]
            from generate_series(1, cardinality(_ended)) as r (n);
        end if;
        if cardinality(_tenant) > 0 then
            for n in 1 .. cardinality(_tenant) loop
                ids[n] := nextval('idem_fence');
                places[n] := case when _scope[n] < 0 then scopes[-_scope[n]] else _scope[n] end;
            end loop;
            insert into idem_identities (tenant, scope, digest, generation, operation, source)
            select _tenant[_owner[r.n]], places[_owner[r.n]], substr(_identities, (36 * _unit[r.n] - 35)::int, 32), 1,
                ids[_owner[r.n]], _source[r.n]
            from generate_series(1, cardinality(_unit)) as r (n);
            insert into idem_operations (
                tenant, id, scope, operation, tool, principal, first_call, approval, state, in_doubt, disproved, attempt, fence,
                nonce, reconcile_fence, passes, answered, lease_until, version, fingerprint, parts, content, identities,
                reserved_at, settled_fence, has_resources, retain, needs_reference, review
            )
            select _tenant[r.n], ids[r.n], places[r.n], substr(_operation, 20 * r.n - 19, 20),
                _tool[least(r.n, cardinality(_tool))], _principal[least(r.n, cardinality(_principal))], _first_call[r.n],
                _approval[least(r.n, cardinality(_approval))], 'in_progress', false, false, 1, ids[r.n], _nonce[r.n], 0, 0, 0,
                _lease_until[least(r.n, cardinality(_lease_until))], 1, substr(_fingerprint, 32 * r.n - 31, 32),
                _parts[least(r.n, cardinality(_parts))], _content[least(r.n, cardinality(_content))],
                substr(_identities, (36 * _begins[r.n] - 35)::int, (36 * _many[least(r.n, cardinality(_many))])::int), _now, 0,
                false, _retain[least(r.n, cardinality(_retain))],
                _needs_reference[least(r.n, cardinality(_needs_reference))], false
            from generate_series(1, cardinality(_tenant)) as r (n);
        end if;
    exception when unique_violation then
        outcome := 1;
    end;
end $$;

-- One new operation: what `idem_straight` does for many.
create function idem_straight_new(
    _server bigint, _now bigint, _of bytea, _of_kind text, _of_value text,
    _tenant bigint, _scope bigint, _operation bytea, _tool bigint, _principal text, _first_call bigint, _approval text,
    _nonce bigint, _lease_until bigint, _fingerprint bytea, _parts bytea, _content bytea, _identities bytea, _retain bigint,
    _needs_reference boolean, _unit bigint[], _source bigint[],
    out outcome bigint, out ids bigint[], out scopes bigint[]
) language plpgsql as $$
declare
    id bigint;
    place bigint := _scope;
begin
    outcome := idem_open(_server);
    if outcome > 0 then
        return;
    end if;
    begin
        if _scope < 0 then
            insert into idem_scopes (tenant, digest, kind, value) values (_tenant, _of, _of_kind, _of_value)
            on conflict do nothing returning scope into place;
            if place is null then
                select s.scope into place from idem_scopes s where s.tenant = _tenant and s.digest = _of;
            end if;
            scopes := array[place];
        end if;
        id := nextval('idem_fence');
        ids := array[id];
        for n in 1 .. cardinality(_unit) loop
            insert into idem_identities (tenant, scope, digest, generation, operation, source)
            values (_tenant, place, substr(_identities, (36 * _unit[n] - 35)::int, 32), 1, id, _source[n]);
        end loop;
        insert into idem_operations (
            tenant, id, scope, operation, tool, principal, first_call, approval, state, in_doubt, disproved, attempt, fence,
            nonce, reconcile_fence, passes, answered, lease_until, version, fingerprint, parts, content, identities,
            reserved_at, settled_fence, has_resources, retain, needs_reference, review
        ) values (
            _tenant, id, place, _operation, _tool, _principal, _first_call, _approval, 'in_progress', false, false, 1, id,
            _nonce, 0, 0, 0, _lease_until, 1, _fingerprint, _parts, _content, _identities, _now, 0, false, _retain,
            _needs_reference, false
        );
    exception when unique_violation then
        outcome := 1;
    end;
end $$;

-- One first attempt that ended as expected.
create function idem_straight_ended(
    _server bigint, _now bigint, _tenant bigint, _id bigint, _nonce bigint, _retain bigint, _retain_until bigint,
    _reference text, _kind bigint, _bytes bytea, out outcome bigint, out ids bigint[], out scopes bigint[]
) language plpgsql as $$
begin
    outcome := idem_open(_server);
    if outcome > 0 then
        return;
    end if;
    update idem_operations o set
        version = 2, state = 'succeeded', lease_until = null, settled_at = _now, retain = _retain,
        retain_until = _retain_until, reference = _reference
    where o.tenant = _tenant and o.id = _id and o.version = 1 and o.nonce = _nonce;
    if not found then
        outcome := 1;
        return;
    end if;
    insert into idem_results (tenant, operation, kind, bytes) values (_tenant, _id, _kind, _bytes)
    on conflict (tenant, operation) do update set kind = excluded.kind, bytes = excluded.bytes;
end $$;
