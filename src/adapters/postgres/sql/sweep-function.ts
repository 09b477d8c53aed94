/**
 * The function that sweeps: removes what is dead from one bucket after the other until enough is removed, and
 * says how much it was, which buckets are clean now, and which were busy.
 *
 * The lock of a bucket comes before those of its rows, as in writes, and whoever has it has them: rows are
 * found, then removed, and nobody comes in between. What it does to the rows of a bucket touches nothing
 * else, so that a cluster can run it where the bucket is (`citus.ts`). What an open view still shows is held
 * back by the thresholds that are given.
 */

import { bucketCount } from '../rows/keys.ts'
import { inheritedAfter, ownAfter } from './predicates.ts'
import { takeBucket, takeFreeBucket } from './write-function.ts'

const inBucket = 'container = c_ AND bucket = b'
const dead = {
  inherited: 'deadline IS NULL AND ts <= inherited_after',
  own: 'deadline IS NOT NULL AND deadline <= own_after',
}

/**
 * Rows by where they were found. A cluster must be told their shard besides. One PostgreSQL must not be told:
 * where it believes that the bucket is small it would read all of it, and look for the rows in there.
 */
export const rowsAt = (isCluster: boolean, bucket: string, places: string) =>
  `${isCluster ? `${bucket} AND ` : ''}ctid = ANY (${places})`

/**
 * One more than we may remove, to know whether something is left: a second look would pass by all that was
 * removed.
 */
const find = (condition: string, by: string) => `
        places := ARRAY(SELECT ctid FROM mayfly.items WHERE ${inBucket} AND ${condition} ORDER BY ${by} LIMIT rest - swept + 1);`

/** Those who are dead longest come first, whatever ended their life. */
const findInOrder = `
    places := ARRAY(SELECT d.ctid FROM (
        (SELECT ctid, ts - inherited_after AS died FROM mayfly.items WHERE ${inBucket} AND ${dead.inherited} ORDER BY ts LIMIT rest + 1)
        UNION ALL
        (SELECT ctid, deadline - own_after FROM mayfly.items WHERE ${inBucket} AND ${dead.own} ORDER BY deadline LIMIT rest + 1)
      ) d ORDER BY d.died LIMIT rest + 1);`

const remove = (isCluster: boolean) =>
  `DELETE FROM mayfly.items WHERE ${rowsAt(isCluster, inBucket, 'places[1:rest - swept]')}`

/** Deaths are remembered with what they ended. */
const removeAndRemember = (isCluster: boolean) => `
    WITH dead AS (${remove(isCluster)}
      RETURNING epk, pk, long_pk, id, sequence, version, body, bytes,
        CASE WHEN deadline IS NULL THEN ts - inherited_after ELSE deadline - own_after END AS died),
    remembered AS (INSERT INTO mayfly.log (container, bucket, number, kind, epk, pk, long_pk, id, version, sequence, ts, at,
        previous_version, previous_body, previous_bytes)
      SELECT c_, b, d.number, 'expire', d.epk, d.pk, d.long_pk, d.id, d.number, d.sequence, moment, at_, d.version, d.body, d.bytes
      FROM (SELECT *, (lsn_ + row_number() OVER (ORDER BY died, sequence)) * ${bucketCount} + b AS number FROM dead) d)
    SELECT count(*), array_agg(sequence), lsn_ + count(*) INTO part, sequences, lsn_ FROM dead;`

const forgetEntries = `DELETE FROM mayfly.entries WHERE ${inBucket} AND sequence = ANY (sequences);`

/**
 * What is done to a bucket, once it is ours and the moment is known: at most `rest` rows of it, `swept` in
 * the end.
 */
const rowVariables = 'places tid[]; part int; sequences bigint[]; forgotten bigint; has_old_log boolean;'
const hasOldLog = (after: string) =>
  `EXISTS (SELECT 1 FROM mayfly.log g WHERE g.container = c_ AND g.bucket = b AND g.ts <= ${after})`
const oldLog = `SELECT ctid FROM mayfly.log WHERE ${inBucket} AND ts <= remembered_after ORDER BY number LIMIT rest`

