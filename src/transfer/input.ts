/**
 * What an input consists of: rows, each with the line at which it begins, and places between two rows.
 *
 * A row is one item as a JSON text. A row that cannot be read is refused at its line, and reading goes on
 * behind it. If the input itself is broken (a gzip that is cut, an array without its commas), nobody can tell
 * where the next row begins: reading ends with an `InputError`, which names the line.
 */

/** Longer rows are refused without being held in memory. A Mongo document of 16 MB fits as extended JSON. */
export const rowBytesMax = 48 * 1024 * 1024

export interface InputRow {
  /** From 1. The line at which the row begins. */
  readonly line: number
  /** One JSON text; for a row that is refused, what there is of it. */
  readonly bytes: Buffer
  /** Why it cannot be a row, as far as that is known without parsing it. */
  readonly refusal?: string
  /** Bytes of the (decompressed) input up to the end of the row. */
  readonly end: number
  /** The line at that place. */
  readonly endLine: number
}

export const formats = ['jsonl', 'json', 'csv'] as const

/**
 * `jsonl`: one JSON text in each line. `json`: an array of items, or JSON texts one after the other. `csv`:
 * with a line of column names.
 */
export type InputFormat = (typeof formats)[number]

export type Compression = 'none' | 'gzip' | 'zstd'

/** How an input is read, and a place between two rows of it, from which reading can go on. */
export interface InputPlace {
  readonly format: InputFormat
  readonly compression: Compression
  /** Bytes of the decompressed input before this place. */
  readonly offset: number
  /** The line at this place. */
  readonly line: number
  /** Rows before this place. */
  readonly rows: number
  /** What a splitter must know to go on here. */
  readonly state: SplitterState
}

export interface SplitterState {
  /** Of `json`: whether the place is inside an array. */
  readonly isInArray?: boolean
  /** Of `csv`. */
  readonly columns?: readonly string[]
  readonly separator?: string
}

/** Cuts the bytes of an input into rows. */
export interface RowSplitter {
  /** Adds the rows that end in this chunk, also when it throws. */
  split(chunk: Buffer, rows: InputRow[]): void
  /** Adds the last row, if the input may end here. */
  end(rows: InputRow[]): void
  readonly state: SplitterState
}

/** Nothing can be read behind this line. */
export class InputError extends Error {
  override readonly name = 'InputError'
  readonly line: number | undefined

  constructor(message: string, { line, cause }: { readonly line?: number; readonly cause?: unknown } = {}) {
    super(line === undefined ? message : `Line ${line}: ${message}`, { cause })
    this.line = line
  }
}

/** The bytes of a row that arrives in several chunks. Of a row that is too long only the length is kept. */
export class RowPieces {
  #pieces: Buffer[] = []
  length = 0

  get isTooLong(): boolean {
    return this.length > rowBytesMax
  }

  add(piece: Buffer): void {
    this.length += piece.length
    if (this.isTooLong) this.#pieces = this.#pieces.slice(0, 1)
    else if (piece.length > 0) this.#pieces.push(piece)
  }

  /** Returns the row and begins the next one. */
  take(): Buffer {
    const pieces = this.#pieces
    this.#pieces = []
    this.length = 0
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }
}

export const tooLongText = `The row is longer than ${rowBytesMax / (1024 * 1024)} MB.`
