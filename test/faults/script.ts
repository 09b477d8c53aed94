/** A fixed script of writes, sweeps and a checkpoint, on a directory whose disk may fail. */

import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import type { Store } from '../../src/store/port.ts'
import { keyOf, makeContainer } from '../contract/store-contract.ts'
import { put } from '../support/item-write.ts'

export const scriptWrites = 30

export interface Played {
  readonly acknowledged: readonly number[]
  /** `done`, or why it ended early. */
  readonly end: string
  /** Undefined if it could not be opened. */
  readonly store: Store | undefined
}

export async function playScript(directory: string, onAcknowledged: (n: number) => void = () => {}): Promise<Played> {
  const acknowledged: number[] = []
  let end = 'done'
  let store: Store | undefined
  try {
    const clock = new ManualClock(toEpochSeconds(1_000_000))
    const onFatal = () => {
      end = 'fatal'
    }
    store = withContract(openSqlite({ directory, clock: () => clock, onFatal }))
    const container = await makeContainer(store, null)
    for (let n = 0; n < scriptWrites; n++) {
      const write = put('create', keyOf(`${n}`), { content: { text: 'x'.repeat(n * 100) } })
      const answer = await store.write(container, write).catch(() => undefined)
      if (answer?.outcome === 'created') {
        acknowledged.push(n)
        onAcknowledged(n)
      }
      if (n % 10 !== 9) continue
      await store.write(container, put('upsert', keyOf('dying'), { ttl: 1 })).catch(() => undefined)
      clock.advance(2)
      await store.sweep(container, 100).catch(() => undefined)
      // Four idle moments: after them the WAL is cut.
      for (let idle = 0; idle < 4; idle++) await store.reclaim(100).catch(() => undefined)
    }
    for (const n of acknowledged) {
      const isLost = end === 'done' && (await found(store, container, n)) === 'lost'
      if (isLost) end = `${n} is lost`
    }
  } catch (error) {
    end = end === 'done' ? `refused: ${(error as Error).message}` : end
  }
  return { acknowledged, end, store }
}

/** A read that fails has lost nothing. */
async function found(store: Store, container: Parameters<Store['read']>[0], n: number) {
  try {
    return (await store.read(container, keyOf(`${n}`))).item === undefined ? 'lost' : 'there'
  } catch {
    return 'unreadable'
  }
}
