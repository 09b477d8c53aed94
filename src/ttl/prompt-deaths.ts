/**
 * Logs deaths at their deadlines: in a container with a log, dead items are removed before every write and
 * before every read of the log.
 *
 * Without this, a death enters the log when the purger removes the item, as the service documents it. Later
 * changes may then stand before it. The last sweep is sent together with the write, so an embedded store runs
 * both in one transaction at one moment. An item that dies in the very second of a write may still come after
 * that write.
 */

import { sweepRowsMax } from '../base/limits.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Store } from '../store/port.ts'

/** `store` must be an object whose methods need no `this`, as `withContract` makes it. */
export function withPromptDeaths(store: Store): Store {
  const removeDead = async (containers: Iterable<ContainerRecord>): Promise<void> => {
    for (const container of containers) {
      let isDone = container.logSeconds === null
      while (!isDone) isDone = (await store.sweep(container, sweepRowsMax)).done
    }
  }

  const afterDeaths = async <T>(containers: readonly ContainerRecord[], write: () => Promise<T>): Promise<T> => {
    const logging = new Set(containers.filter(({ logSeconds }) => logSeconds !== null))
    if (logging.size === 0) return write()
    await removeDead(logging)
    const sweeps = [...logging].map(container => store.sweep(container, sweepRowsMax))
    const [answer] = await Promise.all([write(), ...sweeps])
    return answer
  }

  return {
    ...store,
    write: (container, write) => afterDeaths([container], async () => store.write(container, write)),
    transact: steps =>
      afterDeaths(
        steps.map(({ container }) => container),
        async () => store.transact(steps),
      ),
    log: async (container, range, page) => {
      await removeDead([container])
      return store.log(container, range, page)
    },
    logNow: async container => {
      await removeDead([container])
      return store.logNow(container)
    },
  }
}
