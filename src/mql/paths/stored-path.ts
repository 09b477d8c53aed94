/**
 * Follows a dotted path through a stored document the way filters do.
 *
 * An array on the path is entered: the path continues in each element that is a document, and a part of the
 * path that is a number also means the element at that index. An array directly inside an array is entered
 * only by a number. The value at the end of the path is tested; if it is an array, its elements are tested
 * first and the array itself last. A path that leads nowhere is tested as a missing value, type 0, unless it
 * ends in an array without matching elements.
 */

import { pathParts } from '../../document/bson/dotted-path.ts'
import { bsonType } from '../../document/bson/types.ts'
import { ElementCursor, findElement } from '../../document/bson/view.ts'

/** Where in an array the match was found. The positional operator of updates and projections needs it. */
export interface Trace {
  /** Index in the outermost array that the last condition entered, or -1. */
  position: number
}

/** Tests an encoded value in place. A missing value has type 0. */
export type ElementTest = (bytes: Uint8Array, type: number, start: number, trace?: Trace) => boolean

/** Tests a document, or a nested one, that begins at `start`. */
export type DocumentTest = (bytes: Uint8Array, start: number, trace: Trace | undefined) => boolean

/**
 * A test of the values at a path, in two steps so that several tests can share one walk over the document.
 */
export interface PathTest {
  /** The first part of the path, in UTF-8. */
  readonly name: Uint8Array
  /** Continues from the value of the first part. */
  readonly follow: (bytes: Uint8Array, type: number, start: number, trace: Trace | undefined) => boolean
}

export interface PathOptions {
  /** Whether an array at the end of the path is also tested element by element. */
  readonly entersLastArray: boolean
}

export function pathTest(path: string, test: ElementTest, { entersLastArray }: PathOptions): PathTest {
  const parts = pathParts(path.split('.'))
  const { length } = parts

  /** Continues from the value of the part before `at`. */
  function follow(bytes: Uint8Array, type: number, start: number, at: number, trace: Trace | undefined): boolean {
    if (type === bsonType.array) {
      return at === length ? followLastArray(bytes, start, trace) : followArray(bytes, start, at, trace)
    }
    if (at === length) return test(bytes, type, start)
    return type === bsonType.document ? followDocument(bytes, start, at, trace) : test(bytes, 0, 0)
  }

  function followDocument(bytes: Uint8Array, start: number, at: number, trace: Trace | undefined): boolean {
    const { name } = parts[at]!
    const element = findElement(bytes, start, name)
    return element === -1
      ? follow(bytes, 0, 0, length, trace)
      : follow(bytes, bytes[element]!, element + name.length + 2, at + 1, trace)
  }

  function followLastArray(bytes: Uint8Array, start: number, trace: Trace | undefined): boolean {
    if (entersLastArray) {
      const cursor = new ElementCursor(bytes, start)
      for (let index = 0; cursor.next(); index += 1) {
        if (!test(bytes, cursor.type, cursor.valueStart)) continue
        if (trace !== undefined) trace.position = index
        return true
      }
    }
    return test(bytes, bsonType.array, start, trace)
  }

  function followArray(bytes: Uint8Array, start: number, at: number, trace: Trace | undefined): boolean {
    const { name, isNumber } = parts[at]!
    const isLast = at + 1 === length
    const cursor = new ElementCursor(bytes, start)
    for (let index = 0; cursor.next(); index += 1) {
      const { type, valueStart } = cursor
      if (type === bsonType.document && followDocument(bytes, valueStart, at, trace)) {
        if (trace !== undefined) trace.position = index
        return true
      }
      if (!isNumber || !isNamed(cursor, name)) continue
      // An element that the path names by its index is not entered again.
      if (isLast) {
        if (test(bytes, type, valueStart, trace)) return true
      } else if (type === bsonType.document) {
        if (followDocument(bytes, valueStart, at + 1, trace)) return true
      } else if (type === bsonType.array) {
        if (followArray(bytes, valueStart, at + 1, trace)) return true
      }
    }
    return false
  }

  return {
    name: parts[0]!.name,
    follow:
      length === 1
        ? (bytes, type, start, trace) =>
            type === bsonType.array ? followLastArray(bytes, start, trace) : test(bytes, type, start)
        : (bytes, type, start, trace) => follow(bytes, type, start, 1, trace),
  }
}

function isNamed({ bytes, nameStart, nameEnd }: ElementCursor, name: Uint8Array): boolean {
  if (nameEnd - nameStart !== name.length) return false
  for (let at = 0; at < name.length; at += 1) if (bytes[nameStart + at] !== name[at]) return false
  return true
}

/** Turns a path test into a test of a whole document. */
export function documentTest({ name, follow }: PathTest): DocumentTest {
  return (bytes, start, trace) => {
    const element = findElement(bytes, start, name)
    return element === -1
      ? follow(bytes, 0, 0, trace)
      : follow(bytes, bytes[element]!, element + name.length + 2, trace)
  }
}
