/**
 * Transactions: what the steps ask about is read, they decide here, and what they decided is written if
 * nothing has changed.
 *
 * Reading takes no locks, so nobody waits for a gateway that thinks. Whether the buckets are as they were
 * found (no write, no tick, no other policy since) is checked by the function that writes, under its locks.
 * If they are not, the steps decide anew; a transaction that has lost that race too often takes the locks
 * first, and then cannot lose it.
 *
 * All that is written is one transaction of PostgreSQL, sent in one round trip, also for several transactions
 * of one bucket that came together: each is decided behind the one before it, and refused by itself. When the
 * connection breaks below it, the row that its calls leave beside their buckets tells whether it has happened
 * (`writes.ts`).
 */

import { isDeepStrictEqual } from 'node:util'
import type { PoolClient } from 'pg'
import { assert, CapacityError } from '../../../base/error.ts'
import type { KeyMaker } from '../../../document/index-keys.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { TtlPolicy } from '../../../store/policy.ts'
import type { ItemWrite, Step, StepAnswer, TransactAnswer, WriteAnswer } from '../../../store/writing.ts'
import { newPolicy } from '../../../ttl/lifespan.ts'
import { type IndexFindings, isNothing, noFindings } from '../../index-findings.ts'
import type { PostgresCatalog } from '../catalog/catalog.ts'
import { noteAllFindings } from '../catalog/catalog-changes.ts'
import { Attempts } from '../connection/attempts.ts'
import { lockBuckets } from '../connection/bucket-locks.ts'
import { abandon, type Connections, pipelined } from '../connection/connections.ts'
import { gone, isConflict, isLost, refusalOf, translate, uncertain } from '../connection/errors.ts'
import type { Moments } from '../connection/moments.ts'
import { entriesOf } from '../rows/entry-keys.ts'
import { closedBody } from '../rows/stamp-forms.ts'
import type { Fences } from './fences.ts'
import { findBuckets, placesOf, type StepBucket } from './look.ts'
import { type Decided, type FoundBucket, StepOverlay } from './steps.ts'
import { deletion, instruction, outcomes, type WriteCall, writeQuery } from './write-call.ts'

/**
 * How often a transaction decides again because others have written meanwhile, before it takes the locks
 * first.
 */
const postgresRacesMax = 3

export interface TransactionParts {
  readonly connections: Connections
  readonly catalog: PostgresCatalog
  readonly moments: Moments
  readonly keysOf: KeyMaker
  readonly gateway: string
  readonly isCluster: boolean
  readonly fences: Fences
  readonly nextBatch: () => number
}

/** What came of a transaction: its answer, or what its steps threw that is no refusal. */
export type Result = { readonly answer: TransactAnswer; readonly policy: TtlPolicy } | { readonly thrown: unknown }

/** What may have happened although nobody heard of it. */
interface Lost {
  readonly results: readonly Result[]
  /** One of its calls, and the versions that it gives. */
  readonly call: WriteCall
  readonly versions: readonly number[]
}

interface Asked {
  readonly jobs: readonly (readonly Step[])[]
  readonly places: readonly StepBucket[]
  /** For each step of all jobs the number of its place. */
  readonly own: readonly number[]
  readonly batch: number
  readonly lost: Lost[]
}

const writtenStatement = { name: 'written', text: 'SELECT versions FROM mayfly.written($1, $2, $3, $4)' }

export class Transactions {
  readonly #parts: TransactionParts

  constructor(parts: TransactionParts) {
    this.#parts = parts
  }

