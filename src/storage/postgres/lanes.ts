/**
 * Writes, in one lane for each bucket.
 *
 * A lane has one group of writes under way; what arrives meanwhile is the next group. So the writes of one gateway to a
 * bucket keep the order in which they were asked for, never wait for each other's locks, and share their commits, the more
 * the busier the bucket is. `functions.ts` tells what a group does in PostgreSQL and what that costs.
 *
 * When the connection breaks nobody knows whether the group was committed. Each group therefore leaves its number beside
 * the bucket, in a row of this gateway. The next attempt gets the bucket's lock only after the first has ended, and finds
 * there whether it has happened. One row is enough, because a lane has only one group under way.
 */

import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { EpochSeconds } from '../../base/clock.ts'
import { CapacityError, RequestError } from '../../base/error.ts'
import { groupBytesMax, groupWritesMax, postgresAttemptsMax, postgresRetryMs } from '../../base/limits.ts'
import type { ContainerRecord, IndexRecord, ItemWrite, WriteAnswer } from '../port.ts'
import { loadIndexes, noteFindings } from './changes.ts'
import { abandon, type Connections, pause, type Session } from './connections.ts'
import { isConflict, isFatal, isLost, translate } from './errors.ts'
import { type GroupOutcome, judgeGroup, type PresentRow } from './group.ts'
import { bucketCount, bucketOf, keyColumns } from './keys.ts'
import type { Moments } from './moments.ts'

interface Waiting {
  readonly write: ItemWrite
  readonly resolve: (answer: WriteAnswer) => void
  readonly reject: (error: Error) => void
}

interface Lane {
  readonly container: ContainerRecord
  readonly bucket: number
  waiting: Waiting[]
}

/** A group on its way, through all its attempts. */
interface Group {
  readonly lane: Lane
  readonly number: number
  readonly writes: readonly ItemWrite[]
  /** What is answered if the last attempt turns out to have been committed. */
  sent: readonly WriteAnswer[] | undefined
}

const beginStatement = {
  name: 'begin_writes',
  text: 'SELECT * FROM mayfly.begin_writes($1, $2, $3, $4, $5, $6)',
}

const applyStatement = {
  name: 'apply_writes',
  text: `SELECT mayfly.apply_writes($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
    $20, $21, $22)`,
}

interface BeginRow {
  lsn: number | null
  moment: EpochSeconds
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
  indexes_version: number
  batch: number | null
  present: [number, number, number, EpochSeconds, number | null][] | null
}

export class Lanes {
  readonly #connections: Connections
  readonly #moments: Moments
  readonly #onFatal: (error: Error) => void
  readonly #gateway = randomUUID()
  readonly #lanes = new Map<number, Lane>()
  readonly #indexes = new Map<number, { version: number; records: readonly IndexRecord[] }>()
  readonly #running = new Set<Promise<void>>()
  #groups = 0
  #isClosed = false

