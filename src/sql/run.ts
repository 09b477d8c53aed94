/**
 * Runs a prepared query over items.
 *
 * It takes items one at a time from any source, and returns rows as soon as they are certain. A planner that
 * reads an index range passes only the items of that range; the filter still runs over them. A caller that
 * needs only a part of the query can use the parts of `prepared.select` with its own frame. A frame holds the
 * values of one run, by slot number.
 */

import { type CompiledSelect, itemSlot } from './compile/compiled.ts'
import { RowPipeline, type RowSink } from './compile/row-pipeline.ts'
import { checkParameters, type PreparedQuery } from './prepare.ts'
import { type Frame, RunContext, type RunOptions } from './values/run-context.ts'
import type { SqlValue } from './values/value.ts'

export function createFrame(prepared: PreparedQuery, options: RunOptions): Frame {
  const context = new RunContext(options)
  checkParameters(prepared, context.parameters)
  return { values: new Array<SqlValue>(prepared.select.slotCount()).fill(undefined), context }
}

/** A select and its pipeline. A query has one stage, and one more for each `FROM (SELECT …)` in it. */
interface Stage {
  readonly select: CompiledSelect
  readonly pipeline: RowPipeline
}

/** The stages from the innermost, which reads items, to the outermost, which returns the result rows. */
function createStages(select: CompiledSelect, frame: Frame, sink: RowSink): Stage[] {
  const pipeline = new RowPipeline(select, frame, sink)
  const stage = { select, pipeline }
  if (select.derived === undefined) return [stage]
  const { select: inner, rowSlot } = select.derived
  const innerStages = createStages(inner, frame, row => {
    frame.values[rowSlot] = row
    return pushRows(stage, frame)
  })
  return [...innerStages, stage]
}

function pushRows({ select, pipeline }: Stage, frame: Frame): boolean {
  return select.bindRows(frame, () => pipeline.push())
}

/** One run, item by item. */
export class QueryRun {
  readonly #frame: Frame
  readonly #stages: readonly Stage[]
  #rows: SqlValue[] = []

  /** With a sink, all rows go there; `accept` and `finish` return none. */
  constructor(prepared: PreparedQuery, options: RunOptions, sink?: RowSink) {
    this.#frame = createFrame(prepared, options)
    const keep: RowSink = row => {
      this.#rows.push(row)
      return true
    }
    this.#stages = createStages(prepared.select, this.#frame, sink ?? keep)
  }

  /** Whether no further item can add a row: TOP or LIMIT is reached, or the query reads no items. */
  get isDone(): boolean {
    return this.#stages.at(-1)!.pipeline.isDone || !this.readsItems
  }

  /** `SELECT 1` reads no container. */
  get readsItems(): boolean {
    return this.#stages[0]!.select.query.sources.length > 0
  }

  /** Returns the rows that became certain with this item. */
  accept(item: SqlValue): SqlValue[] {
    this.#frame.values[itemSlot] = item
    this.#pushItem()
    return this.#take()
  }

  /** Returns the rows that needed all items: groups and sorted rows. */
  finish(): SqlValue[] {
    if (!this.readsItems) this.#pushItem()
    for (const { pipeline } of this.#stages) {
      this.#frame.context.budget.startItem()
      pipeline.finish()
    }
    return this.#take()
  }

  #pushItem(): void {
    this.#frame.context.budget.startItem()
    pushRows(this.#stages[0]!, this.#frame)
  }

  #take(): SqlValue[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }
}

/** All rows of a query, as a stream. The source is closed as soon as enough rows are found. */
export async function* runQuery(
  prepared: PreparedQuery,
  options: RunOptions,
  items: Iterable<SqlValue> | AsyncIterable<SqlValue>,
): AsyncGenerator<SqlValue> {
  const run = new QueryRun(prepared, options)
  if (!run.isDone) {
    for await (const item of items) {
      yield* run.accept(item)
      if (run.isDone) break
    }
  }
  yield* run.finish()
}

/** All rows of a query over items that are already in memory. */
export function runQueryOver(prepared: PreparedQuery, options: RunOptions, items: Iterable<SqlValue>): SqlValue[] {
  const run = new QueryRun(prepared, options)
  const rows: SqlValue[] = []
  if (!run.isDone) {
    for (const item of items) {
      for (const row of run.accept(item)) rows.push(row)
      if (run.isDone) break
    }
  }
  for (const row of run.finish()) rows.push(row)
  return rows
}
