/**
 * The functions that run inside PostgreSQL. Here are the tick of the clock, point reads in a cluster, locks
 * for several buckets, the look for a receipt, the buckets with something to remove, and the search for a
 * second in the change order. The functions that write, sweep and find the end of the journal are in
 * `write-function.ts`, `sweep-function.ts` and `ticks.ts`.
 *
 * Locks are taken in this order: counters of buckets, clock, catalog.
 */

import { bucketCount } from '../rows/keys.ts'
import { changeOrder, inheritedAfter, isAlive, ownAfter, sureTime } from './predicates.ts'
import { sweepFunction } from './sweep-function.ts'
import { horizonFunction } from './ticks.ts'
import { clockLock, takeBucket, writeFunction } from './write-function.ts'

const timeColumns = `OUT moment bigint, OUT sure bigint, OUT doubt text, OUT since bigint, OUT epoch bigint,
  OUT ahead bigint`
const clockColumns = 'k.now, k.sure, k.doubt, k.doubted_since, k.epoch, k.ahead'

/**
 * Whether the row is set back: a clock without doubt, or one that came back, shows an earlier time than a
 * row in doubt.
 */
const isBack = '(k.sure IS NOT NULL AND at < k.now - bound AND (sure_ IS NULL OR ahead_ > 0))'

/**
 * Whether the row is without doubt then: a clock without doubt has shown its time, or a clock in doubt shows
 * the same time as a row without doubt.
 */
const isSure = '(sure_ IS NULL OR (k.sure IS NULL AND k.now >= at - bound))'

