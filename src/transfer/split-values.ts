/**
 * Splits JSON into rows: the elements of one array, or JSON texts one after the other, over any number of
 * lines.
 *
 * It only counts brackets outside of strings. The parser that reads a row later checks that the row is valid
 * JSON. So a mistake inside a row costs only that row. A mistake between two rows ends the reading.
 */

import {
  InputError,
  type InputPlace,
  type InputRow,
  RowPieces,
  type RowSplitter,
  type SplitterState,
  tooLongText,
} from './input.ts'
import { isSpace } from './split-lines.ts'

const newline = 0x0a
const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d

/**
 * `start`: nothing was read. `next`: a value, or the end of an array that has none. `value`: after a comma.
 * `after`: after a value of an array. `done`: after the array.
 */
type Between = 'start' | 'next' | 'value' | 'after' | 'done'

export class ValueSplitter implements RowSplitter {
  readonly #piece = new RowPieces()
  #between: Between = 'start'
  #isInArray = false
  /** What is inside a value now: brackets, a string, or a number or word. */
  #inside: 'nothing' | 'brackets' | 'word' = 'nothing'
  #isInString = false
  #isEscaped = false
  #depth = 0
  #rowLine = 0
  #line: number
  #offset: number

  constructor({ offset, line, state }: Pick<InputPlace, 'offset' | 'line' | 'state'>) {
    this.#offset = offset
    this.#line = line
    if (state.isInArray === undefined) return
    this.#isInArray = state.isInArray
    this.#between = state.isInArray ? 'after' : 'next'
  }

  get state(): SplitterState {
    return { isInArray: this.#isInArray }
  }

  split(chunk: Buffer, rows: InputRow[]): void {
    let start = 0
    let at = 0
    const finish = (end: number) => {
      this.#piece.add(chunk.subarray(start, end))
      this.#finish(rows, this.#offset + end)
    }
    while (at < chunk.length) {
      if (this.#inside === 'brackets') {
        const end = this.#endOfBrackets(chunk, at)
        at = end ?? chunk.length
        if (end === undefined) continue
        this.#inside = 'nothing'
        finish(end)
        continue
      }
      const byte = chunk[at]!
      if (this.#inside === 'word') {
        if (!isSpace(byte) && byte !== comma && byte !== closeBracket) at++
        else {
          this.#inside = 'nothing'
          finish(at)
        }
        continue
      }
      if (isSpace(byte)) {
        if (byte === newline) this.#line++
      } else if (this.#begins(byte)) {
        start = at
        this.#rowLine = this.#line
        this.#isInString = byte === quote
        this.#depth = byte === openBracket || byte === 0x7b ? 1 : 0
        this.#inside = this.#isInString || this.#depth === 1 ? 'brackets' : 'word'
      }
      at++
    }
    if (this.#inside !== 'nothing') this.#piece.add(chunk.subarray(start))
    this.#offset += chunk.length
  }

  end(rows: InputRow[]): void {
    if (this.#inside === 'word' && !this.#isInArray) {
      this.#inside = 'nothing'
      this.#finish(rows, this.#offset)
    }
    if (this.#inside !== 'nothing') this.#refuse('The input ends in the middle of this value.', this.#rowLine)
    if (this.#isInArray && this.#between !== 'done') {
      this.#refuse('The input ends in the middle of the array: there is no closing bracket.', this.#line)
    }
  }

  /** The position after the value, if it ends in this chunk. */
  #endOfBrackets(chunk: Buffer, from: number): number | undefined {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (byte === backslash) this.#isEscaped = true
        else if (byte === quote) {
          this.#isInString = false
          if (this.#depth === 0) return at + 1
        } else if (byte === newline) this.#line++
        continue
      }
      if (byte > 0x22 && byte < openBracket) continue
      if (byte === quote) this.#isInString = true
      else if (byte === openBracket || byte === 0x7b) this.#depth++
      else if (byte === closeBracket || byte === 0x7d) {
        if (--this.#depth === 0) return at + 1
      } else if (byte === newline) this.#line++
    }
    return undefined
  }

  /** What a byte between two values means; true: a value begins with it. */
  #begins(byte: number): boolean {
    switch (this.#between) {
      case 'start':
        if (byte !== openBracket) {
          this.#between = 'next'
          return true
        }
        this.#isInArray = true
        this.#between = 'next'
        return false
      case 'next':
      case 'value':
        if (byte === closeBracket && this.#isInArray && this.#between === 'next') {
          this.#between = 'done'
          return false
        }
        if (byte === comma || byte === closeBracket) this.#refuse(`A value is missing before '${text(byte)}'.`)
        return true
      case 'after':
        if (byte === closeBracket) this.#between = 'done'
        else if (byte === comma) this.#between = 'value'
        else this.#refuse(`There must be a comma or a closing bracket before '${text(byte)}'.`)
        return false
      default:
        return this.#refuse(`There is more behind the end of the array: '${text(byte)}'.`)
    }
  }

  #finish(rows: InputRow[], end: number): void {
    const { isTooLong } = this.#piece
    const row = { line: this.#rowLine, bytes: this.#piece.take(), end, endLine: this.#line }
    rows.push(isTooLong ? { ...row, refusal: tooLongText } : row)
    this.#between = this.#isInArray ? 'after' : 'next'
  }

  #refuse(sentence: string, line = this.#line): never {
    throw new InputError(sentence, { line })
  }
}

function text(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `byte 0x${byte.toString(16).padStart(2, '0')}`
}
