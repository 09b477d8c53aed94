/** mayfly export: writes the items of a container, of a database or of everything, into files. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RequestError } from '../base/error.ts'
import { formats, type InputFormat } from '../transfer/input.ts'
import { manifestName } from '../transfer/seed.ts'
import { choice } from './choice.ts'
import { writeRows } from './output.ts'
import { ProgressBar } from './progress.ts'
import { queryLines } from './query.ts'
import { type ListedContainer, type ListedDatabase, listServer } from './remote-listing.ts'
import { type ConnectionFlags, pathOf, ServerConnection } from './server-connection.ts'

export interface ExportFlags extends ConnectionFlags {
  readonly database?: string
  readonly container?: string
  readonly query?: string
  readonly output?: string
  readonly format?: string
  readonly compress?: string
  /** `--no-keep-ttl` */
  readonly keepTtl: boolean
}

export interface ExportedContainer {
  readonly database: string
  readonly container: string
  readonly api: 'nosql' | 'mongo'
  readonly partitionKey: readonly string[]
  readonly definition?: object
  readonly file: string
  readonly rows: number
  /** Every item was read between these two seconds. */
  readonly from: number
  readonly to: number
}

interface Plan {
  readonly connection: ServerConnection
  readonly flags: ExportFlags
  readonly format: InputFormat | undefined
  readonly bar: ProgressBar
}

export async function exportItems(flags: ExportFlags): Promise<void> {
  const { database, container, output } = flags
  const format = flags.format === undefined ? undefined : choice(flags.format, formats, '--format')
  if (container !== undefined && database === undefined) {
    throw new RequestError('malformed', 'Name the database of the container: --database.')
  }
  if (flags.query !== undefined && container === undefined) {
    throw new RequestError('malformed', 'A query belongs to a container: --database and --container.')
  }
  const plan = { connection: new ServerConnection(flags), flags, format, bar: new ProgressBar() }
  if (container !== undefined) await exportOne(plan, database!, container)
  else if (output !== undefined) await exportAll(plan, database, output)
  else throw new RequestError('malformed', 'Name a folder for the files of the containers (--output), or a container.')
}

async function exportOne(plan: Plan, database: string, name: string): Promise<void> {
  const { connection, flags, bar } = plan
  const listed = (await listServer(connection, database)).flatMap(({ containers }) => containers)
  const container = listed.find(({ id }) => id === name)
  if (container === undefined) throw new RequestError('not_found', `There is no container ${database}/${name}.`)
  const done = await write(plan, database, container, flags.output)
  bar.clear()
  const where = flags.output === undefined ? '' : ` in ${flags.output}`
  process.stderr.write(`${database}/${name}: ${done.rows} rows${where}, ${momentText(done)}\n`)
}

async function exportAll(plan: Plan, database: string | undefined, folder: string): Promise<void> {
  const { connection, flags, format, bar } = plan
  const databases: readonly ListedDatabase[] = await listServer(connection, database)
  const exported: ExportedContainer[] = []
  const suffix = flags.compress === undefined ? '' : choice(flags.compress, ['gz', 'zst'], '--compress')
  for (const each of databases) {
    for (const container of each.containers) {
      const name = `${container.id}.${format ?? 'jsonl'}${suffix === '' ? '' : `.${suffix}`}`
      const file = `${fileName(each.id)}/${fileName(name)}`
      const path = join(folder, file)
      mkdirSync(dirname(path), { recursive: true })
      const done = await write(plan, each.id, container, path)
      const { id, api, partitionKey, definition } = container
      const described = { database: each.id, container: id, api, partitionKey, ...(definition && { definition }) }
      exported.push({ ...described, file, ...done })
      bar.clear()
      process.stderr.write(`${each.id}/${id}: ${done.rows} rows in ${path}, ${momentText(done)}\n`)
    }
  }
  if (exported.length === 0) mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, manifestName), `${JSON.stringify({ version: 1, containers: exported }, null, 2)}\n`)
}

/** Characters that a file system may not allow are written as in a URL. */
function fileName(name: string): string {
  const safe = name.replaceAll(/[^\w .@+=-]/g, encodeURIComponent)
  return /^\.*$/.test(safe) ? safe.replaceAll('.', '%2E') : safe
}

type Done = Pick<ExportedContainer, 'rows' | 'from' | 'to'>

async function write(
  { connection, flags, format, bar }: Plan,
  database: string,
  { id, living }: ListedContainer,
  path: string | undefined,
): Promise<Done> {
  const from = await nowOf(connection)
  const lines =
    flags.query === undefined
      ? await allLines(connection, database, id, flags.keepTtl)
      : await queryLines(connection, { database, container: id, text: flags.query })
  const rows = await writeRows(lines, {
    path,
    format,
    onRows: done => {
      const share = flags.query === undefined ? Math.min(1, done / Math.max(1, living)) : undefined
      bar.show({ phase: 'exporting', subject: `${database}/${id}`, done, unit: 'rows', share })
    },
  })
  return { rows, from, to: await nowOf(connection) }
}

async function allLines(
  connection: ServerConnection,
  database: string,
  container: string,
  keepsTtl: boolean,
): Promise<AsyncIterable<Uint8Array>> {
  const query = { keepTtl: keepsTtl ? undefined : 'no' }
  const { body } = await connection.open('GET', `export/${pathOf(database, container)}`, { query })
  return body!
}

async function nowOf(connection: ServerConnection): Promise<number> {
  return (await connection.call<{ now: number }>('GET', 'clock')).now
}

function momentText({ from, to }: Done): string {
  const iso = (second: number) => new Date(second * 1000).toISOString().replace('.000Z', 'Z')
  return from === to ? `as of ${iso(from)}` : `each as it was at some moment from ${iso(from)} to ${iso(to)}`
}
