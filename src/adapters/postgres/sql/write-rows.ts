/**
 * The second half of the function that writes: what a call does to the rows of one bucket, once it has the
 * locks and knows the moment. It touches nothing else, so a cluster can run it on the worker that has the
 * bucket (`citus.ts`). On a single PostgreSQL it is inlined, because a call of its own costs as much as a
 * statement.
 */

import { refusedState } from '../connection/errors.ts'
import { bucketCount } from '../rows/keys.ts'
import { isAlive } from './predicates.ts'
import { nextTick } from './ticks.ts'

const never = Number.MAX_SAFE_INTEGER

const alive = (row: string) => isAlive(row, 'inherited_after', 'own_after')

const atKey = (row: string) =>
  `${row}.container = c_ AND ${row}.bucket = b AND ${row}.epk = epks[k] AND ${row}.pk = pks[k] AND ${row}.id = ids[k]`

/** While the bucket is locked, the row stays where it was found. */
const atRow = (row: string) => `${row}.container = c_ AND ${row}.bucket = b AND ${row}.ctid = here`

/** An entry with the key of entry `e` whose item is alive. */
export const livingHolder = (where: string) => `
        1 FROM mayfly.entries n JOIN mayfly.items i ON i.container = n.container AND i.bucket = n.bucket
          AND i.epk = n.epk AND i.pk = n.pk AND i.id = n.id AND i.sequence = n.sequence
        WHERE n.container = c_ AND n.number = numbers[e] AND n.key = keys[e] AND ${where} AND ${alive('i')}`

/**
 * The time is in doubt, and the write takes the key of entry `e`: an item with this key that would live
 * again if the clock came back dies for good. Its entries go when it is removed.
 */
export const endDoubted = (where: string) => `
        UPDATE mayfly.items i SET deadline = sure_ FROM mayfly.entries n
          WHERE i.container = n.container AND i.bucket = n.bucket
          AND i.epk = n.epk AND i.pk = n.pk AND i.id = n.id AND i.sequence = n.sequence
          AND n.container = c_ AND n.number = numbers[e] AND n.key = keys[e] AND ${where}
          AND ${isAlive('i', 'sure_inherited', 'sure_own')};`

const logColumns = `container, bucket, number, kind, epk, pk, long_pk, id, version, sequence, ts, at, body, bytes,
          previous_version, previous_body, previous_bytes, tick`

/** Takes the next tick into `tick_`. In a cluster the ticks were taken before, on the coordinator. */
const takeTick = (isCluster: boolean) =>
  isCluster ? 'ticks_taken := ticks_taken + 1; tick_ := ticks[ticks_taken];' : `tick_ := ${nextTick};`

const ownEntries = 'unnest(numbers[entry + 1:last_entry], keys[entry + 1:last_entry]) w(number, key)'

/**
 * `here` is the place of the row at the key, alive or dead. It is NULL if there is no row, and so are
 * `here_sequence` and `here_version`.
 */
export const rowVariables = `here tid; here_sequence bigint; here_version bigint; lives boolean;
  kind text; outcome text; body_ text; data_ bytea; made_sequence bigint; made_version bigint;
  deadline_ bigint; entry int; last_entry int;`

/** Prints a stamp (`rows/stamp-forms.ts`). Not `CASE form WHEN`: Citus rewrites that wrongly. */
const print = (form: string, value: string) => `CASE WHEN ${form} = 'd' THEN ${value}::text
  WHEN ${form} = 'x' THEN lpad(to_hex(${value}), greatest(12, length(to_hex(${value}))), '0')
  ELSE mayfly.print(${form}, ${value}) END`

const withSequence = (sequence: string) => `replace(body_, chr(1), coalesce(${print('sequence_form', sequence)}, ''))`

/** Makes the item, except for its sequence. */
const make = `
      made_version := (lsn_ + 1) * ${bucketCount} + b;
      deadline_ := least(untils[k], CASE WHEN ttls[k] = -1 THEN ${never} ELSE moment + ttls[k] END);
      body_ := bodies[k];
      -- Citus cannot handle an array element in SET.
      data_ := bytes_[k];
      FOR f IN 1..cardinality(forms) LOOP
        body_ := replace(body_, chr(f + 1), CASE left(forms[f], 1)
          WHEN 'v' THEN ${print('substr(forms[f], 2)', 'made_version')}
          ELSE ${print('substr(forms[f], 2)', 'moment')} END);
      END LOOP;`

const insertItem = (sequence: string) => `
        INSERT INTO mayfly.items
          (container, bucket, epk, pk, long_pk, id, sequence, version, ts, at, deadline, body, bytes)
          VALUES (c_, b, epks[k], pks[k], long_pks[k], ids[k], ${sequence}, made_version, moment, at_, deadline_,
            ${withSequence(sequence)}, data_)`

const madeColumns = 'version = made_version, ts = moment, at = at_, deadline = deadline_, bytes = data_'

/**
 * The fast path: creates, or replaces a living item, without finding the row first. Most writes need no more.
 * If nothing was written, or there are indexes or a log, `outcome` is NULL and `lookAndWrite` follows.
 */
