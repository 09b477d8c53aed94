/** Parses JSON into plain values, as JSON.parse does. A long text is parsed in steps; its errors differ. */

import type { Steps } from '../base/steps.ts'
import { JsonReader, type JsonVisitor, readInSteps } from './json-reader.ts'
import { pieceChars } from './long-text.ts'

export function* parseJsonInSteps(text: string): Steps<unknown> {
  if (text.length <= pieceChars) return JSON.parse(text)
  const reader = new JsonReader(text)
  const values = new PlainValues()
  yield* readInSteps(reader, values, Number.POSITIVE_INFINITY)
  reader.end()
  return values.last
}

interface OpenPart {
  readonly value: Record<string, unknown> | unknown[]
  name: string
}

class PlainValues implements JsonVisitor {
  readonly #open: OpenPart[] = []
  last: unknown

  begin(isObject: boolean): void {
    this.#open.push({ value: isObject ? {} : [], name: '' })
  }

  name(name: string): void {
    this.#open.at(-1)!.name = name
  }

  string(value: string): void {
    this.#add(value)
  }

  scalar(reader: JsonReader): void {
    const word = reader.word()
    this.#add(word === undefined ? Number(reader.number()) : word)
  }

  end(): void {
    this.#add(this.#open.pop()!.value)
  }

  #add(value: unknown): void {
    const into = this.#open.at(-1)
    if (into === undefined) this.last = value
    else if (Array.isArray(into.value)) into.value.push(value)
    else if (into.name !== '__proto__') into.value[into.name] = value
    // Setting `__proto__` would change the prototype.
    else Object.defineProperty(into.value, into.name, { value, configurable: true, enumerable: true, writable: true })
  }
}
