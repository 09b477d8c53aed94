/** Reads an input and puts its rows into a target, a batch at a time. */

import type { InputPlace } from './input.ts'
import { type InputSource, type ReadOptions, readRows } from './read-rows.ts'
import { addCounts, type BatchResult, type ImportCounts, type ImportTarget, noCounts } from './target.ts'

export interface ImportOptions extends ReadOptions {
  /** Called when a batch is durable, with the place behind it. The next batch waits for it. */
  readonly onBatch?: (result: BatchResult, end: InputPlace) => Promise<void> | void
  /** Stops after the batch that is under way. */
  readonly signal?: AbortSignal | undefined
}

export interface ImportResult {
  /** Rows of this call, not of those before an interruption. */
  readonly counts: Readonly<ImportCounts>
  /** Undefined: it was stopped. */
  readonly isComplete: boolean
}

/**
 * Throws an `InputError` if the input is broken: rows before the damage are imported then. While a batch is
 * being stored, the next one is read.
 */
export async function importRows(
  source: InputSource,
  target: ImportTarget,
  { onBatch, signal, ...reading }: ImportOptions = {},
): Promise<ImportResult> {
  const counts = noCounts()
  let storing: Promise<void> = Promise.resolve()
  try {
    for await (const { rows, from, end } of readRows(source, reading)) {
      await storing
      if (signal?.aborted === true) return { counts, isComplete: false }
      storing = target.put(rows, from).then(async result => {
        addCounts(counts, result.counts)
        await onBatch?.(result, end)
      })
      // It is awaited later; until then a failure must not count as unhandled.
      storing.catch(() => {})
    }
  } finally {
    await storing
  }
  return { counts, isComplete: true }
}
