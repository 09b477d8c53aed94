/** Streams an export as a download. Rows are read from the store only as fast as the client reads. */

import type { ServerResponse } from 'node:http'
import { leaseHere, type MemoryLease } from '../../base/memory-account.ts'
import { inSlices } from '../../base/slices.ts'
import { drained } from '../../base/slow-reader.ts'
import { bytesInSteps } from '../../document/long-text.ts'
import { exportRows, oneLine } from '../../engine/export-rows.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { addColumns, csvHeader, csvRecord } from '../../transfer/print-csv.ts'
import { securityHeaders } from '../files/page-files.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { choiceOf } from '../http/fields.ts'
import type { ExplorerService } from '../service/service.ts'
import { requireContainer } from './containers.ts'
import { exportQuery } from './export-query.ts'

const types = {
  jsonl: 'application/x-ndjson; charset=utf-8',
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
} as const
type Format = keyof typeof types

export async function exportItems(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const format = choiceOf(call.query.get('format'), 'format', ['jsonl', 'json', 'csv'], 'jsonl')
  const query = exportQuery(call.query)
  const { gone } = call
  // CSV is a table for people: there the deadline would be a column of JSON.
  const everything = { keepsLife: format !== 'csv', signal: gone }
  const read = () =>
    query === undefined ? exportRows(service.engine, container, everything) : service.queryRows(container, query, gone)
  try {
    await download(call, read, format, fileName(container))
  } catch (error) {
    if (!gone.aborted) throw error
    call.res.destroy()
  }
  return 'streamed'
}

async function download({ res, gone }: ApiCall, read: () => Pages, format: Format, name: string): Promise<void> {
  const columns = format === 'csv' ? await columnsIn(read(), gone) : []
  const pages = read()
  // The first page is read before the head is sent: a wrong query is an error, not a broken download.
  const first = await pages.next()
  using lease = leaseHere('answers')
  if (first.done !== true) lease?.add(first.value.reduce((sum, row) => sum + row.length, 0))
  res.writeHead(200, {
    ...securityHeaders,
    'content-type': types[format],
    'content-disposition': `attachment; filename="${name}.${format}"`,
    'cache-control': 'no-store',
  })
  await writeAll(res, first, pages, { format, columns, gone, lease })
}

/** CSV begins with its columns, so the rows are read once for the columns and again for the values. */
async function columnsIn(pages: Pages, gone: AbortSignal): Promise<readonly string[]> {
  const columns = new Set<string>()
  for await (const rows of pages) {
    for (const row of rows) addColumns(row, columns)
    if (gone.aborted) break
    if (columns.size <= columnsMax) continue
    throw new FieldError('format', `The items have more than ${columnsMax} properties. Choose another format.`)
  }
  return [...columns]
}

const columnsMax = 1000

/** Quotes, slashes and what is not ASCII would need an encoding that browsers read in different ways. */
function fileName({ database, id }: ContainerRecord): string {
  return `${database.id}-${id}`.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 100)
}

type Pages = AsyncIterableIterator<readonly string[]>

interface Download {
  readonly format: Format
  readonly columns: readonly string[]
  readonly gone: AbortSignal
  readonly lease: MemoryLease | undefined
}

async function writeAll(
  res: ServerResponse,
  first: IteratorResult<readonly string[]>,
  pages: Pages,
  { format, columns, gone, lease }: Download,
): Promise<void> {
  let isFirst = true
  const known = new Set(columns)
  const write = async (parts: readonly string[]) => {
    const bytes = await inSlices(bytesInSteps(parts))
    // The rows and the bytes are held.
    lease?.set(2 * bytes.length)
    if (!gone.aborted && !res.write(bytes)) await drained(res)
    lease?.set(0)
  }
  if (format === 'csv') await write([csvHeader(columns)])
  for (let page = first; page.done !== true && !gone.aborted; page = await pages.next()) {
    const parts: string[] = []
    for (const row of page.value) {
      if (format === 'csv') {
        addColumns(row, known)
        // The row was written after the columns were collected. A file without its column would be
        // incomplete.
        if (known.size > columns.length) throw new Error('a row has a column that no row had before')
        parts.push(csvRecord(row, columns))
      } else if (format === 'json') parts.push(isFirst ? '[\n' : ',\n', row)
      else parts.push(oneLine(row), '\n')
      isFirst = false
    }
    if (parts.length > 0) await write(parts)
  }
  if (gone.aborted) {
    await pages.return?.()
    res.destroy()
    return
  }
  res.end(format === 'json' ? (isFirst ? '[]\n' : '\n]\n') : undefined)
}
