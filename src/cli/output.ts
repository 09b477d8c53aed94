/**
 * Writes the rows of an export or a query: to a file or to standard output, as JSON Lines, JSON or CSV,
 * compressed if the name says so.
 *
 * A file is called `FILE.part` until it is complete.
 */

import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { RequestError } from '../base/error.ts'
import { compressionNamed, formatNamed } from '../transfer/detect.ts'
import type { InputFormat } from '../transfer/input.ts'
import { addColumns, csvHeader, csvRecord } from '../transfer/print-csv.ts'
import { Interrupted, untilInterrupted } from './interrupt.ts'

export interface OutputOptions {
  /** Undefined: standard output. */
  readonly path: string | undefined
  /** Undefined: the name decides; without a name or an extension, JSON Lines. */
  readonly format: InputFormat | undefined
  readonly onRows?: (rows: number) => void
}

/** Opens a stream of JSON Lines in pieces of any size, which ends early when the signal is aborted. */
export type OpenLines = (signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>

/** Returns the number of rows. */
export async function writeRows(open: OpenLines, options: OutputOptions): Promise<number> {
  const { path, format, onRows = () => {} } = options
  let rows = 0
  const wanted = format ?? (path === undefined ? 'jsonl' : formatOfOutput(path))
  const piecesUntil = async (signal: AbortSignal) => {
    const counted = countLines(await open(signal), more => {
      rows += more
      onRows(rows)
    })
    return wanted === 'json' ? asArray(counted) : wanted === 'csv' ? asCsv(counted, signal) : counted
  }
  if (path === undefined) {
    await untilInterrupted('Not everything was printed.', async signal =>
      printPieces(await piecesUntil(signal), signal),
    )
  } else await writeFile(path, piecesUntil)
  return rows
}

/** The format by the name of a file; without an extension, JSON Lines. */
function formatOfOutput(path: string): InputFormat {
  const extension = extname(path.replace(/\.(gz|zstd?)$/i, '')).toLowerCase()
  const named = extension === '' ? 'jsonl' : formatNamed(path)
  // A .tsv file is refused, because CSV is written with commas only.
  if (named !== undefined && extension !== '.tsv') return named
  const known = '.jsonl, .ndjson, .json or .csv, and .gz or .zst behind it'
  throw new RequestError(
    'malformed',
    `The name ${path} tells no format that can be written: ${known}. Or give --format.`,
  )
}

/** Refuses a file in a missing folder: its name is more often mistyped than meant. */
export function requireParent(file: string): void {
  const folder = dirname(file)
  if (!existsSync(folder)) throw new RequestError('not_found', `There is no folder ${folder}. Create it first.`)
}

async function writeFile(
  path: string,
  piecesUntil: (signal: AbortSignal) => Promise<AsyncIterable<string | Uint8Array>>,
): Promise<void> {
  const { file, part, isReplaced } = outputFile(path)
  const left = isReplaced ? `${path} is as it was.` : `${path} was not written.`
  try {
    await untilInterrupted(left, async signal => {
      const pieces = Readable.from(await piecesUntil(signal))
      await pipeline([pieces, ...compressors(path), createWriteStream(part)], { signal })
    })
    if (part !== file) renameSync(part, file)
  } catch (error) {
    if (part !== file) rmSync(part, { force: true })
    if (error instanceof Interrupted) throw error
    if (error instanceof RequestError) {
      throw new RequestError(error.kind, `${error.message} ${left}`, { cause: error })
    }
    if (!(error instanceof Error && 'syscall' in error)) throw error
    const text = `${path} cannot be written: ${error.message}.`
    throw new RequestError('forbidden', isReplaced ? `${text} ${left}` : text, { cause: error })
  }
}

export interface OutputFile {
  readonly file: string
  /** The file that is written until it is complete. A device, for instance, is written directly. */
  readonly part: string
  /** There is a file, which stays as it is until the new one is whole. */
  readonly isReplaced: boolean
}

export function outputFile(path: string): OutputFile {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) {
    requireParent(path)
    return { file: path, part: `${path}.part`, isReplaced: false }
  }
  if (found.isDirectory()) throw new RequestError('malformed', `${path} is a folder. Name a file in it.`)
  // A symbolic link stays; the file that it leads to is replaced.
  const file = realpathSync(path)
  const isReplaced = found.isFile()
  return { file, part: isReplaced ? `${file}.part` : file, isReplaced }
}

/** Prints to standard output, as fast as it is read. */
export async function printPieces(
  pieces: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal | undefined = undefined,
): Promise<void> {
  try {
    await pipeline(Readable.from(pieces), process.stdout, { end: false, ...(signal && { signal }) })
  } catch (error) {
    // The reader of the output, for instance `head`, may close it early.
    if ((error as { code?: string }).code !== 'EPIPE') throw error
  }
}

function compressors(path: string): NodeJS.ReadWriteStream[] {
  const compression = compressionNamed(path)
  if (compression === 'none') return []
  return [compression === 'gzip' ? zlib.createGzip({ level: 6 }) : zlib.createZstdCompress()]
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
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
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
async function* asCsv(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<string> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-csv-'))
  const spool = join(folder, 'rows.jsonl')
  try {
    const columns = new Set<string>()
    await pipeline(Readable.from(collectColumns(pieces, columns)), createWriteStream(spool), { signal }).catch(
      error => {
        throw withSpool(error, folder)
      },
    )
    const names = [...columns]
    if (names.length > 0) yield csvHeader(names)
    for await (const lines of linesOf(createReadStream(spool, { highWaterMark: 256 * 1024 }))) {
      yield lines.map(line => csvRecord(line, names)).join('')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function withSpool(error: unknown, folder: string): unknown {
  if (!(error instanceof Error && 'syscall' in error)) return error
  const text = `CSV waits in ${folder}, which cannot be written: ${error.message}. Name another folder with TMPDIR.`
  return new RequestError('forbidden', text, { cause: error })
}

async function* collectColumns(pieces: AsyncIterable<Uint8Array>, columns: Set<string>): AsyncGenerator<string> {
  for await (const lines of linesOf(pieces)) {
    for (const line of lines) addColumns(line, columns)
    yield `${lines.join('\n')}\n`
  }
}
