/**
 * Groups of writes on their way: one call each, tried again when the connection or a race was lost.
 *
 * When a connection breaks nobody knows whether the call has happened. Each call therefore leaves its number
 * and its answers in a row of this gateway for its lane or stripe; a call with a number that is there already
 * is answered from it and does nothing. One row is enough, because a lane has only one group under way. A
 * call that was given up for lost and arrives later than its repetition finds the number as well.
 *
 * PostgreSQL knows the stamps and fills them into the bodies. Where it cannot, because a stamp is printed in
 * a way of its own or an index looks at stamps, the write goes the way of transactions, which take one more
 * round trip.
 */

import type { PoolClient } from 'pg'
import { CapacityError } from '../../../base/error.ts'
import type { KeyMaker } from '../../../document/index-keys.ts'
import type { ContainerRecord, IndexRecord } from '../../../store/catalog.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from '../../../store/writing.ts'
import { type IndexFindings, isNothing, noFindings } from '../../index-findings.ts'
import type { PostgresCatalog } from '../catalog/catalog.ts'
import { noteFindings } from '../catalog/catalog-changes.ts'
import { Attempts } from '../connection/attempts.ts'
import { abandon, type Connections, pipelined } from '../connection/connections.ts'
import { gone, isConflict, isLocked, isLost, translate, uncertain } from '../connection/errors.ts'
import type { Moments } from '../connection/moments.ts'
import { entriesOfDraft } from '../rows/entry-keys.ts'
import { bucketCount, bucketOf } from '../rows/keys.ts'
import { canBeMarked, openBody } from '../rows/stamp-forms.ts'
import { Fences } from './fences.ts'
import { type LaneName, Lanes, type LaneWork, laneNumber } from './lanes.ts'
import type { PlacedWrite } from './stripes.ts'
import { Transactions } from './transactions.ts'
import {
  answerOf,
  type CallPart,
  deletion,
  type Instruction,
  instruction,
  parseRow,
  type WriteRow,
  writeQuery,
} from './write-call.ts'

/** Where a group goes. */
interface Way {
  readonly container: ContainerRecord
  /** Where its calls leave their numbers. */
  readonly lane: number
  /** Whether it waits for others, and is tried again when it lost against them. */
  readonly isPatient: boolean
}

interface Prepared {
  readonly parts: readonly CallPart[]
  readonly indexesVersion: number
  readonly findings: IndexFindings
}

export class Writes {
  readonly #connections: Connections
  readonly #catalog: PostgresCatalog
  readonly #moments: Moments
  readonly #keysOf: KeyMaker
  readonly #lanes: Lanes
  readonly #transactions: Transactions
  readonly #gateway: string
  readonly #fences: Fences
  #batches = 0

  constructor(
    parts: {
      connections: Connections
      catalog: PostgresCatalog
      moments: Moments
      keysOf: KeyMaker
      gateway: string
      isCluster: boolean
    },
    onFatal: (error: Error) => void,
  ) {
    this.#connections = parts.connections
    this.#catalog = parts.catalog
    this.#moments = parts.moments
    this.#keysOf = parts.keysOf
    this.#gateway = parts.gateway
    const fences = new Fences(parts.gateway)
    this.#fences = fences
    this.#transactions = new Transactions({ ...parts, fences, nextBatch: () => ++this.#batches })
    const work: LaneWork = {
      write: (lane, writes, session) => this.#write(lane, writes, session),
      writeTogether: ({ container, firstBucket }, writes, session) =>
        this.#writeGroup({ container, lane: bucketCount + firstBucket, isPatient: false }, writes, session),
      transact: jobs => this.#transactions.runTogether(jobs),
    }
    this.#lanes = new Lanes(parts.connections, work, { isCluster: parts.isCluster, onFatal })
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    return this.#lanes.write(container, write)
  }

  transact(steps: readonly Step[]): Promise<TransactAnswer> {
    const lanes = new Map<number, LaneName>()
    for (const { container, key } of steps) {
      const name = { container, bucket: bucketOf(container.partitionKey, key.epk) }
      lanes.set(laneNumber(name), name)
    }
    const [only, ...others] = lanes.values()
    if (only !== undefined && others.length === 0) return this.#lanes.transact(only, steps)
    return this.#lanes.alone([...lanes.values()], () => this.#transactions.run(steps))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#lanes[Symbol.asyncDispose]()
  }

