/**
 * Groups of writes on their way: one call each, tried again when the connection or a race was lost.
 *
 * When a connection breaks nobody knows whether the call has happened. Each call therefore leaves its number and its answers
 * beside the bucket, in a row of this gateway; a call with a number that is there already is answered from it and does nothing.
 * One row is enough, because a lane has only one group under way. A call that was given up for lost and arrives
 * later than its repetition finds the number as well.
 *
 * PostgreSQL knows the stamps and fills them into the bodies. Where it cannot, because a stamp is printed in a way of its own or
 * an index looks at stamps, the write goes the way of transactions, which take one more round trip.
 */

import type { PoolClient } from 'pg'
import { CapacityError } from '../../base/error.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord, ItemWrite, Step, TransactAnswer, WriteAnswer } from '../port.ts'
import { Attempts } from './attempts.ts'
import type { Catalog } from './catalog.ts'
import { noteFindings } from './catalog-changes.ts'
import { abandon, type Connections, pipelined } from './connections.ts'
import { entriesOfDraft, type IndexFindings, isNothing, noFindings } from './entry-keys.ts'
import { gone, isConflict, isLost, translate, uncertain } from './errors.ts'
import { bucketOf } from './keys.ts'
import { type LaneName, Lanes } from './lanes.ts'
import type { Moments } from './moments.ts'
import { canBeMarked, openBody } from './stamp-forms.ts'
import { Transactions } from './transactions.ts'
import { answerOf, deletion, type Instruction, instruction, parseRow, type WriteRow, writeQuery } from './write-call.ts'

interface Prepared {
  readonly instructions: readonly Instruction[]
  readonly indexesVersion: number
  readonly findings: IndexFindings
}

export class Writes {
  readonly #connections: Connections
  readonly #catalog: Catalog
  readonly #moments: Moments
  readonly #keysOf: KeyMaker
  readonly #lanes: Lanes
  readonly #transactions: Transactions
  readonly #gateway: string
  #batches = 0

  constructor(
    parts: {
      connections: Connections
      catalog: Catalog
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
    this.#transactions = new Transactions({ ...parts, nextBatch: () => ++this.#batches })
    const work = {
      write: (lane: LaneName, writes: readonly ItemWrite[], session: PoolClient) => this.#write(lane, writes, session),
      transact: (jobs: readonly (readonly Step[])[]) => this.#transactions.runTogether(jobs),
    }
    this.#lanes = new Lanes(parts.connections, work, onFatal)
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    return this.#lanes.write(container, write)
  }

  transact(steps: readonly Step[]): Promise<TransactAnswer> {
    const lanes = new Map<string, LaneName>()
    for (const { container, key } of steps) {
      const bucket = bucketOf(container.partitionKey, key.epk)
      lanes.set(`${container.number} ${bucket}`, { container, bucket })
    }
    const [only, ...others] = lanes.values()
    if (only !== undefined && others.length === 0) return this.#lanes.transact(only, steps)
    return this.#lanes.alone([...lanes.values()], () => this.#transactions.run(steps))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#lanes[Symbol.asyncDispose]()
  }

  async #write(lane: LaneName, writes: readonly ItemWrite[], session: PoolClient): Promise<readonly WriteAnswer[]> {
    const prepared = this.#prepare(lane.container, writes)
    if (prepared !== undefined) return this.#writeGroup(lane, writes, prepared, session)
    session.release()
    return this.#transactions.write(lane.container, writes)
  }

  async #writeGroup(
    lane: LaneName,
    writes: readonly ItemWrite[],
    first: Prepared,
    firstSession: PoolClient,
  ): Promise<readonly WriteAnswer[]> {
    const batch = ++this.#batches
    let prepared = first
    let session: PoolClient | undefined = firstSession
    let isLostOnce = false
    const attempts = new Attempts()
    for (;;) {
      try {
        session ??= await this.#connections.acquire()
        const row = await this.#call(session, lane, prepared, { batch, isRetry: isLostOnce })
        session.release()
        session = undefined
        if (row?.verdict === 'done') return writes.map((write, index) => answerOf(row, index, write))
        if (row === undefined) await this.#catalog.settle()
        await this.#catalog.refresh()
        if (row?.verdict === 'gone') throw gone(lane.container)
        const again = this.#prepare(lane.container, writes)
        // An index that looks at stamps has come meanwhile. The lane is held, so nothing overtakes.
        if (again === undefined) return await this.#write(lane, writes, await this.#connections.acquire())
        prepared = again
      } catch (error) {
        if (session !== undefined) await abandon(session, error)
        session = undefined
        isLostOnce ||= isLost(error)
        const mayRepeat = isLost(error) || isConflict(error) || (isLostOnce && error instanceof CapacityError)
        if (!mayRepeat) throw error
        if (!(await attempts.another())) throw isLostOnce ? uncertain(error) : translate(error)
      }
    }
  }

  /** undefined: only what was learned about indexes was written. */
  async #call(
    session: PoolClient,
    { container, bucket }: LaneName,
    { instructions, indexesVersion, findings }: Prepared,
    { batch, isRetry }: { batch: number; isRetry: boolean },
  ): Promise<WriteRow | undefined> {
    if (!isNothing(findings)) {
      await pipelined(session, () => noteFindings(session, container.number, findings))
      return undefined
    }
    const tick = this.#moments.tick()
    if (tick !== undefined) await tick
    const call = {
      ...{ container: container.number, bucket, gateway: this.#gateway, batch, isRetry, isAtomic: false },
      ...{ indexesVersion, instructions },
    }
    return parseRow((await session.query(writeQuery(call))).rows[0].answer)
  }

  /** undefined: PostgreSQL cannot stamp these. */
  #prepare({ number }: ContainerRecord, writes: readonly ItemWrite[]): Prepared | undefined {
    const { version, indexes } = this.#catalog.indexesOf(number)
    const findings = noFindings()
    const instructions: Instruction[] = []
    for (const write of writes) {
      if (write.kind === 'delete') {
        instructions.push(deletion(write.key, write))
        continue
      }
      const body = openBody(write.draft)
      const entries = entriesOfDraft(this.#keysOf, indexes, { pk: write.key.pk, draft: write.draft }, findings)
      if (body === undefined || entries === undefined) return undefined
      instructions.push(instruction(write.key, write, body, entries))
    }
    if (!canBeMarked(instructions.map(({ body }) => body))) return undefined
    return { instructions, indexesVersion: version, findings }
  }
}
