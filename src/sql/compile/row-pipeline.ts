/**
 * Combines the clauses after FROM: filter, group, sort, project, remove duplicates, cut.
 *
 * Rows are pushed in with their slots filled and leave through a callback, which returns false to stop.
 * Without grouping and sorting nothing is kept, so a scan of any length runs in constant memory.
 */

import { pageItemsMax } from '../../base/limits.ts'
import { spend } from '../../base/work.ts'
import { resolveCounts } from '../syntax/counts.ts'
import type { RunningAggregate } from '../values/aggregate.ts'
import { startAggregate } from '../values/aggregate.ts'
import { canonicalKey, compareValues } from '../values/compare.ts'
import { type Frame, SelectMemory } from '../values/run-context.ts'
import { checkSize, type SqlValue } from '../values/value.ts'
import type { CompiledSelect, GroupPlan } from './compiled.ts'
import { RowSorter } from './row-sorter.ts'

/** Takes a row and the order keys it was sorted by; without ORDER BY there are none. */
export type RowSink = (row: SqlValue, keys: readonly SqlValue[]) => boolean

const noKeys: readonly SqlValue[] = []

interface Group {
  readonly keys: readonly SqlValue[]
  readonly accumulators: readonly RunningAggregate[]
}

export class RowPipeline {
  readonly #select: CompiledSelect
  readonly #frame: Frame
  readonly #sink: RowSink
  readonly #memory: SelectMemory
  readonly #first: number
  readonly #end: number
  readonly #seen: Set<string> | undefined
  readonly #sorter: RowSorter | undefined
  readonly #groups = new Map<string, Group>()
  #delivered = 0

  constructor(select: CompiledSelect, frame: Frame, sink: RowSink) {
    this.#select = select
    this.#frame = frame
    this.#sink = sink
    this.#memory = new SelectMemory(frame.context.budget)
    const { first, end } = resolveCounts(select.query, frame.context.parameters)
    this.#first = first
    this.#end = end
    this.#seen = select.query.distinct ? new Set() : undefined
    if (select.orderKeys.length > 0 && select.groups === undefined) {
      // Only rows up to the end of the window matter, unless duplicates must be removed first.
      this.#sorter = new RowSorter(select.orderKeys, this.#seen === undefined ? end : Infinity, this.#memory)
    }
    if (select.groups?.isSingle) this.#groups.set('', this.#newGroup(select.groups, []))
  }

  /** Whether no further row can change the result. */
  get isDone(): boolean {
    return this.#delivered >= this.#end
  }

  /** Takes the row in the frame. Returns whether to continue. */
  push(): boolean {
    const { filter, groups, orderKeys, steps } = this.#select
    spend(steps)
    const frame = this.#frame
    if (this.isDone) return false
    if (filter !== undefined && filter(frame) !== true) return true
    if (orderKeys.length > 0) {
      const keys = orderKeys.map(key => key.evaluate(frame))
      // As in the service, an item that has none of the ORDER BY properties is left out.
      if (keys.every(key => key === undefined)) return true
      if (this.#sorter !== undefined) {
        const row = projectRow(this.#select, this.#frame)
        if (row !== undefined) this.#sorter.add(keys, row)
        return true
      }
    }
    if (groups === undefined) return this.#deliver(projectRow(this.#select, this.#frame))
    this.#addToGroup(groups)
    return true
  }

  finish(): void {
    const { groups } = this.#select
    if (groups !== undefined) this.#finishGroups(groups)
    if (this.#sorter === undefined) return
    for (const { row, keys } of this.#sorter.rows()) if (!this.#deliver(row, keys)) return
  }

  /** Releases the memory of kept rows. The pipeline must not be used afterwards. */
  close(): void {
    this.#memory.end()
  }

  #deliver(row: SqlValue, keys = noKeys): boolean {
    if (this.isDone) return false
    if (row === undefined || this.#isDuplicate(row)) return true
    const position = this.#delivered
    this.#delivered += 1
    if (position < this.#first) return true
    return this.#sink(row, keys) && !this.isDone
  }

  #isDuplicate(row: SqlValue): boolean {
    if (this.#seen === undefined) return false
    const key = canonicalKey(row)
    if (this.#seen.has(key)) return true
    this.#memory.charge(key.length * 2 + 64)
    this.#seen.add(key)
    return false
  }

  #newGroup(plan: GroupPlan, keys: readonly SqlValue[]): Group {
    return { keys, accumulators: plan.aggregates.map(({ name }) => startAggregate(name, this.#memory)) }
  }

  #addToGroup(plan: GroupPlan): void {
    const frame = this.#frame
    const keys = plan.keys.map(key => key.evaluate(frame))
    const name = plan.isSingle ? '' : canonicalKey(keys)
    let group = this.#groups.get(name)
    if (group === undefined) {
      frame.context.budget.chargeGroup(this.#groups.size + 1)
      this.#memory.chargeValue(keys)
      group = this.#newGroup(plan, keys)
      this.#groups.set(name, group)
    }
    for (const [index, { argument }] of plan.aggregates.entries()) group.accumulators[index]!.add(argument(frame))
  }

  /**
   * The groups in the order of their keys, as the service returns them. If they do not fit on one page, they
   * come in another order anyway, and are not sorted here.
   */
  #sortedGroups(): Iterable<Group> {
    if (this.#groups.size < 2 || this.#groups.size > pageItemsMax) return this.#groups.values()
    return [...this.#groups.values()].sort((left, right) => {
      for (const [index, key] of left.keys.entries()) {
        const order = compareValues(key, right.keys[index])
        if (order !== 0) return order
      }
      return 0
    })
  }

  #finishGroups(plan: GroupPlan): void {
    const { values } = this.#frame
    for (const group of this.#sortedGroups()) {
      spend(this.#select.steps)
      for (const [index, { slot }] of plan.keys.entries()) values[slot] = group.keys[index]
      for (const [index, { slot }] of plan.aggregates.entries()) values[slot] = group.accumulators[index]!.result()
      if (!this.#deliver(projectRow(this.#select, this.#frame))) return
    }
  }
}

/** The result row of the frame, checked for its size; undefined means no row. */
export function projectRow(select: CompiledSelect, frame: Frame): SqlValue {
  const row = select.project(frame)
  if (select.builds) checkSize(row)
  return row
}
