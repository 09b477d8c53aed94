/** Finds the state of the buckets that the steps of a transaction name, and the rows at their keys. */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ItemKey, StoredItem } from '../../../store/item.ts'
import type { Step } from '../../../store/writing.ts'
import { type PolicyColumns, toPolicy } from '../../catalog-rows.ts'
import { lockBuckets } from '../connection/bucket-locks.ts'
import { type PostgresSession, snapshot } from '../connection/connections.ts'
import { required } from '../connection/errors.ts'
import { bucketOf, keyColumns } from '../rows/keys.ts'
import { type BodyColumns, bodyOf } from '../rows/records.ts'
import { clockLock } from '../sql/write-function.ts'
import { type FoundBucket, nameOf } from './decide-steps.ts'

/** A bucket that steps ask about, and their keys in it. */
export interface StepBucket {
  readonly container: ContainerRecord
  readonly bucket: number
  readonly keys: Map<string, ItemKey>
}

/** The buckets of the steps, and for each step the place of its bucket in that list. */
export function bucketsOf(steps: readonly Step[]): { buckets: StepBucket[]; bucketOfStep: number[] } {
  const buckets: StepBucket[] = []
  const numbers = new Map<string, number>()
  const bucketOfStep = steps.map(({ container, key }) => {
    const bucket = bucketOf(container.partitionKey, key.epk)
    const name = `${container.number} ${bucket}`
    const number = numbers.get(name) ?? buckets.push({ container, bucket, keys: new Map() }) - 1
    numbers.set(name, number)
    buckets[number]!.keys.set(nameOf(key), key)
    return number
  })
  return { buckets, bucketOfStep }
}

interface Circumstances extends PolicyColumns {
  moment: EpochSeconds
  definition: number
  is_logged: boolean
}

interface LookRow extends BodyColumns {
  lsn: number
  place: number
  sequence: number | null
  version: number
  ts: EpochSeconds
  deadline: number | null
}

const containerColumns = `k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, c.version AS definition,
      c.log_seconds IS NOT NULL AS is_logged`

const itemColumns = 'n.lsn, w.place::int AS place, i.sequence, i.version, i.ts, i.deadline, i.body, i.bytes'

const itemsJoin = `
    CROSS JOIN unnest($3::text[], $4::bytea[], $5::bytea[]) WITH ORDINALITY w(epk, pk, id, place)
    LEFT JOIN LATERAL (
      SELECT * FROM mayfly.items x
      WHERE x.container = $1 AND x.bucket = $2 AND x.epk = w.epk AND x.pk = w.pk AND x.id = w.id LIMIT 1
    ) i ON true`

const lookStatement = {
  name: 'look',
  text: `
    SELECT ${containerColumns}, ${itemColumns} FROM mayfly.containers c CROSS JOIN mayfly.clock k
    JOIN mayfly.counters n ON n.container = c.number AND n.bucket = $2 ${itemsJoin}
    WHERE c.number = $1 AND k.one = 1`,
}

/** In a cluster, container and items are on two machines, so each has a statement of its own. */
const containerStatement = {
  name: 'look_at_container',
  text: `
    SELECT ${containerColumns} FROM mayfly.containers c CROSS JOIN mayfly.clock k WHERE c.number = $1 AND k.one = 1`,
}

const itemsStatement = {
  name: 'look_at_items',
  text: `SELECT ${itemColumns} FROM mayfly.counters n ${itemsJoin} WHERE n.container = $1 AND n.bucket = $2`,
}

/**
 * Finds all buckets as they were at one moment. With `isLocking` a transaction is begun and its locks are
 * held until it ends.
 */
export async function findBuckets(
  session: PostgresSession,
  buckets: readonly StepBucket[],
  { isLocking, isCluster }: { isLocking: boolean; isCluster: boolean },
): Promise<FoundBucket[]> {
  const findOne = isCluster ? findApart : find
  const findAll = () => Promise.all(buckets.map(bucket => findOne(session, bucket)))
  if (isLocking) {
    const [, , , found] = await Promise.all([
      session.query('BEGIN'),
      lockBuckets(
        session,
        buckets.map(({ container, bucket }) => ({ container: container.number, bucket })),
      ),
      session.query('SELECT pg_advisory_xact_lock_shared($1)', [clockLock]),
      findAll(),
    ])
    return found
  }
  return buckets.length === 1 ? findAll() : snapshot(session, findAll)
}

async function find(session: PostgresSession, place: StepBucket): Promise<FoundBucket> {
  const { rows } = await session.query({ ...lookStatement, values: valuesFor(place) })
  return foundBucket(place, required(rows as (Circumstances & LookRow)[], place.container), rows)
}

/**
 * A cluster has no snapshot over two machines. The container is asked before and after the items: if moment
 * and definition did not change, the items were found at that moment.
 */
async function findApart(session: PostgresSession, place: StepBucket): Promise<FoundBucket> {
  const { container } = place
  const around = { ...containerStatement, values: [container.number] }
  for (;;) {
    const [before, items, after] = await Promise.all([
      session.query(around),
      session.query({ ...itemsStatement, values: valuesFor(place) }),
      session.query(around),
    ])
    const circumstances = required(before.rows as Circumstances[], container)
    required(items.rows, container)
    const { moment, definition } = required(after.rows as Circumstances[], container)
    if (circumstances.moment === moment && circumstances.definition === definition) {
      return foundBucket(place, circumstances, items.rows)
    }
  }
}

function valuesFor({ container, bucket, keys }: StepBucket): unknown[] {
  const columns = [...keys.values()].map(keyColumns)
  return [
    container.number,
    bucket,
    columns.map(({ epk }) => epk),
    columns.map(({ pk }) => pk),
    columns.map(({ id }) => id),
  ]
}

function foundBucket(
  { container, bucket, keys }: StepBucket,
  circumstances: Circumstances,
  rows: readonly LookRow[],
): FoundBucket {
  const names = [...keys.keys()]
  const items = new Map<string, StoredItem>()
  for (const { place, sequence, version, ts, deadline, body, bytes } of rows) {
    if (sequence === null) continue
    items.set(names[place - 1]!, { sequence, version, ts, deadline, body: bodyOf({ body, bytes }) })
  }
  return {
    container: container.number,
    bucket,
    lsn: rows[0]!.lsn,
    moment: circumstances.moment,
    policy: toPolicy(circumstances),
    definitionVersion: circumstances.definition,
    isLogged: circumstances.is_logged,
    items,
  }
}
