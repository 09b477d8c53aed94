/**
 * Filters over stored documents: compiled once, then run over the bytes of each document without decoding it.
 *
 * Conditions on different fields of one document share one walk over it (measured: 306 ns for three of them
 * instead of 547).
 */

import { assert } from '../../base/error.ts'
import { spend } from '../../base/work.ts'
import { truncatedInteger } from '../../document/bson/number.ts'
import { bsonType, isNumberType } from '../../document/bson/types.ts'
import { BsonDocument, type NumericValue, type Value, valueAt } from '../../document/bson/value.ts'
import { ElementCursor, endOfName, endOfValue } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { IndexHint } from '../../query/demands.ts'
import { MongoError } from '../errors/mongo-error.ts'
import type { CommandVariables } from '../expressions/core/scope.ts'
import type { Sort } from '../paths/sort-order.ts'
import {
  type DocumentTest,
  documentTest,
  type ElementTest,
  type PathTest,
  pathTest,
  type Trace,
} from '../paths/stored-path.ts'
import { bitsTest } from './bits.ts'
import { comparisonTest, listTest } from './comparison.ts'
import type { Condition, Filter, FilterContext } from './filter.ts'
import { geoTest, nearOrder } from './geo-match.ts'
import { parseFilter, parseLater } from './parse-filter.ts'
import { regexTest } from './regex.ts'

export interface MatchOptions {
  /** How strings compare. Patterns do not follow it. */
  readonly collation?: Collation | undefined
  /** Compiles the operand of `$expr`. */
  readonly expression?: (spec: Value) => (document: Uint8Array) => boolean
}

export interface Matcher {
  readonly filter: Filter
  matches(document: Uint8Array): boolean
  /**
   * The array index at which a matching document matches, for `$` in updates and projections. The last
   * condition that entered an array decides; its outermost array counts. Undefined when no condition entered
   * an array.
   */
  position(document: Uint8Array): number | undefined
  /** The sort order that `$near` asks for. */
  readonly order: Sort | undefined
  /** The index that the client asks for. */
  readonly hint?: IndexHint | undefined
  readonly collation: Collation | undefined
  /** The filter as sent. Undefined if it can only run where it was compiled. */
  readonly spec?: FilterSpec | undefined
}

/** A filter as the command sent it. */
export interface FilterSpec {
  readonly filter: BsonDocument
  readonly variables: CommandVariables
  readonly allowsNear: boolean
}

export function compileFilter(filter: BsonDocument, options: MatchOptions = {}, context?: FilterContext): Matcher {
  return compileParsed(parseFilter(filter, context), options)
}

export function compileParsed(filter: Filter, options: MatchOptions = {}): Matcher {
  const make = () => filterTest(filter, options)
  const test = sizeOf(filter) > sizeAtOnceMax ? whenNeeded(make) : make()
  return {
    filter,
    matches: document => test(document, 0, undefined),
    position: document => {
      const trace: Trace = { position: -1 }
      test(document, 0, trace)
      return trace.position === -1 ? undefined : trace.position
    },
    order: orderOf(filter),
    collation: options.collation,
  }
}

/**
 * A larger filter is compiled when the first document is tested. So compiling is part of work that can be
 * aborted and done in another thread; before, only `demands.ts` reads the filter. Compiling a filter of this
 * size takes about two milliseconds.
 */
const sizeAtOnceMax = 1000

/**
 * The size of a filter, for `sizeAtOnceMax`. A plain condition counts as one; others count by the time to
 * compile them. Counting stops above the limit.
 */
function sizeOf(filter: Filter): number {
  switch (filter.kind) {
    case 'and':
    case 'or':
    case 'nor': {
      let size = 0
      for (const each of filter.of) {
        size += sizeOf(each)
        if (size > sizeAtOnceMax) break
      }
      return size
    }
    case 'field':
      return sizeOfCondition(filter.condition)
    case 'expression':
      return 1 + bytesIn(filter.spec) / bytesAsOne
    default:
      return 1
  }
}

/** A regular expression takes longer than ten other conditions. */
const patternSize = 10
/** Bytes of an expression that count as one condition: about a name and an operand. */
const bytesAsOne = 16

function sizeOfCondition(condition: Condition): number {
  switch (condition.kind) {
    case 'regex':
      return patternSize
    case 'in':
      return condition.values.length + patternSize * condition.patterns.length
    case 'all':
    case 'elementValue':
      return condition.of.length > sizeAtOnceMax
        ? condition.of.length
        : condition.of.reduce((sum, each) => sum + sizeOfCondition(each), 0)
    case 'not':
      return sizeOfCondition(condition.of)
    case 'elementDocument':
      return sizeOf(condition.of)
    default:
      return 1
  }
}

function bytesIn(value: Value): number {
  const raw = value.type === bsonType.document || value.type === bsonType.array ? value.raw : undefined
  return raw === undefined ? 0 : raw.end - raw.start
}