  async run(steps: readonly Step[]): Promise<TransactAnswer> {
    try {
      return answerOf((await this.#run([steps]))[0]!)
    } catch (error) {
      throw translate(error)
    }
  }

  /** Several that are each about the same bucket only. */
  async runTogether(jobs: readonly (readonly Step[])[]): Promise<readonly Result[]> {
    return this.#run(jobs)
  }

  /** Writes that only a gateway can stamp. */
  async write(container: ContainerRecord, writes: readonly ItemWrite[]): Promise<WriteAnswer[]> {
    const jobs = writes.map(write => [{ container, key: write.key, decide: () => write }])
    return (await this.#run(jobs)).map(result => {
      if ('thrown' in result) throw result.thrown
      const { moment, version, steps } = result.answer
      const { outcome, item } = steps[0]!
      assert(outcome !== 'found', 'a write does not only look')
      return { moment, policy: result.policy, version, outcome, ...(item !== undefined && { item }) }
    })
  }

  async #run(jobs: readonly (readonly Step[])[]): Promise<readonly Result[]> {
    const asked: Asked = { jobs, ...placesOf(jobs.flat()), batch: this.#parts.nextBatch(), lost: [] }
    const { lost } = asked
    const attempts = new Attempts()
    for (let races = 0; ; ) {
      let session: PoolClient | undefined
      try {
        session = await this.#parts.connections.acquire()
        // A cluster has no snapshot over several shards: what they hold together is found behind their locks.
        const isLocking = races >= postgresRacesMax || (this.#parts.isCluster && asked.places.length > 1)
        const results = await this.#attempt(session, asked, isLocking)
        session.release()
        session = undefined
        if (results === 'apart') return await this.#runApart(jobs)
        if (results !== 'moved') return results
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

  async #runApart(jobs: readonly (readonly Step[])[]): Promise<Result[]> {
    const results: Result[] = []
    for (const job of jobs) results.push(...(await this.#run([job])))
    return results
  }

  async #attempt(
    session: PoolClient,
    { jobs, places, own, batch, lost }: Asked,
    isLocking: boolean,
  ): Promise<readonly Result[] | 'moved' | 'apart'> {
    for (const { container, bucket } of places) {
      const fence = this.#parts.fences.close(session, container.number, bucket)
      if (fence !== undefined) await fence
    }
    const tick = this.#parts.moments.tick()
    if (tick !== undefined) await tick
    const found = await findBuckets(session, places, { isLocking, isCluster: this.#parts.isCluster })
    // Asked behind the look: what arrives even later has not been seen by it, and the function that writes
    // will notice.
    const happened = lost.length === 0 ? undefined : await this.#happened(session, lost)
    if (happened !== undefined) {
      if (isLocking) await session.query('ROLLBACK')
      return happened
    }
    const { results, decided } = decideAll(
      jobs,
      own.map(place => found[place]!),
    )
    if (decided.length === 0) {
      if (isLocking) await session.query('ROLLBACK')
      return results
    }
    const findings = new Map<number, IndexFindings>()
    const calls = found.map(bucket => this.#callFor(bucket, decided, batch, findings))
    if (![...findings.values()].every(isNothing)) {
      if (isLocking) await session.query('ROLLBACK')
      await pipelined(session, () => noteAllFindings(session, findings))
      await this.#parts.catalog.settle()
      return 'moved'
    }
    try {
      await this.#send(session, calls, isLocking)
    } catch (error) {
      if (isLost(error)) lost.push(trace(results, calls, decided))
      const refusal = refusalOf(error)
      if (refusal === undefined) throw error
      if (refusal === 'gone') throw gone(places[0]!.container)
      if (!refusal.includes(' ')) return 'moved'
      return jobs.length > 1 ? 'apart' : [withConflict(refusal, decided, results[0]!)]
    }
    return results
  }

  /** Which of those that were lost has happened after all. */
  async #happened(session: PoolClient, lost: readonly Lost[]): Promise<readonly Result[] | undefined> {
    for (const { results, call, versions } of lost) {
      const values = [call.container, call.lane, call.gateway, call.batch]
      const { rows } = await session.query({ ...writtenStatement, values })
      if (isDeepStrictEqual(rows[0].versions, versions)) return results
    }
    return undefined
  }

  #callFor(
    found: FoundBucket,
    all: readonly Decided[],
    batch: number,
    findings: Map<number, IndexFindings>,
  ): WriteCall {
    const { version, indexes } = this.#parts.catalog.indexesOf(found.container)
    const own = findings.get(found.container) ?? noFindings()
    findings.set(found.container, own)
    const decided = all.filter(each => each.found === found)
    const instructions = decided.map(({ key, change, item }) => {
      if (item === undefined) return deletion(key, change)
      const entries = entriesOf(this.#parts.keysOf, indexes, { pk: key.pk, body: item.body }, own)
      return instruction(key, change, closedBody(item.body), entries)
    })
    return {
      container: found.container,
      parts: [{ bucket: found.bucket, instructions }],
      lane: found.bucket,
      gateway: this.#parts.gateway,
      batch,
      isRetry: false,
      isAtomic: true,
      isPatient: true,
      indexesVersion: version,
      expected: { lsn: found.lsn, moment: found.moment, version: found.version },
    }
  }

  async #send(session: PoolClient, calls: readonly WriteCall[], isBegun: boolean): Promise<void> {
    const work = async () => {
      const all: Promise<unknown>[] = []
      if (calls.length > 1 && !isBegun) {
        const places = calls.map(({ container, lane }) => ({ container, bucket: lane }))
        all.push(lockBuckets(session, places))
      }
      for (const call of calls) all.push(session.query(writeQuery(call)))
      await Promise.all(all)
    }
    await (calls.length === 1 && !isBegun ? work() : pipelined(session, work, { isBegun }))
  }
}

/** What each transaction comes to, behind those before it. */
function decideAll(
  jobs: readonly (readonly Step[])[],
  buckets: readonly FoundBucket[],
): { results: Result[]; decided: Decided[] } {
  const overlay = new StepOverlay()
  const results: Result[] = []
  const decided: Decided[] = []
  let first = 0
  for (const job of jobs) {
    const own = buckets.slice(first, first + job.length)
    first += job.length
    try {
      const taken = overlay.take(job, own)
      results.push({ answer: taken.answer, policy: own[0]?.policy ?? newPolicy(null) })
      decided.push(...taken.decided)
    } catch (thrown) {
      results.push({ thrown })
    }
  }
  return { results, decided }
}

export function answerOf(result: Result): TransactAnswer {
  if ('thrown' in result) throw result.thrown
  return result.answer
}

function trace(results: readonly Result[], calls: readonly WriteCall[], decided: readonly Decided[]): Lost {
  const [{ found: first }] = decided as readonly [Decided]
  const call = calls.find(({ container, lane }) => container === first.container && lane === first.bucket)!
  return { results, call, versions: decided.filter(({ found }) => found === first).map(({ version }) => version) }
}

/** PostgreSQL found that a unique key is taken, which only it can know. */
function withConflict(refusal: string, decided: readonly Decided[], result: Result): Result {
  const [container, bucket, place, letter] = refusal.split(' ')
  assert(outcomes[letter!] === 'conflict', `a step was judged otherwise by PostgreSQL: ${refusal}`)
  const own = decided.filter(({ found }) => found.container === Number(container) && found.bucket === Number(bucket))
  const { step } = own[Number(place) - 1]!
  const { moment, version, steps } = answerOf(result)
  const answers: StepAnswer[] = [...steps.slice(0, step), { outcome: 'conflict' }]
  return { ...result, answer: { moment, version, steps: answers, refusal: { error: undefined } } } as Result
}
