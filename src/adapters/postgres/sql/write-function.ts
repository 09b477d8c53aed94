/**
 * The function that writes: judges, stamps and stores a group of writes inside PostgreSQL, in one call. The
 * writes come in parts, one for each bucket, sorted by bucket. In a cluster there is one part.
 *
 * The first half is here: locks, the moment, and whether the call may go on. The second half handles the rows
 * of one bucket (`write-rows.ts`). A cluster runs it on the worker that has the bucket (`citus.ts`).
 *
 * PL/pgSQL prepares every expression again in every transaction, and most transactions are one write. So
 * statements compute what they can, and what is not needed is not asked for.
 *
 * No client holds a lock during a round trip. The counters of the buckets are locked first, so the numbers of
 * writes are in commit order. Then comes the clock lock: writers share it until they commit, a tick or a
 * change of a policy takes it alone. So the clock cannot tick between the judgement of a write and its
 * commit, and an item that one gateway saw dead is not replaced by another's write from the second before.
 * Every statement after the locks sees what was committed before them.
 *
 * A later write of the group sees what an earlier one left. The function returns its answers and a verdict:
 * `done`, or why nothing was written: `gone` (the container is), `stale` (it has other indexes), `moved` (the
 * bucket is not as the caller expected). For an atomic call anything but success is raised as an error, and
 * rolls back the transaction. `writing/write-answer.ts` parses both.
 */

import { refusedState } from '../connection/errors.ts'
import { inheritedAfter, ownAfter } from './predicates.ts'
import { markSql, nextTick } from './ticks.ts'
import { endDoubted, leaveReceipt, livingHolder, rowSteps, rowVariables, writeRowsFunction } from './write-rows.ts'

/** How long the call of a stripe waits for a lock before it gives up: longer than a group takes. */
const postgresLockMsMax = 20

/** The number of an advisory lock: any number, the same in every gateway. */
export const clockLock = 0x6d617967

/**
 * Locks a bucket and reads its counter into `bucket_`. In a cluster by an update: that keeps the shard from
 * moving until the transaction ends. A row lock would be left behind when the shard moves, and two writers
 * would take the same number.
 */
export function takeBucket(isCluster: boolean, container = 'c_', bucket = 'b'): string {
  const where = `n.container = ${container} AND n.bucket = ${bucket}`
  return isCluster
    ? `UPDATE mayfly.counters n SET lsn = n.lsn WHERE ${where} RETURNING n.* INTO bucket_;`
    : `SELECT * INTO bucket_ FROM mayfly.counters n WHERE ${where} FOR UPDATE;`
}

/** The same, but only if nobody else has locked the bucket. */
export function takeFreeBucket(isCluster: boolean): string {
  const free = 'FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE SKIP LOCKED;'
  return isCluster ? `PERFORM 1 ${free} IF FOUND THEN ${takeBucket(true)} END IF;` : `SELECT * INTO bucket_ ${free}`
}

/**
 * Locks the bucket and raises its counters in one statement, as if all writes succeed: most do. Otherwise
 * `write-rows.ts` corrects them.
 */
const countWrites = (part: string) => `
    UPDATE mayfly.counters n SET lsn = n.lsn + counts[${part}], rows = n.rows + creations[${part}]
      WHERE n.container = c_ AND n.bucket = b
      RETURNING n.lsn, n.rows, n.lsn - counts[${part}], n.rows - creations[${part}], n.log_epoch, n.log_forgotten
      INTO counted_lsn, counted_rows, lsn_, rows_, log_epoch_, log_forgotten_;`
const countNothing = 'UPDATE mayfly.counters n SET lsn = lsn_, rows = rows_ WHERE n.container = c_ AND n.bucket = b;'

/**
 * After the first bucket is locked: takes the clock lock, looks for a receipt, reads moment and policy, and
 * decides whether the call may go on.
 */
const judge = `
  -- In an expression, the lock needs no statement of its own. Its result is void, but not NULL.
  IF FOUND AND pg_advisory_xact_lock_shared(${clockLock}) IS NOT NULL THEN
    IF is_retry THEN
      SELECT 'done', l.ts, l.default_ttl, l.inherited_dead_at, l.own_dead_at, l.outcomes, l.sequences, l.versions
        INTO verdict, moment, default_ttl, inherited_dead_at, own_dead_at, outcomes, sequences, versions
        FROM mayfly.lanes l
        WHERE l.container = c_ AND l.bucket = slot AND l.gateway = gateway_ AND l.batch = call_number;
      IF FOUND THEN ${countNothing} RETURN; END IF;
    END IF;
    SELECT CASE WHEN c.indexes_version <> indexes_ THEN 'stale'
        WHEN expected_lsn <> lsn_ OR expected_now <> k.now OR expected_version <> c.version THEN 'moved'
        ELSE 'done' END,
        k.now, c.default_ttl, c.inherited_dead_at, c.own_dead_at, ${inheritedAfter('k.now')}, ${ownAfter('k.now')},
        k.sure, ${inheritedAfter('k.sure')}, ${ownAfter('k.sure')},
        c.log_seconds IS NOT NULL, c.log_epoch, (date_part('epoch', clock_timestamp()) * 1000000)::bigint
      INTO verdict, moment, default_ttl, inherited_dead_at, own_dead_at, inherited_after, own_after,
        sure_, sure_inherited, sure_own, is_logged, container_epoch, at_
      FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
  END IF;
  IF verdict IS DISTINCT FROM 'done' THEN
    verdict := coalesce(verdict, 'gone');
    IF is_atomic THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${refusedState}', DETAIL = verdict; END IF;
    ${countNothing}
    RETURN;
  END IF;
  IF is_logged THEN PERFORM ${markSql}; END IF;
  IF 'container' = ANY (uniques) THEN
    -- Writers to other buckets must not insert the same keys at the same time. Sorted, to avoid deadlocks.
    FOR key_lock IN SELECT DISTINCT hashtext(numbers[e] || encode(keys[e], 'hex'))
      FROM generate_subscripts(uniques, 1) e WHERE uniques[e] = 'container' ORDER BY 1 LOOP
      PERFORM pg_advisory_xact_lock(c_, key_lock);
    END LOOP;
  END IF;`