export const functions = (isCluster: boolean) => `
-- A gateway shows its time. sure_ is NULL, unless that time is in doubt; bound is the step that is believed;
-- ahead_ is by how much its clock has come back.
CREATE FUNCTION mayfly.tick(at bigint, sure_ bigint, doubt_ text, since_ bigint, epoch_ bigint, bound bigint,
  ahead_ bigint, ${timeColumns}) LANGUAGE plpgsql AS $$
BEGIN
  SELECT ${clockColumns} INTO moment, sure, doubt, since, epoch, ahead FROM mayfly.clock k WHERE k.one = 1;
  IF moment >= at AND sure IS NULL THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(${clockLock});
  UPDATE mayfly.clock k SET
    now = CASE WHEN ${isBack} THEN greatest(k.sure, at) ELSE greatest(k.now, at) END,
    sure = CASE WHEN ${isSure} THEN NULL ELSE greatest(sure_, coalesce(k.sure, k.now)) END,
    doubt = CASE WHEN ${isSure} THEN NULL ELSE coalesce(k.doubt, doubt_) END,
    doubted_since = CASE WHEN ${isSure} THEN NULL ELSE coalesce(k.doubted_since, since_) END,
    epoch = CASE WHEN ${isBack} THEN k.epoch + 1 ELSE k.epoch END,
    ahead = CASE WHEN ${isBack} THEN least(k.ahead, greatest(ahead_, k.now - greatest(k.sure, at))) ELSE k.ahead END
    -- A gateway in doubt whose epoch is old is outvoted.
    WHERE k.one = 1 AND (sure_ IS NULL OR k.epoch = epoch_);
  SELECT ${clockColumns} INTO moment, sure, doubt, since, epoch, ahead FROM mayfly.clock k WHERE k.one = 1;
END $$;

CREATE FUNCTION mayfly.trust(${timeColumns}) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(${clockLock});
  UPDATE mayfly.clock k SET sure = NULL, doubt = NULL, doubted_since = NULL WHERE k.one = 1;
  SELECT ${clockColumns} INTO moment, sure, doubt, since, epoch, ahead FROM mayfly.clock k WHERE k.one = 1;
END $$;

-- A point read in a cluster: the clock and the policies are on one machine, the item is on another. They are
-- read again after the item. If they are the same, the item was found at that moment, because every write
-- commits within the second in which it was judged.
CREATE FUNCTION mayfly.read(c_ int, b int, epk_ text, pk_ bytea, id_ bytea, inherited_given bigint, own_given bigint,
  OUT moment bigint, OUT default_ttl bigint, OUT inherited_dead_at bigint, OUT own_dead_at bigint, OUT newest bigint,
  OUT sequence bigint, OUT version bigint, OUT ts bigint, OUT deadline bigint, OUT body text, OUT bytes bytea
) LANGUAGE plpgsql AS $$
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
      LEFT JOIN mayfly.items i ON i.container = n.container AND i.bucket = n.bucket
        AND i.epk = epk_ AND i.pk = pk_ AND i.id = id_ AND ${isAlive('i', 'inherited_after', 'own_after')}
      WHERE n.container = c_ AND n.bucket = b;
    EXIT WHEN inherited_given IS NOT NULL;
    PERFORM 1 FROM mayfly.containers c, mayfly.clock k
      WHERE c.number = c_ AND c.version = definition_ AND k.one = 1 AND k.now = moment;
    EXIT WHEN FOUND;
  END LOOP;
END $$;

-- Sorted, so that transactions over several buckets have no deadlocks.
CREATE FUNCTION mayfly.lock_buckets(containers_ int[], buckets_ int[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE w record; bucket_ mayfly.counters%ROWTYPE;
BEGIN
  FOR w IN SELECT * FROM unnest(containers_, buckets_) u(container, bucket) ORDER BY 1, 2 LOOP
    ${takeBucket(isCluster, 'w.container', 'w.bucket')}
  END LOOP;
END $$;

-- Whether a call took effect: the versions in its receipt, or NULL. The lock waits for a call that is under way.
CREATE FUNCTION mayfly.written(c_ int, b int, gateway_ uuid, call_number bigint, OUT versions bigint[])
  LANGUAGE plpgsql AS $$
DECLARE bucket_ mayfly.counters%ROWTYPE;
BEGIN
  ${takeBucket(isCluster)}
  SELECT l.versions INTO versions FROM mayfly.lanes l
    WHERE l.container = c_ AND l.bucket = b AND l.gateway = gateway_ AND l.batch = call_number;
END $$;

${horizonFunction}
${writeFunction(isCluster)}

${sweepFunction(isCluster)}
-- The buckets with something to remove; NULL when the container is gone. One probe of each index per bucket,
-- however many rows there are. Not with EXISTS, which a worker of a cluster may answer by reading all rows.
CREATE FUNCTION mayfly.dead_buckets(c_ int, inherited_most bigint, own_most bigint, OUT buckets int[])
  LANGUAGE plpgsql STABLE AS $$
DECLARE inherited_after bigint; own_after bigint; remembered_after bigint;
BEGIN
  SELECT least(${inheritedAfter(sureTime)}, inherited_most), least(${ownAfter(sureTime)}, own_most),
      ${sureTime} - coalesce(c.log_seconds, 0)
    INTO inherited_after, own_after, remembered_after
    FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT coalesce(array_agg(d.bucket), '{}') INTO buckets FROM (
    SELECT n.bucket FROM mayfly.counters n WHERE n.container = c_ AND (n.rows > 0 AND (
        (SELECT min(i.ts) FROM mayfly.items i
          WHERE i.container = n.container AND i.bucket = n.bucket AND i.deadline IS NULL) <= inherited_after
        OR (SELECT min(i.deadline) FROM mayfly.items i
          WHERE i.container = n.container AND i.bucket = n.bucket AND i.deadline IS NOT NULL) <= own_after)
      OR (SELECT min(g.ts) FROM mayfly.log g
        WHERE g.container = n.container AND g.bucket = n.bucket) <= remembered_after)) d;
END $$;

-- A version that all changes of this second or later are behind. Found by binary search: versions and seconds
-- grow together. A row that was changed again hides its earlier change, which can only make the answer lower.
CREATE FUNCTION mayfly.version_since(c_ int, b int, at bigint, lsn_ bigint, OUT version bigint)
  LANGUAGE plpgsql STABLE AS $$
DECLARE high bigint := lsn_ * ${bucketCount} + b; middle bigint; found_ts bigint;
BEGIN
  version := 0;
  WHILE version < high LOOP
    middle := (version + high) / 2;
    SELECT i.ts INTO found_ts FROM mayfly.items i WHERE i.container = c_ AND i.bucket = b
      AND ${changeOrder('i.container', 'i.bucket')} = ${changeOrder('c_', 'b')} AND i.version > middle
      ORDER BY i.version LIMIT 1;
    IF found_ts < at THEN version := middle + 1; ELSE high := middle; END IF;
  END LOOP;
END $$;

CREATE FUNCTION mayfly.changes_since(c_ int, at bigint) RETURNS TABLE (bucket int, version bigint)
  LANGUAGE plpgsql STABLE AS $$
DECLARE n record;
BEGIN
  FOR n IN SELECT u.bucket, u.lsn FROM mayfly.counters u WHERE u.container = c_ AND u.lsn > 0 LOOP
    bucket := n.bucket;
    SELECT s.version INTO version FROM mayfly.version_since(c_, n.bucket, at, n.lsn) s;
    RETURN NEXT;
  END LOOP;
END $$;
`
