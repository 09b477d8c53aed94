/** Builds documents field by field. A later value replaces an earlier one of the same name. */

import { BsonDocument, type Field, type Value } from '../../../document/bson/value.ts'

/** Sets a field, in place or at the end. Without a value the field is removed. */
export function withField(document: BsonDocument, name: string, value: Value | undefined): BsonDocument {
  const { fields } = document
  const at = fields.findIndex(field => field[0] === name)
  if (value === undefined) return at === -1 ? document : BsonDocument.of(fields.toSpliced(at, 1))
  const field: Field = [name, value]
  return BsonDocument.of(at === -1 ? [...fields, field] : fields.with(at, field))
}

/** Builds a document from names and values. A later value replaces an earlier one. */
export class DocumentBuilder {
  /** Of duplicate field names, the first can be changed. */
  readonly #places = new Map<string, number>()
  readonly #fields: (Field | undefined)[]

  constructor(fields: readonly Field[] = []) {
    this.#fields = [...fields]
    for (const [place, [name]] of fields.entries()) if (!this.#places.has(name)) this.#places.set(name, place)
  }

  get(name: string): Value | undefined {
    const place = this.#places.get(name)
    return place === undefined ? undefined : this.#fields[place]![1]
  }

  set(name: string, value: Value): void {
    const place = this.#places.get(name)
    if (place === undefined) this.#places.set(name, this.#fields.length)
    this.#fields[place ?? this.#fields.length] = [name, value]
  }

  remove(name: string): void {
    const place = this.#places.get(name)
    if (place === undefined) return
    this.#places.delete(name)
    this.#fields[place] = undefined
  }

  document(): BsonDocument {
    return BsonDocument.of(this.#fields.filter(field => field !== undefined))
  }
}
