/**
 * The second part of the function that writes: what a call does to the rows of its bucket, once it has the locks and knows the
 * moment. It touches nothing else, so that a cluster can run it where the bucket is (`citus.ts`); elsewhere it is a part of
 * the function, because a call of its own costs as much as a statement.
 */

import { bucketCount } from './keys.ts'
import { isAlive } from './predicates.ts'

/** The SQLSTATE of what the function raises; no code of PostgreSQL begins so. The detail says what it was. */
export const refusedState = 'MF001'

const never = Number.MAX_SAFE_INTEGER
const alive = (row: string) => isAlive(row, 'inherited_after', 'own_after')
const atKey = (row: string) =>
  `${row}.container = c_ AND ${row}.bucket = b AND ${row}.epk = epk_ AND ${row}.pk = pk_ AND ${row}.id = id_`
/** Under the lock of the bucket the row stays where it was found. */
const atRow = (row: string) => `${row}.container = c_ AND ${row}.bucket = b AND ${row}.ctid = here.ctid`
/** An entry with the key of entry `e` whose item is alive. */
export const livingHolder = (where: string) => `
        1 FROM mayfly.entries n JOIN mayfly.items i ON i.container = n.container AND i.bucket = n.bucket
          AND i.epk = n.epk AND i.pk = n.pk AND i.id = n.id AND i.sequence = n.sequence
        WHERE n.container = c_ AND n.number = numbers[e] AND n.key = keys[e] AND ${where} AND ${alive('i')}`
const logColumns =
  'container, bucket, number, kind, epk, pk, long_pk, id, version, sequence, ts, at, body, bytes, previous_version, previous_body, previous_bytes'
const ownEntries = 'unnest(numbers[entry + 1:last_entry], keys[entry + 1:last_entry]) w(number, key)'

export const rowVariables = `before_lsn bigint := lsn_;
  epk_ text; pk_ bytea; long_pk_ bytea; id_ bytea; data_ bytea;
  here record; was_there boolean; lives boolean; kind text; outcome text;
  body_ text; printed_form text; printed text; made_sequence bigint; made_version bigint; deadline_ bigint;
  piece int := 0; gap int := 0; entry int := 0; last_entry int;`

