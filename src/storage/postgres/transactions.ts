/**
 * Transactions: what the steps ask about is read, they decide here, and what they decided is written if nothing has changed.
 *
 * Reading takes no locks, so nobody waits for a gateway that thinks. Whether the buckets are as they were found (no write, no
 * tick, no other policy since) is checked by the function that writes, under its locks. If they are not, the steps decide
 * anew; a transaction that has lost that race too often takes the locks first, and then cannot lose it.
 *
 * All that is written is one transaction of PostgreSQL, sent in one round trip. When the connection breaks below it, the row
 * that its calls leave beside their buckets tells whether it has happened (`writes.ts`).
 */

import { isDeepStrictEqual } from 'node:util'
import type { PoolClient } from 'pg'
import { assert, CapacityError } from '../../base/error.ts'
import { postgresRacesMax } from '../../base/limits.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord, ItemWrite, Step, TransactAnswer, WriteAnswer } from '../port.ts'
import { Attempts } from './attempts.ts'
import type { Catalog } from './catalog.ts'
import { noteFindings } from './catalog-changes.ts'
import { abandon, type Connections, pipelined } from './connections.ts'
import { entriesOf, type IndexFindings, isNothing, noFindings } from './entry-keys.ts'
import { gone, isConflict, isLost, refusalOf, translate, uncertain } from './errors.ts'
import { findBuckets, lockBuckets, type Place, placesOf } from './look.ts'
import type { Moments } from './moments.ts'
import { closedBody } from './stamp-forms.ts'
import { type FoundBucket, type Taken, takeSteps } from './steps.ts'
import { type Call, deletion, instruction, outcomes, writeQuery } from './write-call.ts'

export interface TransactionParts {
  readonly connections: Connections
  readonly catalog: Catalog
  readonly moments: Moments
  readonly keysOf: KeyMaker
  readonly gateway: string
  readonly nextBatch: () => number
}

interface Result {
  readonly answer: TransactAnswer
  readonly found: readonly FoundBucket[]
}

/** What may have happened although nobody heard of it. */
interface Lost {
  readonly result: Result
  /** One of its calls, and the versions that it gives. */
  readonly call: Call
  readonly versions: readonly number[]
}

const writtenStatement = { name: 'written', text: 'SELECT versions FROM mayfly.written($1, $2, $3, $4)' }

export class Transactions {
  readonly #parts: TransactionParts

  constructor(parts: TransactionParts) {
    this.#parts = parts
  }

