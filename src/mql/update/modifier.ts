/**
 * What an update operator is to the document it changes: a function from the bytes of a value to the bytes of
 * another.
 *
 * Values stay where they lie. A modifier answers with a piece of the update itself, of the document, or with
 * bytes that it made; whoever applies it copies them. So nothing that an update does not touch is ever
 * decoded.
 */

import { bytesOf } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { type Value, valueAt } from '../../document/bson/value.ts'
import { ElementCursor, endOfValue, findElement } from '../../document/bson/view.ts'
import { printValue } from '../words/print.ts'

/** A value in bytes, without its name. */
export interface RawValue {
  readonly type: number
  readonly bytes: Uint8Array
  readonly start: number
  /** The first position behind it. */
  readonly end: number
}

/** What only the one who applies an update knows. */
export interface UpdateContext {
  /** Where in an array the filter found its match: what `$` in a path stands for. */
  readonly position?: number | undefined
  /** The document is about to be inserted by an upsert. */
  readonly isInsert: boolean
  /** The moment of the operation: what `$currentDate` sets, as a date and as a timestamp. */
  readonly now: { readonly epochMs: number; readonly timestamp: bigint }
}

/** Where a modifier is applied. */
export interface Site {
  /** The document as it was before the update. */
  readonly document: Uint8Array
  readonly context: UpdateContext
  readonly isInArray: boolean
  /** The whole path, with the places of arrays in it. */
  path(): string
  /** The value that this rename moves, if the document has it. */
  moved(rename: Rename): RawValue | undefined
}

/** A value that takes another name. It is two modifiers: one where the value is, one where it goes. */
export interface Rename {
  readonly from: readonly string[]
  readonly to: readonly string[]
}

/** Stands for a value that goes. */
export const removed = Symbol('removed')

export interface Modifier {
  /**
   * `create`: where nothing is, `create` is asked for a value, and the path to it is made. `traverse`:
   * nothing happens, but the path must be one that could be made. `ignore`: nothing happens.
   */
  readonly whenMissing: 'create' | 'traverse' | 'ignore'
  /** What takes the place of the present value. Undefined: it stays as it is. */
  change(current: RawValue, site: Site): RawValue | typeof removed | undefined
  /** What is put where nothing is. Undefined: nothing. */
  create(site: Site): RawValue | undefined
}

/** Makes a modifier of what an update says about one path. */
export type ModifierFactory = (operand: Value, path: string) => Modifier

export function rawValue(value: Value): RawValue {
  const { bytes, start } = bytesOf(value)
  return { type: value.type, bytes, start, end: endOfValue(bytes, value.type, start) }
}

export function decoded({ bytes, type, start }: RawValue): Value {
  return valueAt(bytes, type, start)
}

/** The same to the last bit. */
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

/** The value at which a cursor stands. */
export function valueUnder({ bytes, type, valueStart, valueEnd }: ElementCursor): RawValue {
  return { bytes, type, start: valueStart, end: valueEnd }
}

/** The field of a document. */
export function fieldAt(bytes: Uint8Array, documentStart: number, name: Uint8Array): RawValue | undefined {
  const at = findElement(bytes, documentStart, name)
  if (at === -1) return undefined
  const type = bytes[at]!
  const start = at + name.length + 2
  return { bytes, type, start, end: endOfValue(bytes, type, start) }
}

export function isContainer(type: number): boolean {
  return type === bsonType.document || type === bsonType.array
}

function isNested(type: number): boolean {
  return isContainer(type) || type === bsonType.codeWithScope
}

/**
 * Documents within documents, counted with the outermost; of other values none. It recurses as deep as
 * validated bytes nest.
 */
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

/** How much of a value a message shows. */
const shownCharsMax = 200

export function shownValue(value: RawValue): string {
  // Printing decodes all of a document, of which a message needs little.
  if (value.end - value.start > 64 * shownCharsMax) return '...'
  const text = printValue(decoded(value))
  return text.length <= shownCharsMax ? text : `${text.slice(0, shownCharsMax)}...`
}

/** A field as messages show it. */
export function shown(name: string, value: RawValue): string {
  return `${name}: ${shownValue(value)}`
}

/** A field of an update as messages show it. */
export function shownOperand(name: string, operand: Value): string {
  return shown(name, rawValue(operand))
}

const idName = Buffer.from('_id')

/** How messages name a document. */
export function shownId(document: Uint8Array): string {
  const id = fieldAt(document, 0, idName)
  return id === undefined ? 'no id' : shown('_id', id)
}
