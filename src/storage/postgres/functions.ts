/**
 * The functions that run inside PostgreSQL: the tick of the clock, the two halves of a group of writes, the sweep.
 *
 * A group of writes is one transaction of two round trips. `begin_writes` locks the bucket and tells what is there;
 * the gateway judges, stamps and indexes, because stamps are printed by the edge that wrote the body and keys are
 * made from the document; `apply_writes` stores the outcome. The price is that the bucket stays locked for one round trip.
 * It is paid once for a group, and a gateway that stalls in between is cut off by `idle_in_transaction_session_timeout`.
 *
 * Locks are taken in this order: counter of the bucket, clock, catalog. Writers share the clock's lock until they commit;
 * a tick and a change of policy take it alone. So no write commits behind the moment at which it was judged: otherwise an
 * item that one gateway has seen dead could be replaced by another's write from the second before.
 */

/** Any number, the same in every gateway. */
export const clockLock = 0x6d617967

/** A policy and a moment reduced to two comparisons, as in `ttl/living.ts`; `c` is the container's row. */
export function inheritedAfter(moment: string): string {
  return `CASE WHEN c.default_ttl > 0 THEN greatest(c.inherited_dead_at, ${moment} - c.default_ttl) ELSE c.inherited_dead_at END`
}

export function ownAfter(moment: string): string {
  return `CASE WHEN c.default_ttl IS NOT NULL THEN greatest(c.own_dead_at, ${moment}) ELSE c.own_dead_at END`
}

