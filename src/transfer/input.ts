/**
 * The parts of an input: rows, each with the line at which it begins, and places between two rows.
 *
 * A row is one item as a JSON text. A row that cannot be read is refused at its line, and reading continues
 * after it. If the input itself is broken (a gzip that is cut, an array without its commas), the start of
 * the next row is not known, and reading ends with an `InputError`, which names the line.
 */

/** Longer rows are refused without being held in memory. A Mongo document of 16 MB fits as extended JSON. */
export const rowBytesMax = 48 * 1024 * 1024

export interface InputRow {
  /** From 1. The line at which the row begins. */
  readonly line: number
  /** One JSON text; for a row that is refused, the bytes that were read. */
  readonly bytes: Buffer
  /** Why the row is refused, as far as that is known without parsing it. */
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

/** The form of an input, and a place between two of its rows where reading can continue. */
export interface InputPlace {
  readonly format: InputFormat
  readonly compression: Compression
  /** Bytes of the decompressed input before this place. */
  readonly offset: number
  /** The line at this place. */
  readonly line: number
  /** Rows before this place. */
  readonly rows: number
  /** The state that a splitter needs to continue here. */
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

/** The input cannot be read after this line. */
export class InputError extends Error {
  override readonly name = 'InputError'
  readonly line: number | undefined

  constructor(message: string, { line, cause }: { readonly line?: number; readonly cause?: unknown } = {}) {
    super(line === undefined ? message : `Line ${line}: ${message}`, { cause })
    this.line = line
  }
}

/**
 * Collects a row that arrives in several chunks. For a row that is too long, only its first chunk and its
 * length are kept.
 */
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
