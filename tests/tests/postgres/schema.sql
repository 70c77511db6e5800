-- What there is in the current schema: tables with columns and constraints, indexes, partitions, sequences, functions. A line each, in an
-- order that does not depend on the server.
with whole as (
    select c.oid, c.relname::text as name, c.relkind, c.relispartition, c.reloptions, c.relpartbound
    from pg_class c where c.relnamespace = current_schema::regnamespace and c.relkind in ('r', 'p', 'S')
)
select line from (
    select w.name, 0 as part, 0::bigint as nth, case w.relkind
        when 'S' then 'sequence ' || w.name || ': ' || (
            select format('%s, from %s by %s, cache %s%s', seqtypid::regtype, seqstart, seqincrement, seqcache,
                          case when seqcycle then ', cycles' else '' end) from pg_sequence where seqrelid = w.oid)
        else 'table ' || w.name || coalesce(' partitioned by ' || pg_get_partkeydef(w.oid), '') end
        || coalesce(' of ' || (select inhparent::regclass from pg_inherits where inhrelid = w.oid), '')
        || coalesce(' ' || pg_get_expr(w.relpartbound, w.oid), '')
        || coalesce(' with ' || array_to_string(w.reloptions, ', '), '') as line
    from whole w
    union all
    select w.name, 1, a.attnum, '    ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        || case when a.attnotnull then ' not null' else '' end
        || case a.attidentity when 'a' then ' always an identity' when 'd' then ' by default an identity' else '' end
        || coalesce(case a.attgenerated when 's' then ' generated ' else ' default ' end || regexp_replace(pg_get_expr(d.adbin, d.adrelid), '\s+', ' ', 'g'), '')
    from whole w
    join pg_attribute a on a.attrelid = w.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = w.oid and d.adnum = a.attnum
    where w.relkind <> 'S' and not w.relispartition
    union all
    select w.name, 2, row_number() over (partition by w.oid order by c.conname::text collate "C"), '    '
        || regexp_replace(pg_get_constraintdef(c.oid, true), '\s+', ' ', 'g')
    from whole w join pg_constraint c on c.conrelid = w.oid
    where c.contype in ('p', 'u', 'c', 'f', 'x') and not w.relispartition
    union all
    select w.name, 3, row_number() over (partition by w.oid order by i.relname::text collate "C"), '    ' || pg_get_indexdef(i.oid, 0, true)
    from whole w
    join pg_index x on x.indrelid = w.oid
    join pg_class i on i.oid = x.indexrelid
    where not w.relispartition and not exists (select 1 from pg_constraint c where c.conindid = i.oid)
    union all
    select w.name, 4, 0, '    indexes: ' || count(*) || case when bool_and(x.indisvalid) then '' else ', some not valid' end
    from whole w join pg_index x on x.indrelid = w.oid where w.relispartition group by w.name
    union all
    -- What stands in a function is said by its digest.
    select p.proname::text, 5, 0, format('function %s(%s) returns %s: %s%s', p.proname,
        pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid), md5(p.prosrc),
        coalesce(', with ' || array_to_string(p.proconfig, ', '), ''))
    from pg_proc p where p.pronamespace = current_schema::regnamespace
) lines order by name collate "C", part, nth;
