/** A store in memory with a container, and helpers for it, for tests that need items but no server. */

import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { type Clock, ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import type { ContainerRecord, Throughput } from '../../src/store/catalog.ts'
import type { Draft, ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { WriteAnswer } from '../../src/store/writing.ts'
import { changeDefault, newPolicy } from '../../src/ttl/lifespan.ts'

/** What a clock says that is never in doubt. */
export const certain = {
  doubt: undefined,
  doubtEndsAt: undefined,
  stepSecondsMax: Number.MAX_SAFE_INTEGER,
  returns: 0,
  returnedSeconds: 0,
  trust: () => {},
}

export const start = 1_000_000

export function manualClock(): ManualClock {
  return new ManualClock(toEpochSeconds(start))
}

export function openStore(clock: Clock): Store {
  return withContract(openSqlite({ directory: undefined, clock: () => clock, onFatal: fail }))
}

export async function makeContainer(
  store: Store,
  defaultTtl: number | null,
  {
    id = 'c',
    database = 'd',
    throughput = null,
    shared = null,
    logSeconds = null,
  }: {
    id?: string
    database?: string
    throughput?: Throughput | null
    shared?: Throughput | null
    logSeconds?: number | null
  } = {},
): Promise<ContainerRecord> {
  const owner =
    (await store.findDatabase(database)) ??
    (await store.createDatabase({ id: database, rid: database.charCodeAt(0), throughput: shared }))
  const container = await store.createContainer(owner!, {
    id,
    rid: 2,
    throughput,
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
    partitionCount: 1,
    encoding: 'json',
    policy: newPolicy(defaultTtl),
    logSeconds,
    definition: {},
  })
  return container!
}

export async function setDefault(
  store: Store,
  container: ContainerRecord,
  defaultTtl: number | null,
): Promise<ContainerRecord> {
  const changed = await store.updateContainer(container, ({ policy }, moment) => ({
    policy: changeDefault(policy, defaultTtl, moment),
  }))
  return changed!
}

/** A body with some content and with the item's sequence, version and second. */
export function draftOf(content: object): Draft {
  const stamps = (['sequence', 'version', 'ts'] as const).map(name => ({
    name,
    print: String,
    form: { before: '', number: 'decimal' as const },
  }))
  return { texts: [`{"content":${JSON.stringify(content)},"stamps":[`, ',', ',', ']}'], stamps }
}

export function keyNamed(id: string): ItemKey {
  return { epk: '10', pk: '["p"]', id }
}

export function put(store: Store, container: ContainerRecord, id: string, ttl?: number): Promise<WriteAnswer> {
  return store.write(container, {
    kind: 'upsert',
    key: keyNamed(id),
    ttl,
    draft: draftOf({}),
  })
}

/** Writes this many items, all in the same turn. */
export async function putMany(store: Store, container: ContainerRecord, count: number, ttl?: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, n) => `${ttl ?? ''}-${String(n).padStart(6, '0')}`)
  await Promise.all(ids.map(id => put(store, container, id, ttl)))
}

export function fail(error: Error): never {
  throw error
}
