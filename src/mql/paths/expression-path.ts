/**
 * Follows a dotted path the way expressions do: an array on the path yields an array of what its documents
 * hold there.
 *
 * Unlike in filters, a number in the path is always a field name, never an array index.
 */

import { comingFrom } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { bsonDepthMax } from '../../document/bson/validate.ts'
import { BsonArray, type BsonDocument, type Value, valueAt } from '../../document/bson/value.ts'
import { findElement } from '../../document/bson/view.ts'
import { MongoError } from '../errors/mongo-error.ts'

/** Field names that may begin with a dollar sign: those of DBRefs and metadata. */
const dollarNames = new Set(['$id', '$ref', '$db', '$sortKey', '$recordId'])

export function checkFieldName(name: string): void {
  if (name === '') throw new MongoError(15998, 'FieldPath field names may not be empty strings.')
  if (name.startsWith('$') && !dollarNames.has(name)) {
    throw new MongoError(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
  }
  if (name.includes('\0')) throw new MongoError(16411, "FieldPath field names may not contain '\0'.")
  if (name.includes('.')) {
    throw new MongoError(16412, "FieldPath field names may not contain '.'. Consider using $getField or $setField.")
  }
}

/** Splits a path into field names, or throws when one of them is not valid. */
export function checkedPath(path: string): readonly string[] {
  if (path === '') throw new MongoError(40352, 'FieldPath cannot be constructed with empty string')
  if (path.endsWith('.')) throw new MongoError(40353, "FieldPath must not end with a '.'.")
  const names = path.split('.')
  if (names.length > bsonDepthMax) throw new MongoError(15, 'FieldPath is too long')
  for (const name of names) checkFieldName(name)
  return names
}

/** A field name and its UTF-8 bytes. */
interface Step {
  readonly name: string
  readonly utf8: Uint8Array
}

function fieldOf(document: BsonDocument, { name, utf8 }: Step): Value | undefined {
  const { raw } = document
  if (raw === undefined) return document.get(name)
  const at = findElement(raw.bytes, raw.start, utf8)
  return at === -1 ? undefined : valueAt(raw.bytes, raw.bytes[at]!, at + utf8.length + 2)
}

/** The part of a value, with the origin of the value added to its own. */
function partOf(value: Value, part: Value | undefined): Value | undefined {
  return value.origin === undefined || part === undefined ? part : comingFrom(part, value.origin)
}

/**
 * Compiles a path into a function that reads the value at it. A part of a value has the value's origin, but
 * parts of the `root` do not need it.
 */
export function compilePath(
  names: readonly string[],
): (value: Value | undefined, root?: BsonDocument) => Value | undefined {
  const steps: readonly Step[] = names.map(name => ({ name, utf8: Buffer.from(name) }))
  const { length } = steps

  function follow(value: Value | undefined, at: number): Value | undefined {
    if (at === length || value === undefined) return value
    if (value.type === bsonType.document) return partOf(value, follow(fieldOf(value, steps[at]!), at + 1))
    if (value.type !== bsonType.array) return undefined
    const found: Value[] = []
    for (const element of value.elements) {
      if (element.type !== bsonType.document) continue
      const inner = partOf(element, follow(fieldOf(element, steps[at]!), at + 1))
      if (inner !== undefined) found.push(inner)
    }
    return partOf(value, BsonArray.of(found))
  }

  const [first] = steps
  return (value, root) =>
    value !== undefined && value === root && first !== undefined ? follow(fieldOf(root, first), 1) : follow(value, 0)
}

/**
 * All values at a path, as `$lookup` and `$graphLookup` join them. Arrays are entered everywhere, also at the
 * end of the path, and a number in the path is also an array index.
 */
export function valuesAtPath(document: BsonDocument, names: readonly string[]): readonly Value[] {
  const found: Value[] = []
  function end(value: Value | undefined): void {
    if (value?.type === bsonType.array) found.push(...value.elements)
    else if (value !== undefined) found.push(value)
  }
  function follow(inner: BsonDocument, from: number): void {
    let value = inner.get(names[from]!)
    let at = from + 1
    while (value?.type === bsonType.array && at < names.length && /^\d+$/.test(names[at]!)) {
      value = value.elements[Number(names[at])]
      at += 1
    }
    if (at === names.length) end(value)
    else if (value?.type === bsonType.document) follow(value, at)
    else if (value?.type === bsonType.array) {
      for (const element of value.elements) if (element.type === bsonType.document) follow(element, at)
    }
  }
  follow(document, 0)
  return found
}
