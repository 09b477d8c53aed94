/**
 * Decides the time to live of an imported row.
 *
 * Imported items get a new `_ts`, because they are written now. To keep its deadline, an item needs another
 * `ttl`. So an export adds two facts to each row with a deadline, which are never stored:
 * `"_mayfly": {"exportedAt": seconds, "expiresAt": seconds}`.
 *
 *   mode        row with a deadline at export        row with its own ttl n and a _ts, not exported by Mayfly
 *   reset       ttl stays: a new life from now       ttl stays
 *   remaining   ttl = expiresAt - exportedAt         ttl stays: the remaining time is not known
 *   absolute    ttl = expiresAt - now                ttl = _ts + n - now
 *
 * A ttl that would not be positive means that the row is dead: it is not imported. In any other row the ttl
 * stays as it is.
 */

import { RequestError } from '../base/error.ts'
import { ttlSecondsMax } from '../ttl/lifespan.ts'

export const keepTtlModes = ['reset', 'remaining', 'absolute'] as const
export type KeepTtl = (typeof keepTtlModes)[number]

/** The property that an export adds. */
export const exportProperty = '_mayfly'

/** The note that an export adds to a row. */
export interface ExportNote {
  readonly exportedAt: number
  /** Absent: the item has no deadline. */
  readonly expiresAt?: number
  /** The item has no value at a path of the partition key, and is imported without one. */
  readonly hasNoKey?: true
}

/** The facts in a row about its time to live. */
export interface RowLife {
  /** Its own, if it is valid. */
  readonly ttl: number | undefined
  readonly ts: number | undefined
  readonly note: ExportNote | undefined
}

export function readNote(value: unknown): ExportNote | undefined {
  if (value === undefined) return undefined
  const { exportedAt, expiresAt, hasNoKey } = (value ?? {}) as Record<string, unknown>
  const isNote =
    Number.isSafeInteger(exportedAt) &&
    (expiresAt === undefined || Number.isSafeInteger(expiresAt)) &&
    (hasNoKey === undefined || hasNoKey === true)
  if (isNote) return value as ExportNote
  throw new RequestError(
    'malformed',
    `The property ${exportProperty} is reserved for Mayfly's exports, and this one has another form. Rename it.`,
  )
}

/** The ttl to store at this moment; `kept`: that of the row; `dead`: the row is not imported. */
export function ttlToStore(mode: KeepTtl, { ttl, ts, note }: RowLife, moment: number): number | 'kept' | 'dead' {
  if (mode === 'reset') return 'kept'
  const { expiresAt, exportedAt } = note ?? {}
  if (expiresAt !== undefined) return lasting(expiresAt - (mode === 'remaining' ? exportedAt! : moment))
  if (note !== undefined || mode === 'remaining' || ts === undefined || ttl === undefined || ttl === -1) return 'kept'
  return lasting(ts + ttl - moment)
}

function lasting(seconds: number): number | 'dead' {
  return seconds <= 0 ? 'dead' : Math.min(seconds, ttlSecondsMax)
}
