/**
 * Splits CSV (RFC 4180) into rows: the first record has the column names, every other one is a row.
 *
 * A cell becomes the JSON value that it is written as, if there is no doubt about it:
 *
 *   nothing                             the property is left out
 *   true, false, null                   that value
 *   a number as JavaScript prints it    that number; 007, 1.0 and 12345678901234567890 stay text
 *   {…}, […] or "…", if valid JSON      that object, list or text
 *   anything else                       the text
 *
 * The columns `id` and `_id` are always text, unless they are written as `{…}` or `"…"`.
 */

import { isUtf8 } from 'node:buffer'
import {
  InputError,
  type InputPlace,
  type InputRow,
  RowPieces,
  type RowSplitter,
  type SplitterState,
  tooLongText,
} from './input.ts'

const newline = 0x0a
const quote = 0x22
/** The possible separators. The header shows which one is used. */
const separators = ',;\t'

export class CsvSplitter implements RowSplitter {
  readonly #record = new RowPieces()
  #columns: readonly string[] | undefined
  #separator: string | undefined
  #isQuoted = false
  #quoteLine = 0
  /** The last byte of the chunk before, and whether it was a closing quote. */
  #lastByte: number | undefined
  #hasJustClosed = false
  #recordLine: number
  #line: number
  #offset: number

  constructor({ offset, line, state }: Pick<InputPlace, 'offset' | 'line' | 'state'>) {
    this.#offset = offset
    this.#line = line
    this.#recordLine = line
    this.#columns = state.columns
    this.#separator = state.separator
  }