  constructor(connections: Connections, moments: Moments, onFatal: (error: Error) => void) {
    this.#connections = connections
    this.#moments = moments
    this.#onFatal = onFatal
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    if (this.#isClosed) return Promise.reject(new CapacityError('unavailable', 'The store is closed.', 0))
    const bucket = bucketOf(container.partitionKey, write.key.epk)
    const name = container.number * bucketCount + bucket
    return new Promise((resolve, reject) => {
      const waiting = { write, resolve, reject }
      const lane = this.#lanes.get(name)
      if (lane !== undefined) {
        lane.waiting.push(waiting)
        return
      }
      const started: Lane = { container, bucket, waiting: [waiting] }
      this.#lanes.set(name, started)
      const running = this.#run(started).finally(() => this.#running.delete(running))
      this.#running.add(running)
    })
  }

  /** Waits for what is under way; nothing may be asked for afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#running)
  }

  async #run(lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) {
      let taken: Waiting[] = []
      try {
        // While they wait for a connection, more writes may join them.
        const session = await this.#connections.acquire()
        taken = take(lane)
        const group: Group = { lane, number: ++this.#groups, writes: taken.map(({ write }) => write), sent: undefined }
        const answers = await this.#commit(session, group)
        for (const [index, { resolve }] of taken.entries()) resolve(answers[index]!)
      } catch (cause) {
        if (taken.length === 0) taken = take(lane)
        const error = translate(cause)
        if (isFatal(cause)) this.#onFatal(error)
        for (const { reject } of taken) reject(error)
      }
    }
    this.#lanes.delete(lane.container.number * bucketCount + lane.bucket)
  }

  async #commit(first: PoolClient, group: Group): Promise<readonly WriteAnswer[]> {
    let session = first
    for (let attempt = 1; ; attempt++) {
      try {
        const answers = await this.#attempt(session, group)
        session.release()
        return answers
      } catch (error) {
        await abandon(session, error)
        const mayRepeat = isLost(error) || isConflict(error)
        if (!mayRepeat) throw error
        if (attempt >= postgresAttemptsMax) throw this.#gaveUp(group, error)
      }
      await pause(attempt)
      session = await this.#acquireAgain(group)
    }
  }

  async #acquireAgain(group: Group): Promise<PoolClient> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#connections.acquire()
      } catch (error) {
        if (attempt >= postgresAttemptsMax) throw this.#gaveUp(group, error)
        await pause(attempt + 1)
      }
    }
  }

  #gaveUp(group: Group, cause: unknown): Error {
    if (group.sent === undefined) return translate(cause)
    const sentence = 'The connection to PostgreSQL was lost while writing. The write may or may not have happened.'
    return new CapacityError('unavailable', sentence, postgresRetryMs, { cause })
  }

  async #attempt(session: Session, group: Group): Promise<readonly WriteAnswer[]> {
    const { lane, writes, number } = group
    const tick = this.#moments.tick()
    if (tick !== undefined) await tick
    const container = lane.container.number
    const columns = writes.map(({ key }) => keyColumns(key))
    const keys = [columns.map(({ epk }) => epk), columns.map(({ pk }) => pk), columns.map(({ id }) => id)]
    // Sent together: the bucket's lock is held for one round trip, not for two.
    const [, begun] = await Promise.all([
      session.query('BEGIN'),
      session.query({ ...beginStatement, values: [container, lane.bucket, this.#gateway, ...keys] }),
    ])
    const row = begun.rows[0] as BeginRow
    if (row.lsn === null) {
      this.#indexes.delete(container)
      throw new RequestError('namespace_not_found', `The container ${lane.container.id} does not exist any more.`)
    }
    if (row.batch === number && group.sent !== undefined) {
      await session.query('ROLLBACK')
      return group.sent
    }
    const present: (PresentRow | undefined)[] = new Array(writes.length).fill(undefined)
    for (const [at, sequence, version, ts, deadline] of row.present ?? []) {
      present[at - 1] = { sequence, version, ts, deadline }
    }
    const outcome = judgeGroup(
      {
        bucket: lane.bucket,
        lsn: row.lsn,
        moment: row.moment,
        policy: { defaultTtl: row.default_ttl, inheritedDeadAt: row.inherited_dead_at, ownDeadAt: row.own_dead_at },
        indexes: await this.#indexesOf(session, container, row.indexes_version),
        present,
      },
      writes,
    )
    if (outcome.lsn === row.lsn) {
      await session.query('ROLLBACK')
      return outcome.answers
    }
    const { cut, gaps } = outcome.findings
    if (cut.size > 0 || gaps.size > 0) await noteFindings(session, container, outcome.findings)
    group.sent = outcome.answers
    const values = [container, lane.bucket, this.#gateway, number, ...applyValues(outcome, row.moment)]
    // A COMMIT behind a statement that failed rolls back.
    await Promise.all([session.query({ ...applyStatement, values }), session.query('COMMIT')])
    return outcome.answers
  }

  async #indexesOf(session: Session, container: number, version: number): Promise<readonly IndexRecord[]> {
    const known = this.#indexes.get(container)
    if (known?.version === version) return known.records
    const records = version === 0 ? [] : await loadIndexes(session, container)
    this.#indexes.set(container, { version, records })
    return records
  }
}

function take(lane: Lane): Waiting[] {
  let bytes = 0
  let count = 0
  for (const { write } of lane.waiting) {
    if (write.kind !== 'delete') for (const text of write.draft.texts) bytes += text.length
    if (count > 0 && (count === groupWritesMax || bytes > groupBytesMax)) break
    count++
  }
  return lane.waiting.splice(0, count)
}

/** In the order of the parameters of `apply_writes`, from the fifth. */
function applyValues({ lsn, rowsMore, stored, removed, touched }: GroupOutcome, moment: EpochSeconds): unknown[] {
  const columns = stored.map(({ key }) => keyColumns(key))
  const gone = removed.map(keyColumns)
  const entries = stored.flatMap((change, index) => change.entries.map(entry => ({ ...entry, owner: index + 1 })))
  return [
    lsn,
    rowsMore,
    moment,
    columns.map(({ epk }) => epk),
    columns.map(({ pk }) => pk),
    columns.map(({ longPk }) => longPk),
    columns.map(({ id }) => id),
    stored.map(({ item }) => item.sequence),
    stored.map(({ item }) => item.version),
    stored.map(({ item }) => item.deadline),
    stored.map(({ item }) => item.body),
    gone.map(({ epk }) => epk),
    gone.map(({ pk }) => pk),
    gone.map(({ id }) => id),
    touched,
    entries.map(({ number }) => number),
    entries.map(({ key }) => Buffer.from(key)),
    entries.map(({ owner }) => owner),
  ]
}