  async #write(
    { container, bucket }: LaneName,
    writes: readonly PlacedWrite[],
    session: PoolClient,
  ): Promise<readonly WriteAnswer[]> {
    const answers = await this.#writeGroup({ container, lane: bucket, isPatient: true }, writes, session)
    if (answers !== undefined) return answers
    const all = writes.map(({ write }) => write)
    return this.#transactions.write(container, all)
  }

  /**
   * undefined: nothing was written, because PostgreSQL cannot stamp these, or others were in the way and
   * there is no patience.
   */
  async #writeGroup(
    way: Way,
    writes: readonly PlacedWrite[],
    firstSession: PoolClient,
  ): Promise<readonly WriteAnswer[] | undefined> {
    const { container, lane } = way
    const batch = ++this.#batches
    let session: PoolClient | undefined = firstSession
    let isLostOnce = false
    const attempts = new Attempts()
    for (;;) {
      try {
        session ??= await this.#connections.acquire()
        const prepared = this.#prepare(container, writes)
        if (prepared === undefined) {
          session.release()
          return undefined
        }
        const isPatient = way.isPatient || isLostOnce
        const row = await this.#call(session, prepared, { ...way, batch, isRetry: isLostOnce, isPatient })
        session.release()
        session = undefined
        if (row?.verdict === 'done') return writes.map(({ write }, index) => answerOf(row, index, write))
        if (row === undefined) await this.#catalog.settle()
        await this.#catalog.refresh()
        if (row?.verdict === 'gone') throw gone(container)
      } catch (error) {
        if (session !== undefined) await abandon(session, error)
        session = undefined
        isLostOnce ||= isLost(error)
        if (!way.isPatient && !isLostOnce && (isConflict(error) || isLocked(error))) return undefined
        const mayRepeat = isLost(error) || isConflict(error) || (isLostOnce && error instanceof CapacityError)
        if (mayRepeat && (await attempts.another())) continue
        if (isLostOnce) this.#fences.add({ container: container.number, lane, batch, moment: this.#moments.own })
        if (!mayRepeat) throw error
        throw isLostOnce ? uncertain(error) : translate(error)
      }
    }
  }

  /** undefined: only what was learned about indexes was written. */
  async #call(
    session: PoolClient,
    { parts, indexesVersion, findings }: Prepared,
    { container, ...way }: Way & { batch: number; isRetry: boolean },
  ): Promise<WriteRow | undefined> {
    const { number } = container
    if (!isNothing(findings)) {
      await pipelined(session, () => noteFindings(session, number, findings))
      return undefined
    }
    const fence = this.#fences.close(session, number, parts[0]!.bucket)
    if (fence !== undefined) await fence
    const tick = this.#moments.tick()
    if (tick !== undefined) await tick
    const call = { ...way, container: number, parts, gateway: this.#gateway, isAtomic: false, indexesVersion }
    return parseRow((await session.query(writeQuery(call))).rows[0].answer)
  }

  /** undefined: PostgreSQL cannot stamp these. */
  #prepare({ number }: ContainerRecord, writes: readonly PlacedWrite[]): Prepared | undefined {
    const { version, indexes } = this.#catalog.indexesOf(number)
    const findings = noFindings()
    const parts: { readonly bucket: number; readonly instructions: Instruction[] }[] = []
    for (const { bucket, write } of writes) {
      const prepared = this.#instruction(indexes, write, findings)
      if (prepared === undefined) return undefined
      const last = parts.at(-1)
      if (last?.bucket === bucket) last.instructions.push(prepared)
      else parts.push({ bucket, instructions: [prepared] })
    }
    const bodies = parts.flatMap(({ instructions }) => instructions.map(({ body }) => body))
    return canBeMarked(bodies) ? { parts, indexesVersion: version, findings } : undefined
  }

  #instruction(indexes: readonly IndexRecord[], write: ItemWrite, findings: IndexFindings): Instruction | undefined {
    if (write.kind === 'delete') return deletion(write.key, write)
    const body = openBody(write.draft)
    const entries = entriesOfDraft(this.#keysOf, indexes, { pk: write.key.pk, draft: write.draft }, findings)
    return body && entries && instruction(write.key, write, body, entries)
  }
}
