/**
 * The outcome of a write, given what is at its key. Both adapters follow this one rule; the function in
 * PostgreSQL (`postgres/sql/write-rows.ts`) says the same in SQL, and `test/contract/verdict-contract.ts`
 * compares all three.
 *
 *   at the key                                 create     replace     upsert      delete
 *   nothing, or a dead item (P3)               created    missing     created     missing
 *   a living item                              exists     replaced    replaced    deleted
 *   a living item whose version is not         exists     changed     changed     changed
 *   the `ifVersion` of the write
 *
 * A write that would create or replace has the outcome `conflict` instead if another living item has one of
 * its keys in a unique index (P11). Where a log is kept, the death of an item that was not swept yet is
 * logged before the item that takes its place. That death has a version of its own (P13).
 */

import type { StoredItem } from '../store/item.ts'
import type { Living } from '../store/policy.ts'
import type { ItemChange, WriteAnswer } from '../store/writing.ts'
import { isAlive } from '../ttl/living.ts'

type Outcome = WriteAnswer['outcome']

/** The item that was found, unless it is dead. */
export function livingItem<Item extends Pick<StoredItem, 'ts' | 'deadline'>>(
  living: Living,
  present: Item | undefined,
): Item | undefined {
  return present !== undefined && isAlive(living, present) ? present : undefined
}

/** The table above; `alive` is the living item at the key. Unique indexes are not asked. */
export function verdictOf(
  { kind, ifVersion }: Pick<ItemChange, 'kind' | 'ifVersion'>,
  alive: Pick<StoredItem, 'version'> | undefined,
): Exclude<Outcome, 'conflict'> {
  if (alive === undefined) return kind === 'replace' || kind === 'delete' ? 'missing' : 'created'
  if (kind === 'create') return 'exists'
  if (ifVersion !== undefined && ifVersion !== alive.version) return 'changed'
  return kind === 'delete' ? 'deleted' : 'replaced'
}

/** Whether the write leaves an item behind. Only such a write needs its unique keys to be free. */
export function storesItem(outcome: Outcome): outcome is 'created' | 'replaced' {
  return outcome === 'created' || outcome === 'replaced'
}

/** How many versions a write takes that succeeds: two if it also logs a death. */
export function versionsTaken(found: {
  readonly present: unknown
  readonly alive: unknown
  readonly isLogged: boolean
}): number {
  return found.isLogged && found.alive === undefined && found.present !== undefined ? 2 : 1
}
