/** Saves rows as a file: the browser downloads them by itself, after the server has looked at the query. */

import { planQuery } from '../api/calls.ts'
import { exportAddress } from '../api/container-calls.ts'
import type { ContainerName } from '../api/shapes.ts'
import { bodyOf, exportParams, type QueryText } from './query-text.ts'

export type ExportFormat = 'jsonl' | 'json' | 'csv'

/**
 * Without a query, all items. Throws what the server says against the query: of a download that is refused,
 * a browser would save the refusal, or nothing.
 */
export async function saveRows(name: ContainerName, format: ExportFormat, query?: QueryText): Promise<void> {
  if (query) await planQuery(name, bodyOf(query, 'export'))
  const link = document.createElement('a')
  link.href = exportAddress(name, { format, ...(query && exportParams(query)) })
  link.download = ''
  link.click()
}