const rowSteps = (isCluster: boolean) => `
  IF is_logged AND log_epoch_ <> container_epoch THEN
    log_epoch_ := container_epoch;
    log_forgotten_ := lsn_ * ${bucketCount} + b;
  END IF;
  FOR step IN 0..1 LOOP
    IF is_logged THEN ${findInOrder}
    ELSIF (step = 0) = own_first THEN ${find(dead.own, 'deadline')}
    ELSE ${find(dead.inherited, 'ts')}
    END IF;
    IF places <> '{}' THEN
      is_clean := cardinality(places) <= rest - swept;
      IF is_logged THEN ${removeAndRemember(isCluster)}
      ELSIF has_indexes THEN
        WITH dead AS (${remove(isCluster)} RETURNING sequence) SELECT count(*), array_agg(sequence) INTO part, sequences FROM dead;
      ELSE
        ${remove(isCluster)};
        GET DIAGNOSTICS part = ROW_COUNT;
      END IF;
      IF has_indexes THEN ${forgetEntries} END IF;
      swept := swept + part;
    END IF;
    EXIT WHEN is_logged OR NOT is_clean;
  END LOOP;
  -- Not that of the bucket before.
  forgotten := NULL;
  -- What is older than the memory of the log goes as well, and all of it where none is kept any more.
  IF has_old_log THEN
    WITH old AS (DELETE FROM mayfly.log WHERE ${rowsAt(isCluster, inBucket, `ARRAY(${oldLog})`)} RETURNING number)
    SELECT max(number), is_clean AND count(*) < rest INTO forgotten, is_clean FROM old;
  END IF;
  UPDATE mayfly.counters n SET lsn = lsn_, rows = n.rows - swept, log_epoch = log_epoch_,
    log_forgotten = greatest(log_forgotten_, forgotten) WHERE n.container = c_ AND n.bucket = b;`

const rememberedAfter = 'k.now - coalesce(c.log_seconds, 0)'

const elsewhere = `
    SELECT w.swept, w.is_clean INTO swept, is_clean FROM mayfly.sweep_rows(c_, b, rest, own_first, has_indexes, lsn_, log_epoch_, log_forgotten_,
      is_logged, container_epoch, moment, at_, inherited_after, own_after, remembered_after) w;`

const sweepRowsFunction = `
CREATE FUNCTION mayfly.sweep_rows(c_ int, b int, rest int, own_first boolean, has_indexes boolean, lsn_ bigint, log_epoch_ int, log_forgotten_ bigint,
  is_logged boolean, container_epoch int, moment bigint, at_ bigint, inherited_after bigint, own_after bigint, remembered_after bigint,
  OUT swept int, OUT is_clean boolean) LANGUAGE plpgsql AS $$
DECLARE ${rowVariables}
BEGIN
  swept := 0;
  is_clean := true;
  has_old_log := ${hasOldLog('remembered_after')};
  ${rowSteps(true)}
END $$;`

export const sweepFunction = (isCluster: boolean) => `
CREATE FUNCTION mayfly.sweep(c_ int, buckets_ int[], most int, own_first boolean, waits boolean, inherited_most bigint, own_most bigint,
  OUT removed int, OUT clean int[], OUT busy int[]) LANGUAGE plpgsql AS $$
DECLARE
  b int; bucket_ mayfly.counters%ROWTYPE; rest int; swept int; is_clean boolean; has_indexes boolean; lsn_ bigint; log_epoch_ int;
  log_forgotten_ bigint; is_logged boolean; container_epoch int; moment bigint; at_ bigint; inherited_after bigint; own_after bigint;
  remembered_after bigint; ${isCluster ? '' : rowVariables}
BEGIN
  removed := 0;
  clean := '{}';
  busy := '{}';
  FOREACH b IN ARRAY buckets_ LOOP
    IF waits THEN ${takeBucket(isCluster)}
    ELSE ${takeFreeBucket(isCluster)}
    END IF;
    IF NOT FOUND THEN
      busy := busy || b;
      CONTINUE;
    END IF;
    SELECT most - removed, 0, true, bucket_.lsn, bucket_.log_epoch, bucket_.log_forgotten, k.now,
        least(${inheritedAfter('k.now')}, inherited_most), least(${ownAfter('k.now')}, own_most), c.indexes_version > 0,
        c.log_seconds IS NOT NULL, c.log_epoch, ${rememberedAfter},
        (date_part('epoch', clock_timestamp()) * 1000000)::bigint${isCluster ? '' : `, ${hasOldLog(rememberedAfter)}`}
      INTO rest, swept, is_clean, lsn_, log_epoch_, log_forgotten_, moment, inherited_after, own_after, has_indexes,
        is_logged, container_epoch, remembered_after, at_${isCluster ? '' : ', has_old_log'}
      FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
    -- Of a container that is gone nothing is left to sweep.
    IF NOT FOUND THEN
      clean := buckets_;
      RETURN;
    END IF;
    ${isCluster ? elsewhere : rowSteps(false)}
    removed := removed + swept;
    IF is_clean THEN clean := clean || b; END IF;
    EXIT WHEN removed >= most;
  END LOOP;
END $$;
${isCluster ? sweepRowsFunction : ''}`
