/** Builds documents field by field. A later value replaces an earlier one of the same name. */

import { shortKey } from '../../../base/short-key.ts'
import { spend } from '../../../base/work.ts'
import { BsonDocument, type Field, type Value } from '../../../document/bson/value.ts'

/** Sets a field, in place or at the end. Without a value the field is removed. */
export function withField(document: BsonDocument, name: string, value: Value | undefined): BsonDocument {
  const { fields } = document
  spend(fields.length >> 2)
  const at = fields.findIndex(field => field[0] === name)
  if (value === undefined) return at === -1 ? document : BsonDocument.of(fields.toSpliced(at, 1))
  const field: Field = [name, value]
  return BsonDocument.of(at === -1 ? [...fields, field] : fields.with(at, field))
}

export class DocumentBuilder {
  /** Of duplicate field names, the first can be changed. */
  readonly #indexes = new Map<string, number>()
  readonly #fields: (Field | undefined)[]

  constructor(fields: readonly Field[] = []) {
    spend(fields.length)
    this.#fields = [...fields]
    for (const [index, [name]] of fields.entries()) {
      const key = shortKey(name)
      if (!this.#indexes.has(key)) this.#indexes.set(key, index)
    }
  }

  get(name: string): Value | undefined {
    const index = this.#indexes.get(shortKey(name))
    return index === undefined ? undefined : this.#fields[index]![1]
  }

  set(name: string, value: Value): void {
    const index = this.#indexes.get(shortKey(name))
    if (index === undefined) this.#indexes.set(shortKey(name), this.#fields.length)
    this.#fields[index ?? this.#fields.length] = [name, value]
  }

  remove(name: string): void {
    const index = this.#indexes.get(shortKey(name))
    if (index === undefined) return
    this.#indexes.delete(shortKey(name))
    this.#fields[index] = undefined
  }

  document(): BsonDocument {
    spend(this.#fields.length >> 2)
    return BsonDocument.of(this.#fields.filter(field => field !== undefined))
  }
}
