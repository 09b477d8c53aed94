/**
 * The function that sweeps: removes dead rows from one bucket after the other until enough are removed. It
 * returns how many, which buckets are clean now, and which were busy.
 *
 * As in writes, a bucket is locked before its rows. So no other session changes the bucket between finding
 * its rows and removing them. The function touches only the rows of one bucket at a time, so a cluster can
 * run it on the worker that has the bucket (`citus.ts`). The given thresholds keep items that an open view
 * still shows.
 */

import { bucketCount } from '../rows/keys.ts'
import { inheritedAfter, ownAfter, sureTime } from './predicates.ts'
import { markSql, nextTick } from './ticks.ts'
import { clockLock, takeBucket, takeFreeBucket } from './write-function.ts'

const inBucket = 'container = c_ AND bucket = b'
const dead = {
  inherited: 'deadline IS NULL AND ts <= inherited_after',
  own: 'deadline IS NOT NULL AND deadline <= own_after',
}

/**
 * Selects rows by their place. A cluster must be told the bucket as well, to find the shard. A single
 * PostgreSQL must not be told: if it believes that the bucket is small, it would read all of it.
 */
export const rowsAt = (isCluster: boolean, bucket: string, places: string) =>
  `${isCluster ? `${bucket} AND ` : ''}ctid = ANY (${places})`

/** Finds one more than may be removed, to know whether something is left without a second scan. */
const find = (condition: string, by: string) => `
        places := ARRAY(SELECT ctid FROM mayfly.items
          WHERE ${inBucket} AND ${condition} ORDER BY ${by} LIMIT rest - swept + 1);`

/** The rows that have been dead longest come first, of both lifespans. */
const findInOrder = `
    places := ARRAY(SELECT d.ctid FROM (
        (SELECT ctid, ts - inherited_after AS died FROM mayfly.items
          WHERE ${inBucket} AND ${dead.inherited} ORDER BY ts LIMIT rest + 1)
        UNION ALL
        (SELECT ctid, deadline - own_after FROM mayfly.items
          WHERE ${inBucket} AND ${dead.own} ORDER BY deadline LIMIT rest + 1)
      ) d ORDER BY d.died LIMIT rest + 1);`

const remove = (isCluster: boolean) =>
  `DELETE FROM mayfly.items WHERE ${rowsAt(isCluster, inBucket, 'places[1:rest - swept]')}`

/** Logs each death with the item that it ended. */
const removeAndLog = (isCluster: boolean) => `
    WITH dead AS (${remove(isCluster)}
      RETURNING epk, pk, long_pk, id, sequence, version, body, bytes,
        CASE WHEN deadline IS NULL THEN ts - inherited_after ELSE deadline - own_after END AS died),
    logged AS (INSERT INTO mayfly.log (container, bucket, number, kind, epk, pk, long_pk, id,
        version, sequence, ts, at, previous_version, previous_body, previous_bytes, tick)
      SELECT c_, b, d.number, 'expire', d.epk, d.pk, d.long_pk, d.id,
        d.number, d.sequence, moment, at_, d.version, d.body, d.bytes, ${isCluster ? 'ticks[d.place]' : nextTick}
      FROM (SELECT *, (lsn_ + row_number() OVER ranks) * ${bucketCount} + b AS number, row_number() OVER ranks AS place
        FROM dead WINDOW ranks AS (ORDER BY died, sequence) ORDER BY died, sequence) d)
    SELECT count(*), array_agg(sequence), lsn_ + count(*) INTO part, sequences, lsn_ FROM dead;`

const forgetEntries = `DELETE FROM mayfly.entries WHERE ${inBucket} AND sequence = ANY (sequences);`

/** The variables of `rowSteps`. */
const rowVariables = 'places tid[]; part int; sequences bigint[]; forgotten bigint; has_old_log boolean;'
const hasOldLog = (after: string) =>
  `EXISTS (SELECT 1 FROM mayfly.log g WHERE g.container = c_ AND g.bucket = b AND g.ts <= ${after})`
const oldLog = `SELECT ctid FROM mayfly.log WHERE ${inBucket} AND ts <= remembered_after ORDER BY number LIMIT rest`

