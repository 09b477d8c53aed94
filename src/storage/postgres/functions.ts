/**
 * The functions that run inside PostgreSQL: the tick of the clock, locks for what touches several buckets, the sweep, and the
 * search for a second in the change order. The one that writes is in `write-function.ts`.
 *
 * Locks are taken in this order: counters of buckets, clock, catalog.
 */

import { bucketCount } from './keys.ts'
import { changeOrder, inheritedAfter, isAlive, ownAfter } from './predicates.ts'
import { clockLock, takeBucket, takeFreeBucket, writeFunction } from './write-function.ts'

const inBucket = 'container = c_ AND bucket = b'
const dead = {
  inherited: 'deadline IS NULL AND ts <= inherited_after',
  own: 'deadline IS NOT NULL AND deadline <= own_after',
}
const forgetEntries = `
    IF has_indexes AND cardinality(part) > 0 THEN
      DELETE FROM mayfly.entries WHERE ${inBucket} AND sequence = ANY (part);
    END IF;`

/** Where no log is kept no body leaves its row. */
const sweepOne = (condition: string, by: string) => `
      WITH dead AS (DELETE FROM mayfly.items WHERE ${inBucket} AND ctid = ANY (ARRAY(
          SELECT ctid FROM mayfly.items WHERE ${inBucket} AND ${condition} ORDER BY ${by} LIMIT most - removed FOR UPDATE SKIP LOCKED))
        RETURNING sequence)
      SELECT coalesce(array_agg(sequence), '{}') INTO part FROM dead;`

/**
 * Where a log is kept, deaths are remembered with what they ended. Those who are dead longest come first, whatever ended their
 * life. Nobody else locks rows of a bucket that we have.
 */
const sweepInOrder = `
    WITH dead AS (DELETE FROM mayfly.items WHERE ${inBucket} AND ctid = ANY (ARRAY(SELECT d.ctid FROM (
          (SELECT ctid, ts - inherited_after AS died FROM mayfly.items WHERE ${inBucket} AND ${dead.inherited} ORDER BY ts LIMIT most)
          UNION ALL
          (SELECT ctid, deadline - own_after FROM mayfly.items WHERE ${inBucket} AND ${dead.own} ORDER BY deadline LIMIT most)
        ) d ORDER BY d.died LIMIT most))
      RETURNING epk, pk, long_pk, id, sequence, version, body, bytes,
        CASE WHEN deadline IS NULL THEN ts - inherited_after ELSE deadline - own_after END AS died),
    remembered AS (INSERT INTO mayfly.log (container, bucket, number, kind, epk, pk, long_pk, id, version, sequence, ts, at,
        previous_version, previous_body, previous_bytes)
      SELECT c_, b, d.number, 'expire', d.epk, d.pk, d.long_pk, d.id, d.number, d.sequence, moment, at_, d.version, d.body, d.bytes
      FROM (SELECT *, (lsn_ + row_number() OVER (ORDER BY died, sequence)) * ${bucketCount} + b AS number FROM dead) d)
    SELECT coalesce(array_agg(sequence), '{}') INTO part FROM dead;
    lsn_ := lsn_ + cardinality(part);
    removed := cardinality(part);`

/** What a sweep does to the rows of a bucket, once it has it and knows the moment. */
const sweepVariables = 'part bigint[]; forgotten bigint; has_old_log boolean;'
const hasOldLog = (after: string) =>
  `EXISTS (SELECT 1 FROM mayfly.log g WHERE g.container = c_ AND g.bucket = b AND g.ts <= ${after})`
const sweepSteps = `
  IF is_logged AND log_epoch_ <> container_epoch THEN
    log_epoch_ := container_epoch;
    log_forgotten_ := lsn_ * ${bucketCount} + b;
  END IF;
  IF is_logged THEN
    ${sweepInOrder}
    ${forgetEntries}
  ELSE
    FOR step IN 0..1 LOOP
      IF (step = 0) = own_first THEN ${sweepOne(dead.own, 'deadline')}
      ELSE ${sweepOne(dead.inherited, 'ts')}
      END IF;
      ${forgetEntries}
      removed := removed + cardinality(part);
      EXIT WHEN removed >= most;
    END LOOP;
  END IF;
  -- What is older than the memory of the log goes as well, and all of it where none is kept any more.
  IF has_old_log THEN
    WITH old AS (DELETE FROM mayfly.log WHERE container = c_ AND bucket = b AND ctid = ANY (ARRAY(
        SELECT ctid FROM mayfly.log WHERE container = c_ AND bucket = b AND ts <= remembered_after ORDER BY number LIMIT most))
      RETURNING number)
    SELECT max(number), count(*) < most INTO forgotten, is_clean FROM old;
  END IF;
  UPDATE mayfly.counters n SET lsn = lsn_, rows = n.rows - removed, log_epoch = log_epoch_,
    log_forgotten = greatest(log_forgotten_, forgotten) WHERE n.container = c_ AND n.bucket = b;
  -- What took less than it might has found all there was.
  IF removed >= most THEN
    is_clean := is_clean AND NOT EXISTS (SELECT 1 FROM mayfly.items WHERE ${inBucket} AND ${dead.inherited})
      AND NOT EXISTS (SELECT 1 FROM mayfly.items WHERE ${inBucket} AND ${dead.own});
  END IF;`

