/**
 * Lays JSON text out for people, without parsing it into values: digits, the order of names and repeated
 * names stay as they are.
 */

import { type Steps, withoutTurns } from '../base/steps.ts'
import { JsonReader, type JsonVisitor, readInSteps } from './json-reader.ts'

/** Deeper texts are refused: items nest at most 128 deep. */
const layoutDepthMax = 200

export interface JsonLayout {
  /** Names of members of the outermost object that are left out. */
  readonly without?: ReadonlySet<string>
  /** Called for each member that is left out, with its value as text. */
  readonly onLeftOut?: (name: string, text: string) => void
}

/** Parts that are joined at once. Joining all parts at the end would take too long. */
const pieceParts = 4096

/** The text, indented by two spaces. Throws a `JsonTextError` if it is not JSON. */
export function layOutJson(text: string, layout: JsonLayout = {}): string {
  return withoutTurns(layOutInSteps(text, layout))
}

export function* layOutInSteps(text: string, layout: JsonLayout = {}): Steps<string> {
  const reader = new JsonReader(text)
  const laidOut = new LaidOut(reader, layout)
  yield* readInSteps(reader, laidOut, layoutDepthMax)
  reader.end()
  return laidOut.text()
}

class LaidOut implements JsonVisitor {
  readonly #pieces: string[] = []
  #parts: string[] = []
  readonly #reader: JsonReader
  readonly #layout: JsonLayout
  /** How many parts each open object and array has so far. */
  readonly #counts: number[] = []
  readonly #closing: string[] = []
  /** The member that is left out, while it is read. */
  #leftOut: { readonly name: string; readonly start: number; readonly parts: number } | undefined

  constructor(reader: JsonReader, layout: JsonLayout) {
    this.#reader = reader
    this.#layout = layout
  }

  text(): string {
    this.#pieces.push(this.#parts.join(''))
    return this.#pieces.join('')
  }

  begin(isObject: boolean): void {
    this.#element()
    this.#parts.push(isObject ? '{' : '[')
    this.#counts.push(0)
    this.#closing.push(isObject ? '}' : ']')
  }

  name(name: string, nameAt: number): void {
    const { text, at } = this.#reader
    if (this.#counts.length === 1 && this.#layout.without?.has(name) === true) {
      this.#leftOut = { name, start: at, parts: this.#parts.length }
      return
    }
    this.#line()
    this.#parts.push(text.slice(nameAt, at).replace(/\s*:\s*$/, ''), ': ')
  }

  string(_: string, start: number): void {
    this.#scalar(start)
  }

  scalar(reader: JsonReader): void {
    const start = reader.at
    if (reader.word() === undefined) reader.number()
    this.#scalar(start)
  }

  end(): void {
    const close = this.#closing.pop()!
    const depth = this.#closing.length
    this.#parts.push(this.#counts.pop()! > 0 ? `\n${'  '.repeat(depth)}${close}` : close)
    this.#over()
  }

  /** Adds a string, number or word as it is written. */
  #scalar(start: number): void {
    this.#element()
    this.#parts.push(this.#reader.text.slice(start, this.#reader.at).trimEnd())
    this.#over()
  }

  /** A value of an array has a line of its own. */
  #element(): void {
    if (this.#closing.at(-1) === ']') this.#line()
  }

  #line(): void {
    const depth = this.#counts.length
    if (this.#parts.length >= pieceParts && this.#leftOut === undefined) {
      this.#pieces.push(this.#parts.join(''))
      this.#parts = []
    }
    this.#parts.push(this.#counts[depth - 1]!++ > 0 ? ',\n' : '\n', '  '.repeat(depth))
  }

  /** Called after each value: drops the member that is left out, when it is complete. */
  #over(): void {
    const leftOut = this.#leftOut
    if (leftOut === undefined || this.#counts.length > 1) return
    this.#parts.length = leftOut.parts
    this.#layout.onLeftOut?.(leftOut.name, this.#reader.text.slice(leftOut.start, this.#reader.at).trimEnd())
    this.#leftOut = undefined
  }
}
