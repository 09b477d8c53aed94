/**
 * The function that writes: a group of writes to one bucket in one call, judged, stamped and stored inside PostgreSQL.
 *
 * Locks, the moment and the verdict are the business of the first part; the second is about the rows of the bucket and nothing
 * else, so that a cluster can run it where the bucket is (`citus.ts`).
 *
 * No client holds a lock across a round trip. The counter of the bucket is locked first, so the numbers of writes are in the
 * order of their commits; then the clock, which writers share until they commit, and a tick or a change of policy takes
 * alone: no write commits behind the moment at which it was judged, so what one gateway has seen dead is not replaced
 * by another's write from the second before. Every statement behind the locks sees what was committed before them.
 *
 * A later write of the group sees what an earlier one has left. Beside the answers (`write-call.ts` reads them) it gives a
 * verdict: done, or why nothing was written: gone (the container is), stale (its indexes are others), moved (what the caller
 * expected is not so any more). Where all or nothing is asked for, anything but success is raised, and undoes the transaction.
 */

import { livingHolder, refusedState, rowSteps, rowVariables, writeRowsFunction } from './write-rows.ts'

/** Any number, the same in every gateway. */
export const clockLock = 0x6d617967

/**
 * Locks a bucket and reads its counter into `bucket_`. In a cluster by an update: that keeps the shard where it is until the
 * transaction ends. A mere row lock would stay behind when the shard moves, and two writers would give the same number.
 */
export function takeBucket(isCluster: boolean, container = 'c_', bucket = 'b'): string {
  const where = `n.container = ${container} AND n.bucket = ${bucket}`
  return isCluster
    ? `UPDATE mayfly.counters n SET lsn = n.lsn WHERE ${where} RETURNING n.* INTO bucket_;`
    : `SELECT * INTO bucket_ FROM mayfly.counters n WHERE ${where} FOR UPDATE;`
}

/** The same if nobody else has the bucket. */
export function takeFreeBucket(isCluster: boolean): string {
  const free = 'FROM mayfly.counters n WHERE n.container = c_ AND n.bucket = b FOR UPDATE SKIP LOCKED;'
  return isCluster ? `PERFORM 1 ${free} IF FOUND THEN ${takeBucket(true)} END IF;` : `SELECT * INTO bucket_ ${free}`
}

const rowsHere = `
  DECLARE
    lsn_ bigint := bucket_.lsn; rows_ bigint := bucket_.rows; log_epoch_ int := bucket_.log_epoch;
    log_forgotten_ bigint := bucket_.log_forgotten; is_logged boolean := container_.log_seconds IS NOT NULL;
    container_epoch int := container_.log_epoch;
    ${rowVariables}
  BEGIN
    ${rowSteps('write')}
  END;`

/** None of the arguments may be volatile, or the call would not go there. */
const rowsElsewhere = `
  SELECT w.outcomes, w.sequences, w.versions INTO outcomes, sequences, versions FROM mayfly.write_rows(c_, b, gateway_, batch_, is_atomic,
    indexes_, bucket_.lsn, bucket_.rows, bucket_.log_epoch, bucket_.log_forgotten, container_.log_seconds IS NOT NULL, container_.log_epoch,
    moment, at_, default_ttl, inherited_dead_at, own_dead_at, inherited_after, own_after, kinds, epks, pks, long_pks, ids, if_versions, ttls,
    untils, gap_counts, pieces, forms, bytes_, entry_counts, numbers, keys, uniques, held) w;`

