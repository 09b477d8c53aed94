/**
 * The values that a document has at the paths of an index or a sort: one tuple, or several if there is an
 * array.
 *
 *   { a: 1, b: 2 }                       by a, b        (1, 2)
 *   { a: [1, 2], b: 3 }                  by a, b        (1, 3) (2, 3)
 *   { a: [{ b: 1, c: 2 }, { b: 3 }] }    by a.b, a.c    (1, 2) (3, null)
 *   { a: [] }                            by a           (undefined)
 *
 * A missing value counts as null. An array directly within an array is not entered. A number in a path means
 * the element with that index, unless elements of the array have a field of that name. Two paths into two
 * different arrays would make a tuple for each pair of elements; this is refused, as MongoDB does.
 */

import { RequestError } from '../../base/error.ts'
import type { PathPart } from './dotted-path.ts'
import { bsonType } from './types.ts'
import { ElementCursor, findElement, textAt } from './view.ts'

/** A value of the document. Type `null` or `undefined` may stand for a missing value, without bytes. */
export interface KeyValue {
  readonly type: number
  readonly start: number
}

export type KeyTuple = readonly KeyValue[]

/** The paths lead into two different arrays. */
export class ParallelArrays extends RequestError {
  /** The fields that hold the arrays. */
  readonly fields: readonly [string, string]

  constructor(fields: readonly [string, string]) {
    super('malformed', `cannot index parallel arrays [${fields[0]}] [${fields[1]}]`)
    this.fields = fields
  }
}

export interface TupleOptions {
  /** An array at the end of a path counts as a value too, besides its elements. */
  readonly includesArrays: boolean
  /** Most tuples wanted. The walk stops one later, so a longer result means too many. */
  readonly tuplesMax: number
}

const missing: KeyValue = { type: bsonType.null, start: 0 }
const emptyArray: KeyValue = { type: bsonType.undefined, start: 0 }

/** How far a path has been followed. */
interface Walk extends KeyValue {
  /** Index of the next part of the path; -1 when the value is final. */
  readonly at: number
  /** The name of the field that holds the value, for error messages. */
  readonly nameStart: number
  readonly nameEnd: number
}

function final({ type, start }: KeyValue): Walk {
  return { type, start, at: -1, nameStart: 0, nameEnd: 0 }
}

export function keyTuples(
  bytes: Uint8Array,
  paths: readonly (readonly PathPart[])[],
  options: TupleOptions,
): readonly KeyTuple[] {
  const begin: Walk = { type: bsonType.document, start: 0, at: 0, nameStart: 0, nameEnd: 0 }
  const tuples: KeyTuple[] = []
  addTuples(
    bytes,
    paths,
    paths.map(() => begin),
    options,
    tuples,
  )
  return tuples
}

/** Recursion depth: the number of arrays on the way, at most the nesting of documents. */
function addTuples(
  bytes: Uint8Array,
  paths: readonly (readonly PathPart[])[],
  walks: readonly Walk[],
  options: TupleOptions,
  tuples: KeyTuple[],
): void {
  if (tuples.length > options.tuplesMax) return
  const stops = walks.map((walk, index) => (walk.at === -1 ? walk : follow(bytes, paths[index]!, walk)))
  const array = stops.find(stop => stop.at !== -1)
  if (array === undefined) {
    tuples.push(stops)
    return
  }
  for (const other of stops) {
    if (other.at !== -1 && other.start !== array.start) {
      throw new ParallelArrays([
        textAt(bytes, other.nameStart, other.nameEnd),
        textAt(bytes, array.nameStart, array.nameEnd),
      ])
    }
  }
  const within = (ofLast: KeyValue, ofOthers: (stop: Walk) => Walk) =>
    stops.map((stop, index) => {
      if (stop.at === -1) return stop
      return stop.at === paths[index]!.length ? final(ofLast) : ofOthers(stop)
    })
  const isLast = stops.some((stop, index) => stop.at === paths[index]!.length)
  const whole: KeyValue = { type: bsonType.array, start: array.start }
  const each = (element: KeyValue, ofOthers: (stop: Walk) => Walk) => {
    addTuples(bytes, paths, within(element, ofOthers), options, tuples)
    if (isLast && options.includesArrays) addTuples(bytes, paths, within(whole, ofOthers), options, tuples)
  }
  const cursor = new ElementCursor(bytes, array.start)
  let isEmpty = true
  while (cursor.next() && tuples.length <= options.tuplesMax) {
    isEmpty = false
    const element = { type: cursor.type, start: cursor.valueStart }
    const isDocument = cursor.type === bsonType.document
    each(element, stop => (isDocument ? { ...stop, ...element } : final(missing)))
  }
  if (isEmpty) each(emptyArray, () => final(missing))
}

/** Follows the path until the value is final or an array must be entered. */
function follow(bytes: Uint8Array, path: readonly PathPart[], walk: Walk): Walk {
  let { type, start, at, nameStart, nameEnd } = walk
  while (at < path.length) {
    const { name, isNumber } = path[at]!
    let element: number
    if (type === bsonType.document) {
      element = findElement(bytes, start, name)
      if (element === -1) return final(missing)
    } else if (type === bsonType.array) {
      element = isNumber && !hasField(bytes, start, name) ? findElement(bytes, start, name) : -1
      if (element === -1) {
        // An index beyond the end of the array finds nothing.
        return isNumber && !hasField(bytes, start, name) ? final(missing) : { type, start, at, nameStart, nameEnd }
      }
    } else {
      return final(missing)
    }
    type = bytes[element]!
    nameStart = element + 1
    nameEnd = nameStart + name.length
    start = nameEnd + 1
    at += 1
  }
  return type === bsonType.array ? { type, start, at, nameStart, nameEnd } : final({ type, start })
}

/** Whether an element of the array is a document with this field. */
function hasField(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) {
    if (cursor.type === bsonType.document && findElement(bytes, cursor.valueStart, name) !== -1) return true
  }
  return false
}
