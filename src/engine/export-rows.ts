/**
 * Exports a container: its items as JSON texts, in the order of their keys.
 *
 * An export does not show one moment, as a backup does. An item that lives unchanged during the whole export
 * is exported exactly once. An item that is written meanwhile is exported at most once, as it was before or
 * after the write. An item that dies before it is read is not exported.
 *
 * Documents are canonical extended JSON. The row of an item that will die contains the deadline, so that an
 * import can keep it (`transfer/keep-ttl.ts`).
 */

import { machine } from '../base/clock.ts'
import { CapacityError } from '../base/error.ts'
import { MiB, pageItemsMax } from '../base/limits.ts'
import { inSlices, nextSlice } from '../base/slices.ts'
import type { Steps } from '../base/steps.ts'
import { textOf } from '../document/body.ts'
import { printInSteps } from '../document/bson/extended-json.ts'
import { BsonDocument } from '../document/bson/value.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../store/item.ts'
import { neverDeadline, type Viewpoint } from '../store/policy.ts'
import { wholeRange } from '../store/reading.ts'
import type { ExportNote } from '../transfer/keep-ttl.ts'
import { exportProperty } from '../transfer/keep-ttl.ts'
import type { Engine } from './engine.ts'

/** A page is read in one go: about a millisecond. It stays in memory while the reader is slow. */
const page = { itemsMax: pageItemsMax, bytesMax: MiB / 4 }

/** Yields rows as JSON texts, many at a time. `keepsLife`: rows say when their items die. */
export async function* exportRows(
  engine: Engine,
  container: ContainerRecord,
  { keepsLife, signal }: { readonly keepsLife: boolean; readonly signal: AbortSignal },
): AsyncGenerator<readonly string[]> {
  let after: ItemKey | undefined
  do {
    // Requests come first, and many exports take turns.
    await nextSlice()
    signal.throwIfAborted()
    const { items, last, moment, policy } = await engine.uncharged.scan(container, { ...wholeRange, after }, page)
    const rows = await inSlices(printPage(container, items, keepsLife ? { moment, policy } : undefined))
    const bytes = items.reduce((sum, { body }) => sum + body.length, 0)
    await charged(() => engine.chargePage(container, items.length, bytes), signal)
    if (rows.length > 0) yield rows
    after = last
  } while (after !== undefined)
}

function* printPage(
  container: ContainerRecord,
  items: readonly ScannedItem[],
  life: Viewpoint | undefined,
): Steps<string[]> {
  const rows: string[] = []
  for (const item of items) {
    rows.push(yield* printed(container, item, life))
    yield
  }
  return rows
}

function* printed({ encoding }: ContainerRecord, item: ScannedItem, life: Viewpoint | undefined): Steps<string> {
  const { body, key } = item
  const text = encoding === 'json' ? textOf(body) : yield* textOfDocument(body as Uint8Array)
  const expiresAt = life && deadlineOf(item, life)
  const hasNoKey = encoding === 'json' && key.pk.includes('{}') && hasUndefined(key.pk)
  if (expiresAt === undefined && !hasNoKey) return text
  const note: ExportNote = {
    exportedAt: life?.moment ?? 0,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(hasNoKey && { hasNoKey }),
  }
  const end = text.lastIndexOf('}')
  const comma = text.length > 2 ? ',' : ''
  return `${text.slice(0, end)}${comma}${JSON.stringify(exportProperty)}:${JSON.stringify(note)}}`
}

function textOfDocument(body: Uint8Array): Steps<string> {
  return printInSteps(BsonDocument.view(body), { mode: 'canonical' })
}

/** Puts a row on one line. A row is JSON as it was stored, so its line breaks are never inside a string. */
export function oneLine(row: string): string {
  return row.includes('\n') || row.includes('\r') ? row.replaceAll(/[\r\n]+/g, ' ') : row
}

/** When the item dies, unless the policy changes. */
function deadlineOf({ ts, deadline }: ScannedItem, { policy }: Viewpoint): number | undefined {
  const { defaultTtl } = policy
  if (defaultTtl === null || deadline === neverDeadline) return undefined
  if (deadline !== null) return deadline
  return defaultTtl > 0 ? ts + defaultTtl : undefined
}

/** Whether a component of a partition key is undefined, which is written as `{}`. */
function hasUndefined(pk: string): boolean {
  return (JSON.parse(pk) as unknown[]).some(component => typeof component === 'object' && component !== null)
}

/** Takes the charge. Waits as long as the throughput is used up. */
async function charged(charge: () => void, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      charge()
      return
    } catch (error) {
      if (!(error instanceof CapacityError)) throw error
      signal.throwIfAborted()
      await new Promise<void>(resolve => machine.setTimeout(resolve, Math.min(error.retryAfterMs, 1000)))
    }
  }
}
