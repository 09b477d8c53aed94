/** Indexes in the simulation: created, built in parts, dropped and read, beside other operations. */

import assert from 'node:assert/strict'
import { textOf } from '../../src/document/body.ts'
import { anyElement, type IndexComponent } from '../../src/document/index-definition.ts'
import { indexKeys } from '../../src/document/index-keys.ts'
import type { IndexRecord } from '../../src/store/catalog.ts'
import type { Store } from '../../src/store/port.ts'
import type { IndexPosition, ScanRange } from '../../src/store/reading.ts'
import { type ModelItem, nameOf } from './model.ts'
import type { Operation } from './operations.ts'
import { keys, ranges, type World } from './world.ts'

const definitions: readonly (readonly IndexComponent[])[] = [
  [{ path: ['content', 'n'], isDescending: false }],
  [{ path: ['content', 'tags', anyElement], isDescending: false }],
  [
    { path: ['content', 'n'], isDescending: true },
    { path: ['content', 'padding'], isDescending: false },
  ],
]
const indexesMax = 3
const allKeys = [{ low: Uint8Array.of(0), high: Uint8Array.of(0xff) }]

export async function changeIndexes(
  world: World,
  operation: Extract<Operation, { op: 'create index' | 'build index' | 'drop index' }>,
): Promise<void> {
  for (const store of [world.store, world.twin.store]) {
    const indexes = await indexesOf(store)
    if (operation.op === 'create index') {
      const index = { components: definitions[operation.path]!, isDeclared: false }
      if (indexes.length < indexesMax) assert.ok(await store.createIndex(world.container, index))
    } else if (operation.op === 'build index') {
      const begun = indexes.find(({ isReady }) => !isReady)
      if (begun !== undefined) await store.buildIndex(world.container, begun.definition.number, operation.rowsMax)
    } else if (indexes[0] !== undefined) {
      await store.dropIndex(world.container, indexes[0].definition.number)
    }
  }
  world.container = (await world.store.findContainer('d', 'c'))!
}

/** Starts every possible index change in a turn whose commit will fail. */
export function changeIndexesInVain({ container, handle, store }: World): Promise<unknown>[] {
  const building = container.indexes.map(({ definition }) => store.buildIndex(handle, definition.number, 1000))
  const dropping = container.indexes.map(({ definition }) => store.dropIndex(handle, definition.number))
  return [store.createIndex(handle, { components: definitions[0]!, isDeclared: true }), ...building, ...dropping]
}

/** Reads every index that is ready from one end to the other, and counts its entries. */
export async function scanIndexes(world: World, asked: Extract<Operation, { op: 'scan index' }>): Promise<void> {
  for (const store of [world.store, world.twin.store]) {
    for (const index of await indexesOf(store)) {
      if (!index.isReady) continue
      world.meet('a scan of an index')
      await checkScan(world, store, index, ranges[asked.range]!, asked)
      await checkCount(world, store, index)
    }
  }
}

async function indexesOf(store: Store): Promise<readonly IndexRecord[]> {
  return (await store.findContainer('d', 'c'))!.indexes
}

async function checkScan(
  world: World,
  store: Store,
  { definition }: IndexRecord,
  within: ScanRange,
  { isReverse, itemsMax }: { isReverse: boolean; itemsMax: number },
): Promise<void> {
  const found: string[] = []
  let moment: number
  let after: IndexPosition | undefined
  do {
    const range = { index: definition.number, keys: allKeys, isReverse, after, within }
    const page = await store.scanIndex(world.container, range, { itemsMax, bytesMax: 1_000_000 })
    for (const { indexKey, body } of page.items) found.push(`${hex(indexKey)} ${body}`)
    moment = page.moment
    after = page.last
  } while (after !== undefined)
  const living = world.model.page(within, { itemsMax: 1000, bytesMax: 1_000_000 }, moment)
  const entries = living.flatMap(item => entriesOf(definition, world.asIn(store, item)))
  entries.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.sequence - b.sequence))
  if (isReverse) entries.reverse()
  assert.deepEqual(
    found,
    entries.map(({ key, body }) => `${key} ${body}`),
  )
}

/** Entries belong to rows that are present, alive or dead, and to no others. */
async function checkCount({ container, model }: World, store: Store, { definition }: IndexRecord): Promise<void> {
  let expected = 0
  for (const key of keys) {
    const row = await store.inspect(container, key)
    const item = model.items.get(nameOf(key))
    if (row !== undefined) expected += entriesOf(definition, item!).length
  }
  assert.equal(await store.countEntries(container, { index: definition.number, keys: allKeys }), expected)
}

function entriesOf(definition: IndexRecord['definition'], { body, sequence }: ModelItem) {
  return indexKeys(definition, JSON.parse(textOf(body))).keys.map(key => ({ key: hex(key), sequence, body }))
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
