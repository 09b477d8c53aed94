/** TOP, OFFSET and LIMIT: their numbers, from the text or from parameters, as one window of rows. */

import { RequestError } from '../../base/error.ts'
import type { SqlValue } from '../values/value.ts'
import type { Count, Query } from './ast.ts'

/** TOP, OFFSET and LIMIT are unsigned 32-bit numbers in the service. */
const queryCountMax = 4_294_967_295

export type CountClause = 'TOP' | 'OFFSET' | 'LIMIT'

const codes: Readonly<Record<CountClause, string>> = { TOP: 'SC2060', LIMIT: 'SC2061', OFFSET: 'SC2062' }

export function resolveCount(
  count: Count | undefined,
  clause: CountClause,
  parameters: ReadonlyMap<string, SqlValue>,
): number | undefined {
  if (count === undefined) return undefined
  const value = count.kind === 'parameter' ? parameters.get(count.name) : count.value
  const isInteger = typeof value === 'number' && Number.isInteger(value) && value >= 0
  if (isInteger && (count.kind === 'parameter' || count.isInteger) && value <= queryCountMax) return value
  const exceeds = isInteger && clause !== 'TOP'
  const message = exceeds
    ? `The ${clause} count value exceeds the maximum allowed value.`
    : `The count value provided for a ${clause} clause must be an integer.`
  const location = { start: count.span.start, end: count.span.end }
  const errors = [{ severity: 'Error', location, code: codes[clause], message }]
  throw new RequestError('malformed', JSON.stringify({ errors }))
}

/** The rows from `first` up to, not including, `end`, after removing duplicates. TOP applies first. */
export function resolveCounts(
  { top, offset, limit }: Pick<Query, 'top' | 'offset' | 'limit'>,
  parameters: ReadonlyMap<string, SqlValue>,
): { first: number; end: number } {
  const first = resolveCount(offset, 'OFFSET', parameters) ?? 0
  const length = resolveCount(limit, 'LIMIT', parameters) ?? Number.POSITIVE_INFINITY
  const most = resolveCount(top, 'TOP', parameters) ?? Number.POSITIVE_INFINITY
  const end = Math.min(most, first + length)
  // An empty window ends at 0, so that nothing is read.
  return { first, end: end <= first ? 0 : end }
}