const writeAtOnce = `
    IF kind <> 'd' AND indexes_ = 0 AND NOT is_logged THEN
      ${make}
      IF kind = 'c' THEN
        ${insertItem('made_version')} ON CONFLICT DO NOTHING RETURNING 'c', sequence INTO outcome, made_sequence;
        rows_ := rows_ + FOUND::int;
      ELSE
        UPDATE mayfly.items i SET ${madeColumns}, body = ${withSequence('i.sequence')}
          WHERE ${atKey('i')} AND ${alive('i')} AND (if_versions[k] = i.version) IS NOT FALSE
          RETURNING 'r', i.sequence INTO outcome, made_sequence;
      END IF;
    ELSE
      outcome := NULL;
    END IF;`

/** The condition on the items whose keys count. The item that is replaced does not count. */
const amongHolders = (isCluster: boolean) => {
  const other = 'NOT (lives IS TRUE AND n.bucket = b AND n.sequence = here_sequence)'
  const among = isCluster ? 'n.bucket = b' : "(n.bucket = b OR uniques[e] = 'container')"
  return `${among} AND ${other}`
}

/**
 * Whether another living item has the key of entry `e`. In a cluster the other buckets were asked before
 * (`held`).
 */
const isTaken = (isCluster: boolean) => {
  return `${isCluster ? 'held[e] OR ' : ''}EXISTS (SELECT ${livingHolder(amongHolders(isCluster))})`
}

/**
 * Finds the row at the key, judges the write, and does it. The outcome is decided by the rule of
 * `adapters/verdict.ts`, which is the source of this CASE: created, replaced, deleted, exists, missing,
 * changed (h) and conflict (x), each by a letter that `writing/write-answer.ts` knows.
 */
const lookAndWrite = (isCluster: boolean) => `
    SELECT i.ctid, i.sequence, i.version, ${alive('i')} INTO here, here_sequence, here_version, lives
      FROM mayfly.items i WHERE ${atKey('i')};
    outcome := CASE
      WHEN lives IS NOT TRUE THEN CASE WHEN kind IN ('r', 'd') THEN 'm' ELSE 'c' END
      WHEN kind = 'c' THEN 'e'
      WHEN if_versions[k] <> here_version THEN 'h'
      WHEN kind = 'd' THEN 'd'
      ELSE 'r' END;
    IF entry_counts IS NOT NULL THEN
      entry := coalesce(last_entry, 0);
      last_entry := entry + entry_counts[k];
      IF outcome IN ('c', 'r') THEN
        FOR e IN entry + 1..last_entry LOOP
          CONTINUE WHEN uniques[e] = 'none';
          IF ${isTaken(isCluster)} THEN outcome := 'x'; EXIT; END IF;
        END LOOP;
        IF sure_ IS NOT NULL AND outcome <> 'x' THEN
          FOR e IN entry + 1..last_entry LOOP
            CONTINUE WHEN uniques[e] = 'none';
            ${endDoubted(amongHolders(isCluster))}
          END LOOP;
        END IF;
      END IF;
    END IF;

    IF outcome IN ('c', 'r', 'd') THEN
      IF is_logged AND log_epoch_ <> container_epoch THEN
        log_epoch_ := container_epoch;
        log_forgotten_ := lsn_ * ${bucketCount} + b;
      END IF;
      IF is_logged AND NOT lives THEN
        -- Log the death of the old item before the new item.
        lsn_ := lsn_ + 1;
        made_version := lsn_ * ${bucketCount} + b;
        ${takeTick(isCluster)}
        INSERT INTO mayfly.log (${logColumns})
          SELECT c_, b, made_version, 'expire', i.epk, i.pk, i.long_pk, i.id, made_version, i.sequence,
          moment, at_, NULL, NULL, i.version, i.body, i.bytes, tick_ FROM mayfly.items i WHERE ${atKey('i')};
      END IF;
      ${make}
      lsn_ := lsn_ + 1;
      made_sequence := CASE WHEN lives THEN here_sequence ELSE made_version END;
      IF is_logged THEN ${takeTick(isCluster)} END IF;
      IF is_logged AND lives THEN
        INSERT INTO mayfly.log (${logColumns})
          SELECT c_, b, made_version, CASE outcome WHEN 'd' THEN 'delete' ELSE 'replace' END,
          i.epk, i.pk, i.long_pk, i.id, made_version, i.sequence, moment, at_,
          ${withSequence('made_sequence')}, data_, i.version, i.body, i.bytes, tick_
          FROM mayfly.items i WHERE ${atKey('i')};
      ELSIF is_logged THEN
        INSERT INTO mayfly.log (${logColumns})
          VALUES (c_, b, made_version, 'create', epks[k], pks[k], long_pks[k], ids[k], made_version, made_sequence,
          moment, at_, ${withSequence('made_sequence')}, data_, NULL, NULL, NULL, tick_);
      END IF;
      IF indexes_ > 0 AND here IS NOT NULL THEN
        -- Entries that stay are not touched.
        DELETE FROM mayfly.entries n WHERE n.container = c_ AND n.bucket = b AND n.sequence = here_sequence
          AND NOT (outcome = 'r' AND EXISTS (SELECT 1 FROM ${ownEntries} WHERE w.number = n.number AND w.key = n.key));
      END IF;
      IF outcome = 'd' THEN
        DELETE FROM mayfly.items i WHERE ${atRow('i')};
        rows_ := rows_ - 1;
      ELSIF here IS NOT NULL THEN
        UPDATE mayfly.items i
          SET sequence = made_sequence, ${madeColumns}, body = ${withSequence('made_sequence')} WHERE ${atRow('i')};
      ELSE
        ${insertItem('made_sequence')};
        rows_ := rows_ + 1;
      END IF;
      IF outcome <> 'd' AND last_entry > entry THEN
        INSERT INTO mayfly.entries (container, bucket, number, key, sequence, epk, pk, id)
          SELECT c_, b, w.number, w.key, made_sequence, epks[k], pks[k], ids[k] FROM ${ownEntries}
          ON CONFLICT DO NOTHING;
      END IF;
    ELSIF is_atomic THEN
      RAISE EXCEPTION 'refused' USING ERRCODE = '${refusedState}', DETAIL = format('%s %s %s %s', c_, b, k, outcome);
    END IF;`

