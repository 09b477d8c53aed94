/** The tests behind the keywords of JSON Schema. Each takes a value in place; a missing value has type 0. */

import { decimal128, isNumeric, isZeroValue, mod, toDecimal, toDouble } from '../../document/bson/number.ts'
import { bsonType, isNumberType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type NumericValue, type Value, valueAt } from '../../document/bson/value.ts'
import { ElementCursor, endOfValue, findElement, int32At } from '../../document/bson/view.ts'
import { valueIdentity } from '../expressions/values/value-identity.ts'
import type { ElementTest } from '../paths/stored-path.ts'
import type { DependencyRule, PatternRule, PropertyRule, Schema } from './schema.ts'

/** A test of values of some types only. Other values pass. */
export function onlyFor(isConcerned: (type: number) => boolean, test: ElementTest): ElementTest {
  return (bytes, type, start) => !isConcerned(type) || test(bytes, type, start)
}

export function isString(type: number): boolean {
  return type === bsonType.string
}

export function isArray(type: number): boolean {
  return type === bsonType.array
}

export function isObject(type: number): boolean {
  return type === bsonType.document
}

/** The length of a string in code points. */
export function textLength(bytes: Uint8Array, start: number): number {
  const end = start + 3 + int32At(bytes, start)
  let length = 0
  // Bytes that continue a code point begin with the bits 10.
  for (let at = start + 4; at < end; at += 1) if ((bytes[at]! & 0xc0) !== 0x80) length += 1
  return length
}

/** The number of elements of an array, or of fields of a document. */
export function elementCount(bytes: Uint8Array, start: number): number {
  const cursor = new ElementCursor(bytes, start)
  let count = 0
  while (cursor.next()) count += 1
  return count
}

/** Both sides become decimals, as in MongoDB, so that 0.3 is a multiple of 0.1. */
export function multipleTest(divisor: NumericValue): ElementTest {
  const by = decimal128(toDecimal(divisor))
  return onlyFor(isNumberType, (bytes, type, start) => {
    const value = valueAt(bytes, type, start)
    return isNumeric(value) && isZeroValue(mod(decimal128(toDecimal(value)), by))
  })
}

/** Equal values have equal texts, and the order of fields does not count. */
export function unorderedIdentity(value: Value): string {
  return valueIdentity(ordered(value))
}

