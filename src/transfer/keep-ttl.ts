/**
 * What becomes of the time to live of an imported row.
 *
 * Items do not keep their `_ts` when they are imported: they are written now. So a life that shall go on as
 * it was needs another `ttl`. An export adds to each row that has a deadline what it takes to compute it:
 * `"_mayfly": {"exportedAt": seconds, "expiresAt": seconds}`. It is never stored.
 *
 *   mode        row with a deadline at export        row with its own ttl n and a _ts, not exported by Mayfly
 *   reset       ttl stays: a new life from now       ttl stays
 *   remaining   ttl = expiresAt - exportedAt         ttl stays: nobody knows how much was left
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

/** What an export says about a row. */
export interface ExportNote {
  readonly exportedAt: number
  /** Absent: it has no deadline. */
  readonly expiresAt?: number
  /** The item has no value at a path of the partition key, and shall be imported so. */
  readonly hasNoKey?: true
}

/** What a row says about its life. */
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
    `The property ${exportProperty} belongs to exports of Mayfly, and this one is none of theirs. Rename it.`,
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
