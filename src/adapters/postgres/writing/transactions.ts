/**
 * Runs transactions: finds what their steps ask about, lets them decide here, and writes what they decided
 * if nothing has changed meanwhile.
 *
 * Finding takes no locks, so nobody waits for a gateway that computes. The function that writes checks,
 * under its locks, whether the buckets are as they were found: no write, no tick, no other policy since. If
 * they are not, the steps decide again. A transaction that has lost this race too often takes the locks
 * first, and then cannot lose it.
 *
 * All that is written is one transaction of PostgreSQL, sent in one round trip. Several transactions of one
 * bucket may share it: each sees what those before it leave, and each is refused by itself. When the
 * connection breaks, the receipts of its calls tell whether it took effect (`call-numbers.ts`).
 */

import { isDeepStrictEqual } from 'node:util'
import type { PoolClient } from 'pg'
import { assert, CapacityError } from '../../../base/error.ts'
import type { KeyMaker } from '../../../document/index-keys.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { Step, StepAnswer, TransactAnswer, WriteAnswer } from '../../../store/writing.ts'
import { type IndexFindings, isNothing, noFindings } from '../../index-findings.ts'
import type { PostgresCatalog } from '../catalog/catalog.ts'
import { noteAllFindings } from '../catalog/catalog-changes.ts'
import { Attempts } from '../connection/attempts.ts'
import { lockBuckets } from '../connection/bucket-locks.ts'
import { abandon, type Connections, pipelined } from '../connection/connections.ts'
import { gone, isConflict, isLost, translate, uncertain } from '../connection/errors.ts'
import type { Moments } from '../connection/moments.ts'
import type { PostgresJournal } from '../reading/journal.ts'
import { entriesOf } from '../rows/entry-keys.ts'
import { closedBody } from '../rows/stamp-forms.ts'
import type { CallNumbers } from './call-numbers.ts'
import { answerOf, type Decided, decideAll, type FoundBucket, type TransactionResult } from './decide-steps.ts'
import { bucketsOf, findBuckets, type StepBucket } from './find-buckets.ts'
import type { PlacedWrite } from './waiting.ts'
import { type RefusedWrite, refusalOf, tickOf } from './write-answer.ts'
import { deletion, instruction, type WriteCall, writeQuery } from './write-call.ts'

/** How often a transaction may lose the race against other writers before it takes the locks first. */
const postgresRacesMax = 3

interface TransactionParts {
  readonly connections: Connections
  readonly catalog: PostgresCatalog
  readonly moments: Moments
  readonly keysOf: KeyMaker
  readonly isCluster: boolean
  readonly callNumbers: CallNumbers
  readonly journal: PostgresJournal
}

/** An attempt whose connection broke: it may have taken effect. */
interface LostAttempt {
  readonly results: readonly TransactionResult[]
  /** One of its calls, and the versions that its receipt has if it took effect. */
  readonly call: WriteCall
  readonly versions: readonly number[]
}

/** Transactions that are run together. */
interface Joint {
  readonly transactions: readonly (readonly Step[])[]
  readonly buckets: readonly StepBucket[]
  /** For each step of all transactions the place of its bucket in `buckets`. */
  readonly bucketOfStep: readonly number[]
  readonly callNumber: number
  readonly lost: LostAttempt[]
}

/** What became of an attempt. */
type Attempt =
  | { readonly kind: 'answered'; readonly results: readonly TransactionResult[] }
  /** Something has changed since it was found: the steps must decide again. */
  | { readonly kind: 'moved' }
  /** The keys of its writes taught something about an index. Only that was stored: the steps decide again. */
  | { readonly kind: 'learned' }
  /** PostgreSQL refused a write of one transaction: each transaction has to be run by itself. */
  | { readonly kind: 'separate' }

/** What an attempt has to do, once the steps have decided. */
type Plan =
  /** Nothing is left to write. */
  | { readonly kind: 'answered'; readonly results: readonly TransactionResult[] }
  | { readonly kind: 'learn'; readonly findings: ReadonlyMap<number, IndexFindings> }
  | WritePlan

interface WritePlan {
  readonly kind: 'write'
  readonly results: readonly TransactionResult[]
  readonly decided: readonly Decided[]
  readonly calls: readonly WriteCall[]
}

