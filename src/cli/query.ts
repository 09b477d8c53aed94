/** mayfly query and mayfly ls: print rows, databases and containers of a server. */

import { Readable } from 'node:stream'
import { timeText } from '../base/time-words.ts'
import { choice } from './choice.ts'
import { linesOf, printPieces, writeRows } from './output.ts'
import { queryTable } from './query-table.ts'
import { listServer } from './remote-listing.ts'
import { type ConnectionFlags, pathOf, ServerConnection } from './server-connection.ts'
import { printable, tableText, ttlText } from './table.ts'

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
  signal?: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  return connection.stream('POST', `query/${pathOf(database, container)}`, { body: { query: text }, signal })
}

export async function query(
  text: string,
  flags: OutputFlags & { readonly database: string; readonly container: string },
): Promise<void> {
  const output = outputOf(flags)
  const connection = new ServerConnection(flags)
  const lines = (signal?: AbortSignal) => queryLines(connection, { ...flags, text }, signal)
  if (output === 'table') {
    const now = await connection.now()
    await printPieces(queryTable(linesOf(await lines()), now))
  } else await writeRows(lines, { path: undefined, format: output })
}

export async function list(database: string | undefined, flags: OutputFlags): Promise<void> {
  const connection = new ServerConnection(flags)
  const databases = await listServer(connection, database)
  const rows = databases.flatMap(({ id, containers }) =>
    containers.map(container => ({
      ...{ database: id, container: container.id, api: container.api, partitionKey: container.partitionKey.join() },
      ...{ ttl: container.defaultTtl, items: container.living, dead: container.backlog },
      ...(container.diesByDates === true && { diesByDates: true }),
      nextDeath: container.nextDeath,
    })),
  )
  const output = outputOf(flags)
  if (output === 'table') {
    const now = await connection.now()
    const nextText = (second: number | null) => (second === null ? '-' : timeText(second, now))
    const columns = ['DATABASE', 'CONTAINER', 'API', 'KEY', 'TTL', 'ITEMS', 'DEAD', 'NEXT DEATH']
    const cells = rows.map(({ ttl, nextDeath, diesByDates, ...row }) => [
      ...[row.database, row.container, row.api, row.partitionKey],
      ...[diesByDates === true ? 'date' : ttlText(ttl), row.items, row.dead, nextText(nextDeath)],
    ])
    process.stdout.write(tableText(columns, cells))
    const empty = databases.filter(({ containers }) => containers.length === 0).map(({ id }) => id)
    if (empty.length > 0) process.stdout.write(`Databases without containers: ${printable(empty.join(', '))}\n`)
    return
  }
  if (output === 'json') {
    process.stdout.write(`${JSON.stringify({ databases: databases.map(({ id }) => id), containers: rows }, null, 2)}\n`)
    return
  }
  const text = rows.map(row => `${JSON.stringify(row)}\n`).join('')
  await writeRows(async () => Readable.from([Buffer.from(text)]), { path: undefined, format: output })
}
