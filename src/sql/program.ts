/**
 * Makes a program (query/program.ts) from a prepared query.
 *
 *   clause               order of the rows
 *   none of those below  source order; if they fit on one page, in the order of their items' creation
 *   ORDER BY             sort key: order keys, then item and row within the item
 *   DISTINCT             sort key: order keys if any, then a digest of the row; equal rows are returned once
 *   GROUP BY, aggregates, FROM (SELECT …), no FROM
 *                        the query runs to its end first; sort key: order keys if any, then a digest of the
 *                        row, then the row's number among equal rows
 */

import { hash } from 'node:crypto'
import { spend } from '../base/work.ts'
import { encodeFullKey } from '../document/ordered-key.ts'
import type { Emit, Program, SourceItem } from '../query/program.ts'
import { identityBytes, tieOf } from '../query/sort-key.ts'
import { itemSlot } from './compile/compiled.ts'
import { projectRow } from './compile/row-pipeline.ts'
import type { PreparedQuery } from './prepare.ts'
import { createFrame, QueryRun } from './run.ts'
import type { Expression, Query } from './syntax/ast.ts'
import { resolveCounts } from './syntax/counts.ts'
import { sameExpression } from './syntax/same-expression.ts'
import { selectExpressions, selectedAggregates } from './syntax/select-list.ts'
import { canonicalKey } from './values/compare.ts'
import type { Frame, RunOptions } from './values/run-context.ts'
import type { SqlValue } from './values/value.ts'

export function createProgram(prepared: PreparedQuery, options: RunOptions): Program {
  const { select, query } = prepared
  const isCollected = select.groups !== undefined || select.derived !== undefined || query.sources.length === 0
  if (isCollected) return collected(prepared, options)
  const window = resolveCounts(query, options.parameters ?? new Map())
  const frame = createFrame(prepared, options)
  return select.orderKeys.length === 0 && !query.distinct
    ? {
        order: 'source',
        distinct: undefined,
        prefersArrival: false,
        prefersCreation: true,
        ...window,
        ...plain(prepared, frame),
      }
    : {
        order: 'sortKey',
        distinct: distinctOf(query),
        isOrderFree: select.orderKeys.length > 0,
        prefersArrival: select.orderKeys.length === 0,
        ...window,
        ...sorted(prepared, frame),
      }
}

/** Equal rows have equal order keys if all ORDER BY expressions are part of the row. */
function distinctOf(query: Query): Program['distinct'] {
  if (!query.distinct) return undefined
  const { selection, orderBy } = query
  const selected = selectExpressions(query)
  const isPart = (expression: Expression): boolean => {
    if (selected.some(each => sameExpression(each, expression))) return true
    return (expression.kind === 'member' || expression.kind === 'index') && isPart(expression.object)
  }
  const isDetermined = selection.kind === 'star' || (orderBy?.items ?? []).every(({ expression }) => isPart(expression))
  return isDetermined ? 'sortKey' : 'identity'
}

type Steps = Pick<Program, 'accept' | 'finish'>

function plain({ select }: PreparedQuery, frame: Frame): Steps {
  const { filter, bindRows, steps } = select
  const push = (emit: Emit) => {
    spend(steps)
    if (filter !== undefined && filter(frame) !== true) return true
    const row = projectRow(select, frame)
    return row === undefined || emit(row, undefined)
  }
  return {
    accept: ({ document }, emit) => {
      frame.values[itemSlot] = document as SqlValue
      frame.context.budget.startItem()
      bindRows(frame, () => push(emit))
    },
    finish: () => {},
  }
}

function sorted({ select, query }: PreparedQuery, frame: Frame): Steps {
  const { filter, bindRows, orderKeys, steps } = select
  const push = (item: SourceItem, rowOfItem: number, emit: Emit) => {
    spend(steps)
    if (filter !== undefined && filter(frame) !== true) return true
    const keys = orderKeys.map(({ evaluate, isDescending }) => ({ value: evaluate(frame), isDescending }))
    // As in the service, an item that has none of the ORDER BY properties is left out.
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
      frame.values[itemSlot] = item.document as SqlValue
      frame.context.budget.startItem()
      bindRows(frame, () => push(item, rowOfItem++, emit))
    },
    finish: () => {},
  }
}

/** The run applies TOP, OFFSET and LIMIT itself, so the window is all its rows. */
function collected(prepared: PreparedQuery, options: RunOptions): Program {
  const { orderKeys } = prepared.select
  const rows: { readonly row: SqlValue; readonly orderKey: Uint8Array }[] = []
  let isCounted = false
  const run = new QueryRun(prepared, options, (row, keys) => {
    const components = keys.map((value, index) => ({ value, isDescending: orderKeys[index]!.isDescending }))
    rows.push({ row, orderKey: encodeFullKey(components) })
    return true
  })
  return {
    order: 'sortKey',
    distinct: undefined,
    isOrderFree: isOrderFree(prepared),
    prefersArrival: true,
    first: 0,
    end: Number.POSITIVE_INFINITY,
    accept: ({ document }) => run.accept(document as SqlValue),
    isDone: () => run.isDone || isCounted,
    ...(countsItems(prepared) && {
      countItems: (count: number) => {
        isCounted = true
        rows.push({ row: countedRow(prepared, options, count), orderKey: Buffer.alloc(0) })
      },
    }),
    finish: emit => {
      if (!isCounted) run.finish()
      const counts = new Map<string, number>()
      for (const { row, orderKey } of rows) {
        spend(1)
        const key = canonicalKey(row)
        const count = counts.get(key) ?? 0
        counts.set(key, count + 1)
        emit(row, Buffer.concat([orderKey, digest(key), tieOf(count, 0, false)]))
      }
    },
  }
}

const exactAggregates: ReadonlySet<string> = new Set(['COUNT', 'COUNTIF', 'MIN', 'MAX'])

/** Lists and groups depend on the order of items, and so does the last digit of a sum. */
function isOrderFree({ select: { groups, derived } }: PreparedQuery): boolean {
  if (groups?.isSingle !== true || derived !== undefined) return false
  return groups.aggregates.every(({ name }) => exactAggregates.has(name))
}

/**
 * `SELECT VALUE COUNT(1)` and similar: the aggregates count items without reading them. With ORDER BY some
 * items do not count.
 */
function countsItems({ query, select }: PreparedQuery): boolean {
  const aggregates = selectedAggregates(query)
  return (
    [query.orderBy, query.top, query.offset].every(clause => clause === undefined) &&
    select.groups?.isSingle === true &&
    query.sources.length === 1 &&
    select.derived === undefined &&
    aggregates.every(({ name, arguments: [argument] }) => {
      return name.toUpperCase() === 'COUNT' && argument?.kind === 'literal' && argument.value !== undefined
    })
  )
}

function countedRow(prepared: PreparedQuery, options: RunOptions, count: number): SqlValue {
  const frame = createFrame(prepared, options)
  for (const { slot } of prepared.select.groups!.aggregates) frame.values[slot] = count
  return projectRow(prepared.select, frame)
}

function digest(key: string): Buffer {
  spend(20 + key.length / 16)
  return hash('sha256', key, 'buffer').subarray(0, identityBytes)
}
