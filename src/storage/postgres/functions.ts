/**
 * The functions that run inside PostgreSQL: the tick of the clock, locks for what touches several buckets, the sweep, and the
 * search for a second in the change order. The one that writes is in `write-function.ts`.
 *
 * Locks are taken in this order: counters of buckets, clock, catalog.
 */

import { bucketCount } from './keys.ts'
import { changeOrder, inheritedAfter, ownAfter } from './predicates.ts'
import { clockLock, writeFunction } from './write-function.ts'

const deadRows = (condition: string, by: string, threshold: string) => `
        DELETE FROM mayfly.items WHERE container = c_ AND bucket = b AND ctid = ANY (ARRAY(
          SELECT ctid FROM mayfly.items WHERE container = c_ AND bucket = b AND ${condition} AND ${by} <= ${threshold}
          ORDER BY ${by} LIMIT most - removed FOR UPDATE SKIP LOCKED))`

/** Where a log is kept, deaths are remembered with what they ended; elsewhere no body leaves its row. */
const sweepOne = (condition: string, by: string, threshold: string) => `
      IF is_logged THEN
        WITH dead AS (${deadRows(condition, by, threshold)} RETURNING epk, pk, long_pk, id, sequence, version, body, bytes),
        remembered AS (INSERT INTO mayfly.log (container, bucket, number, kind, epk, pk, long_pk, id, version, sequence, ts, at,
            previous_version, previous_body, previous_bytes)
          SELECT c_, b, d.number, 'expire', d.epk, d.pk, d.long_pk, d.id, d.number, d.sequence, moment,
            extract(epoch FROM clock_timestamp()) * 1000000, d.version, d.body, d.bytes
          FROM (SELECT *, (bucket_.lsn + row_number() OVER ()) * ${bucketCount} + b AS number FROM dead) d)
        SELECT coalesce(array_agg(sequence), '{}') INTO part FROM dead;
        bucket_.lsn := bucket_.lsn + cardinality(part);
      ELSE
        WITH dead AS (${deadRows(condition, by, threshold)} RETURNING sequence)
        SELECT coalesce(array_agg(sequence), '{}') INTO part FROM dead;
      END IF;`

