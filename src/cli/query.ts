/** mayfly query and mayfly ls: look at what a server has. */

import { RequestError } from '../base/error.ts'
import { choice } from './choice.ts'
import { writeRows } from './output.ts'
import { listServer } from './remote-listing.ts'
import { type ConnectionFlags, pathOf, ServerConnection } from './server-connection.ts'
import { isoTime, tableText, ttlText } from './table.ts'

const outputs = ['table', 'json', 'jsonl', 'csv'] as const

export interface OutputFlags extends ConnectionFlags {
  readonly output?: string
  readonly json?: boolean
}

/** People see a table, programs JSON. */
function outputOf({ output, json }: OutputFlags): (typeof outputs)[number] {
  if (output !== undefined) return choice(output, outputs, '--output')
  return process.stdout.isTTY === true && json !== true ? 'table' : 'json'
}

export async function queryLines(
  connection: ServerConnection,
  { database, container, text }: { readonly database: string; readonly container: string; readonly text: string },
): Promise<AsyncIterable<Uint8Array>> {
  const { body } = await connection.open('POST', `query/${pathOf(database, container)}`, { body: { query: text } })
  return body!
}

/** A table must know all its rows before it can be drawn. */
const tableRowsMax = 10_000

export async function query(
  text: string,
  flags: OutputFlags & { readonly database: string; readonly container: string },
): Promise<void> {
  const output = outputOf(flags)
  const lines = await queryLines(new ServerConnection(flags), { ...flags, text })
  if (output !== 'table') {
    await writeRows(lines, { path: undefined, format: output })
    return
  }
  const decoder = new TextDecoder()
  let all = ''
  for await (const piece of lines) all += decoder.decode(piece, { stream: true })
  const texts = all.split('\n').filter(line => line !== '')
  const rows = texts.slice(0, tableRowsMax).map(line => JSON.parse(line) as unknown)
  process.stdout.write(rowsTable(rows))
  const rest = texts.length - rows.length
  process.stdout.write(`${texts.length} rows${rest > 0 ? `, ${rest} not shown: use --output jsonl` : ''}\n`)
}

const unshown = new Set(['_rid', '_self', '_etag', '_attachments'])

function rowsTable(rows: readonly unknown[]): string {
  const isObject = (row: unknown): row is Record<string, unknown> =>
    typeof row === 'object' && row !== null && !Array.isArray(row)
  const columns = new Set<string>()
  for (const row of rows) for (const name of isObject(row) ? Object.keys(row) : ['value']) columns.add(name)
  const names = [...columns].filter(name => !unshown.has(name))
  const cells = rows.map(row => names.map(name => cellOf(isObject(row) ? row[name] : row, name)))
  return names.length === 0 ? '' : tableText(names, cells)
}

function cellOf(value: unknown, name: string): unknown {
  return name === '_ts' && typeof value === 'number' ? isoTime(value) : value
}

export async function list(database: string | undefined, flags: OutputFlags): Promise<void> {
  const databases = await listServer(new ServerConnection(flags), database)
  const rows = databases.flatMap(({ id, containers }) =>
    containers.map(container => ({
      ...{ database: id, container: container.id, api: container.api, partitionKey: container.partitionKey.join() },
      ...{ ttl: container.defaultTtl, items: container.living, dead: container.backlog },
    })),
  )
  const output = outputOf(flags)
  if (output === 'table') {
    const columns = ['DATABASE', 'CONTAINER', 'API', 'KEY', 'TTL', 'ITEMS', 'DEAD']
    process.stdout.write(
      tableText(
        columns,
        rows.map(row => [...Object.values(row).slice(0, 4), ttlText(row.ttl), row.items, row.dead]),
      ),
    )
    const empty = databases.filter(({ containers }) => containers.length === 0).map(({ id }) => id)
    if (empty.length > 0) process.stdout.write(`Databases without containers: ${empty.join(', ')}\n`)
    return
  }
  if (output === 'json') {
    process.stdout.write(`${JSON.stringify({ databases: databases.map(({ id }) => id), containers: rows }, null, 2)}\n`)
    return
  }
  if (output !== 'jsonl' && output !== 'csv') throw new RequestError('malformed', 'That output is not known.')
  const lines = (async function* () {
    yield Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  })()
  await writeRows(lines, { path: undefined, format: output })
}