/** Does the writes `first` to `last` of the call: those to bucket `b`. */
export const rowSteps = (isCluster: boolean, first: string, last: string) => `FOR k IN ${first}..${last} LOOP
    kind := substr(kinds, k, 1);
    ${writeAtOnce}
    IF outcome IS NULL THEN
      ${lookAndWrite(isCluster)}
    ELSE
      lsn_ := lsn_ + 1;
    END IF;
    outcomes := concat(outcomes, outcome);
    sequences := sequences || CASE WHEN outcome IN ('c', 'r') THEN made_sequence END;
    versions := versions || CASE WHEN lsn_ > 0 THEN lsn_ * ${bucketCount} + b ELSE 0 END;
  END LOOP;
  IF lsn_ <> counted_lsn OR rows_ <> counted_rows OR is_logged THEN
    -- The counters were raised as if all writes succeed; correct them.
    UPDATE mayfly.counters n SET lsn = lsn_, rows = rows_, log_epoch = log_epoch_, log_forgotten = log_forgotten_
      WHERE n.container = c_ AND n.bucket = b;
  END IF;`

/** Leaves the receipt of the call: its number and its answers. `me` is the function with the variables. */
export const leaveReceipt = (me: string, slot: string) => `
  UPDATE mayfly.lanes l SET batch = call_number, ts = moment, default_ttl = ${me}.default_ttl,
      inherited_dead_at = ${me}.inherited_dead_at, own_dead_at = ${me}.own_dead_at, outcomes = ${me}.outcomes,
      sequences = ${me}.sequences, versions = ${me}.versions
    WHERE l.container = c_ AND l.bucket = ${slot} AND l.gateway = gateway_ AND l.batch < call_number;
  IF NOT FOUND THEN
    INSERT INTO mayfly.lanes (container, bucket, gateway, batch, ts,
        default_ttl, inherited_dead_at, own_dead_at, outcomes, sequences, versions)
      VALUES (c_, ${slot}, gateway_, call_number, moment,
        ${me}.default_ttl, ${me}.inherited_dead_at, ${me}.own_dead_at, ${me}.outcomes, ${me}.sequences, ${me}.versions)
      ON CONFLICT DO NOTHING;
    -- A lost call may still arrive after its retry, or after it was fenced off.
    IF NOT FOUND THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${refusedState}', DETAIL = 'late'; END IF;
  END IF;`

export const writeRowsFunction = `
CREATE FUNCTION mayfly.write_rows(
  c_ int, b int, gateway_ uuid, call_number bigint, is_atomic boolean, indexes_ bigint,
  counted_lsn bigint, counted_rows bigint, lsn_ bigint, rows_ bigint, log_epoch_ int, log_forgotten_ bigint,
  is_logged boolean, container_epoch int,
  moment bigint, at_ bigint, default_ttl bigint, inherited_dead_at bigint, own_dead_at bigint,
  inherited_after bigint, own_after bigint, sure_ bigint, sure_inherited bigint, sure_own bigint,
  kinds text, epks text[], pks bytea[], long_pks bytea[], ids bytea[],
  if_versions bigint[], ttls bigint[], untils bigint[],
  bodies text[], sequence_form text, forms text[], bytes_ bytea[],
  entry_counts int[], numbers int[], keys bytea[], uniques text[], held boolean[], ticks bigint[],
  OUT outcomes text, OUT sequences bigint[], OUT versions bigint[], OUT tick_ bigint
) LANGUAGE plpgsql AS $$
DECLARE
  ${rowVariables} ticks_taken int := 0;
BEGIN
  ${rowSteps(true, '1', 'length(kinds)')}
  IF lsn_ > counted_lsn - length(kinds) THEN ${leaveReceipt('write_rows', 'b')} END IF;
END $$;
`
