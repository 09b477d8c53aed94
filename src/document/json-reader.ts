/**
 * Reads JSON text part by part, and says line and column where it is wrong.
 *
 * JSON.parse moves names that look like numbers to the front, keeps one of repeated names and rounds long
 * numbers. This reader gives every part as it is written.
 */

import { RequestError } from '../base/error.ts'
import type { Steps } from '../base/steps.ts'
import { pieceChars } from './long-text.ts'
import { placeIn } from './text-place.ts'

/** Text that is not JSON, or not what it should be. Line and column count from 1. */
export class JsonTextError extends RequestError {
  readonly line: number
  readonly column: number
  readonly #reason: string

  constructor(text: string, at: number, reason: string) {
    const { line, column } = placeIn(text, at)
    super('malformed', `${reason} (line ${line}, column ${column})`)
    this.line = line
    this.column = column
    this.#reason = reason
  }

  /** The message, if the text begins at this line of a file. */
  messageFrom(line: number): string {
    return `${this.#reason} (line ${line + this.line - 1}, column ${this.column})`
  }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const space = /[ \t\n\r]*/y

/** Quotes that are looked at in one step. */
const stepQuotes = 4096

/** The longest escape is `\u1234`. */
const escapeCharsMax = 6

/** Most levels that are skipped: more than items and query rows have. Each level takes some of the stack. */
const skipDepthMax = 500

export class JsonReader {
  readonly text: string
  at = 0

  constructor(text: string) {
    this.text = text
    this.skipSpace()
  }

  fail(reason: string, at = this.at): never {
    throw new JsonTextError(this.text, at, reason)
  }

  /** The next character that is not white space; empty at the end. */
  get next(): string {
    return this.text[this.at] ?? ''
  }

  skipSpace(): void {
    const code = this.text.charCodeAt(this.at)
    if (code > 0x20) return
    space.lastIndex = this.at
    space.test(this.text)
    this.at = space.lastIndex
  }

  /** Takes the character if it comes next. */
  take(character: string): boolean {
    if (this.text[this.at] !== character) return false
    this.at++
    this.skipSpace()
    return true
  }

  expect(character: string): void {
    if (!this.take(character)) this.fail(`'${character}' is missing before ${this.#here()}`)
  }

  end(): void {
    if (this.at < this.text.length) this.fail(`nothing may follow the value, but there is ${this.#here()}`)
  }

  /** A string as its value. */
  string(): string {
    const start = this.at
    if (this.next !== '"') this.fail(`a string must come here, not ${this.#here()}`)
    return this.#valueOf(start, this.#endOfString(start))
  }

  /** A string that comes next, if it ends soon and without an escaped quote. */
  shortString(): string | undefined {
    const start = this.at
    const quote = this.text.indexOf('"', start + 1)
    if (quote === -1 || quote - start > pieceChars || this.text.charCodeAt(quote - 1) === 0x5c) return undefined
    return this.next === '"' ? this.#valueOf(start, quote + 1) : undefined
  }

  #valueOf(start: number, end: number): string {
    this.at = end
    try {
      const value = JSON.parse(this.text.slice(start, end)) as string
      this.skipSpace()
      return value
    } catch {
      this.#failEscape(start)
    }
  }