export const functions = `
CREATE FUNCTION mayfly.tick(at bigint, OUT moment bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT now INTO moment FROM mayfly.clock WHERE one = 1;
  IF moment >= at THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(${clockLock});
  UPDATE mayfly.clock SET now = greatest(now, at) WHERE one = 1 RETURNING now INTO moment;
END $$;

-- In one order, so that transactions over several buckets do not wait for each other in a circle.
CREATE FUNCTION mayfly.lock_buckets(containers_ int[], buckets_ int[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE w record;
BEGIN
  FOR w IN SELECT * FROM unnest(containers_, buckets_) u(container, bucket) ORDER BY 1, 2 LOOP
    PERFORM 1 FROM mayfly.counters n WHERE n.container = w.container AND n.bucket = w.bucket FOR UPDATE;
  END LOOP;
END $$;

-- Whether a call was written, asked behind all that has begun: the versions that it made, or NULL.
CREATE FUNCTION mayfly.written(c_ int, b int, gateway_ uuid, batch_ bigint, OUT versions bigint[]) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE;
  SELECT l.versions INTO versions FROM mayfly.lanes l
    WHERE l.container = c_ AND l.bucket = b AND l.gateway = gateway_ AND l.batch = batch_;
END $$;

${writeFunction}

-- NULL when somebody else has the bucket. Its lock comes before those of rows, as in writes. What an open view still shows
-- is held back by the thresholds that are given.
CREATE FUNCTION mayfly.sweep(c_ int, b int, most int, own_first boolean, waits boolean, inherited_most bigint, own_most bigint,
  OUT removed int, OUT is_clean boolean) LANGUAGE plpgsql AS $$
DECLARE
  bucket_ mayfly.counters%ROWTYPE; container_ mayfly.containers%ROWTYPE; moment bigint; is_logged boolean;
  inherited_after bigint; own_after bigint; part bigint[]; remembered_after bigint; forgotten bigint;
BEGIN
  IF waits THEN
    SELECT * INTO bucket_ FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE;
  ELSE
    SELECT * INTO bucket_ FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE SKIP LOCKED;
  END IF;
  IF NOT FOUND THEN RETURN; END IF;
  removed := 0;
  is_clean := true;
  SELECT k.now, least(${inheritedAfter('k.now')}, inherited_most), least(${ownAfter('k.now')}, own_most)
    INTO moment, inherited_after, own_after FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT * INTO container_ FROM mayfly.containers c WHERE c.number = c_;
  is_logged := container_.log_seconds IS NOT NULL;
  IF is_logged AND bucket_.log_epoch <> container_.log_epoch THEN
    bucket_.log_epoch := container_.log_epoch;
    bucket_.log_forgotten := bucket_.lsn * ${bucketCount} + b;
  END IF;
  FOR step IN 0..1 LOOP
    IF (step = 0) = own_first THEN
      ${sweepOne('deadline IS NOT NULL', 'deadline', 'own_after')}
    ELSE
      ${sweepOne('deadline IS NULL', 'ts', 'inherited_after')}
    END IF;
    IF container_.indexes_version > 0 AND cardinality(part) > 0 THEN
      DELETE FROM mayfly.entries WHERE container = c_ AND bucket = b AND sequence = ANY (part);
    END IF;
    removed := removed + cardinality(part);
    EXIT WHEN removed >= most;
  END LOOP;
  -- What is older than the memory of the log goes as well, and all of it where none is kept any more.
  remembered_after := moment - coalesce(container_.log_seconds, 0);
  IF EXISTS (SELECT 1 FROM mayfly.log g WHERE g.container = c_ AND g.bucket = b AND g.ts <= remembered_after) THEN
    WITH old AS (DELETE FROM mayfly.log WHERE container = c_ AND bucket = b AND ctid = ANY (ARRAY(
        SELECT ctid FROM mayfly.log WHERE container = c_ AND bucket = b AND ts <= remembered_after ORDER BY number LIMIT most))
      RETURNING number)
    SELECT max(number), count(*) < most INTO forgotten, is_clean FROM old;
  END IF;
  UPDATE mayfly.counters n SET lsn = bucket_.lsn, rows = n.rows - removed, log_epoch = bucket_.log_epoch,
    log_forgotten = greatest(bucket_.log_forgotten, forgotten) WHERE n.container = c_ AND n.bucket = b;
  is_clean := is_clean
    AND NOT EXISTS (SELECT 1 FROM mayfly.items WHERE container = c_ AND bucket = b AND deadline IS NULL AND ts <= inherited_after)
    AND NOT EXISTS (SELECT 1 FROM mayfly.items WHERE container = c_ AND bucket = b AND deadline IS NOT NULL AND deadline <= own_after);
END $$;

-- One bucket after the other until enough is removed: how much was, and which buckets are clean now or were busy.
CREATE FUNCTION mayfly.sweep_buckets(c_ int, buckets_ int[], most int, own_first boolean, inherited_most bigint, own_most bigint,
  OUT removed int, OUT clean int[], OUT busy int[]) LANGUAGE plpgsql AS $$
DECLARE b int; swept record;
BEGIN
  removed := 0;
  clean := '{}';
  busy := '{}';
  FOREACH b IN ARRAY buckets_ LOOP
    SELECT * INTO swept FROM mayfly.sweep(c_, b, most - removed, own_first, false, inherited_most, own_most);
    IF swept.removed IS NULL THEN busy := busy || b;
    ELSE
      removed := removed + swept.removed;
      IF swept.is_clean THEN clean := clean || b; END IF;
    END IF;
    EXIT WHEN removed >= most;
  END LOOP;
END $$;

-- For each bucket a version with all changes of the second or later behind it, found by halving: versions and seconds grow
-- together. A row that was changed again hides when it was before, which can only make the answer lower.
CREATE FUNCTION mayfly.changes_since(c_ int, at bigint) RETURNS TABLE (bucket int, version bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE n record; low bigint; high bigint; middle bigint; found_ts bigint;
BEGIN
  FOR n IN SELECT u.bucket, u.lsn FROM mayfly.counters u WHERE u.container = c_ AND u.lsn > 0 LOOP
    low := 0;
    high := n.lsn * ${bucketCount} + n.bucket;
    WHILE low < high LOOP
      middle := (low + high) / 2;
      SELECT i.ts INTO found_ts FROM mayfly.items i WHERE i.container = c_ AND i.bucket = n.bucket
        AND ${changeOrder('i.')} = c_::bigint * 64 + n.bucket AND i.version > middle
        ORDER BY i.version LIMIT 1;
      IF found_ts < at THEN low := middle + 1; ELSE high := middle; END IF;
    END LOOP;
    bucket := n.bucket;
    version := low;
    RETURN NEXT;
  END LOOP;
END $$;
`
