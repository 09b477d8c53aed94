/**
 * Reads the rows of an input: decompresses it, finds out its format, and cuts it into batches of rows.
 *
 * Memory does not grow with the input: a batch is read after the batch before it was taken.
 */

import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { compressionOf, formatOf, headBytes, markBytes } from './detect.ts'
import type { ImportBatch } from './import-rows.ts'
import type { RowSplitter } from './input.ts'
import { type Compression, InputError, type InputFormat, type InputPlace, type InputRow } from './input.ts'
import { CsvSplitter } from './split-csv.ts'
import { LineSplitter } from './split-lines.ts'
import { ValueSplitter } from './split-values.ts'

/** The size of a batch: one request to a server, and the most that is repeated after an interruption. */
const batchRowsDefault = 8000
const batchBytesMax = 8 * 1024 * 1024

export interface InputSource {
  /** Used to detect the format, and in messages. */
  readonly name: string
  /** The bytes from this offset on. An input that can be read only once begins at 0. */
  open(start: number): AsyncIterable<Buffer>
}

export interface ReadOptions {
  /** Undefined: by content and name. */
  readonly format?: InputFormat | undefined
  /** Where an earlier reading of the same input has ended. */
  readonly after?: InputPlace | undefined
  /** Rows of a batch. */
  readonly batchRowsMax?: number
  /** Told how many bytes of the (compressed) input were read. */
  readonly onBytes?: (bytes: number) => void
}

export async function* readRows(source: InputSource, options: ReadOptions): AsyncGenerator<ImportBatch<InputPlace>> {
  const { after, onBytes } = options
  const canSeek = after !== undefined && after.compression === 'none'
  const counted = count(source.open(canSeek ? after.offset : 0), onBytes)
  const raw = new HeadStream(counted)
  const compression = after?.compression ?? compressionOf(await raw.head())
  const plain = compression === 'none' ? raw : new HeadStream(decompressed(raw, compression))
  const begin = after ?? (await beginningOf(plain, source.name, { ...options, compression }))
  if (!canSeek) await plain.skip(begin.offset)
  const splitter = splitterAt(begin)
  const { format } = begin
  const batches = new Batches(begin.rows, options.batchRowsMax ?? batchRowsDefault)
  const placeBehind = ({ end, endLine }: InputRow, rows: number): InputPlace => ({
    ...{ format, compression, offset: end, line: endLine, rows, state: splitter.state },
  })
  try {
    for await (const chunk of plain) {
      batches.add(rows => splitter.split(chunk, rows))
      yield* batches.full(placeBehind)
    }
    batches.add(rows => splitter.end(rows))
  } catch (error) {
    // The rows before the damage are good.
    yield* batches.rest(placeBehind)
    throw error
  }
  yield* batches.rest(placeBehind)
}

async function beginningOf(
  plain: HeadStream,
  name: string,
  { format, compression }: { readonly format?: InputFormat | undefined; readonly compression: Compression },
): Promise<InputPlace> {
  const head = await plain.head()
  const offset = markBytes(head)
  const found = format ?? formatOf(head.subarray(offset), name)
  if (found === undefined) {
    throw new InputError(`The format of ${name} is not known. Give it: --format jsonl, json or csv.`)
  }
  return { format: found, compression, offset, line: 1, rows: 0, state: {} }
}

function splitterAt(place: InputPlace): RowSplitter {
  if (place.format === 'csv') return new CsvSplitter(place)
  return place.format === 'json' ? new ValueSplitter(place) : new LineSplitter(place)
}

/** Collects rows until they are a batch. */
class Batches {
  #rows: InputRow[] = []
  #bytes = 0
  #from: number
  readonly #rowsMax: number
  #ready: { rows: InputRow[]; from: number }[] = []

  constructor(from: number, rowsMax: number) {
    this.#from = from
    this.#rowsMax = rowsMax
  }

  /** Adds the rows that were read, even if reading ends with an error. */
  add(read: (rows: InputRow[]) => void): void {
    const found: InputRow[] = []
    try {
      read(found)
    } finally {
      for (const row of found) this.#add(row)
    }
  }

  #add(row: InputRow): void {
    this.#rows.push(row)
    this.#bytes += row.bytes.length
    if (this.#rows.length >= this.#rowsMax || this.#bytes >= batchBytesMax) this.#close()
  }

  #close(): void {
    if (this.#rows.length === 0) return
    this.#ready.push({ rows: this.#rows, from: this.#from })
    this.#from += this.#rows.length
    this.#rows = []
    this.#bytes = 0
  }

  *full(placeBehind: (row: InputRow, rows: number) => InputPlace): Generator<ImportBatch<InputPlace>> {
    for (const { rows, from } of this.#ready.splice(0)) {
      yield { rows, from, end: placeBehind(rows.at(-1)!, from + rows.length) }
    }
  }

  *rest(placeBehind: (row: InputRow, rows: number) => InputPlace): Generator<ImportBatch<InputPlace>> {
    this.#close()
    yield* this.full(placeBehind)
  }
}

/** A stream of chunks whose beginning can be inspected before it is read. */
class HeadStream implements AsyncIterable<Buffer> {
  readonly #chunks: AsyncIterator<Buffer>
  #waiting: Buffer[] = []

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  async head(): Promise<Buffer> {
    let bytes = this.#waiting.reduce((sum, chunk) => sum + chunk.length, 0)
    while (bytes < headBytes) {
      const { done, value } = await this.#chunks.next()
      if (done === true) break
      this.#waiting.push(value)
      bytes += value.length
    }
    this.#waiting = [Buffer.concat(this.#waiting)]
    return this.#waiting[0]!.subarray(0, headBytes)
  }

  async skip(bytes: number): Promise<void> {
    for (let left = bytes; left > 0; ) {
      const { done, value: chunk } = await this.next()
      if (done === true) throw new InputError('The input is shorter than it was before the interruption.')
      if (chunk.length > left) this.#waiting.unshift(chunk.subarray(left))
      left -= Math.min(left, chunk.length)
    }
  }

  async next(): Promise<IteratorResult<Buffer>> {
    const waiting = this.#waiting.shift()
    return waiting === undefined ? this.#chunks.next() : { done: false, value: waiting }
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return {
      next: () => this.next(),
      return: async () => {
        await this.#chunks.return?.()
        return { done: true, value: undefined }
      },
    }
  }
}

async function* count(chunks: AsyncIterable<Buffer>, onBytes: ((bytes: number) => void) | undefined) {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    onBytes?.(bytes)
    yield chunk
  }
}

async function* decompressed(chunks: AsyncIterable<Buffer>, compression: 'gzip' | 'zstd'): AsyncGenerator<Buffer> {
  const transform = compression === 'gzip' ? zlib.createGunzip() : zlib.createZstdDecompress()
  const feeding = pipeline(Readable.from(chunks), transform)
  // The reader below gets the same error.
  feeding.catch(() => {})
  try {
    yield* transform
  } catch (error) {
    throw new InputError(damageText(compression, error), { cause: error })
  }
}

function damageText(compression: 'gzip' | 'zstd', error: unknown): string {
  const { code, message } = error as { code?: string; message: string }
  const isCut = code === 'Z_BUF_ERROR' || /unexpected end|truncated/i.test(message)
  return isCut
    ? `The ${compression} data ends in the middle; the file was cut.`
    : `The ${compression} data is damaged (${message}).`
}
