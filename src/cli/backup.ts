/** mayfly backup, restore and check: whole copies of the data, and whether it agrees with itself. */

import { createWriteStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { RequestError } from '../base/error.ts'
import { checkData, type DataReport } from '../server/check.ts'
import { inNewFolder } from '../server/new-folder.ts'
import { restoreData } from '../server/restore.ts'
import { untilInterrupted } from './interrupt.ts'
import { requireParent } from './output.ts'
import { ProgressBar } from './progress.ts'
import { type ConnectionFlags, Refused, ServerConnection, Unreachable } from './server-connection.ts'

/** Problems were found. */
const problemsExitCode = 2

interface JsonFlag {
  readonly json?: boolean
}

/** Whoever asks for these would not get them. */
const otherPacking = /\.(zip|zstd?|bz2|xz|7z|tar|tgz|rar)$/i

/** A target without an ending is a folder, which a server can use as its data directory. */
export async function backup(target: string, flags: ConnectionFlags & JsonFlag): Promise<void> {
  const isFolder = extname(target) === '' || statSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  const file = isFolder ? join(target, 'mayfly.db') : target
  if (otherPacking.test(file)) {
    throw new RequestError('malformed', `A backup is a .db or a .db.gz file, or a folder, not ${basename(target)}.`)
  }
  if (existsSync(file))
    throw new RequestError('already_exists', `${file} is there. It is not replaced: name another one.`)
  if (!isFolder) requireParent(file)
  await inNewFolder(dirname(file), async () => {
    if (isFolder) mkdirSync(target, { recursive: true })
    await download(new ServerConnection(flags), file)
  })
  const bytes = statSync(file).size
  const text = flags.json === true ? JSON.stringify({ file, bytes }) : `${file}: ${bytesText(bytes)}.`
  process.stdout.write(`${text}\n`)
}

/** The file has its name only when it is whole. */
async function download(connection: ServerConnection, file: string): Promise<void> {
  const bar = new ProgressBar()
  let bytes = 0
  const counted = async function* (chunks: AsyncIterable<Uint8Array>, size: number) {
    for await (const chunk of chunks) {
      bytes += chunk.length
      bar.show({ phase: 'copying', subject: file, done: bytes, unit: 'bytes', share: bytes / Math.max(1, size) })
      yield chunk
    }
  }
  const part = `${file}.part`
  try {
    await untilInterrupted(`${file} was not written.`, async signal => {
      const response = await connection.open('POST', 'backup', { signal })
      const size = Number(response.headers.get('content-length'))
      const pieces = Readable.from(counted(response.body!, size))
      const streams = [pieces, ...(/\.gz$/i.test(file) ? [createGzip()] : [])]
      await pipeline([...streams, createWriteStream(part, { mode: 0o600 })], { signal })
      if (bytes !== size) throw new Unreachable(`The server sent ${bytes} of ${size} bytes.`, undefined)
    })
    renameSync(part, file)
  } catch (error) {
    rmSync(part, { force: true })
    if (error instanceof RequestError) throw error
    throw new Unreachable(`The backup was not finished: ${(error as Error).message}.`, error)
  } finally {
    bar.clear()
  }
}

function bytesText(bytes: number): string {
  return bytes < 1e5 ? `${bytes} bytes` : `${(bytes / 1e6).toFixed(1)} MB`
}

export async function restore(source: string, { data, json }: JsonFlag & { readonly data: string }): Promise<void> {
  const report = await restoreData(source, data)
  if (json === true) process.stdout.write(`${JSON.stringify({ data, containers: report.containers })}\n`)
  else process.stdout.write(`${data}: ${summary(report)} Start it with: mayfly --data ${data}\n`)
}

/** Of a running server, a copy is checked: it shows one moment, and the server has no work with it. */
export async function check(flags: ConnectionFlags & JsonFlag & { readonly data?: string }): Promise<void> {
  const bar = new ProgressBar()
  const onProgress = (done: number) =>
    bar.show({ phase: 'checking', subject: flags.data ?? 'the server', done, unit: 'rows', share: undefined })
  let report: DataReport
  if (flags.data !== undefined) report = await checkData(flags.data, { onProgress })
  else {
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-check-'))
    try {
      const copy = join(folder, 'copy.db')
      await download(new ServerConnection(flags), copy).catch(error => {
        throw withoutCopy(error)
      })
      report = await checkData(copy, { onProgress, name: 'the copy of the server' })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  bar.clear()
  const { problems } = report
  if (flags.json === true) process.stdout.write(`${JSON.stringify({ ok: problems.length === 0, ...report })}\n`)
  else {
    for (const problem of problems) process.stdout.write(`${problem}\n`)
    const verdict = problems.length === 0 ? 'All of it agrees.' : `${problems.length} problems.`
    process.stdout.write(`${summary(report)} ${verdict}\n`)
  }
  if (problems.length > 0) process.exitCode = problemsExitCode
}

/** A server answers so whose store makes no copies. */
function withoutCopy(error: unknown): unknown {
  if (!(error instanceof Refused) || error.status !== 400) return error
  return new RequestError(
    'unsupported',
    'mayfly check looks at data in SQLite. The data of this server is in PostgreSQL, which checks its own files: ' +
      'see pg_amcheck.',
    { cause: error },
  )
}

/** What Mayfly keeps for itself is checked as well, and not counted: nobody knows of it. */
function summary({ containers }: DataReport): string {
  const known = containers.filter(({ database }) => !database.includes('/'))
  const sum = (name: 'rows' | 'entries' | 'logRows') => known.reduce((total, each) => total + each[name], 0)
  const items = amount(sum('rows'), 'item', 'items')
  const entries = amount(sum('entries'), 'index entry', 'index entries')
  const changes = amount(sum('logRows'), 'log entry', 'log entries')
  return `${amount(known.length, 'container', 'containers')}, ${items}, ${entries}, ${changes}.`
}

function amount(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`
}
