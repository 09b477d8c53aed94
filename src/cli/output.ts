/**
 * Writes the rows of an export or a query: to a file or to standard output, as JSON Lines, JSON or CSV,
 * compressed if the name says so.
 *
 * A file has its name only when it is whole; before, it is called `FILE.part`.
 */

import { createReadStream, createWriteStream, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { RequestError } from '../base/error.ts'
import { compressionNamed, formatNamed } from '../transfer/detect.ts'
import type { InputFormat } from '../transfer/input.ts'
import { addColumns, csvHeader, csvRecord } from '../transfer/print-csv.ts'

export interface OutputOptions {
  /** Undefined: standard output. */
  readonly path: string | undefined
  /** Undefined: by the name; otherwise JSON Lines. */
  readonly format: InputFormat | undefined
  readonly onRows?: (rows: number) => void
}

/** `lines`: JSON Lines in pieces of any size. Returns the number of rows. */
export async function writeRows(
  lines: AsyncIterable<Uint8Array>,
  { path, format, onRows = () => {} }: OutputOptions,
): Promise<number> {
  let rows = 0
  const counted = countLines(lines, more => {
    rows += more
    onRows(rows)
  })
  const wanted = format ?? (path === undefined ? undefined : formatNamed(path)) ?? 'jsonl'
  const pieces = wanted === 'json' ? asArray(counted) : wanted === 'csv' ? asCsv(counted) : counted
  if (path === undefined) {
    await pipeline(Readable.from(pieces), process.stdout, { end: false }).catch(ignoreClosedPipe)
    return rows
  }
  const part = `${path}.part`
  try {
    const streams: (NodeJS.ReadableStream | NodeJS.ReadWriteStream | NodeJS.WritableStream)[] = [
      Readable.from(pieces),
      ...compressors(path),
      createWriteStream(part),
    ]
    await pipeline(streams)
    renameSync(part, path)
  } catch (error) {
    rmSync(part, { force: true })
    const { code } = error as { code?: string }
    if (code === undefined || !['ENOENT', 'EACCES', 'EISDIR', 'ENOSPC', 'EROFS', 'ENOTDIR'].includes(code)) throw error
    throw new RequestError('forbidden', `${path} cannot be written: ${(error as Error).message}.`, { cause: error })
  }
  return rows
}

/** The reader, for instance `head`, has seen enough. */
function ignoreClosedPipe(error: unknown): void {
  if ((error as { code?: string }).code !== 'EPIPE') throw error
}

function compressors(path: string): NodeJS.ReadWriteStream[] {
  const compression = compressionNamed(path)
  if (compression === 'none') return []
  if (compression === 'gzip') return [zlib.createGzip({ level: 6 })]
  if (typeof zlib.createZstdCompress === 'function') return [zlib.createZstdCompress()]
  throw new RequestError(
    'unsupported',
    `This Node (${process.version}) has no zstd. Use Node 22.15 or later, or a name that ends with .gz.`,
  )
}

async function* countLines(pieces: AsyncIterable<Uint8Array>, onMore: (lines: number) => void) {
  for await (const piece of pieces) {
    let lines = 0
    for (let at = piece.indexOf(0x0a); at !== -1; at = piece.indexOf(0x0a, at + 1)) lines++
    onMore(lines)
    yield piece
  }
}

/** Whole lines, many at a time. */
async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece])
    const end = bytes.lastIndexOf(0x0a)
    rest = bytes.subarray(end + 1)
    if (end !== -1) yield bytes.toString('utf8', 0, end).split('\n')
  }
}

async function* asArray(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let start = '[\n'
  for await (const lines of linesOf(pieces)) {
    yield start + lines.join(',\n')
    start = ',\n'
  }
  yield start === '[\n' ? '[]\n' : '\n]\n'
}

/** The columns are known when all rows were seen: until then the rows wait in a temporary file. */
async function* asCsv(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-csv-'))
  const spool = join(folder, 'rows.jsonl')
  try {
    const columns = new Set<string>()
    await pipeline(Readable.from(collectColumns(pieces, columns)), createWriteStream(spool))
    const names = [...columns]
    if (names.length > 0) yield csvHeader(names)
    for await (const lines of linesOf(createReadStream(spool, { highWaterMark: 256 * 1024 }))) {
      yield lines.map(line => csvRecord(line, names)).join('')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function* collectColumns(pieces: AsyncIterable<Uint8Array>, columns: Set<string>): AsyncGenerator<string> {
  for await (const lines of linesOf(pieces)) {
    for (const line of lines) addColumns(line, columns)
    yield `${lines.join('\n')}\n`
  }
}
