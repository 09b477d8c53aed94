/** Calls of the function that writes: what it is given, and what its answers mean (`write-function.ts`). */

import { type EpochSeconds, toEpochSeconds } from '../../../base/clock.ts'
import { assert } from '../../../base/error.ts'
import { fill } from '../../../store/fill.ts'
import type { ItemKey, StoredItem } from '../../../store/item.ts'
import type { TtlPolicy } from '../../../store/policy.ts'
import type { ItemChange, WriteAnswer } from '../../../store/writing.ts'
import { ownDeadline } from '../../../ttl/lifespan.ts'
import { parseNumbers, type SqlStatement } from '../connection/connections.ts'
import type { Entry } from '../rows/entry-keys.ts'
import { type KeyColumns, keyColumns } from '../rows/keys.ts'
import { noBody, type OpenBody, withMarks } from '../rows/stamp-forms.ts'

/** One write of a call: the item's key, what is to happen there, and what PostgreSQL needs for it. */
export interface Instruction {
  readonly columns: KeyColumns
  readonly change: ItemChange
  readonly body: OpenBody
  readonly entries: readonly Entry[]
}

/** The writes of a call to one bucket, in their order. */
export interface CallPart {
  readonly bucket: number
  readonly instructions: readonly Instruction[]
}

export interface WriteCall {
  readonly container: number
  /** In the order of their buckets. */
  readonly parts: readonly CallPart[]
  /** Where the call leaves its number and its answers: a bucket, or a stripe (`stripes.ts`). */
  readonly lane: number
  readonly gateway: string
  /**
   * Of the gateway's groups in this lane. A call whose number has been written, or a later one, writes
   * nothing.
   */
  readonly batch: number
  /** A call with this number was lost: it may have happened, and is then answered again. */
  readonly isRetry: boolean
  readonly isAtomic: boolean
  /** Waits for locks as long as a statement may take. Otherwise it fails soon. */
  readonly isPatient: boolean
  readonly indexesVersion: number
  /** What must be so still, where there is one part; undefined: whatever it is. */
  readonly expected?: { readonly lsn: number; readonly moment: EpochSeconds; readonly version: number } | undefined
}

export interface WriteRow {
  readonly verdict: 'done' | 'gone' | 'stale' | 'moved'
  readonly moment: EpochSeconds
  readonly policy: TtlPolicy
  readonly outcomes: string
  readonly sequences: readonly (number | null)[]
  readonly versions: readonly (number | null)[]
}

export const outcomes: Readonly<Record<string, WriteAnswer['outcome']>> = {
  c: 'created',
  r: 'replaced',
  d: 'deleted',
  e: 'exists',
  m: 'missing',
  h: 'changed',
  x: 'conflict',
}

const kinds: Record<ItemChange['kind'], string> = { create: 'c', replace: 'r', upsert: 'u', delete: 'd' }

const parameters = 30

const writeStatement: SqlStatement = {
  name: 'write',
  text: `SELECT mayfly.write(${Array.from({ length: parameters }, (_, index) => `$${index + 1}`).join(', ')}) AS answer`,
}

export function instruction(key: ItemKey, change: ItemChange, body: OpenBody, entries: readonly Entry[]): Instruction {
  return { columns: keyColumns(key), change, body, entries }
}

export function deletion(key: ItemKey, change: ItemChange): Instruction {
  return instruction(key, change, noBody, [])
}

export function writeQuery(call: WriteCall): SqlStatement & { values: unknown[] } {
  const { parts, expected } = call
  const instructions = parts.flatMap(part => part.instructions)
  const changes = instructions.map(({ change }) => change)
  const columns = instructions.map(each => each.columns)
  const bodies = instructions.map(({ body }) => body)
  const { texts, sequenceForm, forms } = withMarks(bodies)
  const entries = instructions.flatMap(each => each.entries)
  const values = [
    call.container,
    parts.map(({ bucket }) => bucket),
    parts.map(part => part.instructions.length),
    parts.map(part => part.instructions.filter(({ change }) => change.kind === 'create').length),
    call.lane,
    call.gateway,
    call.batch,
    call.isRetry,
    call.isAtomic,
    call.isPatient,
    call.indexesVersion,
    expected?.lsn ?? null,
    expected?.moment ?? null,
    expected?.version ?? null,
    changes.map(({ kind }) => kinds[kind]).join(''),
    columns.map(({ epk }) => epk),
    columns.map(({ pk }) => pk),
    unlessEmpty(columns.map(({ longPk }) => longPk)),
    columns.map(({ id }) => id),
    unlessEmpty(changes.map(({ ifVersion }) => ifVersion ?? null)),
    unlessEmpty(changes.map(change => (change.kind === 'delete' ? null : (change.ttl ?? null)))),
    unlessEmpty(changes.map(change => (change.kind === 'delete' ? null : (change.until ?? null)))),
    unlessEmpty(texts),
    sequenceForm,
    forms,
    unlessEmpty(bodies.map(({ bytes }) => bytes)),
    entries.length === 0 ? null : instructions.map(each => each.entries.length),
    unlessEmpty(entries.map(({ number }) => number)),
    unlessEmpty(entries.map(({ key }) => key)),
    unlessEmpty(entries.map(({ uniqueness }) => uniqueness)),
  ]
  assert(values.length === parameters, 'the function that writes has that many parameters')
  return { ...writeStatement, values }
}

/**
 * To PostgreSQL an element of no array is the same as one that is null, and no array costs both sides
 * nothing.
 */
function unlessEmpty<T>(list: readonly (T | null)[]): readonly (T | null)[] | null {
  return list.every(each => each === null) ? null : list
}

/**
 * As PostgreSQL prints a row. Columns of their own would have to be described and read one by one, in every
 * answer.
 */
const shape = /^\((\w+),(\d*),(-?\d*),(-?\d*),(-?\d*),(\w*),"?(\{[\w,]*\})?"?,"?(\{[\w,]*\})?"?\)$/

export function parseRow(answer: string): WriteRow {
  const found = shape.exec(answer)
  assert(found !== null, `the function that writes answers with ${answer}`)
  const [, verdict, moment, defaultTtl, inheritedDeadAt, ownDeadAt, outcomes, sequences = '{}', versions = '{}'] = found
  return {
    verdict: verdict as WriteRow['verdict'],
    moment: toEpochSeconds(Number(moment)),
    policy: {
      defaultTtl: defaultTtl === '' ? null : Number(defaultTtl),
      inheritedDeadAt: Number(inheritedDeadAt),
      ownDeadAt: Number(ownDeadAt),
    },
    outcomes: outcomes!,
    sequences: parseNumbers(sequences),
    versions: parseNumbers(versions),
  }
}

/** The answer to one write of a call. */
export function answerOf(row: WriteRow, index: number, change: ItemChange): WriteAnswer {
  const { moment, policy } = row
  const outcome = outcomes[row.outcomes[index]!]!
  const version = row.versions[index]!
  const answer = { moment, policy, version, outcome }
  if (change.kind === 'delete' || (outcome !== 'created' && outcome !== 'replaced')) return answer
  const stamp = { sequence: row.sequences[index]!, version, ts: moment }
  return { ...answer, item: { ...stamp, ...contentOf(change, stamp) } }
}

/** What an item is beside its stamps, once they are known. */
export function contentOf(
  { draft, ttl, until }: Exclude<ItemChange, { kind: 'delete' }>,
  stamp: Pick<StoredItem, 'sequence' | 'version' | 'ts'>,
): Pick<StoredItem, 'deadline' | 'body'> {
  return { deadline: ownDeadline(ttl, stamp.ts, until), body: fill(draft, stamp) }
}
