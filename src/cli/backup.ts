/** mayfly backup, restore and check: copies all data, makes a data directory of a copy, and checks data. */

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
import { counted } from './counted.ts'
import { untilInterrupted } from './interrupt.ts'
import { requireParent } from './output.ts'
import { ProgressBar } from './progress.ts'
import { type ConnectionFlags, Refused, ServerConnection, Unreachable } from './server-connection.ts'

/** The exit code of a check that found problems. */
const problemsExitCode = 2

interface JsonFlag {
  readonly json?: boolean
}

/** Endings of file names that ask for a format that backups do not support. */
const otherPacking = /\.(zip|zstd?|bz2|xz|7z|tar|tgz|rar)$/i

/** A target without an ending is a folder, which a server can use as its data directory. */
export async function backup(target: string, flags: ConnectionFlags & JsonFlag): Promise<void> {
  const present = statSync(target, { throwIfNoEntry: false })
  const isFolder = present === undefined ? extname(target) === '' : present.isDirectory()
  const file = isFolder ? join(target, 'mayfly.db') : target
  if (otherPacking.test(file)) {
    throw new RequestError('malformed', `A backup is a .db or a .db.gz file, or a folder, not ${basename(target)}.`)
  }
  if (existsSync(file)) {
    throw new RequestError('already_exists', `${file} exists and is not replaced. Name another file.`)
  }
  if (!isFolder) requireParent(file)
  await inNewFolder(dirname(file), async () => {
    if (isFolder) mkdirSync(target, { recursive: true })
    await download(new ServerConnection(flags), file)
  })
  const bytes = statSync(file).size
  const text = flags.json === true ? JSON.stringify({ file, bytes }) : `${file}: ${bytesText(bytes)}.`
  process.stdout.write(`${text}\n`)
}

/** The file is called `FILE.part` until it is complete. */
async function download(connection: ServerConnection, file: string): Promise<void> {
  const bar = new ProgressBar()
  let bytes = 0
  const reported = async function* (chunks: AsyncIterable<Uint8Array>, size: number) {
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
      const pieces = Readable.from(reported(response.body!, size))
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

/**
 * Checks a data directory or a backup, or else a copy of a running server's data. The copy shows one moment,
 * and checking it does not slow the server.
 */
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
    const verdict = problems.length === 0 ? 'Everything is consistent.' : `${problems.length} problems.`
    process.stdout.write(`${summary(report)} ${verdict}\n`)
  }
  if (problems.length > 0) process.exitCode = problemsExitCode
}

/** Explains the refusal of a server whose store cannot be copied. */
function withoutCopy(error: unknown): unknown {
  if (!(error instanceof Refused) || error.status !== 400) return error
  return new RequestError(
    'unsupported',
    'mayfly check reads data in SQLite. The data of this server is in PostgreSQL: check it with pg_amcheck.',
    { cause: error },
  )
}

/** Counts without Mayfly's own containers, which are checked too, but which users do not know. */
function summary({ containers }: DataReport): string {
  const known = containers.filter(({ database }) => !database.includes('/'))
  const sum = (name: 'rows' | 'entries' | 'logRows') => known.reduce((total, each) => total + each[name], 0)
  const items = counted(sum('rows'), 'item', 'items')
  const entries = counted(sum('entries'), 'index entry', 'index entries')
  const changes = counted(sum('logRows'), 'log entry', 'log entries')
  return `${counted(known.length, 'container', 'containers')}, ${items}, ${entries}, ${changes}.`
}
