/**
 * A client that alone writes to one item and always knows what the item must be. An answer that does not fit
 * is a violation. If a write gets no answer, the client reads the item and continues from there.
 */

import assert from 'node:assert/strict'
import { CapacityError } from '../../src/base/error.ts'
import { textOf } from '../../src/document/body.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey, StoredItem } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { ItemWrite } from '../../src/store/writing.ts'
import { put } from './item-write.ts'

const kinds = ['create', 'upsert', 'replace', 'replace', 'delete', 'transact'] as const

export class CarefulWriter {
  readonly #store: Store
  readonly #container: ContainerRecord
  readonly #key: ItemKey
  #known: StoredItem | undefined
  #writes = 0
  /** Writes that took effect, whether answered or not. */
  effects = 0
  /** Writes without an answer. */
  unheard = 0
  longestMs = 0

  constructor(store: Store, container: ContainerRecord, key: ItemKey) {
    this.#store = store
    this.#container = container
    this.#key = key
  }

  get known(): StoredItem | undefined {
    return this.#known
  }

  async write(random: () => number): Promise<void> {
    const kind = kinds[Math.floor(random() * kinds.length)]!
    const content = { n: ++this.#writes }
    const startMs = performance.now()
    try {
      if (kind === 'transact') await this.#transact(content)
      else await this.#one(kind, content)
    } catch (error) {
      if (!(error instanceof CapacityError)) throw error
      this.unheard++
      await this.#findOut(content.n)
    }
    this.longestMs = Math.max(this.longestMs, performance.now() - startMs)
  }

  async #one(kind: ItemWrite['kind'], content: object): Promise<void> {
    const isThere = this.#known !== undefined
    const ifVersion = this.#known?.version
    const write: ItemWrite =
      kind === 'delete' ? { kind, key: this.#key, ifVersion } : { ...put(kind, this.#key, { content }), ifVersion }
    const { outcome, item } = await this.#store.write(this.#container, write)
    const expected = {
      create: isThere ? 'exists' : 'created',
      upsert: isThere ? 'replaced' : 'created',
      replace: isThere ? 'replaced' : 'missing',
      delete: isThere ? 'deleted' : 'missing',
    }
    assert.equal(outcome, expected[kind], `a ${kind} of ${this.#key.id} after ${this.#writes - 1} writes`)
    if (outcome === 'exists' || outcome === 'missing') return
    this.effects++
    this.#known = item
  }

  /** Reads the number in the item and stores the next one. */
  async #transact(content: { n: number }): Promise<void> {
    const { steps } = await this.#store.transact([
      {
        container: this.#container,
        key: this.#key,
        decide: found => {
          assert.equal(found?.version, this.#known?.version, 'no other client writes this item')
          return put('upsert', this.#key, { content })
        },
      },
    ])
    this.effects++
    this.#known = steps[0]!.item
  }

  /** Whether the last write happened: the item is as before, or as that write would have left it. */
  async #findOut(n: number): Promise<void> {
    const before = this.#known
    // A refused write waits behind all unfinished writes of its bucket.
    await untilHeard(() => this.#store.write(this.#container, { kind: 'delete', key: this.#key, ifVersion: -1 }))
    const { item } = await untilHeard(async () => this.#store.read(this.#container, this.#key))
    if (item?.version === before?.version) return
    if (item !== undefined) assert.equal(JSON.parse(textOf(item.body)).n, n, 'the item is the last one written')
    this.effects++
    this.#known = item
  }
}

/** Repeats a call until it is answered. Only for calls that change nothing. */
export async function untilHeard<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof CapacityError)) throw error
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
}