  async run(steps: readonly Step[]): Promise<TransactAnswer> {
    return (await this.#run(steps)).answer
  }

  /** A single write that only a gateway can stamp. */
  async runOne(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    const { answer, found } = await this.#run([{ container, key: write.key, decide: () => write }])
    const { outcome, item } = answer.steps[0]!
    const { moment, policy } = found[0]!
    assert(outcome !== 'found', 'a write does not only look')
    return { moment, policy, version: answer.version, outcome, ...(item !== undefined && { item }) }
  }

  async #run(steps: readonly Step[]): Promise<Result> {
    const places = placesOf(steps)
    const batch = this.#parts.nextBatch()
    const lost: Lost[] = []
    const attempts = new Attempts()
    for (let races = 0; ; ) {
      let session: PoolClient | undefined
      try {
        session = await this.#parts.connections.acquire()
        const result = await this.#attempt(session, {
          places,
          steps,
          batch,
          lost,
          isLocking: races >= postgresRacesMax,
        })
        session.release()
        session = undefined
        if (result !== 'moved') return result
        races++
        await this.#parts.catalog.refresh()
      } catch (error) {
        if (session !== undefined) await abandon(session, error)
        const mayRepeat = isLost(error) || isConflict(error) || (lost.length > 0 && error instanceof CapacityError)
        if (!mayRepeat) throw error
        if (!(await attempts.another())) throw lost.length > 0 ? uncertain(error) : translate(error)
      }
    }
  }

  async #attempt(
    session: PoolClient,
    asked: { places: readonly Place[]; steps: readonly Step[]; batch: number; lost: Lost[]; isLocking: boolean },
  ): Promise<Result | 'moved'> {
    const { places, steps, batch, lost, isLocking } = asked
    if (lost.length > 0) {
      const happened = await this.#happened(session, lost)
      if (happened !== undefined) return happened
    }
    const tick = this.#parts.moments.tick()
    if (tick !== undefined) await tick
    const found = await findBuckets(session, places, isLocking)
    const taken = takeSteps(steps, step => found[places.findIndex(place => place.steps.includes(step))]!)
    const result = { answer: taken.answer, found }
    if (taken.decided.length === 0) {
      if (isLocking) await session.query('ROLLBACK')
      return result
    }
    const findings = new Map<number, IndexFindings>()
    const calls = found.map(bucket => this.#callFor(bucket, taken, batch, findings))
    try {
      await this.#send(session, calls, findings, isLocking)
    } catch (error) {
      if (isLost(error)) lost.push(trace(result, calls, taken))
      const refusal = refusalOf(error)
      if (refusal === undefined) throw error
      if (refusal === 'gone') throw gone(places[0]!.container)
      return refusal.includes(' ') ? { answer: withConflict(refusal, taken), found } : 'moved'
    }
    if (![...findings.values()].every(isNothing)) await this.#parts.catalog.settle()
    return result
  }

  /** Which of those that were lost has happened after all. */
  async #happened(session: PoolClient, lost: readonly Lost[]): Promise<Result | undefined> {
    for (const { result, call, versions } of lost) {
      const values = [call.container, call.bucket, call.gateway, call.batch]
      const { rows } = await session.query({ ...writtenStatement, values })
      if (isDeepStrictEqual(rows[0].versions, versions)) return result
    }
    return undefined
  }

  #callFor(found: FoundBucket, taken: Taken, batch: number, findings: Map<number, IndexFindings>): Call {
    const { version, indexes } = this.#parts.catalog.indexesOf(found.container)
    const own = findings.get(found.container) ?? noFindings()
    findings.set(found.container, own)
    const decided = taken.decided.filter(each => each.found === found)
    return {
      container: found.container,
      bucket: found.bucket,
      gateway: this.#parts.gateway,
      batch,
      isRetry: false,
      isAtomic: true,
      indexesVersion: version,
      expected: { lsn: found.lsn, moment: found.moment, version: found.version },
      instructions: decided.map(({ key, change, item }) => {
        if (item === undefined) return deletion(key, change)
        const entries = entriesOf(this.#parts.keysOf, indexes, { pk: key.pk, body: item.body }, own)
        return instruction(key, change, closedBody(item.body), entries)
      }),
    }
  }

  async #send(
    session: PoolClient,
    calls: readonly Call[],
    findings: ReadonlyMap<number, IndexFindings>,
    isBegun: boolean,
  ): Promise<void> {
    const isSingle = calls.length === 1 && [...findings.values()].every(isNothing) && !isBegun
    const work = async () => {
      const all: Promise<unknown>[] = []
      if (calls.length > 1 && !isBegun) all.push(lockBuckets(session, calls))
      for (const call of calls) all.push(session.query(writeQuery(call)))
      for (const [container, found] of findings) all.push(noteFindings(session, container, found))
      await Promise.all(all)
    }
    await (isSingle ? work() : pipelined(session, work, { isBegun }))
  }
}

function trace(result: Result, calls: readonly Call[], { decided }: Taken): Lost {
  const [{ found: first }] = decided as readonly [Taken['decided'][number]]
  const call = calls.find(({ container, bucket }) => container === first.container && bucket === first.bucket)!
  return { result, call, versions: decided.filter(({ found }) => found === first).map(({ version }) => version) }
}

/** PostgreSQL found that a unique key is taken, which only it can know. */
function withConflict(refusal: string, { decided, answer }: Taken): TransactAnswer {
  const [container, bucket, place, letter] = refusal.split(' ')
  assert(outcomes[letter!] === 'conflict', `a step was judged otherwise by PostgreSQL: ${refusal}`)
  const own = decided.filter(({ found }) => found.container === Number(container) && found.bucket === Number(bucket))
  const { step } = own[Number(place) - 1]!
  const { moment, version } = answer
  return {
    moment,
    version,
    steps: [...answer.steps.slice(0, step), { outcome: 'conflict' }],
    refusal: { error: undefined },
  }
}