  get state(): SplitterState {
    return {
      ...(this.#columns && { columns: this.#columns }),
      ...(this.#separator !== undefined && { separator: this.#separator }),
    }
  }

  /**
   * A record ends with a line, unless the end of the line is inside quotes. Only a cell that begins with a
   * quote is quoted: in `5" pipe` the quote opens nothing, and only this row is refused.
   */
  split(chunk: Buffer, rows: InputRow[]): void {
    let start = 0
    let nextQuote = chunk.indexOf(quote)
    let closedAt = this.#hasJustClosed ? -1 : undefined
    let at = 0
    for (;;) {
      const end = chunk.indexOf(newline, at)
      const stop = end === -1 ? chunk.length : end
      for (; nextQuote !== -1 && nextQuote < stop; nextQuote = chunk.indexOf(quote, nextQuote + 1)) {
        const before = nextQuote === 0 ? this.#lastByte : chunk[nextQuote - 1]
        if (this.#isQuoted) {
          this.#isQuoted = false
          closedAt = nextQuote
        } else if (closedAt === nextQuote - 1 || this.#isBetweenCells(before)) {
          // A quote directly after a closing quote: the two are one quote inside the cell, which goes on.
          this.#isQuoted = true
          this.#quoteLine = this.#line
        }
      }
      if (end === -1) break
      this.#line++
      at = end + 1
      if (this.#isQuoted) continue
      this.#record.add(chunk.subarray(start, end))
      this.#finish(rows, 1)
      start = end + 1
    }
    this.#record.add(chunk.subarray(start))
    if (chunk.length === 0) return
    this.#lastByte = chunk.at(-1)
    this.#hasJustClosed = closedAt === chunk.length - 1
  }

  /** Whether a cell begins after this byte. */
  #isBetweenCells(byte: number | undefined): boolean {
    if (byte === undefined || byte === newline) return true
    return (this.#separator ?? separators).includes(String.fromCharCode(byte))
  }

  end(rows: InputRow[]): void {
    if (this.#isQuoted) throw new InputError('The quote that begins here is never closed.', { line: this.#quoteLine })
    if (this.#record.length > 0) this.#finish(rows, 0)
    if (this.#columns === undefined) throw new InputError('There is no line with the names of columns.', { line: 1 })
  }

  #finish(rows: InputRow[], newlineBytes: number): void {
    const line = this.#recordLine
    this.#recordLine = this.#line
    const { isTooLong, length } = this.#record
    const bytes = withoutReturn(this.#record.take())
    this.#offset += length + newlineBytes
    if (bytes.length === 0) return
    if (this.#columns === undefined) {
      this.#readHeader(bytes, line)
      return
    }
    const place = { line, end: this.#offset, endLine: this.#line }
    if (isTooLong) rows.push({ ...place, bytes, refusal: tooLongText })
    else rows.push({ ...place, ...this.#rowOf(bytes) })
  }

  #readHeader(bytes: Buffer, line: number): void {
    if (!isUtf8(bytes)) throw new InputError('The names of columns are not UTF-8.', { line })
    const header = bytes.toString('utf8')
    this.#separator ??= separatorIn(header)
    const columns = cellsOf(header, this.#separator)
    if (typeof columns === 'string') throw new InputError(columns, { line })
    const names = columns.map(cell => cell.text.trim())
    const empty = names.indexOf('')
    if (empty !== -1) throw new InputError(`Column ${empty + 1} has no name.`, { line })
    const twice = names.find((name, index) => names.indexOf(name) !== index)
    if (twice !== undefined) throw new InputError(`There are two columns with the name '${twice}'.`, { line })
    this.#columns = names
  }

  #rowOf(bytes: Buffer): Pick<InputRow, 'bytes' | 'refusal'> {
    if (!isUtf8(bytes)) return { bytes, refusal: 'The row is not UTF-8.' }
    const columns = this.#columns!
    const cells = cellsOf(bytes.toString('utf8'), this.#separator!)
    if (typeof cells === 'string') return { bytes, refusal: cells }
    if (cells.length !== columns.length) {
      return { bytes, refusal: `The row has ${cells.length} cells, but there are ${columns.length} columns.` }
    }
    const members = cells.flatMap((cell, index) => {
      const value = jsonOf(cell, columns[index]!)
      return value === undefined ? [] : [`${JSON.stringify(columns[index])}:${value}`]
    })
    return { bytes: Buffer.from(`{${members.join(',')}}`) }
  }
}

function withoutReturn(bytes: Buffer): Buffer {
  return bytes.at(-1) === 0x0d ? bytes.subarray(0, -1) : bytes
}

/** The one of `,` `;` and tab that the header has most of, outside of quotes. */
function separatorIn(header: string): string {
  const plain = header.replaceAll(/"[^"]*"/g, '')
  const count = (separator: string) => plain.split(separator).length
  return [',', ';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best))
}

interface Cell {
  readonly text: string
  readonly isQuoted: boolean
}

/** The cells of a record, or a sentence that says what is wrong with it. */
function cellsOf(record: string, separator: string): Cell[] | string {
  const cells: Cell[] = []
  for (let at = 0; ; ) {
    if (record[at] !== '"') {
      const found = record.indexOf(separator, at)
      const end = found === -1 ? record.length : found
      const text = record.slice(at, end)
      if (text.includes('"')) return `Column ${cells.length + 1} has a quote, but does not begin with one.`
      cells.push({ text, isQuoted: false })
      if (found === -1) return cells
      at = found + 1
      continue
    }
    let end = at + 1
    for (;;) {
      end = record.indexOf('"', end)
      if (record[end + 1] !== '"') break
      end += 2
    }
    cells.push({ text: record.slice(at + 1, end).replaceAll('""', '"'), isQuoted: true })
    if (end + 1 === record.length) return cells
    if (record[end + 1] !== separator) return `Column ${cells.length} goes on behind its closing quote.`
    at = end + 2
  }
}

/** The JSON of a cell; undefined: the property is left out. */
function jsonOf({ text, isQuoted }: Cell, column: string): string | undefined {
  if (text === '') return isQuoted ? '""' : undefined
  const isName = column === 'id' || column === '_id'
  if (/^[{["]/.test(text) && isJson(text) && !(isName && text.startsWith('['))) return text
  if (isName) return JSON.stringify(text)
  if (text === 'true' || text === 'false' || text === 'null') return text
  if (/^-?\d/.test(text) && String(Number(text)) === text) return text
  return JSON.stringify(text)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