/** Those entries are `held` whose key a living item of another bucket has. `me` is the function that has the variables. */
export const rowSteps = (me: string) => `outcomes := '';
  FOR k IN 1..length(kinds) LOOP
    kind := substr(kinds, k, 1);
    epk_ := epks[k];
    pk_ := pks[k];
    long_pk_ := long_pks[k];
    id_ := ids[k];
    data_ := bytes_[k];
    last_entry := entry + coalesce(entry_counts[k], 0);
    SELECT i.ctid, i.sequence, i.version, i.ts, i.deadline INTO here FROM mayfly.items i WHERE ${atKey('i')};
    was_there := FOUND;
    lives := was_there AND ${alive('here')};
    outcome := CASE
      WHEN NOT lives THEN CASE WHEN kind IN ('r', 'd') THEN 'm' ELSE 'c' END
      WHEN kind = 'c' THEN 'e'
      WHEN if_versions[k] <> here.version THEN 'h'
      WHEN kind = 'd' THEN 'd'
      ELSE 'r' END;
    IF outcome IN ('c', 'r') THEN
      FOR e IN entry + 1..last_entry LOOP
        CONTINUE WHEN uniques[e] = 'none';
        IF held[e] OR EXISTS (SELECT ${livingHolder('n.bucket = b AND NOT (lives AND n.sequence = here.sequence)')})
        THEN outcome := 'x'; EXIT; END IF;
      END LOOP;
    END IF;

    IF outcome IN ('c', 'r', 'd') THEN
      IF is_logged AND log_epoch_ <> container_epoch THEN
        log_epoch_ := container_epoch;
        log_forgotten_ := lsn_ * ${bucketCount} + b;
      END IF;
      IF is_logged AND was_there AND NOT lives THEN
        -- The death of what stood here comes before the birth of what follows.
        lsn_ := lsn_ + 1;
        made_version := lsn_ * ${bucketCount} + b;
        INSERT INTO mayfly.log (${logColumns}) SELECT c_, b, made_version, 'expire', i.epk, i.pk, i.long_pk, i.id, made_version, i.sequence,
          moment, at_, NULL, NULL, i.version, i.body, i.bytes FROM mayfly.items i WHERE ${atKey('i')};
      END IF;
      lsn_ := lsn_ + 1;
      made_version := lsn_ * ${bucketCount} + b;
      made_sequence := CASE WHEN lives THEN here.sequence ELSE made_version END;
      body_ := NULL;
      IF outcome <> 'd' THEN
        deadline_ := CASE WHEN ttls[k] = -1 THEN ${never} ELSE moment + ttls[k] END;
        IF untils[k] IS NOT NULL THEN deadline_ := least(untils[k], coalesce(deadline_, ${never})); END IF;
        body_ := pieces[piece + 1];
        printed_form := NULL;
        FOR g IN 1..gap_counts[k] LOOP
          -- The same stamp in the same form comes twice in a row.
          IF printed_form IS DISTINCT FROM forms[gap + g] THEN
            printed_form := forms[gap + g];
            printed := CASE printed_form WHEN 'td' THEN moment::text WHEN 'vd' THEN made_version::text WHEN 'sd' THEN made_sequence::text
              ELSE mayfly.print(printed_form, made_sequence, made_version, moment) END;
          END IF;
          body_ := body_ || printed || pieces[piece + 1 + g];
        END LOOP;
      END IF;
      IF is_logged THEN
        IF lives THEN
          INSERT INTO mayfly.log (${logColumns}) SELECT c_, b, made_version, CASE outcome WHEN 'd' THEN 'delete' ELSE 'replace' END,
            i.epk, i.pk, i.long_pk, i.id, made_version, i.sequence, moment, at_, body_, data_, i.version, i.body, i.bytes
            FROM mayfly.items i WHERE ${atKey('i')};
        ELSE
          INSERT INTO mayfly.log (${logColumns}) VALUES (c_, b, made_version, 'create', epk_, pk_, long_pk_, id_, made_version,
            made_sequence, moment, at_, body_, data_, NULL, NULL, NULL);
        END IF;
      END IF;
      IF indexes_ > 0 AND was_there THEN
        -- Entries that stay are not touched.
        DELETE FROM mayfly.entries n WHERE n.container = c_ AND n.bucket = b AND n.sequence = here.sequence
          AND NOT (outcome = 'r' AND EXISTS (SELECT 1 FROM ${ownEntries} WHERE w.number = n.number AND w.key = n.key));
      END IF;
      IF outcome = 'd' THEN
        DELETE FROM mayfly.items i WHERE ${atRow('i')};
        rows_ := rows_ - 1;
      ELSIF was_there THEN
        UPDATE mayfly.items i SET sequence = made_sequence, version = made_version, ts = moment, at = at_, deadline = deadline_,
          body = body_, bytes = data_ WHERE ${atRow('i')};
      ELSE
        INSERT INTO mayfly.items (container, bucket, epk, pk, long_pk, id, sequence, version, ts, at, deadline, body, bytes)
          VALUES (c_, b, epk_, pk_, long_pk_, id_, made_sequence, made_version, moment, at_, deadline_, body_, data_);
        rows_ := rows_ + 1;
      END IF;
      IF outcome <> 'd' AND last_entry > entry THEN
        INSERT INTO mayfly.entries (container, bucket, number, key, sequence, epk, pk, id)
          SELECT c_, b, w.number, w.key, made_sequence, epk_, pk_, id_ FROM ${ownEntries} ON CONFLICT DO NOTHING;
      END IF;
    ELSIF is_atomic THEN
      RAISE EXCEPTION 'refused' USING ERRCODE = '${refusedState}', DETAIL = format('%s %s %s %s', c_, b, k, outcome);
    END IF;

    outcomes := outcomes || outcome;
    sequences[k] := CASE WHEN outcome IN ('c', 'r') THEN made_sequence END;
    versions[k] := CASE WHEN lsn_ > 0 THEN lsn_ * ${bucketCount} + b ELSE 0 END;
    piece := piece + gap_counts[k] + 1;
    gap := gap + gap_counts[k];
    entry := last_entry;
  END LOOP;

  IF lsn_ = before_lsn THEN RETURN; END IF;
  UPDATE mayfly.counters n SET lsn = lsn_, rows = rows_, log_epoch = log_epoch_, log_forgotten = log_forgotten_
    WHERE n.container = c_ AND n.bucket = b;
  UPDATE mayfly.lanes l SET batch = batch_, ts = moment, default_ttl = ${me}.default_ttl, inherited_dead_at = ${me}.inherited_dead_at,
      own_dead_at = ${me}.own_dead_at, outcomes = ${me}.outcomes, sequences = ${me}.sequences, versions = ${me}.versions
    WHERE l.container = c_ AND l.bucket = b AND l.gateway = gateway_ AND l.batch < batch_;
  IF NOT FOUND THEN
    INSERT INTO mayfly.lanes (container, bucket, gateway, batch, ts, default_ttl, inherited_dead_at, own_dead_at, outcomes, sequences, versions)
      VALUES (c_, b, gateway_, batch_, moment, ${me}.default_ttl, ${me}.inherited_dead_at, ${me}.own_dead_at, ${me}.outcomes, ${me}.sequences, ${me}.versions)
      ON CONFLICT DO NOTHING;
    -- A call that was given up for lost and tried again may still arrive, even after its successor.
    IF NOT FOUND THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${refusedState}', DETAIL = 'late'; END IF;
  END IF;`

export const writeRowsFunction = `
CREATE FUNCTION mayfly.write_rows(
  c_ int, b int, gateway_ uuid, batch_ bigint, is_atomic boolean, indexes_ bigint,
  lsn_ bigint, rows_ bigint, log_epoch_ int, log_forgotten_ bigint, is_logged boolean, container_epoch int,
  moment bigint, at_ bigint, default_ttl bigint, inherited_dead_at bigint, own_dead_at bigint, inherited_after bigint, own_after bigint,
  kinds text, epks text[], pks bytea[], long_pks bytea[], ids bytea[], if_versions bigint[], ttls bigint[], untils bigint[],
  gap_counts int[], pieces text[], forms text[], bytes_ bytea[],
  entry_counts int[], numbers int[], keys bytea[], uniques text[], held boolean[],
  OUT outcomes text, OUT sequences bigint[], OUT versions bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
  ${rowVariables}
BEGIN
  ${rowSteps('write_rows')}
END $$;
`
