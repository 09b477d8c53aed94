/**
 * Reads JSON text part by part, and says line and column where it is wrong.
 *
 * JSON.parse moves names that look like numbers to the front, keeps one of repeated names and rounds long
 * numbers. This reader gives every part as it is written.
 */

import { RequestError } from '../base/error.ts'
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

/** More than items and rows of queries have. Each level takes some of the stack. */
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

  /** The next character, behind white space; empty at the end. */
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
    this.at = this.#endOfString(start)
    try {
      const value = JSON.parse(this.text.slice(start, this.at)) as string
      this.skipSpace()
      return value
    } catch {
      this.fail('the string has a wrong escape, or a line break or tab that is not escaped', start)
    }
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

  /** Calls `member` with each name; it must read the value. */
  object(member: (name: string, nameAt: number) => void): void {
    this.expect('{')
    if (this.take('}')) return
    do {
      const nameAt = this.at
      const name = this.string()
      this.expect(':')
      member(name, nameAt)
    } while (this.#goesOn('}'))
    this.expect('}')
  }

  array(element: () => void): void {
    this.expect('[')
    if (this.take(']')) return
    do element()
    while (this.#goesOn(']'))
    this.expect(']')
  }

  /** Takes the comma before another part of a list. */
  #goesOn(close: string): boolean {
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

  /** Behind the closing quote, which has an even number of backslashes before it. */
  #endOfString(start: number): number {
    for (let at = this.text.indexOf('"', start + 1); at !== -1; at = this.text.indexOf('"', at + 1)) {
      let backslashes = 0
      while (this.text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++
      if (backslashes % 2 === 0) return at + 1
    }
    return this.fail('the string is not closed', start)
  }

  #here(): string {
    return this.at >= this.text.length ? 'the end' : `'${this.text.slice(this.at, this.at + 12).split('\n')[0]}'`
  }
}

const words = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const