export const writeFunction = (isCluster: boolean) => `
-- A stamp as text. The form is its name and how it is printed: stamp-forms.ts.
CREATE FUNCTION mayfly.print(form text, sequence_ bigint, version_ bigint, ts_ bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  value bigint := CASE left(form, 1) WHEN 's' THEN sequence_ WHEN 'v' THEN version_ ELSE ts_ END;
  n bytea;
BEGIN
  CASE substr(form, 2, 1)
    WHEN 'd' THEN RETURN value::text;
    WHEN 'x' THEN RETURN lpad(to_hex(value), greatest(12, length(to_hex(value))), '0');
    ELSE
      n := int8send(value);
      RETURN replace(encode(decode(substr(form, 3), 'hex') || substr(n, 8, 1) || substr(n, 7, 1) || substr(n, 6, 1) || substr(n, 5, 1)
        || substr(n, 4, 1) || substr(n, 3, 1) || substr(n, 2, 1) || substr(n, 1, 1), 'base64'), '/', '-');
  END CASE;
END $$;

CREATE FUNCTION mayfly.write(
  c_ int, b int, gateway_ uuid, batch_ bigint, is_retry boolean, is_atomic boolean,
  indexes_ bigint, expected_lsn bigint, expected_now bigint, expected_version bigint,
  kinds text, epks text[], pks bytea[], long_pks bytea[], ids bytea[], if_versions bigint[], ttls bigint[], untils bigint[],
  gap_counts int[], pieces text[], forms text[], bytes_ bytea[],
  entry_counts int[], numbers int[], keys bytea[], uniques text[],
  OUT verdict text, OUT moment bigint, OUT default_ttl bigint, OUT inherited_dead_at bigint, OUT own_dead_at bigint,
  OUT outcomes text, OUT sequences bigint[], OUT versions bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
  bucket_ mayfly.counters%ROWTYPE; container_ record; inherited_after bigint; own_after bigint; key_lock int; held boolean[]; at_ bigint;
BEGIN
  verdict := 'done';
  ${takeBucket(isCluster)}
  IF FOUND THEN
    PERFORM pg_advisory_xact_lock_shared(${clockLock});
    IF is_retry THEN
      SELECT l.ts, l.default_ttl, l.inherited_dead_at, l.own_dead_at, l.outcomes, l.sequences, l.versions
        INTO moment, default_ttl, inherited_dead_at, own_dead_at, outcomes, sequences, versions
        FROM mayfly.lanes l WHERE l.container = c_ AND l.bucket = b AND l.gateway = gateway_ AND l.batch = batch_;
      IF FOUND THEN RETURN; END IF;
    END IF;
    SELECT k.now, c.version, c.default_ttl, c.inherited_dead_at, c.own_dead_at, c.indexes_version, c.log_seconds, c.log_epoch
      INTO container_ FROM mayfly.containers c, mayfly.clock k WHERE c.number = c_ AND k.one = 1;
    moment := container_.now;
  END IF;
  IF NOT FOUND THEN verdict := 'gone';
  ELSIF container_.indexes_version <> indexes_ THEN verdict := 'stale';
  ELSIF expected_lsn <> bucket_.lsn OR expected_now <> moment OR expected_version <> container_.version THEN verdict := 'moved';
  END IF;
  IF verdict <> 'done' THEN
    IF is_atomic THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${refusedState}', DETAIL = verdict; END IF;
    RETURN;
  END IF;
  default_ttl := container_.default_ttl;
  inherited_dead_at := container_.inherited_dead_at;
  own_dead_at := container_.own_dead_at;
  inherited_after := CASE WHEN default_ttl > 0 THEN greatest(inherited_dead_at, moment - default_ttl) ELSE inherited_dead_at END;
  own_after := CASE WHEN default_ttl IS NOT NULL THEN greatest(own_dead_at, moment) ELSE own_dead_at END;
  IF 'container' = ANY (uniques) THEN
    -- Writers to other buckets must not enter the same keys at the same time. In one order, so that none waits in a circle.
    FOR key_lock IN SELECT DISTINCT hashtext(numbers[e] || encode(keys[e], 'hex')) FROM generate_subscripts(uniques, 1) e
      WHERE uniques[e] = 'container' ORDER BY 1 LOOP
      PERFORM pg_advisory_xact_lock(c_, key_lock);
    END LOOP;
    FOR e IN 1..cardinality(uniques) LOOP
      CONTINUE WHEN uniques[e] <> 'container';
      PERFORM ${livingHolder('n.bucket <> b')};
      held[e] := FOUND;
    END LOOP;
  END IF;
  at_ := date_part('epoch', clock_timestamp()) * 1000000;
${isCluster ? rowsElsewhere : rowsHere}
END $$;
${isCluster ? writeRowsFunction : ''}
`