function ordered(value: Value): Value {
  if (value.type === bsonType.array) return BsonArray.of(value.elements.map(ordered))
  if (value.type !== bsonType.document) return value
  const fields = value.fields.map(([name, inner]) => [name, ordered(inner)] as const)
  return BsonDocument.of(fields.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * The first element that equals one before it. Identities are costly, so they are made only of elements that
 * have the same fingerprint.
 */
export function duplicateIn(bytes: Uint8Array, start: number): Value | undefined {
  const seen = new Map<number, Value | Set<string>>()
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) {
    const value = valueAt(bytes, cursor.type, cursor.valueStart)
    const print = fingerprint(bytes, cursor.type, cursor.valueStart)
    const same = seen.get(print)
    if (same === undefined) {
      seen.set(print, value)
      continue
    }
    const identities = same instanceof Set ? same : new Set([unorderedIdentity(same)])
    const identity = unorderedIdentity(value)
    if (identities.has(identity)) return value
    seen.set(print, identities.add(identity))
  }
  return undefined
}

/** Equal values have equal fingerprints. Most different values have different ones. */
function fingerprint(bytes: Uint8Array, type: number, start: number): number {
  if (isNumberType(type)) {
    const number = toDouble(valueAt(bytes, type, start) as NumericValue)
    return Number.isInteger(number) ? number | 0 : Math.trunc((number % 1) * 0x7fffffff) | 0
  }
  if (type !== bsonType.document && type !== bsonType.array) {
    const end = endOfValue(bytes, type, start)
    return hashOf(bytes, start, end)
  }
  const cursor = new ElementCursor(bytes, start)
  let print = 0
  for (let index = 0; cursor.next(); index += 1) {
    // The sum does not depend on the order. The names in an array do not count, only the places.
    const name = type === bsonType.array ? index : hashOf(bytes, cursor.nameStart, cursor.nameEnd)
    print = (print + Math.imul(name ^ fingerprint(bytes, cursor.type, cursor.valueStart), 0x9e3779b1)) | 0
  }
  return print
}

/** FNV-1a. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ bytes[at]!, 0x01000193)
  return hash
}

/** The index of the first element, from an index on, that does not match. */
export function mismatchIn({ test }: Schema, from: number, bytes: Uint8Array, start: number): number | undefined {
  const cursor = new ElementCursor(bytes, start)
  for (let index = 0; cursor.next(); index += 1) {
    if (index >= from && !test(bytes, cursor.type, cursor.valueStart)) return index
  }
  return undefined
}

/** Schemas for the first elements of an array. Elements that are not there pass. */
export function itemListTest(schemas: readonly Schema[]): ElementTest {
  return onlyFor(isArray, (bytes, _, start) => {
    const cursor = new ElementCursor(bytes, start)
    for (const { test } of schemas) {
      if (!cursor.next()) return true
      if (!test(bytes, cursor.type, cursor.valueStart)) return false
    }
    return true
  })
}

/** A value and the bytes that it is in. */
export interface Part {
  readonly bytes: Uint8Array
  /** 0: it is missing. */
  readonly type: number
  readonly start: number
}

const missing: Part = { bytes: new Uint8Array(), type: 0, start: 0 }

/** The property of an object. A dot leads into an object, as in MongoDB. */
export function propertyOf(bytes: Uint8Array, start: number, name: string): Part {
  let part: Part = { bytes, type: bsonType.document, start }
  for (const step of name.split('.')) {
    part = part.type === bsonType.document ? fieldOf(part, step) : missing
  }
  return part
}

function fieldOf({ bytes, start }: Part, name: string): Part {
  const wanted = Buffer.from(name)
  const at = findElement(bytes, start, wanted)
  return at === -1 ? missing : { bytes, type: bytes[at]!, start: at + wanted.length + 2 }
}

/** One walk over the object, whatever the number of properties. */
export function propertiesTest(properties: readonly PropertyRule[]): ElementTest {
  const direct = new Map(properties.filter(isDirect).map(property => [property.name, property]))
  const required = properties.filter(property => isDirect(property) && property.isRequired)
  const dotted = properties.filter(property => !isDirect(property))
  return onlyFor(isObject, (bytes, _, start) => {
    const cursor = new ElementCursor(bytes, start)
    const found = new Set<string>()
    while (cursor.next()) {
      const name = cursor.name()
      const property = direct.get(name)
      // Of duplicate names the first counts.
      if (property === undefined || found.has(name)) continue
      found.add(name)
      if (!property.schema.test(bytes, cursor.type, cursor.valueStart)) return false
    }
    for (const { name, schema } of required) if (!found.has(name) && !schema.test(bytes, 0, 0)) return false
    return dotted.every(property => holdsProperty(property, bytes, start))
  })
}

function isDirect({ name }: PropertyRule): boolean {
  return !name.includes('.')
}

export function holdsProperty({ name, schema, isRequired }: PropertyRule, bytes: Uint8Array, start: number): boolean {
  const part = propertyOf(bytes, start, name)
  return part.type === 0 && !isRequired ? true : schema.test(part.bytes, part.type, part.start)
}

/** Tests the properties that match a pattern, and the other properties that are not named. */
export function otherPropertiesTest(
  named: ReadonlySet<string>,
  patterns: readonly PatternRule[],
  others: 'any' | 'none' | Schema,
): ElementTest {
  return onlyFor(isObject, (bytes, _, start) => {
    const cursor = new ElementCursor(bytes, start)
    while (cursor.next()) {
      const name = cursor.name()
      let isOther = !named.has(name)
      for (const { isNamed, schema } of patterns) {
        if (!isNamed(name)) continue
        isOther = false
        if (!schema.test(bytes, cursor.type, cursor.valueStart)) return false
      }
      if (!isOther || others === 'any') continue
      if (others === 'none' || !others.test(bytes, cursor.type, cursor.valueStart)) return false
    }
    return true
  })
}

/** Whether an object has a property. One walk over the object answers for any number of names. */
function propertyFinder(bytes: Uint8Array, start: number): (name: string) => boolean {
  const names = new Set<string>()
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) names.add(cursor.name())
  return name => (name.includes('.') ? propertyOf(bytes, start, name).type !== 0 : names.has(name))
}

/** The names of the properties that an object does not have. */
export function missingOf(names: readonly string[], bytes: Uint8Array, start: number): string[] {
  const has = propertyFinder(bytes, start)
  return names.filter(name => !has(name))
}

/** The dependencies that an object breaks. */
export function brokenOf(rules: readonly DependencyRule[], bytes: Uint8Array, start: number): DependencyRule[] {
  const has = propertyFinder(bytes, start)
  return rules.filter(({ name, needs }) => {
    if (!has(name)) return false
    return 'test' in needs ? !needs.test(bytes, bsonType.document, start) : !needs.every(has)
  })
}

/** Whether exactly one of the schemas matches. */
export function oneOfTest(schemas: readonly Schema[]): ElementTest {
  return (bytes, type, start) => {
    let matching = 0
    for (const { test } of schemas) {
      if (test(bytes, type, start)) matching += 1
      if (matching > 1) return false
    }
    return matching === 1
  }
}
