/** A call of the function that writes (`sql/write-function.ts`), and the arguments it becomes. */

import type { EpochSeconds } from '../../../base/clock.ts'
import { assert } from '../../../base/error.ts'
import type { ItemKey } from '../../../store/item.ts'
import type { ItemChange } from '../../../store/writing.ts'
import type { SqlStatement } from '../connection/connections.ts'
import type { Entry } from '../rows/entry-keys.ts'
import { type KeyColumns, keyColumns } from '../rows/keys.ts'
import { noBody, type OpenBody, withMarks } from '../rows/stamp-forms.ts'

/** One write of a call. */
export interface Instruction {
  readonly columns: KeyColumns
  readonly change: ItemChange
  readonly body: OpenBody
  readonly entries: readonly Entry[]
}

/** The writes of a call to one bucket, in the order in which they arrived. */
export interface CallPart {
  readonly bucket: number
  readonly instructions: readonly Instruction[]
}

export interface WriteCall {
  readonly container: number
  /** Sorted by bucket. */
  readonly parts: readonly CallPart[]
  /** Where the call leaves its receipt (`call-numbers.ts`). */
  readonly slot: number
  readonly gateway: string
  readonly callNumber: number
  /** A call with this number was lost. If it took effect, this one is answered from its receipt. */
  readonly isRetry: boolean
  /** All writes or none: a write that is refused is raised as an error and rolls back. */
  readonly isAtomic: boolean
  /** Waits for locks as long as a statement may take. Otherwise it fails soon. */
  readonly isPatient: boolean
  /** The version of the indexes that the entries were made for. */
  readonly indexesVersion: number
  /** Expected state of the bucket and its container, where there is one part; undefined skips the check. */
  readonly expected?:
    | { readonly lsn: number; readonly moment: EpochSeconds; readonly definitionVersion: number }
    | undefined
}

const kinds: Record<ItemChange['kind'], string> = { create: 'c', replace: 'r', upsert: 'u', delete: 'd' }

const parameters = 30

const placeholders = Array.from({ length: parameters }, (_, index) => `$${index + 1}`).join(', ')

const writeStatement: SqlStatement = {
  name: 'write',
  text: `SELECT mayfly.write(${placeholders}) AS answer`,
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
    call.slot,
    call.gateway,
    call.callNumber,
    call.isRetry,
    call.isAtomic,
    call.isPatient,
    call.indexesVersion,
    expected?.lsn ?? null,
    expected?.moment ?? null,
    expected?.definitionVersion ?? null,
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
  assert(values.length === parameters, 'a call has as many values as the function has parameters')
  return { ...writeStatement, values }
}

/**
 * Indexing a NULL array yields NULL in PostgreSQL, so an array of NULLs is sent as NULL: it costs nothing.
 */
function unlessEmpty<T>(list: readonly (T | null)[]): readonly (T | null)[] | null {
  return list.every(each => each === null) ? null : list
}
