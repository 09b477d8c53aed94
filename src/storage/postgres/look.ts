/** What the steps of a transaction find: the buckets they are about, with the rows of their keys. */

import type { EpochSeconds } from '../../base/clock.ts'
import type { ContainerRecord, ItemKey, Step, StoredItem } from '../port.ts'
import { type Session, snapshot } from './connections.ts'
import { required } from './items.ts'
import { bucketOf, keyColumns } from './keys.ts'
import { type BodyColumns, bodyOf } from './records.ts'
import { type FoundBucket, nameOf } from './steps.ts'
import { policyOf } from './write-call.ts'
import { clockLock } from './write-function.ts'

/** A bucket that steps are about, and their keys in it. */
export interface Place {
  readonly container: ContainerRecord
  readonly bucket: number
  readonly keys: Map<string, ItemKey>
}

/** The buckets that the steps are about, and for each step which of them is its own. */
export function placesOf(steps: readonly Step[]): { places: Place[]; own: number[] } {
  const places: Place[] = []
  const numbers = new Map<string, number>()
  const own = steps.map(({ container, key }) => {
    const bucket = bucketOf(container.partitionKey, key.epk)
    const name = `${container.number} ${bucket}`
    const number = numbers.get(name) ?? places.push({ container, bucket, keys: new Map() }) - 1
    numbers.set(name, number)
    places[number]!.keys.set(nameOf(key), key)
    return number
  })
  return { places, own }
}

interface ContainerRow {
  moment: EpochSeconds
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
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

const containerStatement = {
  name: 'look_at_container',
  text: `
    SELECT k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, c.version AS definition,
      c.log_seconds IS NOT NULL AS is_logged
    FROM mayfly.containers c CROSS JOIN mayfly.clock k WHERE c.number = $1 AND k.one = 1`,
}

const lookStatement = {
  name: 'look',
  text: `
    SELECT n.lsn, w.n::int AS place, i.sequence, i.version, i.ts, i.deadline, i.body, i.bytes FROM mayfly.counters n
    CROSS JOIN unnest($3::text[], $4::bytea[], $5::bytea[]) WITH ORDINALITY w(epk, pk, id, n)
    LEFT JOIN LATERAL (
      SELECT * FROM mayfly.items x
      WHERE x.container = $1 AND x.bucket = $2 AND x.epk = w.epk AND x.pk = w.pk AND x.id = w.id LIMIT 1
    ) i ON true
    WHERE n.container = $1 AND n.bucket = $2`,
}

/** All as it was at one moment, or behind locks that are held until the transaction ends. */
export async function findBuckets(
  session: Session,
  places: readonly Place[],
  isLocking: boolean,
): Promise<FoundBucket[]> {
  const lookAround = () => Promise.all(places.map(place => find(session, place)))
  if (isLocking) {
    const [, , , found] = await Promise.all([
      session.query('BEGIN'),
      lockBuckets(
        session,
        places.map(({ container, bucket }) => ({ container: container.number, bucket })),
      ),
      session.query('SELECT pg_advisory_xact_lock_shared($1)', [clockLock]),
      lookAround(),
    ])
    return found
  }
  const [only, ...others] = places
  if (only === undefined || others.length > 0) return snapshot(session, lookAround)
  // Cheaper than a snapshot: if time and policy are the same before and behind it, all was found at that moment.
  for (;;) {
    const [found, { moment, definition }] = await Promise.all([find(session, only), lookAt(session, only.container)])
    if (found.moment === moment && found.version === definition) return [found]
  }
}

export async function lockBuckets(
  session: Session,
  places: readonly { readonly container: number; readonly bucket: number }[],
): Promise<void> {
  await session.query('SELECT mayfly.lock_buckets($1, $2)', [
    places.map(({ container }) => container),
    places.map(({ bucket }) => bucket),
  ])
}

async function lookAt(session: Session, container: ContainerRecord): Promise<ContainerRow> {
  const { rows } = await session.query({ ...containerStatement, values: [container.number] })
  return required(rows as ContainerRow[], container)
}

async function find(session: Session, { container, bucket, keys }: Place): Promise<FoundBucket> {
  const names = [...keys.keys()]
  const columns = [...keys.values()].map(keyColumns)
  const values = [
    container.number,
    bucket,
    columns.map(({ epk }) => epk),
    columns.map(({ pk }) => pk),
    columns.map(({ id }) => id),
  ]
  const [circumstances, look] = await Promise.all([
    lookAt(session, container),
    session.query({ ...lookStatement, values }),
  ])
  const rows = look.rows as LookRow[]
  const first = required(rows, container)
  const items = new Map<string, StoredItem>()
  for (const { place, sequence, version, ts, deadline, ...body } of rows) {
    if (sequence !== null) items.set(names[place - 1]!, { sequence, version, ts, deadline, body: bodyOf(body) })
  }
  return {
    container: container.number,
    bucket,
    lsn: first.lsn,
    moment: circumstances.moment,
    policy: policyOf(circumstances),
    version: circumstances.definition,
    isLogged: circumstances.is_logged,
    items,
  }
}
