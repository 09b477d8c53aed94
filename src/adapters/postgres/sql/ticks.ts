/**
 * Ticks: the numbers that put the entries of all logs into one order, the journal.
 *
 * A tick is taken while the locks of its bucket and of the clock are held, so ticks grow with the versions
 * of a bucket and with the seconds. But transactions commit in another order than they take ticks. So before
 * a transaction takes a tick, it sets a mark: ticks above a certain number may still come. The mark is a
 * shared advisory lock on that number; the commit releases it. A reader takes the highest tick, then looks
 * for the lowest mark, and only then reads the entries up to both. A transaction that took one of these
 * ticks had its mark before that. If the mark is gone, the transaction is over, and what it wrote is seen.
 */

/** The upper bits of the marks' numbers: any number, the same in every gateway. */
const markTag = `(${0x6d61}::bigint << 40)`

/** Marks that this transaction will take ticks. In PL/pgSQL `PERFORM`, elsewhere `SELECT`. */
export const markSql = `pg_advisory_xact_lock_shared(${markTag} + s.last_value) FROM mayfly.log_ticks s`

export const nextTick = `nextval('mayfly.log_ticks')`

/** Finds the horizon of the journal: behind this tick there may be entries that nobody can see yet. */
export const horizonFunction = `
CREATE FUNCTION mayfly.journal_horizon(OUT horizon bigint, OUT newest bigint, OUT moment bigint) LANGUAGE plpgsql AS $$
DECLARE mark bigint;
BEGIN
  SELECT now INTO moment FROM mayfly.clock WHERE one = 1;
  SELECT s.last_value INTO newest FROM mayfly.log_ticks s;
  SELECT min(((l.classid::bigint << 32) | l.objid::bigint) - ${markTag}) INTO mark FROM pg_catalog.pg_locks l
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND ((l.classid::bigint << 32) | l.objid::bigint) >> 40 = ${0x6d61}
      AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database());
  horizon := least(newest, mark);
END $$;
`
