/** mayfly export: writes the items of a container, of a database or of everything, into files. */

import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RequestError } from '../base/error.ts'
import { isoTime } from '../base/time-words.ts'
import { formats, type InputFormat } from '../transfer/input.ts'
import { manifestName } from '../transfer/seed.ts'
import { choice } from './choice.ts'
import { counted } from './counted.ts'
import { Interrupted } from './interrupt.ts'
import { outputFile, writeRows } from './output.ts'
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
  /** False with `--no-keep-ttl`. */
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
  if (flags.compress !== undefined && container !== undefined) {
    throw new RequestError(
      'malformed',
      '--compress is for files in a folder: --output with .gz or .zst compresses one.',
    )
  }
  const plan = { connection: new ServerConnection(flags), flags, format, bar: new ProgressBar() }
  if (container !== undefined) await exportOne(plan, database!, container)
  else if (output !== undefined) await exportAll(plan, database, output)
  else throw new RequestError('malformed', 'Name a folder for the files of the containers (--output), or a container.')
}

async function exportOne(plan: Plan, database: string, name: string): Promise<void> {
  const { connection, flags, bar } = plan
  const { output } = flags
  const isReplaced = output !== undefined && outputFile(output).isReplaced
  const listed = (await listServer(connection, database)).flatMap(({ containers }) => containers)
  const container = listed.find(({ id }) => id === name)
  if (container === undefined) throw new RequestError('not_found', `There is no container ${database}/${name}.`)
  const done = await write(plan, database, container, output).finally(() => bar.clear())
  const where = output === undefined ? '' : ` in ${output}${isReplaced ? ', which was there and is replaced' : ''}`
  process.stderr.write(`${database}/${name}: ${done.rows} rows${where}, ${momentText(done)}\n`)
}

async function exportAll(plan: Plan, database: string | undefined, folder: string): Promise<void> {
  const { connection, flags, format, bar } = plan
  const databases: readonly ListedDatabase[] = await listServer(connection, database)
  const exported: ExportedContainer[] = []
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new RequestError('malformed', `${folder} is a file. Name a folder for the files of the containers.`)
  }
  // The manifest is written at the end: without it, an incomplete folder is not taken for a seed.
  rmSync(join(folder, manifestName), { force: true })
  const suffix = flags.compress === undefined ? '' : choice(flags.compress, ['gz', 'zst'], '--compress')
  for (const each of databases) {
    for (const container of each.containers) {
      const name = `${container.id}.${format ?? 'jsonl'}${suffix === '' ? '' : `.${suffix}`}`
      const file = `${fileName(each.id)}/${fileName(name)}`
      const path = join(folder, file)
      mkdirSync(dirname(path), { recursive: true })
      const done = await write(plan, each.id, container, path)
        .catch(error => {
          throw withFolder(error, folder, exported.length)
        })
        .finally(() => bar.clear())
      const { id, api, partitionKey, definition } = container
      const described = { database: each.id, container: id, api, partitionKey, ...(definition && { definition }) }
      exported.push({ ...described, file, ...done })
      process.stderr.write(`${each.id}/${id}: ${done.rows} rows in ${path}, ${momentText(done)}\n`)
    }
  }
  if (exported.length === 0) mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, manifestName), `${JSON.stringify({ version: 1, containers: exported }, null, 2)}\n`)
}

/** Adds to the error of an export which files are complete. */
function withFolder(error: unknown, folder: string, complete: number): unknown {
  if (!(error instanceof RequestError)) return error
  const files = counted(complete, 'file is', 'files are')
  const noSeed = `which cannot be used as a seed without ${manifestName}`
  const text = `${error.message} ${files} complete in ${folder}, ${noSeed}.`
  const { kind } = error
  return error instanceof Interrupted
    ? new Interrupted(kind, text, { cause: error })
    : new RequestError(kind, text, { cause: error })
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
  const from = await connection.now()
  const open = (signal: AbortSignal) =>
    flags.query === undefined
      ? connection.stream('GET', `export/${pathOf(database, id)}`, {
          query: { keepTtl: flags.keepTtl ? undefined : 'no' },
          signal,
        })
      : queryLines(connection, { database, container: id, text: flags.query }, signal)
  const rows = await writeRows(open, {
    path,
    format,
    onRows: done => {
      const share = flags.query === undefined ? Math.min(1, done / Math.max(1, living)) : undefined
      bar.show({ phase: 'exporting', subject: `${database}/${id}`, done, unit: 'rows', share })
    },
  })
  return { rows, from, to: await connection.now() }
}

function momentText({ from, to }: Done): string {
  return from === to
    ? `as of ${isoTime(from)}`
    : `each as it was at some moment from ${isoTime(from)} to ${isoTime(to)}`
}
