/**
 * Lets the steps of transactions decide over what was found: each is judged and stamped, and the next sees
 * what it left. A transaction that is refused leaves nothing.
 *
 * Nothing here waits or knows PostgreSQL. The result holds as long as the buckets are as they were found;
 * the call that writes it checks that.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import { RequestError } from '../../../base/error.ts'
import { unwatched } from '../../../base/work.ts'
import type { ItemKey, StoredItem } from '../../../store/item.ts'
import type { TtlPolicy } from '../../../store/policy.ts'
import type { ItemChange, Step, StepAnswer, TransactAnswer } from '../../../store/writing.ts'
import { newPolicy } from '../../../ttl/lifespan.ts'
import { livingAt } from '../../../ttl/living.ts'
import { livingItem, storesItem, verdictOf, versionsTaken } from '../../verdict.ts'
import { versionOf } from '../rows/keys.ts'
import { contentOf } from './write-answer.ts'

/** One bucket of one container, as it was found. */
export interface FoundBucket {
  readonly container: number
  readonly bucket: number
  /** The number of its last write. */
  readonly lsn: number
  readonly moment: EpochSeconds
  readonly policy: TtlPolicy
  readonly definitionVersion: number
  readonly isLogged: boolean
  /** The rows of the steps' keys, alive or dead, by `nameOf`. */
  readonly items: ReadonlyMap<string, StoredItem>
}

/** A write that a step has decided on. */
export interface Decided {
  readonly step: number
  readonly found: FoundBucket
  readonly key: ItemKey
  readonly change: ItemChange
  readonly version: number
  readonly item: StoredItem | undefined
}

/** The result of a transaction: its answer, or an error of a step that is not a refusal. */
export type TransactionResult =
  | { readonly kind: 'answered'; readonly answer: TransactAnswer; readonly policy: TtlPolicy }
  | { readonly kind: 'threw'; readonly thrown: unknown }

interface DecidedSteps {
  readonly answer: TransactAnswer
  /** Empty when the transaction was refused. */
  readonly decided: readonly Decided[]
}

interface Pending {
  lsn: number
  /** What differs from what was found. */
  readonly items: Map<string, StoredItem | undefined>
}

/**
 * Decides the transactions one after the other; each sees what those before it leave. `found[n]` is the
 * bucket of the nth step of them all.
 */
export function decideAll(
  transactions: readonly (readonly Step[])[],
  found: readonly FoundBucket[],
): { results: TransactionResult[]; decided: Decided[] } {
  const overlay = new StepOverlay()
  const results: TransactionResult[] = []
  const decided: Decided[] = []
  let first = 0
  for (const steps of transactions) {
    const own = found.slice(first, first + steps.length)
    first += steps.length
    try {
      // The request that began this round may run under a watch, which must not end the steps of others.
      const result = unwatched(() => overlay.decide(steps, own))
      results.push({ kind: 'answered', answer: result.answer, policy: own[0]?.policy ?? newPolicy(null) })
      decided.push(...result.decided)
    } catch (thrown) {
      results.push({ kind: 'threw', thrown })
    }
  }
  return { results, decided }
}

export function answerOf(result: TransactionResult): TransactAnswer {
  if (result.kind === 'threw') throw result.thrown
  return result.answer
}

/** What the transactions so far would leave behind, over what was found. */
class StepOverlay {
  #pending = new Map<FoundBucket, Pending>()

  /** `found[n]` is the bucket of `steps[n]`. */
  decide(steps: readonly Step[], found: readonly FoundBucket[]): DecidedSteps {
    const before = this.#pending
    this.#pending = new Map([...before].map(([bucket, { lsn, items }]) => [bucket, { lsn, items: new Map(items) }]))
    let result: DecidedSteps | undefined
    try {
      result = this.#decide(steps, found)
    } finally {
      if (result === undefined || result.answer.refusal !== undefined) this.#pending = before
    }
    return result
  }

  #decide(steps: readonly Step[], buckets: readonly FoundBucket[]): DecidedSteps {
    const answers: StepAnswer[] = []
    const decided: Decided[] = []
    let version = 0
    let moment = 0 as EpochSeconds
    for (const [index, step] of steps.entries()) {
      const found = buckets[index]!
      const now = this.#pending.get(found) ?? { lsn: found.lsn, items: new Map() }
      this.#pending.set(found, now)
      ;({ moment } = found)
      version = newest(found, now)
      const name = nameOf(step.key)
      const present = now.items.has(name) ? now.items.get(name) : found.items.get(name)
      const alive = livingItem(livingAt(found.policy, moment), present)
      let change: ItemChange | undefined
      try {
        change = step.decide(alive, moment)
      } catch (error) {
        if (!(error instanceof RequestError)) throw error
        return { answer: { moment, version, steps: answers, refusal: { error } }, decided: [] }
      }
      if (change === undefined) {
        answers.push(alive === undefined ? { outcome: 'missing' } : { outcome: 'found', item: alive })
        continue
      }
      const outcome = verdictOf(change, alive)
      if (!storesItem(outcome) && outcome !== 'deleted') {
        answers.push({ outcome })
        return { answer: { moment, version, steps: answers, refusal: { error: undefined } }, decided: [] }
      }
      now.lsn += versionsTaken({ present, alive, isLogged: found.isLogged })
      version = newest(found, now)
      const item = change.kind === 'delete' ? undefined : made(change, { version, moment, sequence: alive?.sequence })
      now.items.set(name, item)
      answers.push(item === undefined ? { outcome } : { outcome, item })
      decided.push({ step: index, found, key: step.key, change, version, item })
    }
    return { answer: { moment, version, steps: answers }, decided }
  }
}

function made(
  change: Exclude<ItemChange, { kind: 'delete' }>,
  known: { version: number; moment: EpochSeconds; sequence: number | undefined },
): StoredItem {
  const { version, moment } = known
  const stamp = { sequence: known.sequence ?? version, version, ts: moment }
  return { ...stamp, ...contentOf(change, stamp) }
}

function newest({ bucket }: FoundBucket, { lsn }: Pending): number {
  return lsn === 0 ? 0 : versionOf(lsn, bucket)
}

/** Names a key. Lone surrogates are stored as U+FFFD, so keys that differ only in those are one key. */
export function nameOf({ epk, pk, id }: ItemKey): string {
  return `${epk.length} ${pk.length} ${epk}${pk}${id}`.toWellFormed()
}
