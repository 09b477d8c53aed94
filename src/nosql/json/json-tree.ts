/** A JSON value that is parsed level by level where it is changed; the rest stays as written. */

import { membersOf, splitAtCommas } from './json-text.ts'

interface Field {
  readonly name: string
  /** The name as written, with its colon and the white space around both. */
  readonly head: string
  node: JsonTree
}

export class JsonTree {
  /** The text as written. Undefined once opened, because then only the parts are current. */
  #text: string | undefined
  readonly kind: 'object' | 'array' | 'value'
  #fields: Field[] | undefined
  #elements: JsonTree[] | undefined

  constructor(text: string) {
    this.#text = text
    const [first] = text.trimStart()
    this.kind = first === '{' ? 'object' : first === '[' ? 'array' : 'value'
  }

  /** The elements of an array, to read and change. */
  get elements(): JsonTree[] {
    if (this.#elements === undefined) {
      this.#elements = splitAtCommas(this.toString()).map(text => new JsonTree(text))
      this.#text = undefined
    }
    return this.#elements
  }

  get(name: string): JsonTree | undefined {
    return this.#opened().findLast(field => field.name === name)?.node
  }

  /** Replaces a member in place, or adds it at the end. */
  set(name: string, node: JsonTree): void {
    const fields = this.#opened()
    const field = fields.findLast(each => each.name === name)
    if (field !== undefined) field.node = node
    else fields.push({ name, head: `${JSON.stringify(name)}:`, node })
  }

  delete(name: string): void {
    this.#fields = this.#opened().filter(field => field.name !== name)
  }

  /** The parsed value. Numbers lose digits that a double cannot hold. */
  parse(): unknown {
    return JSON.parse(this.toString())
  }

  /** Recurses as deep as the tree was opened. */
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