function whenNeeded(make: () => DocumentTest): DocumentTest {
  let made: DocumentTest | undefined
  return (bytes, start, trace) => {
    made ??= make()
    return made(bytes, start, trace)
  }
}

function orderOf(filter: Filter): Sort | undefined {
  if (filter.kind === 'field') {
    return filter.condition.kind === 'near' ? nearOrder(filter.path, filter.condition) : undefined
  }
  return filter.kind === 'and' ? filter.of.map(orderOf).find(order => order !== undefined) : undefined
}

/** A filter on one named value, such as the array filters of updates: `{ "elem.grade": 5 }`. */
export function compileElementFilter(filter: BsonDocument, name: string, options: MatchOptions = {}): ElementTest {
  const test = filterTest(parseFilter(filter), options)
  return (bytes, type, start) => {
    const writer = new BsonWriter()
    const document = writer.open()
    if (type !== 0) {
      writer.name(type, name)
      writer.raw(bytes, start, endOfValue(bytes, type, start))
    }
    writer.close(document)
    return test(writer.bytes(), 0, undefined)
  }
}

/** Compiles the operand of `$elemMatch` into a test of one array element. */
export function compileElemMatch(operand: BsonDocument, options: MatchOptions = {}): ElementTest {
  const filter = parseFilter(BsonDocument.of([['', BsonDocument.of([['$elemMatch', operand]])]]))
  assert(filter.kind === 'field', 'one condition on one path is one filter')
  const { condition } = filter
  assert(condition.kind === 'elementValue' || condition.kind === 'elementDocument', '$elemMatch is about elements')
  return innerTest(condition, options)
}

function filterTest(filter: Filter, options: MatchOptions): DocumentTest {
  switch (filter.kind) {
    case 'and':
      return everyTest(filter.of, options)
    case 'or': {
      const tests = filter.of.map(each => filterTest(each, options))
      return (bytes, start, trace) => tests.some(test => test(bytes, start, trace))
    }
    case 'nor': {
      const tests = filter.of.map(each => filterTest(each, options))
      return (bytes, start) => !tests.some(test => test(bytes, start, undefined))
    }
    case 'field':
      return everyTest([filter], options)
    case 'always':
      return () => filter.holds
    case 'schema': {
      const { test } = filter.schema
      return (bytes, start) => test(bytes, bsonType.document, start)
    }
    case 'later':
      return whenNeeded(() => filterTest(parseLater(filter), options))
    case 'expression': {
      if (options.expression === undefined) throw new MongoError(224, '$expr is not allowed in this context')
      const holds = options.expression(filter.spec)
      return bytes => holds(bytes)
    }
  }
}

function everyTest(filters: readonly Filter[], options: MatchOptions): DocumentTest {
  const paths: PathTest[] = []
  const tests: DocumentTest[] = []
  const add = (filter: Filter): void => {
    if (filter.kind === 'and') filter.of.forEach(add)
    else if (filter.kind === 'field') paths.push(...fieldTests(filter.path, filter.condition, options))
    else tests.push(filterTest(filter, options))
  }
  filters.forEach(add)
  const shared = paths.length === 0 ? [] : [sharedWalk(paths)]
  const fast = [...shared, ...tests]
  let slow: readonly DocumentTest[] | undefined
  const [first, second] = fast
  if (first === undefined) return () => true
  return (bytes, start, trace) => {
    // With a trace, the last condition decides, so they run one after another.
    if (trace !== undefined) {
      slow ??= [...paths.map(documentTest), ...tests]
      return slow.every(test => test(bytes, start, trace))
    }
    return second === undefined ? first(bytes, start, trace) : fast.every(test => test(bytes, start, trace))
  }
}

/** Making a test takes about two microseconds. */
const testSteps = 100

/** The tests of a condition on a path. `not` and `all` apply to everything that the path leads to. */
function fieldTests(path: string, condition: Condition, options: MatchOptions): PathTest[] {
  spend(testSteps)
  switch (condition.kind) {
    case 'not': {
      const inner = fieldTests(path, condition.of, options)
      const { name } = pathTest(path, () => true, { entersLastArray: false })
      return [
        { name, follow: (bytes, type, start) => !inner.every(({ follow }) => follow(bytes, type, start, undefined)) },
      ]
    }
    case 'all':
      return condition.of.flatMap(each => fieldTests(path, each, options))
    default: {
      const isAboutArrays = ['size', 'elementValue', 'elementDocument'].includes(condition.kind)
      return [pathTest(path, elementTest(condition, options), { entersLastArray: !isAboutArrays })]
    }
  }
}