const writtenStatement = { name: 'written', text: 'SELECT versions FROM mayfly.written($1, $2, $3, $4)' }

export class Transactions {
  readonly #parts: TransactionParts

  constructor(parts: TransactionParts) {
    this.#parts = parts
  }

  async run(steps: readonly Step[]): Promise<TransactAnswer> {
    try {
      return answerOf((await this.runTogether([steps]))[0]!)
    } catch (error) {
      throw translate(error)
    }
  }

  /**
   * Single writes that PostgreSQL cannot stamp (`group-writer.ts`), each run as a transaction of one step.
   */
  async write(container: ContainerRecord, writes: readonly PlacedWrite[]): Promise<WriteAnswer[]> {
    const transactions = writes.map(({ write }) => [{ container, key: write.key, decide: () => write }])
    return (await this.runTogether(transactions)).map(result => {
      if (result.kind === 'threw') throw result.thrown
      const { moment, version, steps } = result.answer
      const { outcome, item } = steps[0]!
      assert(outcome !== 'found', 'a write does not only look')
      return { moment, policy: result.policy, version, outcome, ...(item !== undefined && { item }) }
    })
  }

  /** One transaction, or several that are all about the same bucket. */
  async runTogether(transactions: readonly (readonly Step[])[]): Promise<readonly TransactionResult[]> {
    const joint: Joint = {
      transactions,
      ...bucketsOf(transactions.flat()),
      callNumber: this.#parts.callNumbers.next(),
      lost: [],
    }
    const { lost } = joint
    const attempts = new Attempts()
    for (let races = 0; ; ) {
      let session: PoolClient | undefined
      try {
        session = await this.#parts.connections.acquire()
        // A cluster has no snapshot over several shards: several buckets are found under their locks.
        const isLocking = races >= postgresRacesMax || (this.#parts.isCluster && joint.buckets.length > 1)
        const attempt = await this.#attempt(session, joint, isLocking)
        session.release()
        session = undefined
        if (attempt.kind === 'separate') return await this.#runSeparately(transactions)
        if (attempt.kind === 'answered') return attempt.results
        if (attempt.kind === 'learned') await this.#parts.catalog.settle()
        else races++
        await this.#parts.catalog.refresh()
      } catch (error) {
        if (session !== undefined) await abandon(session, error)
        const mayRetry = isLost(error) || isConflict(error) || (lost.length > 0 && error instanceof CapacityError)
        if (!mayRetry) throw error
        // Lost calls need no fence: each expects a number of the last write, and does nothing once somebody
        // else wrote.
        if (!(await attempts.another())) throw lost.length > 0 ? uncertain(error) : translate(error)
      }
    }
  }

  async #runSeparately(transactions: readonly (readonly Step[])[]): Promise<TransactionResult[]> {
    const results: TransactionResult[] = []
    for (const steps of transactions) results.push(...(await this.runTogether([steps])))
    return results
  }

