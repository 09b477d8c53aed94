/**
 * The reference: a Map of items, every default the container ever had, and the rules of life read off both.
 *
 * It keeps no marks and removes nothing. Whether an item is dead is decided by its whole history: it is, when
 * under any default, at the last second that default held (or now), its time had come.
 */

import type { ItemKey, StoredItem } from '../../src/store/item.ts'
import type { PageSize, ScanRange } from '../../src/store/reading.ts'
import type { ItemWrite, WriteAnswer } from '../../src/store/writing.ts'

export interface ModelItem extends Omit<StoredItem, 'deadline'> {
  readonly key: ItemKey
  readonly ttl: number | undefined
}

/** The matrix of design: what the container says first, what the item says last. */
export function lifespan(defaultTtl: number | null, ttl: number | undefined): number {
  if (defaultTtl === null) return Number.POSITIVE_INFINITY
  const seconds = ttl ?? defaultTtl
  return seconds === -1 ? Number.POSITIVE_INFINITY : seconds
}

export class Model {
  /** Dead ones stay until something is written over them. */
  readonly items = new Map<string, ModelItem>()
  readonly #defaults: { readonly defaultTtl: number | null; readonly since: number }[] = []

  constructor(defaultTtl: number | null) {
    this.changeDefault(defaultTtl, 0)
  }

  changeDefault(defaultTtl: number | null, moment: number): void {
    this.#defaults.push({ defaultTtl, since: moment })
  }

  isAlive(item: { readonly ts: number; readonly ttl: number | undefined }, moment: number): boolean {
    return this.#defaults.every(({ defaultTtl }, index) => {
      const lastSecond = this.#defaults[index + 1]?.since ?? moment
      return lastSecond < item.ts + lifespan(defaultTtl, item.ttl)
    })
  }

  read(key: ItemKey, moment: number): ModelItem | undefined {
    const item = this.items.get(nameOf(key))
    return item !== undefined && this.isAlive(item, moment) ? item : undefined
  }

  expect({ kind, key, ifVersion }: ItemWrite, moment: number): WriteAnswer['outcome'] {
    const present = this.read(key, moment)
    if (kind === 'create') return present === undefined ? 'created' : 'exists'
    if (present === undefined) return kind === 'upsert' ? 'created' : 'missing'
    if (ifVersion !== undefined && ifVersion !== present.version) return 'changed'
    return kind === 'delete' ? 'deleted' : 'replaced'
  }

  apply(write: ItemWrite, { outcome, item }: Pick<WriteAnswer, 'outcome' | 'item'>): void {
    const { key } = write
    if (outcome === 'deleted') this.items.delete(nameOf(key))
    if (item !== undefined && write.kind !== 'delete') this.items.set(nameOf(key), { ...item, key, ttl: write.ttl })
  }

  /** The living of a range behind a key, as many as a page takes. */
  page({ min, maxExclusive, pk, after }: ScanRange, { itemsMax, bytesMax }: PageSize, moment: number): ModelItem[] {
    const page: ModelItem[] = []
    let bytes = 0
    for (const name of [...this.items.keys()].sort()) {
      const item = this.items.get(name)!
      const { epk } = item.key
      const isInRange = epk >= min && epk < maxExclusive && (pk === undefined || pk === item.key.pk)
      if (!isInRange || !this.isAlive(item, moment) || (after !== undefined && name <= nameOf(after))) continue
      bytes += item.body.length
      if (page.length === itemsMax || (page.length > 0 && bytes > bytesMax)) break
      page.push(item)
    }
    return page
  }
}

/** Sorts as the key does, because no part contains the separator or anything below it. */
export const nameOf = ({ epk, pk, id }: ItemKey): string => `${epk} ${pk} ${id}`
