/**
 * Projections of find: copies parts of a stored document into a new one.
 *
 * A projection either includes or excludes the fields it names; `_id` is included unless excluded. Fields
 * keep their order in the document; computed fields follow in the order of the projection. Paths go through
 * arrays to every document in them.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'
import type { ElementTest } from '../paths/stored-path.ts'
import {
  type ProjectionNode,
  type ProjectionOptions,
  type ProjectionPlan,
  parseProjection,
} from './parse-projection.ts'

export interface Projection {
  /** Whether the positional operator is used. Then `project` needs the index of the match. */
  readonly isPositional: boolean
  project(document: Uint8Array, position?: number): Uint8Array
  /** The projection as the command sent it. */
  readonly spec: BsonDocument
}

export function compileProjection(spec: BsonDocument, options: ProjectionOptions): Projection {
  const { node, isInclusion, isPositional } = parseProjection(spec, options)
  if (node.fields.size === 0 && !isInclusion) return { spec, isPositional: false, project: document => document }
  return {
    spec,
    isPositional,
    project: (document, position) => {
      const run: Run = { document, isInclusion, position, writer: new BsonWriter(document.length + 64) }
      projectDocument(run, node, 0)
      return run.writer.bytes()
    },
  }
}

interface Run {
  readonly document: Uint8Array
  readonly isInclusion: boolean
  readonly position: number | undefined
  readonly writer: BsonWriter
}

/** Recurses as deep as the projection nests. */
function projectDocument(run: Run, node: ProjectionNode, start: number): void {
  const { document, writer, isInclusion } = run
  const opened = writer.open()
  const cursor = new ElementCursor(document, start)
  const entered = new Set<ProjectionNode>()
  // Adjacent kept fields are copied in one piece.
  let keptFrom = -1
  let elementStart = cursor.valueEnd
  const copyKept = (end: number) => {
    if (keptFrom !== -1) writer.raw(document, keptFrom, end)
    keptFrom = -1
  }
  while (cursor.next()) {
    const plan = node.fields.get(cursor.name())
    const isKept = plan === undefined ? !isInclusion : plan.kind === 'keep'
    if (isKept) {
      if (keptFrom === -1) keptFrom = elementStart
    } else {
      copyKept(elementStart)
      if (plan !== undefined) projectField(run, plan, cursor, entered)
    }
    elementStart = cursor.valueEnd
  }
  copyKept(elementStart)
  writeComputed(run, node, entered)
  writer.close(opened)
}

/** Writes computed fields, and creates missing documents on their paths. */
function writeComputed(
  { document, writer }: Pick<Run, 'document' | 'writer'>,
  node: ProjectionNode,
  entered: ReadonlySet<ProjectionNode>,
): void {
  for (const [name, part] of node.computed) {
    if (typeof part === 'function') {
      const value = part(document)
      if (value !== undefined) writer.field(name, value)
    } else if (!entered.has(part)) {
      writer.name(bsonType.document, name)
      const opened = writer.open()
      writeComputed({ document, writer }, part, entered)
      writer.close(opened)
    }
  }
}

function projectField(run: Run, plan: ProjectionPlan, cursor: ElementCursor, entered: Set<ProjectionNode>): void {
  const { document, writer, isInclusion } = run
  const { type, valueStart, valueEnd, nameStart } = cursor
  switch (plan.kind) {
    case 'node':
      if (type === bsonType.document) {
        writer.raw(document, nameStart - 1, valueStart)
        projectDocument(run, plan.node, valueStart)
        entered.add(plan.node)
      } else if (type === bsonType.array) {
        writer.raw(document, nameStart - 1, valueStart)
        projectArray(run, plan.node, valueStart)
        entered.add(plan.node)
      } else if (!isInclusion) {
        writer.raw(document, nameStart - 1, valueEnd)
      }
      return
    case 'slice':
      writer.raw(document, nameStart - 1, valueStart)
      if (type === bsonType.array) sliceArray(run, plan, valueStart)
      else writer.raw(document, valueStart, valueEnd)
      return
    case 'elemMatch':
      if (type === bsonType.array) firstMatch(run, plan.test, cursor)
      return
    case 'positional':
      writer.raw(document, nameStart - 1, valueStart)
      if (type === bsonType.array) elementAt(run, valueStart)
      else if (type === bsonType.document && plan.node !== undefined) projectDocument(run, plan.node, valueStart)
      else writer.raw(document, valueStart, valueEnd)
      return
    default:
  }
}

/**
 * Projects every document in an array on the path, also in nested arrays. Other elements are kept by an
 * exclusion and dropped by an inclusion.
 */
function projectArray(run: Run, node: ProjectionNode, start: number): void {
  const { document, writer, isInclusion } = run
  const opened = writer.open()
  const cursor = new ElementCursor(document, start)
  let count = 0
  while (cursor.next()) {
    const isNested = cursor.type === bsonType.document || cursor.type === bsonType.array
    if (isInclusion && !isNested) continue
    writer.name(cursor.type, String(count++))
    if (cursor.type === bsonType.document) projectDocument(run, node, cursor.valueStart)
    else if (cursor.type === bsonType.array) projectArray(run, node, cursor.valueStart)
    else writer.raw(document, cursor.valueStart, cursor.valueEnd)
  }
  writer.close(opened)
}

/** Writes some elements of an array, renumbered from zero. */
function writeElements({ document, writer }: Run, start: number, isWanted: (index: number) => boolean): void {
  const opened = writer.open()
  const cursor = new ElementCursor(document, start)
  let count = 0
  for (let index = 0; cursor.next(); index += 1) {
    if (!isWanted(index)) continue
    writer.name(cursor.type, String(count++))
    writer.raw(document, cursor.valueStart, cursor.valueEnd)
  }
  writer.close(opened)
}

function lengthOf(document: Uint8Array, start: number): number {
  const cursor = new ElementCursor(document, start)
  let length = 0
  while (cursor.next()) length += 1
  return length
}

/** A negative index counts from the end. */
function sliceArray(run: Run, { skip, limit }: { readonly skip: number; readonly limit: number }, start: number): void {
  const from = skip < 0 ? Math.max(0, lengthOf(run.document, start) + skip) : skip
  writeElements(run, start, index => index >= from && index < from + limit)
}

function firstMatch(run: Run, test: ElementTest, { nameStart, valueStart }: ElementCursor): void {
  const elements = new ElementCursor(run.document, valueStart)
  for (let index = 0; elements.next(); index += 1) {
    if (!test(run.document, elements.type, elements.valueStart)) continue
    run.writer.raw(run.document, nameStart - 1, valueStart)
    writeElements(run, valueStart, each => each === index)
    return
  }
}

function elementAt(run: Run, start: number): void {
  const { position } = run
  if (position === undefined) {
    throw new MongoError(
      51246,
      "Executor error during find command :: caused by :: positional operator '.$' couldn't find a matching " +
        'element in the array',
    )
  }
  if (position >= lengthOf(run.document, start)) {
    throw new MongoError(
      51247,
      "Executor error during find command :: caused by :: positional operator '.$' element mismatch",
    )
  }
  writeElements(run, start, index => index === position)
}