/** Runs all tests in one walk over the fields of the document. Of duplicate field names, the first counts. */
function sharedWalk(paths: readonly PathTest[]): DocumentTest {
  const groups = new Map<string, PathTest[]>()
  for (const path of paths) {
    const name = Buffer.from(path.name).toString('latin1')
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [path])
    else group.push(path)
  }
  const joined = [...groups.values()].map(joinedTest)
  const [single] = joined
  if (joined.length === 1) return documentTest(single!)
  // Fields that are not found yet are the bits of a number, so one walk takes at most 31 fields.
  if (joined.length > 31) {
    const tests = joined.map(documentTest)
    return (bytes, start, trace) => tests.every(test => test(bytes, start, trace))
  }
  return (bytes, start, trace) => {
    let pending = 2 ** joined.length - 1
    let at = start + 4
    for (let type = bytes[at]!; type !== 0; type = bytes[at]!) {
      const nameStart = at + 1
      const nameEnd = endOfName(bytes, nameStart)
      for (let index = 0; index < joined.length; index += 1) {
        const { name, follow } = joined[index]!
        if ((pending & (1 << index)) === 0 || !isSame(bytes, nameStart, nameEnd, name)) continue
        if (!follow(bytes, type, nameEnd + 1, trace)) return false
        pending &= ~(1 << index)
        if (pending === 0) return true
        break
      }
      at = endOfValue(bytes, type, nameEnd + 1)
    }
    for (let index = 0; index < joined.length; index += 1) {
      if ((pending & (1 << index)) !== 0 && !joined[index]!.follow(bytes, 0, 0, trace)) return false
    }
    return true
  }
}

function isSame(bytes: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false
  for (let at = 0; at < name.length; at += 1) if (bytes[start + at] !== name[at]) return false
  return true
}

function joinedTest(paths: readonly PathTest[]): PathTest {
  const [first, second, third] = paths
  if (second === undefined) return first!
  const { name } = first!
  if (third !== undefined) {
    return { name, follow: (bytes, type, start, trace) => paths.every(path => path.follow(bytes, type, start, trace)) }
  }
  const [one, other] = [first!.follow, second.follow]
  return {
    name,
    follow: (bytes, type, start, trace) => one(bytes, type, start, trace) && other(bytes, type, start, trace),
  }
}

/** The test of one value, in place. */
function elementTest(condition: Condition, options: MatchOptions): ElementTest {
  switch (condition.kind) {
    case 'compare':
      return comparisonTest(condition.operator, condition.value, options.collation)
    case 'in': {
      const equal = listTest(condition.values, options.collation)
      const patterns = condition.patterns.map(each => regexTest(each))
      if (patterns.length === 0) return equal
      return (bytes, type, start) => equal(bytes, type, start) || patterns.some(test => test(bytes, type, start))
    }
    case 'regex':
      return regexTest(condition)
    case 'exists':
      return (_, type) => type !== 0
    case 'type':
      return (_, type) => condition.types.has(type)
    case 'mod':
      return (bytes, type, start) => {
        const dividend = isNumberType(type) ? truncatedInteger(valueAt(bytes, type, start) as NumericValue) : undefined
        return dividend !== undefined && dividend % condition.divisor === condition.remainder
      }
    case 'size':
      return (bytes, type, start) => type === bsonType.array && hasLength(bytes, start, condition.size)
    case 'bits':
      return bitsTest(condition)
    case 'geoWithin':
    case 'geoIntersects':
    case 'near':
      return geoTest(condition)
    case 'elementValue':
    case 'elementDocument':
      return someElement(innerTest(condition, options))
    case 'not': {
      const test = elementTest(condition.of, options)
      return (bytes, type, start) => !test(bytes, type, start)
    }
    case 'all': {
      const tests = condition.of.map(each => elementTest(each, options))
      return (bytes, type, start) => tests.every(test => test(bytes, type, start))
    }
    case 'never':
      return () => false
  }
}

function innerTest(
  condition: Extract<Condition, { kind: 'elementValue' | 'elementDocument' }>,
  options: MatchOptions,
): ElementTest {
  if (condition.kind === 'elementValue') {
    const tests = condition.of.map(each => elementTest(each, options))
    return (bytes, type, start) => tests.every(test => test(bytes, type, start))
  }
  const test = filterTest(condition.of, options)
  // An array is stored like a document whose field names are numbers.
  return (bytes, type, start) =>
    (type === bsonType.document || type === bsonType.array) && test(bytes, start, undefined)
}

function someElement(test: ElementTest): ElementTest {
  return (bytes, type, start, trace) => {
    if (type !== bsonType.array) return false
    const cursor = new ElementCursor(bytes, start)
    for (let index = 0; cursor.next(); index += 1) {
      if (!test(bytes, cursor.type, cursor.valueStart)) continue
      if (trace !== undefined) trace.position = index
      return true
    }
    return false
  }
}

function hasLength(bytes: Uint8Array, start: number, length: number): boolean {
  const cursor = new ElementCursor(bytes, start)
  let count = 0
  while (count <= length && cursor.next()) count += 1
  return count === length
}
