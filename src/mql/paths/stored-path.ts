/**
 * Following a dotted path through a stored document, as queries understand it.
 *
 * An array in the way is entered: its elements that are documents are each followed, and a part of the path
 * that is a number also means the element at that place. Arrays directly within arrays are entered only by a
 * number. What stands at the end of the path is looked at; if it is an array, each of its elements as well,
 * and last the array itself. A path that leads nowhere is looked at as a missing value, type 0, except where
 * it ends in an array without suitable elements.
 */

import { pathParts } from '../../document/bson/dotted-path.ts'
import { bsonType } from '../../document/bson/types.ts'
import { ElementCursor, findElement } from '../../document/bson/view.ts'

/** Where in an array the match was found, for the positional operator of updates and projections. */
export interface Trace {
  /** The place in the outermost array that was entered for the last of the conditions, or -1. */
  position: number
}

/** Looks at a value where it lies. A missing one has the type 0. */
export type ElementTest = (bytes: Uint8Array, type: number, start: number, trace?: Trace) => boolean

/** Looks at a document, or a document within one, that begins at `start`. */
export type DocumentTest = (bytes: Uint8Array, start: number, trace: Trace | undefined) => boolean

/**
 * A test of what stands at a path, in two steps so that several of them can share one walk through the
 * document.
 */
export interface PathTest {
  /** The first part of the path, in UTF-8. */
  readonly name: Uint8Array
  /** Goes on from the value that the first part leads to. */
  readonly follow: (bytes: Uint8Array, type: number, start: number, trace: Trace | undefined) => boolean
}

export interface PathOptions {
  /**
   * Whether the elements of an array at the end of the path are looked at one by one, and not only the array.
   */
  readonly entersLastArray: boolean
}

export function pathTest(path: string, test: ElementTest, { entersLastArray }: PathOptions): PathTest {
  const parts = pathParts(path.split('.'))
  const { length } = parts

  /** The value of the part before `at`. */
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
      // Addressed by its number, an element is not entered once more.
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

/** The test of a whole document. */
export function documentTest({ name, follow }: PathTest): DocumentTest {
  return (bytes, start, trace) => {
    const element = findElement(bytes, start, name)
    return element === -1
      ? follow(bytes, 0, 0, trace)
      : follow(bytes, bytes[element]!, element + name.length + 2, trace)
  }
}