/**
 * What is done to a locked bucket, at a known moment: at most `rest` rows are removed; `swept` counts them.
 */
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
      IF is_logged THEN ${removeAndLog(isCluster)}
      ELSIF has_indexes THEN
        WITH dead AS (${remove(isCluster)} RETURNING sequence)
        SELECT count(*), array_agg(sequence) INTO part, sequences FROM dead;
      ELSE
        ${remove(isCluster)};
        GET DIAGNOSTICS part = ROW_COUNT;
      END IF;
      IF has_indexes THEN ${forgetEntries} END IF;
      swept := swept + part;
    END IF;
    EXIT WHEN is_logged OR NOT is_clean;
  END LOOP;
  -- Forget the value of the bucket before.
  forgotten := NULL;
  -- Remove log entries that are too old, or all of them if the container keeps no log any more.
  IF has_old_log THEN
    WITH old AS (DELETE FROM mayfly.log WHERE ${rowsAt(isCluster, inBucket, `ARRAY(${oldLog})`)} RETURNING number)
    SELECT max(number), is_clean AND count(*) < rest INTO forgotten, is_clean FROM old;
  END IF;
  UPDATE mayfly.counters n SET lsn = lsn_, rows = n.rows - swept, log_epoch = log_epoch_,
    log_forgotten = greatest(log_forgotten_, forgotten) WHERE n.container = c_ AND n.bucket = b;`

const rememberedAfter = `${sureTime} - coalesce(c.log_seconds, 0)`

const sweepOnWorker = `
    IF is_logged THEN ticks := ARRAY(SELECT ${nextTick} FROM generate_series(1, rest)); END IF;
    SELECT w.swept, w.is_clean INTO swept, is_clean FROM mayfly.sweep_rows(c_, b, rest, own_first, has_indexes,
      lsn_, log_epoch_, log_forgotten_, is_logged, container_epoch, moment, at_, inherited_after, own_after,
      remembered_after, ticks) w;`

const sweepRowsFunction = `
CREATE FUNCTION mayfly.sweep_rows(c_ int, b int, rest int, own_first boolean, has_indexes boolean,
  lsn_ bigint, log_epoch_ int, log_forgotten_ bigint, is_logged boolean, container_epoch int,
  moment bigint, at_ bigint, inherited_after bigint, own_after bigint, remembered_after bigint, ticks bigint[],
  OUT swept int, OUT is_clean boolean) LANGUAGE plpgsql AS $$
DECLARE ${rowVariables}
BEGIN
  swept := 0;
  is_clean := true;
  has_old_log := ${hasOldLog('remembered_after')};
  ${rowSteps(true)}
END $$;`

export const sweepFunction = (isCluster: boolean) => `
CREATE FUNCTION mayfly.sweep(c_ int, buckets_ int[], most int, own_first boolean, waits boolean,
  inherited_most bigint, own_most bigint,
  OUT removed int, OUT clean int[], OUT busy int[]) LANGUAGE plpgsql AS $$
DECLARE
  b int; bucket_ mayfly.counters%ROWTYPE; rest int; swept int; is_clean boolean; has_indexes boolean;
  lsn_ bigint; log_epoch_ int; log_forgotten_ bigint; is_logged boolean; container_epoch int;
  moment bigint; at_ bigint; inherited_after bigint; own_after bigint;
  remembered_after bigint; ${isCluster ? 'ticks bigint[];' : rowVariables}
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
    -- Deaths that are logged keep the clock from ticking, as writes do: ticks grow with the seconds.
    PERFORM pg_advisory_xact_lock_shared(${clockLock}) FROM mayfly.containers c
      WHERE c.number = c_ AND c.log_seconds IS NOT NULL;
    IF FOUND THEN PERFORM ${markSql}; END IF;
    SELECT most - removed, 0, true, bucket_.lsn, bucket_.log_epoch, bucket_.log_forgotten, k.now,
        least(${inheritedAfter(sureTime)}, inherited_most), least(${ownAfter(sureTime)}, own_most),
        c.indexes_version > 0,
        c.log_seconds IS NOT NULL, c.log_epoch, ${rememberedAfter},
        (date_part('epoch', clock_timestamp()) * 1000000)::bigint${isCluster ? '' : `, ${hasOldLog(rememberedAfter)}`}
      INTO rest, swept, is_clean, lsn_, log_epoch_, log_forgotten_, moment, inherited_after, own_after, has_indexes,
        is_logged, container_epoch, remembered_after, at_${isCluster ? '' : ', has_old_log'}
      FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
    -- The container is gone: there is nothing to sweep.
    IF NOT FOUND THEN
      clean := buckets_;
      RETURN;
    END IF;
    ${isCluster ? sweepOnWorker : rowSteps(false)}
    removed := removed + swept;
    IF is_clean THEN clean := clean || b; END IF;
    EXIT WHEN removed >= most;
  END LOOP;
END $$;
${isCluster ? sweepRowsFunction : ''}`
