/**
 * Parses the answers of the function that writes (`sql/write-function.ts`): a row, or an error if the call
 * was atomic.
 */

import { type EpochSeconds, toEpochSeconds } from '../../../base/clock.ts'
import { assert } from '../../../base/error.ts'
import { fill } from '../../../store/fill.ts'
import type { StoredItem } from '../../../store/item.ts'
import type { TtlPolicy } from '../../../store/policy.ts'
import type { ItemChange, WriteAnswer } from '../../../store/writing.ts'
import { ownDeadline } from '../../../ttl/lifespan.ts'
import { storesItem } from '../../verdict.ts'
import { parseNumbers } from '../connection/connections.ts'
import { codeOf, refusedState } from '../connection/errors.ts'

type Outcome = WriteAnswer['outcome']

/** The call wrote what could be written; each write has an outcome. */
export interface WrittenCall {
  readonly kind: 'written'
  readonly moment: EpochSeconds
  readonly policy: TtlPolicy
  readonly outcomes: readonly Outcome[]
  readonly sequences: readonly (number | null)[]
  readonly versions: readonly (number | null)[]
  /** The tick of the last log entry that it wrote; 0 if it wrote none. */
  readonly tick: number
}

/** Why a call wrote nothing. */
type Obstacle =
  /** The container is gone. */
  | { readonly kind: 'gone' }
  /** The entries were made for other indexes than the container has. */
  | { readonly kind: 'stale' }
  /** Bucket, moment or definition are not as the call expected. */
  | { readonly kind: 'moved' }

export type CallAnswer = WrittenCall | Obstacle

/** One write of the call was refused; `place` counts from 0. */
export interface RefusedWrite {
  readonly kind: 'refused-write'
  readonly container: number
  readonly bucket: number
  readonly place: number
  readonly outcome: Outcome
}

/** Why an atomic call wrote nothing. `late`: its slot has a receipt whose number is not lower. */
type CallRefusal = Obstacle | { readonly kind: 'late' } | RefusedWrite

const outcomes: Readonly<Record<string, Outcome>> = {
  c: 'created',
  r: 'replaced',
  d: 'deleted',
  e: 'exists',
  m: 'missing',
  h: 'changed',
  x: 'conflict',
}

/**
 * The answer as one value, as PostgreSQL prints a row. With several columns, every answer would describe
 * each of them.
 */
const rowShape = /^\((\w+),(\d*),(-?\d*),(-?\d*),(-?\d*),(\w*),"?(\{[\w,]*\})?"?,"?(\{[\w,]*\})?"?,(\d*)\)$/

export function parseAnswer(row: string): CallAnswer {
  const found = rowShape.exec(row)
  assert(found !== null, `the function that writes answers with ${row}`)
  const [, verdict, moment, defaultTtl, inheritedDeadAt, ownDeadAt, letters] = found
  const [sequences = '{}', versions = '{}', tick] = found.slice(7)
  if (verdict !== 'done') return parseObstacle(verdict!)
  return {
    kind: 'written',
    moment: toEpochSeconds(Number(moment)),
    policy: {
      defaultTtl: defaultTtl === '' ? null : Number(defaultTtl),
      inheritedDeadAt: Number(inheritedDeadAt),
      ownDeadAt: Number(ownDeadAt),
    },
    outcomes: Array.from(letters!, parseOutcome),
    sequences: parseNumbers(sequences),
    versions: parseNumbers(versions),
    tick: Number(tick),
  }
}

/** The tick of the last log entry that the call wrote; 0 if it wrote none. */
export function tickOf(row: string): number {
  return Number(/(\d*)\)$/.exec(row)![1])
}

/** undefined: the error is something else. */
export function refusalOf(error: unknown): CallRefusal | undefined {
  if (codeOf(error) !== refusedState) return undefined
  const { detail } = error as { detail?: string }
  return detail === undefined ? undefined : parseRefusal(detail)
}

/** The container, the bucket, the place of the write in the call (from 1), and a letter. */
const refusedWriteShape = /^(\d+) (\d+) (\d+) (\w)$/

export function parseRefusal(detail: string): CallRefusal {
  if (detail === 'late') return { kind: 'late' }
  const found = refusedWriteShape.exec(detail)
  if (found === null) return parseObstacle(detail)
  const [, container, bucket, place, letter] = found
  return {
    kind: 'refused-write',
    container: Number(container),
    bucket: Number(bucket),
    place: Number(place) - 1,
    outcome: parseOutcome(letter!),
  }
}

function parseObstacle(word: string): Obstacle {
  assert(word === 'gone' || word === 'stale' || word === 'moved', `the function that writes says ${word}`)
  return { kind: word }
}

function parseOutcome(letter: string): Outcome {
  const outcome = outcomes[letter]
  assert(outcome !== undefined, `the function that writes knows the outcome ${letter}`)
  return outcome
}

/** The answer to one write of a call. */
export function answerOf(call: WrittenCall, index: number, change: ItemChange): WriteAnswer {
  const { moment, policy } = call
  const outcome = call.outcomes[index]!
  const version = call.versions[index]!
  const answer = { moment, policy, version, outcome }
  if (change.kind === 'delete' || !storesItem(outcome)) return answer
  const stamp = { sequence: call.sequences[index]!, version, ts: moment }
  return { ...answer, item: { ...stamp, ...contentOf(change, stamp) } }
}

/** Deadline and body of an item whose stamps are known. */
export function contentOf(
  { draft, ttl, until }: Exclude<ItemChange, { kind: 'delete' }>,
  stamp: Pick<StoredItem, 'sequence' | 'version' | 'ts'>,
): Pick<StoredItem, 'deadline' | 'body'> {
  return { deadline: ownDeadline(ttl, stamp.ts, until), body: fill(draft, stamp) }
}
