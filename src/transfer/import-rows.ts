/** Puts the rows of an import into a target, a batch at a time. */

import type { InputRow } from './input.ts'
import { addCounts, type ImportAnswer, type ImportCounts, type ImportTarget, noCounts } from './target.ts'

/** Rows with the place after the last one, where reading can continue. */
export interface ImportBatch<Place> {
  readonly rows: readonly InputRow[]
  /** Rows of the import before the first one. */
  readonly from: number
  readonly end: Place
}

export interface ImportOptions<Place> {
  /** Called when a batch is durable. The next one waits for it. */
  readonly onBatch?: (result: ImportAnswer, batch: ImportBatch<Place>) => Promise<void> | void
  /** Stops the import after the running batch. */
  readonly signal?: AbortSignal | undefined
}

export interface ImportResult {
  /** Rows of this call, not of those before an interruption. */
  readonly counts: Readonly<ImportCounts>
  /** False: the import was stopped. */
  readonly isComplete: boolean
}

/**
 * If reading fails, the rows before the failure are imported. While a batch is stored, the next one is read.
 */
export async function importRows<Place>(
  batches: AsyncIterable<ImportBatch<Place>>,
  target: ImportTarget,
  { onBatch, signal }: ImportOptions<Place> = {},
): Promise<ImportResult> {
  const counts = noCounts()
  let storing: Promise<void> = Promise.resolve()
  try {
    for await (const batch of batches) {
      const store = target.prepare(batch.rows, batch.from)
      await storing
      if (signal?.aborted === true) return { counts, isComplete: false }
      storing = store().then(async result => {
        addCounts(counts, result.counts)
        await onBatch?.(result, batch)
      })
      // It is awaited later; until then a failure must not count as unhandled.
      storing.catch(() => {})
    }
  } finally {
    await storing
  }
  return { counts, isComplete: true }
}
