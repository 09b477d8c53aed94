/** Export as a download, streamed: what the client does not read is not read from the store. */

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { pageBytesMax, scanBytesMax, scanItemsMax } from '../../base/limits.ts'
import { printExtendedJson } from '../../document/bson/extended-json.ts'
import { parseExtendedDocument, parseExtendedJson } from '../../document/bson/parse-extended-json.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, int32, int64, string } from '../../document/bson/value.ts'
import type { PagePosition } from '../../query/execute.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { wholeRange } from '../../store/reading.ts'
import { addColumns, csvHeader, csvRecord } from '../../transfer/print-csv.ts'
import { securityHeaders } from '../files/page-files.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { choiceOf } from '../http/fields.ts'
import type { ExplorerService } from '../service/service.ts'
import { requireContainer } from './containers.ts'

const types = {
  jsonl: 'application/x-ndjson; charset=utf-8',
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
} as const
type Format = keyof typeof types

export async function exportItems(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const format = choiceOf(call.query.get('format'), 'format', ['jsonl', 'json', 'csv'], 'jsonl')
  const query = call.query.get('query') ?? ''
  const rows = container.encoding === 'json' ? sqlRows : mongoRows
  const read = () => (query.trim() === '' ? everything(service, container) : rows(service, container, query, call.gone))
  const columns = format === 'csv' ? await columnsIn(read(), call.gone) : []
  const pages = read()
  // The first page is read before the head is sent: a wrong query is an error, not a broken download.
  const first = await pages.next()
  const { res } = call
  res.writeHead(200, {
    ...securityHeaders,
    'content-type': types[format],
    'content-disposition': `attachment; filename="${fileName(container)}.${format}"`,
    'cache-control': 'no-store',
  })
  await writeAll(res, first, pages, { format, columns, gone: call.gone })
  return 'streamed'
}

/** CSV names its columns first, so the rows are read once for them and once more for their values. */
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

type Pages = AsyncGenerator<readonly string[]>

async function writeAll(
  res: ServerResponse,
  first: IteratorResult<readonly string[]>,
  pages: Pages,
  {
    format,
    columns,
    gone,
  }: { readonly format: Format; readonly columns: readonly string[]; readonly gone: AbortSignal },
): Promise<void> {
  let isFirst = true
  const known = new Set(columns)
  const write = async (text: string) => {
    if (res.write(text) || gone.aborted) return
    await Promise.race([once(res, 'drain'), once(res, 'close')])
  }
  if (format === 'csv') await write(csvHeader(columns))
  for (let page = first; page.done !== true && !gone.aborted; page = await pages.next()) {
    const parts: string[] = []
    for (const row of page.value) {
      if (format === 'csv') {
        addColumns(row, known)
        // It was written after the columns were collected: a file without it would not be whole.
        if (known.size > columns.length) throw new Error('a row has a column that no row had before')
        parts.push(csvRecord(row, columns))
      } else if (format === 'json') parts.push(isFirst ? '[\n' : ',\n', row)
      else parts.push(row, '\n')
      isFirst = false
    }
    if (parts.length > 0) await write(parts.join(''))
  }
  if (gone.aborted) {
    await pages.return(undefined)
    res.destroy()
    return
  }
  res.end(format === 'json' ? (isFirst ? '[]\n' : '\n]\n') : undefined)
}

/** All living items as they are stored. */
async function* everything({ engine }: ExplorerService, container: ContainerRecord): Pages {
  let after: ItemKey | undefined
  do {
    const page = await engine.readKeyOrder(
      container,
      { ...wholeRange, after },
      { itemsMax: scanItemsMax, bytesMax: scanBytesMax },
    )
    after = page.last
    yield page.items.map(({ body }) => (typeof body === 'string' ? body : printDocument(body)))
  } while (after !== undefined)
}

function printDocument(body: Uint8Array): string {
  return printExtendedJson(BsonDocument.view(body), { mode: 'canonical' })
}

async function* sqlRows(service: ExplorerService, container: ContainerRecord, text: string, gone: AbortSignal): Pages {
  let position: PagePosition | undefined
  do {
    const page = await service.nosql.query(
      container,
      { text },
      { position, rowsMax: 1000, bytesMax: pageBytesMax, signal: () => gone },
    )
    position = page.next
    yield page.rows.map(String)
  } while (position !== undefined)
}

async function* mongoRows(
  service: ExplorerService,
  container: ContainerRecord,
  text: string,
  gone: AbortSignal,
): Pages {
  const mongo = await service.mongo()
  const { database, id } = container
  const batchSize = int32(1000)
  let { answer } = await mongo.run(database.id, findOrAggregate(container, text, batchSize), gone)
  for (let name = 'firstBatch'; ; name = 'nextBatch') {
    const cursor = answer.get('cursor')
    const batch = cursor?.type === bsonType.document ? cursor.get(name) : undefined
    const cursorId = cursor?.type === bsonType.document ? cursor.get('id') : undefined
    yield batch?.type === bsonType.array
      ? batch.elements.map(each => printExtendedJson(each, { mode: 'canonical' }))
      : []
    if (cursorId?.type !== bsonType.int64 || cursorId.value === 0n) return
    const more = BsonDocument.of([
      ['getMore', int64(cursorId.value)],
      ['collection', string(id)],
      ['batchSize', batchSize],
    ])
    ;({ answer } = await mongo.run(database.id, more, gone))
  }
}

function findOrAggregate({ id }: ContainerRecord, text: string, batchSize: ReturnType<typeof int32>): BsonDocument {
  if (!text.trimStart().startsWith('[')) {
    return BsonDocument.of([
      ['find', string(id)],
      ['filter', parseExtendedDocument(text)],
      ['batchSize', batchSize],
    ])
  }
  const stages = parseExtendedJson(text)
  if (stages.type !== bsonType.array) throw new FieldError('query', 'A pipeline is an array of stages: [ … ]')
  for (const stage of stages.elements) {
    const name = stage.type === bsonType.document ? stage.fields[0]?.[0] : undefined
    if (name === '$out' || name === '$merge' || name === '$changeStream') {
      throw new FieldError('query', `An export runs no ${name}.`)
    }
  }
  return BsonDocument.of([
    ['aggregate', string(id)],
    ['pipeline', stages],
    ['cursor', BsonDocument.of([['batchSize', batchSize]])],
  ])
}