const rememberedAfter = 'k.now - coalesce(c.log_seconds, 0)'

const sweepElsewhere = `
  SELECT w.removed, w.is_clean INTO removed, is_clean FROM mayfly.sweep_rows(c_, b, most, own_first, has_indexes, lsn_, log_epoch_, log_forgotten_,
    is_logged, container_epoch, moment, at_, inherited_after, own_after, remembered_after) w;`

const sweepRowsFunction = `
CREATE FUNCTION mayfly.sweep_rows(c_ int, b int, most int, own_first boolean, has_indexes boolean, lsn_ bigint, log_epoch_ int, log_forgotten_ bigint,
  is_logged boolean, container_epoch int, moment bigint, at_ bigint, inherited_after bigint, own_after bigint, remembered_after bigint,
  OUT removed int, OUT is_clean boolean) LANGUAGE plpgsql AS $$
DECLARE ${sweepVariables}
BEGIN
  removed := 0;
  is_clean := true;
  has_old_log := ${hasOldLog('remembered_after')};
  ${sweepSteps}
END $$;`

export const functions = (isCluster: boolean) => `
CREATE FUNCTION mayfly.tick(at bigint, OUT moment bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT now INTO moment FROM mayfly.clock WHERE one = 1;
  IF moment >= at THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(${clockLock});
  UPDATE mayfly.clock SET now = greatest(now, at) WHERE one = 1 RETURNING now INTO moment;
END $$;

-- A point read where the clock and the policies are on one machine and the item on another. Asked for once more when the item
-- was found: if they are the same, it was found at that moment, because no write outlasts the second that it was judged in.
CREATE FUNCTION mayfly.read(c_ int, b int, epk_ text, pk_ bytea, id_ bytea, inherited_given bigint, own_given bigint,
  OUT moment bigint, OUT default_ttl bigint, OUT inherited_dead_at bigint, OUT own_dead_at bigint, OUT newest bigint,
  OUT sequence bigint, OUT version bigint, OUT ts bigint, OUT deadline bigint, OUT body text, OUT bytes bytea) LANGUAGE plpgsql AS $$
DECLARE inherited_after bigint; own_after bigint; definition_ bigint;
BEGIN
  LOOP
    SELECT k.now, c.version, c.default_ttl, c.inherited_dead_at, c.own_dead_at,
        coalesce(inherited_given, ${inheritedAfter('k.now')}), coalesce(own_given, ${ownAfter('k.now')})
      INTO moment, definition_, default_ttl, inherited_dead_at, own_dead_at, inherited_after, own_after
      FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
    IF NOT FOUND THEN RETURN; END IF;
    SELECT n.lsn, i.sequence, i.version, i.ts, i.deadline, i.body, i.bytes
      INTO newest, sequence, version, ts, deadline, body, bytes FROM mayfly.counters n
      LEFT JOIN mayfly.items i ON i.container = n.container AND i.bucket = n.bucket AND i.epk = epk_ AND i.pk = pk_ AND i.id = id_
        AND ${isAlive('i', 'inherited_after', 'own_after')}
      WHERE n.container = c_ AND n.bucket = b;
    EXIT WHEN inherited_given IS NOT NULL;
    PERFORM 1 FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND c.version = definition_ AND k.one = 1 AND k.now = moment;
    EXIT WHEN FOUND;
  END LOOP;
END $$;

-- In one order, so that transactions over several buckets do not wait for each other in a circle.
CREATE FUNCTION mayfly.lock_buckets(containers_ int[], buckets_ int[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE w record; bucket_ mayfly.counters%ROWTYPE;
BEGIN
  FOR w IN SELECT * FROM unnest(containers_, buckets_) u(container, bucket) ORDER BY 1, 2 LOOP
    ${takeBucket(isCluster, 'w.container', 'w.bucket')}
  END LOOP;
END $$;

-- Whether a call was written, asked behind all that has begun: the versions that it made, or NULL.
CREATE FUNCTION mayfly.written(c_ int, b int, gateway_ uuid, batch_ bigint, OUT versions bigint[]) LANGUAGE plpgsql AS $$
DECLARE bucket_ mayfly.counters%ROWTYPE;
BEGIN
  ${takeBucket(isCluster)}
  SELECT l.versions INTO versions FROM mayfly.lanes l
    WHERE l.container = c_ AND l.bucket = b AND l.gateway = gateway_ AND l.batch = batch_;
END $$;

${writeFunction(isCluster)}

-- NULL when somebody else has the bucket. Its lock comes before those of rows, as in writes. What an open view still shows
-- is held back by the thresholds that are given.
CREATE FUNCTION mayfly.sweep(c_ int, b int, most int, own_first boolean, waits boolean, inherited_most bigint, own_most bigint,
  OUT removed int, OUT is_clean boolean) LANGUAGE plpgsql AS $$
DECLARE
  bucket_ mayfly.counters%ROWTYPE; has_indexes boolean; lsn_ bigint; log_epoch_ int; log_forgotten_ bigint;
  is_logged boolean; container_epoch int; moment bigint; at_ bigint; inherited_after bigint; own_after bigint; remembered_after bigint;
  ${isCluster ? '' : sweepVariables}
BEGIN
  IF waits THEN ${takeBucket(isCluster)}
  ELSE ${takeFreeBucket(isCluster)}
  END IF;
  IF NOT FOUND THEN RETURN; END IF;
  removed := 0;
  is_clean := true;
  SELECT bucket_.lsn, bucket_.log_epoch, bucket_.log_forgotten, k.now, least(${inheritedAfter('k.now')}, inherited_most),
      least(${ownAfter('k.now')}, own_most), c.indexes_version > 0, c.log_seconds IS NOT NULL, c.log_epoch, ${rememberedAfter},
      (date_part('epoch', clock_timestamp()) * 1000000)::bigint${isCluster ? '' : `, ${hasOldLog(rememberedAfter)}`}
    INTO lsn_, log_epoch_, log_forgotten_, moment, inherited_after, own_after, has_indexes, is_logged, container_epoch, remembered_after,
      at_${isCluster ? '' : ', has_old_log'}
    FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
  IF NOT FOUND THEN RETURN; END IF;
  ${isCluster ? sweepElsewhere : sweepSteps}
END $$;
${isCluster ? sweepRowsFunction : ''}
-- The buckets with something to remove; NULL when the container is gone. One probe of each index for each bucket, however many
-- rows there are. Not asked with EXISTS, which a worker of a cluster may answer by reading all rows.
CREATE FUNCTION mayfly.dead_buckets(c_ int, inherited_most bigint, own_most bigint, OUT buckets int[]) LANGUAGE plpgsql STABLE AS $$
DECLARE inherited_after bigint; own_after bigint; remembered_after bigint;
BEGIN
  SELECT least(${inheritedAfter('k.now')}, inherited_most), least(${ownAfter('k.now')}, own_most), k.now - coalesce(c.log_seconds, 0)
    INTO inherited_after, own_after, remembered_after FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT coalesce(array_agg(d.bucket), '{}') INTO buckets FROM (
    SELECT n.bucket FROM mayfly.counters n WHERE n.container = c_ AND (n.rows > 0 AND (
        (SELECT min(i.ts) FROM mayfly.items i
          WHERE i.container = n.container AND i.bucket = n.bucket AND i.deadline IS NULL) <= inherited_after
        OR (SELECT min(i.deadline) FROM mayfly.items i
          WHERE i.container = n.container AND i.bucket = n.bucket AND i.deadline IS NOT NULL) <= own_after)
      OR (SELECT min(g.ts) FROM mayfly.log g WHERE g.container = n.container AND g.bucket = n.bucket) <= remembered_after)) d;
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
    swept := mayfly.sweep(c_, b, most - removed, own_first, false, inherited_most, own_most);
    IF swept.removed IS NULL THEN busy := busy || b;
    ELSE
      removed := removed + swept.removed;
      IF swept.is_clean THEN clean := clean || b; END IF;
    END IF;
    EXIT WHEN removed >= most;
  END LOOP;
END $$;

-- A version of the bucket with all its changes of the second or later behind it, found by halving: versions and seconds grow
-- together. A row that was changed again hides when it was before, which can only make the answer lower.
CREATE FUNCTION mayfly.version_since(c_ int, b int, at bigint, lsn_ bigint, OUT version bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE high bigint := lsn_ * ${bucketCount} + b; middle bigint; found_ts bigint;
BEGIN
  version := 0;
  WHILE version < high LOOP
    middle := (version + high) / 2;
    SELECT i.ts INTO found_ts FROM mayfly.items i WHERE i.container = c_ AND i.bucket = b
      AND ${changeOrder('i.')} = c_::bigint * 64 + b AND i.version > middle
      ORDER BY i.version LIMIT 1;
    IF found_ts < at THEN version := middle + 1; ELSE high := middle; END IF;
  END LOOP;
END $$;

CREATE FUNCTION mayfly.changes_since(c_ int, at bigint) RETURNS TABLE (bucket int, version bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE n record;
BEGIN
  FOR n IN SELECT u.bucket, u.lsn FROM mayfly.counters u WHERE u.container = c_ AND u.lsn > 0 LOOP
    bucket := n.bucket;
    SELECT s.version INTO version FROM mayfly.version_since(c_, n.bucket, at, n.lsn) s;
    RETURN NEXT;
  END LOOP;
END $$;
`