const partsHere = `
  IF NOT is_patient THEN lock_ms := set_config('lock_timeout', '${postgresLockMsMax}', true); END IF;
  IF cardinality(buckets) > 1 THEN
    -- Sorted, and all before the clock lock, to avoid deadlocks.
    PERFORM 1 FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = ANY (buckets) ORDER BY n.bucket FOR UPDATE;
  END IF;
  FOR part IN 1..cardinality(buckets) LOOP
    b := buckets[part];
    ${countWrites('part')}
    IF part = 1 THEN
      ${judge}
    END IF;
    ${rowSteps(false, 'done + 1', 'done + counts[part]')}
    done := done + counts[part];
    is_written := is_written OR lsn_ > counted_lsn - counts[part];
  END LOOP;
  IF is_written THEN ${leaveReceipt('write', 'slot')} END IF;`

/** No argument may be volatile, or Citus would not send the call to the worker. */
const partOnWorker = `
  b := buckets[1];
  ${countWrites('1')}
  ${judge}
  IF 'container' = ANY (uniques) THEN
    FOR e IN 1..cardinality(uniques) LOOP
      CONTINUE WHEN uniques[e] <> 'container';
      PERFORM ${livingHolder('n.bucket <> b')};
      held[e] := FOUND;
      IF sure_ IS NOT NULL AND NOT FOUND THEN ${endDoubted('i.bucket <> b')} END IF;
    END LOOP;
  END IF;
  -- A write may log two entries: a death and a creation.
  IF is_logged THEN ticks := ARRAY(SELECT ${nextTick} FROM generate_series(1, 2 * length(kinds))); END IF;
  SELECT w.outcomes, w.sequences, w.versions, w.tick_ INTO outcomes, sequences, versions, tick_
    FROM mayfly.write_rows(c_, b, gateway_, call_number, is_atomic, indexes_, counted_lsn, counted_rows, lsn_,
    rows_, log_epoch_, log_forgotten_, is_logged, container_epoch,
    moment, at_, default_ttl, inherited_dead_at, own_dead_at, inherited_after, own_after,
    sure_, sure_inherited, sure_own,
    kinds, epks, pks, long_pks, ids, if_versions, ttls, untils, bodies, sequence_form, forms, bytes_,
    entry_counts, numbers, keys, uniques, held, ticks) w;`

export const writeFunction = (isCluster: boolean) => `
-- Base64 of the bytes in the form and the number, little endian: rows/stamp-forms.ts.
CREATE FUNCTION mayfly.print(form text, value bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE n bytea := int8send(value);
BEGIN
  RETURN replace(encode(decode(substr(form, 2), 'hex')
    || substr(n, 8, 1) || substr(n, 7, 1) || substr(n, 6, 1) || substr(n, 5, 1)
    || substr(n, 4, 1) || substr(n, 3, 1) || substr(n, 2, 1) || substr(n, 1, 1), 'base64'), '/', '-');
END $$;

CREATE FUNCTION mayfly.write(
  c_ int, buckets int[], counts int[], creations int[], slot int, gateway_ uuid, call_number bigint,
  is_retry boolean, is_atomic boolean, is_patient boolean, indexes_ bigint,
  expected_lsn bigint, expected_now bigint, expected_version bigint,
  kinds text, epks text[], pks bytea[], long_pks bytea[], ids bytea[],
  if_versions bigint[], ttls bigint[], untils bigint[],
  bodies text[], sequence_form text, forms text[], bytes_ bytea[],
  entry_counts int[], numbers int[], keys bytea[], uniques text[],
  OUT verdict text, OUT moment bigint, OUT default_ttl bigint, OUT inherited_dead_at bigint, OUT own_dead_at bigint,
  OUT outcomes text, OUT sequences bigint[], OUT versions bigint[], OUT tick_ bigint
) LANGUAGE plpgsql AS $$
DECLARE
  b int; counted_lsn bigint; counted_rows bigint; lsn_ bigint; rows_ bigint; log_epoch_ int; log_forgotten_ bigint;
  is_logged boolean; container_epoch int; inherited_after bigint; own_after bigint; at_ bigint; key_lock int;
  sure_ bigint; sure_inherited bigint; sure_own bigint;
  ${
    isCluster
      ? 'held boolean[]; ticks bigint[];'
      : `done int := 0; is_written boolean := false; lock_ms text; ${rowVariables}`
  }
BEGIN
${isCluster ? partOnWorker : partsHere}
END $$;
${isCluster ? writeRowsFunction : ''}
`
