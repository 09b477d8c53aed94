/** mayfly backup, restore and check: whole copies of the data, and whether it agrees with itself. */

import { createWriteStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { RequestError } from '../base/error.ts'
import { checkData, type DataReport } from '../server/check.ts'
import { restoreData } from '../server/restore.ts'
import { ProgressBar } from './progress.ts'
import { type ConnectionFlags, ServerConnection, Unreachable } from './server-connection.ts'

/** Problems were found. */
const problemsExitCode = 2

interface JsonFlag {
  readonly json?: boolean
}

/** A target without an ending is a folder, which a server can use as its data directory. */
export async function backup(target: string, flags: ConnectionFlags & JsonFlag): Promise<void> {
  const isFolder = extname(target) === '' || (existsSync(target) && statSync(target).isDirectory())
  const file = isFolder ? join(target, 'mayfly.db') : target
  if (existsSync(file))
    throw new RequestError('already_exists', `${file} is there. It is not replaced: name another one.`)
  mkdirSync(dirname(file), { recursive: true })
  const bytes = await download(new ServerConnection(flags), file)
  const text = flags.json === true ? JSON.stringify({ file, bytes }) : `${file}: ${(bytes / 1e6).toFixed(1)} MB.`
  process.stdout.write(`${text}\n`)
}

/** The file has its name only when it is whole. Returns its size before it is compressed. */
async function download(connection: ServerConnection, file: string): Promise<number> {
  const bar = new ProgressBar()
  const response = await connection.open('POST', 'backup')
  const size = Number(response.headers.get('content-length'))
  let bytes = 0
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.length
      bar.show({ phase: 'copying', subject: file, done: bytes, unit: 'bytes', share: bytes / Math.max(1, size) })
      yield chunk
    }
  }
  const part = `${file}.part`
  try {
    const streams = [Readable.from(counted(response.body!)), ...(/\.gz$/i.test(file) ? [createGzip()] : [])]
    await pipeline([...streams, createWriteStream(part)])
    if (bytes !== size) throw new Unreachable(`The server sent ${bytes} of ${size} bytes.`, undefined)
    renameSync(part, file)
  } catch (error) {
    rmSync(part, { force: true })
    if (error instanceof RequestError) throw error
    throw new Unreachable(`The backup was not finished: ${(error as Error).message}.`, error)
  } finally {
    bar.clear()
  }
  return bytes
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
  if (flags.data !== undefined) report = checkData(flags.data, onProgress)
  else {
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-check-'))
    try {
      const copy = join(folder, 'mayfly.db')
      await download(new ServerConnection(flags), copy)
      report = checkData(copy, onProgress)
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

function summary({ containers }: DataReport): string {
  const sum = (name: 'rows' | 'entries' | 'logRows') => containers.reduce((total, each) => total + each[name], 0)
  const own = containers.filter(({ database }) => !database.includes('/')).length
  return `${own} containers, ${sum('rows')} items, ${sum('entries')} index entries, ${sum('logRows')} log entries.`
}
