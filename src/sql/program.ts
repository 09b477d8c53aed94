/**
 * A prepared query as a program that pages can be made of (query/program.ts).
 *
 *   plain               rows in the order of their items
 *   ORDER BY            placed by the order keys, then by item and by row within it
 *   DISTINCT            placed by a digest of the row (behind the order keys, if there are any), equal places being one row
 *   GROUP BY, aggregates, FROM (SELECT …)
 *                       run to the end, then placed by a digest of the row and its count among equals
 */

import { hash } from 'node:crypto'
import { encodeFullKey } from '../document/ordered-key.ts'
import { tieOf } from '../query/place.ts'
import type { Emit, Program, SourceItem } from '../query/program.ts'
import { canonicalKey } from './compare.ts'
import { itemSlot } from './compiled.ts'
import type { Frame, RunOptions } from './context.ts'
import { resolveCounts } from './counts.ts'
import type { PreparedQuery } from './prepare.ts'
import { projectRow } from './row-pipeline.ts'
import { createFrame, QueryRun } from './run.ts'
import { selectedAggregates } from './select-list.ts'
import type { Value } from './value.ts'

export function createProgram(prepared: PreparedQuery, options: RunOptions): Program {
  const { select, query } = prepared
  const isCollected = select.groups !== undefined || select.derived !== undefined
  if (isCollected) return collected(prepared, options)
  const window = resolveCounts(query, options.parameters ?? new Map())
  const frame = createFrame(prepared, options)
  return select.orderKeys.length === 0 && !query.distinct
    ? { order: 'source', isDistinct: false, prefersArrival: false, ...window, ...plain(prepared, frame) }
    : {
        order: 'place',
        isDistinct: query.distinct,
        prefersArrival: select.orderKeys.length === 0,
        ...window,
        ...placed(prepared, frame),
      }
}

type Steps = Pick<Program, 'accept' | 'finish'>

function plain({ select, query }: PreparedQuery, frame: Frame): Steps {
  const { filter, bindRows } = select
  const push = (emit: Emit) => {
    if (filter !== undefined && filter(frame) !== true) return true
    const row = projectRow(select, frame)
    return row === undefined || emit(row, undefined)
  }
  const readsItems = query.sources.length > 0
  return {
    accept: ({ document }, emit) => {
      if (!readsItems) return
      frame.values[itemSlot] = document as Value
      frame.context.budget.startItem()
      bindRows(frame, () => push(emit))
    },
    finish: emit => {
      if (!readsItems) bindRows(frame, () => push(emit))
    },
  }
}

function placed({ select, query }: PreparedQuery, frame: Frame): Steps {
  const { filter, bindRows, orderKeys } = select
  const push = (item: SourceItem, rowOfItem: number, emit: Emit) => {
    if (filter !== undefined && filter(frame) !== true) return true
    const keys = orderKeys.map(({ evaluate, isDescending }) => ({ value: evaluate(frame), isDescending }))
    // The order is that of an index, where items without any of the properties do not stand.
    if (keys.length > 0 && keys.every(({ value }) => value === undefined)) return true
    const row = projectRow(select, frame)
    if (row === undefined) return true
    const isReverse = keys[0]?.isDescending === true
    const tie = query.distinct ? digest(canonicalKey(row)) : tieOf(item.sequence, rowOfItem, isReverse)
    return emit(row, keys.length === 0 ? tie : Buffer.concat([encodeFullKey(keys), tie]))
  }
  return {
    accept: (item, emit) => {
      let rowOfItem = 0
      frame.values[itemSlot] = item.document as Value
      frame.context.budget.startItem()
      bindRows(frame, () => push(item, rowOfItem++, emit))
    },
    finish: () => {},
  }
}

/** The run applies TOP, OFFSET and LIMIT itself: here the window is everything it gives. */
function collected(prepared: PreparedQuery, options: RunOptions): Program {
  const run = new QueryRun(prepared, options)
  let rows: Value[] = []
  let isCounted = false
  const take = (more: readonly Value[]) => {
    for (const row of more) rows.push(row)
  }
  return {
    order: 'place',
    isDistinct: false,
    prefersArrival: true,
    first: 0,
    end: Number.POSITIVE_INFINITY,
    accept: ({ document }) => {
      if (!run.isDone) take(run.accept(document as Value))
    },
    ...(countsItems(prepared) && {
      countItems: (count: number) => {
        isCounted = true
        rows = [countedRow(prepared, options, count)]
      },
    }),
    finish: emit => {
      if (!isCounted) take(run.finish())
      const counts = new Map<string, number>()
      for (const row of rows) {
        const key = canonicalKey(row)
        const count = counts.get(key) ?? 0
        counts.set(key, count + 1)
        emit(row, Buffer.concat([digest(key), tieOf(count, 0, false)]))
      }
    },
  }
}

/** `SELECT VALUE COUNT(1)` and its like: the aggregates count items, whatever is in them. */
function countsItems({ query, select }: PreparedQuery): boolean {
  const aggregates = selectedAggregates(query)
  return (
    select.groups?.isSingle === true &&
    query.sources.length === 1 &&
    select.derived === undefined &&
    aggregates.every(({ name, arguments: [argument] }) => {
      return name.toUpperCase() === 'COUNT' && argument?.kind === 'literal' && argument.value !== undefined
    })
  )
}

function countedRow(prepared: PreparedQuery, options: RunOptions, count: number): Value {
  const frame = createFrame(prepared, options)
  for (const { slot } of prepared.select.groups!.aggregates) frame.values[slot] = count
  return projectRow(prepared.select, frame)
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, 16)
}
