/** Splits JSON Lines into rows: every line that is not empty is a row. */

import { type InputPlace, type InputRow, RowPieces, type RowSplitter, tooLongText } from './input.ts'

const newline = 0x0a

export class LineSplitter implements RowSplitter {
  readonly state = {}
  readonly #rest = new RowPieces()
  #offset: number
  #line: number

  constructor({ offset, line }: Pick<InputPlace, 'offset' | 'line'>) {
    this.#offset = offset
    this.#line = line
  }

  split(chunk: Buffer, rows: InputRow[]): void {
    let start = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, start)) {
      this.#rest.add(chunk.subarray(start, at))
      this.#finish(rows, 1)
      start = at + 1
    }
    this.#rest.add(chunk.subarray(start))
  }

  end(rows: InputRow[]): void {
    if (this.#rest.length > 0) this.#finish(rows, 0)
  }

  #finish(rows: InputRow[], newlineBytes: number): void {
    const line = this.#line
    const { isTooLong, length } = this.#rest
    const bytes = trimmed(this.#rest.take())
    this.#offset += length + newlineBytes
    this.#line += newlineBytes
    if (bytes.length === 0) return
    const row = { line, bytes, end: this.#offset, endLine: this.#line }
    rows.push(isTooLong ? { ...row, refusal: tooLongText } : row)
  }
}

/** Without spaces, tabs and carriage returns at both ends. */
export function trimmed(bytes: Buffer): Buffer {
  let start = 0
  let end = bytes.length
  while (start < end && isSpace(bytes[start]!)) start++
  while (end > start && isSpace(bytes[end - 1]!)) end--
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
}

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