  #failEscape(start: number): never {
    this.fail('the string has a wrong escape, or a line break or tab that is not escaped', start)
  }

  /** A string as its value, read in steps because it may be long. */
  *stringInSteps(): Steps<string> {
    const { at: start, text } = this
    if (this.next !== '"') return this.string()
    let end = text.indexOf('"', start + 1)
    for (let quotes = 1; !this.#isClosing(end, start); quotes++) {
      end = text.indexOf('"', end + 1)
      if (quotes % stepQuotes === 0) yield
    }
    const pieces: string[] = []
    try {
      for (let from = start + 1; from < end; ) {
        const to = this.#endOfPiece(from, end)
        pieces.push(JSON.parse(`"${text.slice(from, to)}"`) as string)
        from = to
        yield
      }
    } catch {
      this.#failEscape(start)
    }
    this.at = end + 1
    this.skipSpace()
    return pieces.join('')
  }

  /** Where a piece of a string may end: not within an escape. */
  #endOfPiece(from: number, stringEnd: number): number {
    const end = from + pieceChars
    if (end >= stringEnd) return stringEnd
    const backslash = this.text.lastIndexOf('\\', end - 1)
    if (backslash < end - escapeCharsMax || backslash < from) return end
    let first = backslash
    while (first > from && this.text.charCodeAt(first - 1) === 0x5c) first--
    const isEscaped = (backslash - first) % 2 === 1
    return isEscaped ? end : backslash
  }

  /** A number as it is written. */
  number(): string {
    number.lastIndex = this.at
    if (!number.test(this.text)) this.fail(`a value must come here, not ${this.#here()}`)
    const written = this.text.slice(this.at, number.lastIndex)
    this.at = number.lastIndex
    this.skipSpace()
    return written
  }

  /** `true`, `false` or `null`; undefined if none of them comes. */
  word(): boolean | null | undefined {
    for (const [word, value] of words) {
      if (!this.text.startsWith(word, this.at)) continue
      this.at += word.length
      this.skipSpace()
      return value
    }
    return undefined
  }

  /** Calls `member` with each name. `member` must read the value. */
  object(member: (name: string, nameAt: number) => void): void {
    this.expect('{')
    if (this.take('}')) return
    do {
      const nameAt = this.at
      const name = this.string()
      this.expect(':')
      member(name, nameAt)
    } while (this.goesOn('}'))
    this.expect('}')
  }

  array(element: () => void): void {
    this.expect('[')
    if (this.take(']')) return
    do element()
    while (this.goesOn(']'))
    this.expect(']')
  }

  /** Takes the comma, if another part of the list follows. */
  goesOn(close: string): boolean {
    const comma = this.at
    if (!this.take(',')) return false
    if (this.next === close) this.fail('remove this comma: nothing follows it', comma)
    return true
  }

  /** Any value, as it is written. */
  skip(depth = 0): string {
    const start = this.at
    if (depth > skipDepthMax) this.fail(`the text is nested deeper than ${skipDepthMax} levels`)
    if (this.next === '{') this.object(() => this.skip(depth + 1))
    else if (this.next === '[') this.array(() => this.skip(depth + 1))
    else if (this.next === '"') this.string()
    else if (this.word() === undefined) this.number()
    return this.text.slice(start, this.at).trimEnd()
  }

  /** The place behind the closing quote: the first quote with an even number of backslashes before it. */
  #endOfString(start: number): number {
    let quote = this.text.indexOf('"', start + 1)
    while (!this.#isClosing(quote, start)) quote = this.text.indexOf('"', quote + 1)
    return quote + 1
  }

  #isClosing(quote: number, start: number): boolean {
    if (quote === -1) this.fail('the string is not closed', start)
    let backslashes = 0
    while (this.text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++
    return backslashes % 2 === 0
  }

  #here(): string {
    return this.at >= this.text.length ? 'the end' : `'${this.text.slice(this.at, this.at + 12).split('\n')[0]}'`
  }
}

/** `readInSteps` calls these methods for the parts of a text, in their order. */
export interface JsonVisitor {
  /** An object or an array begins. */
  begin(isObject: boolean, start: number): void
  /** A member begins: its value comes next. */
  name(name: string, nameAt: number): void
  string(value: string, start: number): void
  /** A word or a number comes next. The visitor must read it. */
  scalar(reader: JsonReader): void
  /** The innermost object or array ends. */
  end(): void
}

/** Values of one step: they take less than half a millisecond. */
const stepValues = 500

/** Reads one value with everything in it, and tells the visitor. */
export function* readInSteps(reader: JsonReader, visitor: JsonVisitor, depthMax: number): Steps<void> {
  const closing: ('}' | ']')[] = []
  for (let values = 1; ; values++) {
    if (closing.length > depthMax) reader.fail(`the text is nested deeper than ${depthMax} levels`)
    const { next, at } = reader
    let close: '}' | ']' | undefined
    if (next === '{' || next === '[') {
      close = next === '{' ? '}' : ']'
      visitor.begin(next === '{', at)
      reader.take(next)
      closing.push(close)
    } else if (next === '"') {
      visitor.string(reader.shortString() ?? (yield* reader.stringInSteps()), at)
    } else {
      visitor.scalar(reader)
    }
    const isFirst = close !== undefined && reader.next !== close
    if (!isFirst) {
      for (close = closing.at(-1); close !== undefined && !reader.goesOn(close); close = closing.at(-1)) {
        reader.expect(close)
        closing.pop()
        visitor.end()
      }
    }
    if (close === undefined) return
    if (close === '}') {
      const nameAt = reader.at
      const name = reader.shortString() ?? (yield* reader.stringInSteps())
      reader.expect(':')
      visitor.name(name, nameAt)
    }
    if (values % stepValues === 0) yield
  }
}

const words = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const