  async #attempt(session: PoolClient, joint: Joint, isLocking: boolean): Promise<Attempt> {
    const plan = await this.#plan(session, joint, isLocking)
    if (plan.kind === 'write') return this.#write(session, joint, plan, isLocking)
    if (isLocking) await session.query('ROLLBACK')
    if (plan.kind === 'answered') return plan
    await pipelined(session, () => noteAllFindings(session, plan.findings))
    return { kind: 'learned' }
  }

  /** Finds the buckets and lets the steps decide. With `isLocking` a transaction is begun. */
  async #plan(
    session: PoolClient,
    { transactions, buckets, bucketOfStep, callNumber, lost }: Joint,
    isLocking: boolean,
  ): Promise<Plan> {
    const { callNumbers, moments, isCluster } = this.#parts
    for (const { container, bucket } of buckets) {
      const fence = callNumbers.fence(session, container.number, bucket)
      if (fence !== undefined) await fence
    }
    const tick = moments.tick()
    if (tick !== undefined) await tick
    const found = await findBuckets(session, buckets, { isLocking, isCluster })
    // Asked after the buckets were found: a lost call that takes effect even later was not seen in them, and
    // the function that writes will notice.
    const happened = lost.length === 0 ? undefined : await this.#happened(session, lost)
    if (happened !== undefined) return { kind: 'answered', results: happened }
    const foundOfStep = bucketOfStep.map(place => found[place]!)
    const { results, decided } = decideAll(transactions, foundOfStep)
    if (decided.length === 0) return { kind: 'answered', results }
    const findings = new Map<number, IndexFindings>()
    const calls = found.map(bucket => this.#callFor(bucket, decided, callNumber, findings))
    if (![...findings.values()].every(isNothing)) return { kind: 'learn', findings }
    return { kind: 'write', results, decided, calls }
  }

  async #write(
    session: PoolClient,
    { transactions, buckets, lost }: Joint,
    { results, decided, calls }: WritePlan,
    isBegun: boolean,
  ): Promise<Attempt> {
    try {
      await this.#send(session, calls, isBegun)
      return { kind: 'answered', results }
    } catch (error) {
      if (isLost(error)) lost.push(lostAttempt(results, calls, decided))
      const refusal = refusalOf(error)
      if (refusal === undefined) throw error
      if (refusal.kind === 'gone') throw gone(buckets[0]!.container)
      if (refusal.kind !== 'refused-write') return { kind: 'moved' }
      if (transactions.length > 1) return { kind: 'separate' }
      return { kind: 'answered', results: [withConflict(refusal, decided, results[0]!)] }
    }
  }

  /** The results of a lost attempt that took effect after all. */
  async #happened(
    session: PoolClient,
    lost: readonly LostAttempt[],
  ): Promise<readonly TransactionResult[] | undefined> {
    for (const { results, call, versions } of lost) {
      const values = [call.container, call.slot, call.gateway, call.callNumber]
      const { rows } = await session.query({ ...writtenStatement, values })
      if (isDeepStrictEqual(rows[0].versions, versions)) return results
    }
    return undefined
  }

  #callFor(
    found: FoundBucket,
    all: readonly Decided[],
    callNumber: number,
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
      slot: found.bucket,
      gateway: this.#parts.callNumbers.gateway,
      callNumber,
      // Never answered from a receipt: `#happened` asks for that, because the steps may decide otherwise now.
      isRetry: false,
      isAtomic: true,
      isPatient: true,
      indexesVersion: version,
      expected: { lsn: found.lsn, moment: found.moment, definitionVersion: found.definitionVersion },
    }
  }

  async #send(session: PoolClient, calls: readonly WriteCall[], isBegun: boolean): Promise<void> {
    const work = async () => {
      const all: Promise<unknown>[] = []
      const answers: Promise<{ rows: { answer: string }[] }>[] = []
      if (calls.length > 1 && !isBegun) {
        const places = calls.map(({ container, slot }) => ({ container, bucket: slot }))
        all.push(lockBuckets(session, places))
      }
      for (const call of calls) answers.push(session.query(writeQuery(call)))
      const [written] = await Promise.all([Promise.all(answers), ...all])
      return Math.max(...written.map(({ rows }) => tickOf(rows[0]!.answer)))
    }
    const tick = await (calls.length === 1 && !isBegun ? work() : pipelined(session, work, { isBegun }))
    this.#parts.journal.saw(tick)
  }
}

function lostAttempt(
  results: readonly TransactionResult[],
  calls: readonly WriteCall[],
  decided: readonly Decided[],
): LostAttempt {
  const [{ found: first }] = decided as readonly [Decided]
  const call = calls.find(({ container, slot }) => container === first.container && slot === first.bucket)!
  return { results, call, versions: decided.filter(({ found }) => found === first).map(({ version }) => version) }
}

/** The only thing that PostgreSQL judges and the gateway cannot: whether a unique key is taken. */
function withConflict(
  refused: RefusedWrite,
  decided: readonly Decided[],
  result: TransactionResult,
): TransactionResult {
  const { container, bucket, place, outcome } = refused
  assert(outcome === 'conflict', `PostgreSQL judged a step otherwise: ${outcome}`)
  const own = decided.filter(({ found }) => found.container === container && found.bucket === bucket)
  const { step } = own[place]!
  const { moment, version, steps } = answerOf(result)
  const answers: StepAnswer[] = [...steps.slice(0, step), { outcome }]
  return { ...result, answer: { moment, version, steps: answers, refusal: { error: undefined } } } as TransactionResult
}
