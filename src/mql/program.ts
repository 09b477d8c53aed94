/**
 * Find, count and distinct as programs that produce pages (query/program.ts).
 *
 *   without a sort    documents in the order in which they are found
 *   with a sort       by sort key: the sort's key, then the document in the direction of the first component
 */

import { isOutOfOrder, storedId } from '../document/bson/document-id.ts'
import { BsonArray, BsonDocument } from '../document/bson/value.ts'
import { encodeDocument } from '../document/bson/writer.ts'
import type { Program, SourceItem } from '../query/program.ts'
import { tieOf } from '../query/sort-key.ts'
import type { IdOrder } from '../query/statement.ts'
import { DistinctValues } from './distinct.ts'
import type { Matcher } from './filter/match.ts'
import type { Sort } from './paths/sort-order.ts'
import type { PipelineSpec } from './pipeline/pipeline.ts'
import type { Projection } from './projection/projection.ts'
import { documentBytes, type EachDocument } from './stages/stage.ts'

export interface FindQuery {
  readonly matcher: Matcher
  readonly sort?: Sort | undefined
  readonly skip?: number
  readonly limit?: number
  readonly projection?: Projection | undefined
  /** Whether equal documents come in reverse order. By default the first component of the sort decides. */
  readonly isTieReversed?: boolean | undefined
  /** Stages of a pipeline that run on each document, in place of a projection. */
  readonly each?: EachOfPipeline | undefined
  /** Set if documents are read in order of `_id`. */
  readonly idOrder?: IdOrder | undefined
}

/** Stages of a pipeline that process one document at a time, and the specification of that pipeline. */
export interface EachOfPipeline {
  readonly make: EachDocument
  readonly spec: PipelineSpec
}

export function findProgram(query: FindQuery): Program {
  const { matcher, sort, skip = 0, limit, projection, idOrder } = query
  const window = { first: skip, end: limit === undefined ? Number.POSITIVE_INFINITY : skip + limit }
  const rowsOf = query.each === undefined ? oneRowOf(rowMaker(matcher, projection)) : rowsOfEach(query.each.make)
  const shape = { distinct: undefined, prefersArrival: false, finish: () => {}, ...window }
  const order = idOrder === undefined ? (sort ?? matcher.order) : undefined
  if (order === undefined) {
    let isDone = false
    let hasLostOrder = false
    const isBehind = behind(idOrder)
    const mustBeOrdered = idOrder?.isWanted === true
    return {
      ...shape,
      order: 'source',
      accept: ({ document }, emit) => {
        const bytes = document as Uint8Array
        isDone = isBehind?.(bytes) === true
        hasLostOrder = !isDone && mustBeOrdered && isOutOfOrder(bytes)
        isDone ||= hasLostOrder
        if (!isDone && matcher.matches(bytes)) rowsOf(bytes, row => emit(row, undefined))
      },
      isDone: () => isDone,
      hasLostOrder: () => hasLostOrder,
    }
  }
  const isReverse = query.isTieReversed ?? order.components[0]?.isDescending ?? order.isReversed
  return {
    ...shape,
    order: 'sortKey',
    isOrderFree: true,
    accept: ({ document, sequence }, emit) => {
      const bytes = document as Uint8Array
      if (!matcher.matches(bytes)) return
      const key = order.keyOf(bytes)
      let at = 0
      rowsOf(bytes, row => emit(row, Buffer.concat([key, tieOf(sequence, at++, isReverse)])))
    },
  }
}

/** Calls `emit` for the rows of a document until it returns false. */
type RowsOf = (document: Uint8Array, emit: (row: Uint8Array) => boolean) => void

function oneRowOf(row: (document: Uint8Array) => Uint8Array): RowsOf {
  return (document, emit) => {
    emit(row(document))
  }
}

function rowsOfEach(each: EachDocument): RowsOf {
  return (document, emit) => {
    each(BsonDocument.view(document), made => emit(new Uint8Array(documentBytes(made))))
  }
}

/** Whether no document from this one on can pass the filter. Undefined if the order of ids does not tell. */
function behind(idOrder: IdOrder | undefined): ((document: Uint8Array) => boolean) | undefined {
  if (idOrder?.end === undefined) return undefined
  const { end, isReverse } = idOrder
  return document => (isReverse ? storedId(document) <= end : storedId(document) >= end)
}

function rowMaker(matcher: Matcher, projection: Projection | undefined): (document: Uint8Array) => Uint8Array {
  // Copied: the bytes may be a slice of a large read, which the row would keep in memory.
  if (projection === undefined) return document => new Uint8Array(document)
  if (!projection.isPositional) return projection.project
  return document => projection.project(document, matcher.position(document))
}

export interface CountQuery {
  readonly matcher: Matcher
  readonly skip?: number
  readonly limit?: number
  readonly idOrder?: IdOrder | undefined
}

const oneRow = {
  order: 'sortKey',
  distinct: undefined,
  isOrderFree: true,
  prefersArrival: false,
  first: 0,
  end: Number.POSITIVE_INFINITY,
} as const

/** Produces one row: the number. */
export function countProgram(query: CountQuery): Program {
  const { matcher, skip = 0, limit = Number.POSITIVE_INFINITY, idOrder } = query
  const isBehind = behind(idOrder)
  let count = 0
  let isDone = false
  return {
    ...oneRow,
    accept: ({ document }: SourceItem) => {
      isDone = isBehind?.(document as Uint8Array) === true
      if (!isDone && matcher.matches(document as Uint8Array)) count += 1
    },
    isDone: () => isDone || count >= skip + limit,
    countItems: items => {
      count = items
    },
    finish: emit => {
      emit(Math.max(0, Math.min(count - skip, limit)), tieOf(0, 0, false))
    },
  }
}

export interface DistinctQuery {
  readonly matcher: Matcher
  readonly path: string
  readonly idOrder?: IdOrder | undefined
}

/** Produces one row: a document with the values. */
export function distinctProgram({ matcher, path, idOrder }: DistinctQuery): Program {
  const found = new DistinctValues(path, matcher.collation)
  const isBehind = behind(idOrder)
  let isDone = false
  return {
    ...oneRow,
    accept: ({ document }: SourceItem) => {
      isDone = isBehind?.(document as Uint8Array) === true
      if (!isDone && matcher.matches(document as Uint8Array)) found.add(document as Uint8Array)
    },
    isDone: () => isDone,
    finish: emit => {
      emit(encodeDocument([['values', BsonArray.of(found.values())]]), tieOf(0, 0, false))
    },
  }
}
