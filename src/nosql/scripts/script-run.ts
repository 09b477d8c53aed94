/** Runs scripts over one partition key until their writes are committed, or they fail. */

import { CapacityError } from '../../base/error.ts'
import { leaseHere } from '../../base/memory-account.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../../document/partition-key.ts'
import type { ScriptRun, ScriptRuns } from '../../scripts/script-runner.ts'
import type { StoredItem } from '../../store/item.ts'
import type { ContainerView } from '../http/container-view.ts'
import type { NosqlRequest } from '../http/request.ts'
import { scriptHost } from './script-host.ts'
import { ScriptTransaction } from './script-transaction.ts'

/** How often a script is run again because others changed what it read or wrote. */
const scriptAttemptsMax = 5

export interface Committed<T> {
  readonly result: T
  readonly transaction: ScriptTransaction
  readonly stored: ReadonlyMap<string, StoredItem>
}

/** `work` runs again from the start, in a new transaction, if others wait or changed what it depends on. */
export async function inTransaction<T>(
  { service: { engine, scripts }, caller }: NosqlRequest,
  view: ContainerView,
  components: readonly PartitionKeyComponent[],
  work: (transaction: ScriptTransaction, runs: ScriptRuns) => Promise<T>,
): Promise<Committed<T>> {
  const path = [view.record.number, canonicalPartitionKey(components), caller.connection]
  for (let attempt = 1; attempt <= scriptAttemptsMax; attempt++) {
    const committed = await scripts.inTurn({ path, gone: caller.gone }, async runs => {
      using at = await engine.view(view.record)
      using lease = leaseHere('work')
      const transaction = new ScriptTransaction(engine, view, components, { at, lease })
      const result = await work(transaction, runs)
      runs.finish()
      try {
        return { result, transaction, stored: await transaction.commit(() => runs.check()) }
      } catch (error) {
        if (!ScriptTransaction.isStale(error)) throw error
        return undefined
      }
    })
    if (committed !== undefined) return committed
  }
  // The service answers 449 here, which SDKs do not retry. They do retry 429.
  throw new CapacityError('throttled', 'The items that the script works on keep changing. Please try again.', 50)
}

/** The options that every run of a script needs. */
export function scriptRun(
  request: NosqlRequest,
  transaction: ScriptTransaction,
  { signal }: ScriptRuns,
  script: { readonly id: string; readonly body: string },
): ScriptRun {
  const { view, at } = transaction
  const { database, id } = view.record
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'authorization' ? [[name, value]] : [],
  )
  return {
    id: script.id,
    body: script.body,
    links: { self: view.self, alt: `dbs/${database.id}/colls/${id}` },
    host: scriptHost(request.service, transaction, signal),
    epochMs: at.moment * 1000,
    headers: Object.fromEntries(headers),
  }
}
