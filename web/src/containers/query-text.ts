/** A query as the user writes it, and as the calls for rows, plans and exports take it. */

import type { QueryBody } from '../api/calls.ts'

export type QueryText =
  | { kind: 'sql'; text: string; partitionKey?: unknown[] }
  | { kind: 'filter'; text: string; sort: string; projection: string }
  | { kind: 'pipeline'; text: string }

const pageSize = 100

export function bodyOf(query: QueryText, id: string, after?: string): QueryBody {
  const page = { id, limit: pageSize, ...(after !== undefined && { after }) }
  if (query.kind === 'sql')
    return { ...page, text: query.text, ...(query.partitionKey && { partitionKey: query.partitionKey }) }
  if (query.kind === 'pipeline') return { ...page, pipeline: query.text }
  return {
    ...page,
    filter: query.text.trim() === '' ? '{}' : query.text,
    ...(query.sort.trim() !== '' && { sort: query.sort }),
    ...(query.projection.trim() !== '' && { projection: query.projection }),
  }
}

/** The parameters of an export of the same rows. */
export function exportParams(query: QueryText): Record<string, string | undefined> {
  if (query.kind !== 'filter') {
    const values = query.kind === 'sql' ? query.partitionKey : undefined
    return { query: query.text, partitionKey: values && JSON.stringify(values) }
  }
  const { text, sort, projection } = query
  return { query: text.trim() === '' ? '{}' : text, sort: sort.trim(), projection: projection.trim() }
}
