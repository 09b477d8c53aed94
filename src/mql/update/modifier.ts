/**
 * An update operator as a function from the bytes of one value to the bytes of another.
 *
 * Values are not copied. A modifier returns a slice of the update, a slice of the document, or bytes that it
 * made; the caller copies them. So the untouched parts of a document are never decoded.
 */

import { bytesOf, compareAt } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type Value, valueAt } from '../../document/bson/value.ts'
import { ElementCursor, endOfValue, findElement } from '../../document/bson/view.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { printValue } from '../errors/print.ts'

/** An encoded value without its name. */
export interface RawValue {
  readonly type: number
  readonly bytes: Uint8Array
  readonly start: number
  /** The offset just after the value. */
  readonly end: number
}

/** Facts that the caller of an update supplies. */
export interface UpdateContext {
  /** The array index at which the filter matched; `$` in a path stands for it. */
  readonly position?: number | undefined
  /** Whether an upsert is about to insert the document. */
  readonly isInsert: boolean
  /** The time of the operation, which `$currentDate` sets as a date or a timestamp. */
  readonly now: { readonly epochMs: number; readonly timestamp: bigint }
}

/** Where a modifier is applied. */
export interface Site {
  /** The document as it was before the update. */
  readonly document: Uint8Array
  readonly context: UpdateContext
  readonly isInArray: boolean
  /** The whole path, with array indexes filled in. */
  path(): string
  /** The value that this rename moves, if the document has it. */
  moved(rename: Rename): RawValue | undefined
}

/** A value that gets another name. It becomes two modifiers: one at the source, one at the target. */
export interface Rename {
  readonly from: readonly string[]
  readonly to: readonly string[]
}

/** Result of a modifier that removes the value. */
export const removed = Symbol('removed')

export interface Modifier {
  /**
   * What happens when the value is missing. `create`: `create` is called, and the path to its value is made.
   * `traverse`: nothing happens, but the path must be possible. `ignore`: nothing happens.
   */
  readonly whenMissing: 'create' | 'traverse' | 'ignore'
  /** The new value, or undefined to keep the current one. */
  change(current: RawValue, site: Site): RawValue | typeof removed | undefined
  /** The value for a missing field, or undefined to leave it missing. */
  create(site: Site): RawValue | undefined
}

/** Makes a modifier from the operand that an update gives for one path. */
export type ModifierFactory = (operand: Value, path: string, collation: Collation | undefined) => Modifier

/** In the order of all values. */
export function compareRaw(left: RawValue, right: RawValue, collation: Collation | undefined): number {
  return compareAt(left.bytes, left.type, left.start, right.bytes, right.type, right.start, collation)
}

export function rawValue(value: Value): RawValue {
  const { bytes, start } = bytesOf(value)
  return { type: value.type, bytes, start, end: endOfValue(bytes, value.type, start) }
}

export function decoded({ bytes, type, start }: RawValue): Value {
  return valueAt(bytes, type, start)
}

/** Whether two values have the same bytes. */
export function isSame(left: RawValue, right: RawValue): boolean {
  const length = left.end - left.start
  if (left.type !== right.type || right.end - right.start !== length) return false
  for (let at = 0; at < length; at += 1) {
    if (left.bytes[left.start + at] !== right.bytes[right.start + at]) return false
  }
  return true
}

export function elementsOf({ bytes, start }: RawValue): RawValue[] {
  const elements: RawValue[] = []
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) elements.push(valueUnder(cursor))
  return elements
}

/** The value under the cursor. */
export function valueUnder({ bytes, type, valueStart, valueEnd }: ElementCursor): RawValue {
  return { bytes, type, start: valueStart, end: valueEnd }
}

/** Finds a field of a document by name. */
export function fieldAt(bytes: Uint8Array, documentStart: number, name: Uint8Array): RawValue | undefined {
  const at = findElement(bytes, documentStart, name)
  if (at === -1) return undefined
  const type = bytes[at]!
  const start = at + name.length + 2
  return { bytes, type, start, end: endOfValue(bytes, type, start) }
}

export function isDocumentOrArray(type: number): boolean {
  return type === bsonType.document || type === bsonType.array
}

function isNested(type: number): boolean {
  return isDocumentOrArray(type) || type === bsonType.codeWithScope
}

/** Nesting depth: 1 for a flat document or array, 0 for a scalar. Validation bounds the recursion. */
export function levelsOf({ bytes, type, start }: RawValue): number {
  if (!isNested(type)) return 0
  let deepest = 0
  const isCode = type === bsonType.codeWithScope
  const cursor = new ElementCursor(bytes, isCode ? endOfValue(bytes, bsonType.string, start + 4) : start)
  while (cursor.next()) if (isNested(cursor.type)) deepest = Math.max(deepest, levelsOf(valueUnder(cursor)))
  return deepest + 1
}

export function levelsOfOperand(operand: Value): number {
  return isNested(operand.type) ? levelsOf(rawValue(operand)) : 0
}

/** Most characters of a value that a message shows. */
const messageCharsMax = 200

export function printRawValue(value: RawValue): string {
  // Printing decodes the whole document, but a message needs little of it.
  if (value.end - value.start > 64 * messageCharsMax) return '...'
  const text = printValue(decoded(value))
  return text.length <= messageCharsMax ? text : `${text.slice(0, messageCharsMax)}...`
}

/** Formats a field for a message. */
export function printRawField(name: string, value: RawValue): string {
  return `${name}: ${printRawValue(value)}`
}

/** Formats a field of an update for a message. */
export function printOperandField(name: string, operand: Value): string {
  return printRawField(name, rawValue(operand))
}

const idName = Buffer.from('_id')

/** Formats the `_id` of a document for a message. */
export function printIdField(document: Uint8Array): string {
  const id = fieldAt(document, 0, idName)
  return id === undefined ? 'no id' : printRawField('_id', id)
}
