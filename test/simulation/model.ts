/**
 * The reference model: a Map of items, all defaults that the container ever had, and the rules of expiry.
 *
 * It has no marks and removes nothing. The whole history decides whether an item is dead: it is, if under any
 * default its deadline had come by the last second of that default (or by now).
 */

import type { ItemKey, StoredItem } from '../../src/store/item.ts'
import type { PageSize, ScanRange } from '../../src/store/reading.ts'
import type { ItemWrite, WriteAnswer } from '../../src/store/writing.ts'

export interface ModelItem extends Omit<StoredItem, 'deadline'> {
  readonly key: ItemKey
  readonly ttl: number | undefined
}

/** The table of lifespan.ts: the container decides first, then the item's own ttl. */
export function lifespan(defaultTtl: number | null, ttl: number | undefined): number {
  if (defaultTtl === null) return Number.POSITIVE_INFINITY
  const seconds = ttl ?? defaultTtl
  return seconds === -1 ? Number.POSITIVE_INFINITY : seconds
}

export class Model {
  /** Dead items stay until they are overwritten. */
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

  /** The living items of a range after a key, as many as a page takes. */
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

/** Sorts like the key, because no part contains the separator or a lower character. */
export const nameOf = ({ epk, pk, id }: ItemKey): string => `${epk} ${pk} ${id}`