export const functions = `
CREATE FUNCTION mayfly.tick(at bigint, OUT moment bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT now INTO moment FROM mayfly.clock WHERE one = 1;
  IF moment >= at THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(${clockLock});
  UPDATE mayfly.clock SET now = greatest(now, at) WHERE one = 1 RETURNING now INTO moment;
END $$;

CREATE FUNCTION mayfly.begin_writes(
  c_ int, b int, gateway_ uuid, epks text[], pks bytea[], ids bytea[],
  OUT lsn bigint, OUT moment bigint, OUT default_ttl bigint, OUT inherited_dead_at bigint, OUT own_dead_at bigint,
  OUT indexes_version bigint, OUT batch bigint, OUT present json
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT n.lsn INTO lsn FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock_shared(${clockLock});
  -- From here on every statement sees what was committed before the locks were had.
  SELECT k.now, c.default_ttl, c.inherited_dead_at, c.own_dead_at, c.indexes_version
    INTO moment, default_ttl, inherited_dead_at, own_dead_at, indexes_version
    FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
  IF NOT FOUND THEN lsn := NULL; RETURN; END IF;
  SELECT l.batch INTO batch FROM mayfly.lanes l WHERE l.container = c_ AND l.bucket = b AND l.gateway = gateway_;
  SELECT json_agg(json_build_array(w.n, i.sequence, i.version, i.ts, i.deadline)) INTO present
    FROM unnest(epks, pks, ids) WITH ORDINALITY w(epk, pk, id, n), LATERAL (
      SELECT x.sequence, x.version, x.ts, x.deadline FROM mayfly.items x
      WHERE x.container = c_ AND x.bucket = b AND x.epk = w.epk AND x.pk = w.pk AND x.id = w.id LIMIT 1) i;
END $$;

CREATE FUNCTION mayfly.apply_writes(
  c_ int, b int, gateway_ uuid, batch_ bigint, lsn_ bigint, more bigint, at bigint,
  epks text[], pks bytea[], long_pks bytea[], ids bytea[],
  sequences bigint[], versions bigint[], deadlines bigint[], bodies text[],
  gone_epks text[], gone_pks bytea[], gone_ids bytea[],
  touched bigint[], numbers int[], keys bytea[], owners int[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE mayfly.counters n SET lsn = lsn_, rows = n.rows + more WHERE n.container = c_ AND n.bucket = b;
  INSERT INTO mayfly.lanes AS l VALUES (c_, b, gateway_, batch_, at)
    ON CONFLICT (container, bucket, gateway) DO UPDATE SET batch = excluded.batch, ts = excluded.ts;
  IF cardinality(gone_epks) > 0 THEN
    DELETE FROM mayfly.items i USING unnest(gone_epks, gone_pks, gone_ids) g(epk, pk, id)
      WHERE i.container = c_ AND i.bucket = b AND i.epk = g.epk AND i.pk = g.pk AND i.id = g.id;
  END IF;
  IF cardinality(epks) > 0 THEN
    INSERT INTO mayfly.items (container, bucket, epk, pk, long_pk, id, sequence, version, ts, deadline, body)
      SELECT c_, b, w.epk, w.pk, w.long_pk, w.id, w.sequence, w.version, at, w.deadline, w.body
      FROM unnest(epks, pks, long_pks, ids, sequences, versions, deadlines, bodies)
        w(epk, pk, long_pk, id, sequence, version, deadline, body)
      ON CONFLICT (container, bucket, epk, pk, id) DO UPDATE SET sequence = excluded.sequence,
        version = excluded.version, ts = excluded.ts, deadline = excluded.deadline, body = excluded.body;
  END IF;
  -- Entries that stay are not touched.
  IF cardinality(touched) > 0 THEN
    DELETE FROM mayfly.entries e WHERE e.container = c_ AND e.bucket = b AND e.sequence = ANY (touched)
      AND NOT EXISTS (SELECT 1 FROM unnest(numbers, keys, owners) w(number, key, owner)
        WHERE w.number = e.number AND w.key = e.key AND sequences[w.owner] = e.sequence);
  END IF;
  IF cardinality(numbers) > 0 THEN
    INSERT INTO mayfly.entries (container, bucket, number, key, sequence, epk, pk, id)
      SELECT c_, b, w.number, w.key, sequences[w.owner], epks[w.owner], pks[w.owner], ids[w.owner]
      FROM unnest(numbers, keys, owners) w(number, key, owner) ON CONFLICT DO NOTHING;
  END IF;
END $$;

-- NULL when somebody else has the bucket. The lock of the bucket comes before those of rows, as in writes.
CREATE FUNCTION mayfly.sweep(c_ int, b int, most int, own_first boolean, waits boolean, OUT removed int)
LANGUAGE plpgsql AS $$
DECLARE
  inherited_after bigint; own_after bigint; gone bigint[]; part bigint[];
BEGIN
  IF waits THEN
    PERFORM 1 FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE;
  ELSE
    PERFORM 1 FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE SKIP LOCKED;
  END IF;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT ${inheritedAfter('k.now')}, ${ownAfter('k.now')} INTO inherited_after, own_after
    FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
  removed := 0;
  IF NOT FOUND THEN RETURN; END IF;
  gone := '{}';
  FOR step IN 0..1 LOOP
    IF (step = 0) = own_first THEN
      WITH dead AS (DELETE FROM mayfly.items WHERE container = c_ AND bucket = b AND ctid = ANY (ARRAY(
        SELECT ctid FROM mayfly.items WHERE container = c_ AND bucket = b AND deadline IS NOT NULL AND deadline <= own_after
        ORDER BY deadline LIMIT most - cardinality(gone) FOR UPDATE SKIP LOCKED)) RETURNING sequence)
      SELECT coalesce(array_agg(sequence), '{}') INTO part FROM dead;
    ELSE
      WITH dead AS (DELETE FROM mayfly.items WHERE container = c_ AND bucket = b AND ctid = ANY (ARRAY(
        SELECT ctid FROM mayfly.items WHERE container = c_ AND bucket = b AND deadline IS NULL AND ts <= inherited_after
        ORDER BY ts LIMIT most - cardinality(gone) FOR UPDATE SKIP LOCKED)) RETURNING sequence)
      SELECT coalesce(array_agg(sequence), '{}') INTO part FROM dead;
    END IF;
    gone := gone || part;
    EXIT WHEN cardinality(gone) >= most;
  END LOOP;
  removed := cardinality(gone);
  IF removed = 0 THEN RETURN; END IF;
  DELETE FROM mayfly.entries WHERE container = c_ AND bucket = b AND sequence = ANY (gone);
  UPDATE mayfly.counters n SET rows = n.rows - removed WHERE n.container = c_ AND n.bucket = b;
END $$;
`
