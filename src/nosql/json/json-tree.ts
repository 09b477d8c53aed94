/** A JSON value that opens level by level where somebody changes it, and keeps the rest as it was written. */

import { membersOf, partsOf } from './json-text.ts'

interface Field {
  readonly name: string
  /** The name as written, with its colon and the white space around both. */
  readonly head: string
  node: JsonTree
}

export class JsonTree {
  /** As written; undefined once it was opened, because then only the parts know. */
  #text: string | undefined
  readonly kind: 'object' | 'array' | 'value'
  #fields: Field[] | undefined
  #elements: JsonTree[] | undefined

  constructor(text: string) {
    this.#text = text
    const [first] = text.trimStart()
    this.kind = first === '{' ? 'object' : first === '[' ? 'array' : 'value'
  }

  /** The elements of an array, to be read and changed. */
  get elements(): JsonTree[] {
    if (this.#elements === undefined) {
      this.#elements = partsOf(this.toString()).map(text => new JsonTree(text))
      this.#text = undefined
    }
    return this.#elements
  }

  get(name: string): JsonTree | undefined {
    return this.#opened().findLast(field => field.name === name)?.node
  }

  /** In its old place, or behind all others. */
  set(name: string, node: JsonTree): void {
    const fields = this.#opened()
    const field = fields.findLast(each => each.name === name)
    if (field !== undefined) field.node = node
    else fields.push({ name, head: `${JSON.stringify(name)}:`, node })
  }

  delete(name: string): void {
    this.#fields = this.#opened().filter(field => field.name !== name)
  }

  /** What was parsed when nothing was opened yet. Numbers lose what a double cannot hold. */
  parse(): unknown {
    return JSON.parse(this.toString())
  }

  /** Recurses as deep as paths have opened it. */
  toString(): string {
    if (this.#text !== undefined) return this.#text
    if (this.#elements !== undefined) return `[${this.#elements.join(',')}]`
    return `{${this.#fields!.map(({ head, node }) => `${head}${node}`).join(',')}}`
  }

  #opened(): Field[] {
    if (this.#fields === undefined) {
      this.#fields = membersOf(this.toString()).map(({ name, text, valueStart }) => {
        return { name, head: text.slice(0, valueStart), node: new JsonTree(text.slice(valueStart)) }
      })
      this.#text = undefined
    }
    return this.#fields
  }
}
