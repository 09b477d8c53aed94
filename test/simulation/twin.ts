/**
 * The twin: an embedded store in memory that repeats everything that the store under test has done, and is
 * never swept.
 *
 * It repeats everything at the same moments and in the same order, so the answers must be equal. Only numbers
 * may differ: another kind of store numbers incarnations and versions in its own way, and the twin translates
 * them.
 */

import assert from 'node:assert/strict'
import type { EpochSeconds } from '../../src/base/clock.ts'
import { textOf } from '../../src/document/body.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { StoredItem } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { Answer } from '../../src/store/reading.ts'
import type { ItemWrite } from '../../src/store/writing.ts'
import { certain, openStore } from './fixture.ts'

type Numbered = Pick<StoredItem, 'sequence' | 'version'>

export class Twin {
  readonly store: Store
  readonly #isAlike: boolean
  #theirs = new Map<number, number>()

  /** `isAlike`: the store under test gives the same numbers. */
  constructor(now: () => EpochSeconds, isAlike: boolean) {
    this.store = openStore({ ...certain, mode: 'system', now, nowMs: () => now() * 1000, sure: now })
    this.#isAlike = isAlike
  }

  /** The container was created again, so the known numbers mean nothing any more. */
  forget(): void {
    this.#theirs = new Map()
  }

  /** Learns the twin's numbers of an item that both have just written. */
  learn(ours: Numbered | undefined, theirs: Numbered | undefined): void {
    assert.equal(ours === undefined, theirs === undefined)
    if (ours === undefined || theirs === undefined) return
    for (const name of ['sequence', 'version'] as const) {
      if (this.#isAlike) assert.equal(ours[name], theirs[name])
      const known = this.#theirs.get(ours[name])
      if (known === undefined) this.#theirs.set(ours[name], theirs[name])
      else assert.equal(known, theirs[name], `the ${name} ${ours[name]} names one thing`)
    }
  }

  write(container: ContainerRecord, write: ItemWrite) {
    return this.store.write(container, this.translated(write))
  }

  translated(write: ItemWrite): ItemWrite {
    const { ifVersion } = write
    return ifVersion === undefined ? write : { ...write, ifVersion: this.#numberOf(ifVersion) }
  }

  /** An item of the store under test with the twin's numbers. */
  asTheirs<T extends Numbered & Pick<StoredItem, 'body' | 'ts'>>(item: T): T {
    const sequence = this.#numberOf(item.sequence)
    const version = this.#numberOf(item.version)
    const { content } = JSON.parse(textOf(item.body))
    return { ...item, sequence, version, body: JSON.stringify({ content, stamps: [sequence, version, item.ts] }) }
  }

  /** Compares two answers to one call, except for the numbers in them. */
  compare<T extends Answer & { items?: readonly StoredItem[]; item?: StoredItem | undefined }>(
    ours: T,
    theirs: T,
  ): void {
    if (this.#isAlike) {
      assert.deepEqual(ours, theirs)
      return
    }
    assert.deepEqual(
      plain({ ...ours, version: theirs.version }, item => this.asTheirs(item)),
      plain(theirs, item => ({ ...item })),
    )
  }

  /** An unknown number names nothing in the twin either. */
  #numberOf(ours: number): number {
    return this.#theirs.get(ours) ?? -1
  }
}

/** Rows of the embedded store have no prototype; copies have. */
function plain<T extends { items?: readonly StoredItem[]; item?: StoredItem | undefined }>(
  answer: T,
  copy: (item: StoredItem) => StoredItem,
): T {
  const { items, item } = answer
  return {
    ...answer,
    ...(items === undefined ? {} : { items: items.map(copy) }),
    ...(item === undefined ? {} : { item: copy(item) }),
  }
}
