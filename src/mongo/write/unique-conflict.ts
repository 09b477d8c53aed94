/** Finds the unique index that a refused document conflicts with. */

import { scanBytesMax } from '../../base/limits.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import type { Engine } from '../../engine/engine.ts'
import { bsonIndexKeys } from '../../engine/index-keys.ts'
import type { ItemKey } from '../../store/item.ts'
import { wholeRange } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Collection, CollectionIndex } from '../collections/collections.ts'
import { duplicateKeyError } from '../collections/duplicate-key.ts'
import { isPlanned } from '../collections/planned-collection.ts'
import type { CommandCall } from '../service/command.ts'
import type { TransactionOverlay } from '../session/overlay.ts'
import { writeConflict } from '../session/write-intents.ts'

export async function conflictError(
  engine: Engine,
  collection: Collection,
  document: Uint8Array | undefined,
): Promise<CommandError> {
  const unique = collection.indexes.filter(isKeptUnique)
  for (const index of unique) {
    if (document !== undefined && (unique.length === 1 || (await isTaken(engine, collection, index, document)))) {
      return duplicateKeyError(collection, index, document)
    }
  }
  return new CommandError('DuplicateKey', `E11000 duplicate key error collection: ${collection.name}`)
}

async function isTaken(
  engine: Engine,
  collection: Collection,
  index: CollectionIndex,
  document: Uint8Array,
): Promise<boolean> {
  const definition = definitionOf(collection, index)
  if (definition === undefined) return false
  const [made] = bsonIndexKeys([definition], document)
  for (const range of made!.keys.map(onlyKey)) {
    const entries = { index: definition.number, keys: [range] }
    if ((await engine.uncharged.countEntries(collection.container, entries)) > 0) return true
  }
  return false
}

/**
 * The same for a document of a running transaction. It may conflict with stored documents and with the
 * transaction's own.
 */
export async function conflictInTransaction(
  { service, session }: CommandCall,
  overlay: TransactionOverlay,
  key: ItemKey,
  document: Uint8Array,
): Promise<CommandError | undefined> {
  const { engine, intents } = service
  const { collection } = overlay
  for (const index of collection.indexes) {
    const definition = definitionOf(collection, index)
    if (!isKeptUnique(index) || definition === undefined) continue
    const keysOf = (each: Uint8Array) => bsonIndexKeys([definition], each)[0]!.keys
    const wanted = keysOf(document)
    const isShared = (others: readonly Uint8Array[]) =>
      others.some(other => wanted.some(each => Buffer.compare(each, other) === 0))
    const isPending = overlay
      .pending()
      .some(({ key: other, document: written }) => !isSameKey(other, key) && written && isShared(keysOf(written)))
    for (const other of intents.holders) {
      const others = other === session!.transaction ? [] : (other.overlay(collection)?.pending() ?? [])
      if (others.some(({ document: written }) => written && isShared(keysOf(written)))) throw writeConflict()
    }
    if (isPending || (!isPlanned(collection) && (await isStored(engine, overlay, key, definition.number, wanted)))) {
      return duplicateKeyError(collection, index, document)
    }
  }
  return undefined
}

async function isStored(
  engine: Engine,
  overlay: TransactionOverlay,
  key: ItemKey,
  index: number,
  wanted: readonly Uint8Array[],
): Promise<boolean> {
  for (const each of wanted) {
    const range = { index, keys: [onlyKey(each)], isReverse: false, within: wholeRange }
    // The index is unique, so at most one living document has this key.
    const page = { itemsMax: 1, bytesMax: scanBytesMax }
    const { items } = await engine.uncharged.scanIndex(overlay.collection.container, range, page)
    if (items.some(item => !isSameKey(item.key, key) && overlay.find(item.key) === undefined)) return true
  }
  return false
}

/**
 * Whether the index is unique: it is declared so, or it is the index on `_id` in a collection with a
 * collation.
 */
function isKeptUnique({ isUnique, name, number }: CollectionIndex): boolean {
  return isUnique || (name === '_id_' && number !== undefined)
}

function isSameKey(a: ItemKey, b: ItemKey): boolean {
  return a.id === b.id && a.pk === b.pk
}

function onlyKey(key: Uint8Array) {
  return { low: key, high: Buffer.concat([key, Buffer.of(0)]) }
}

function definitionOf({ container }: Collection, { number }: CollectionIndex): IndexDefinition | undefined {
  return container.indexes.find(({ definition }) => definition.number === number)?.definition
}
