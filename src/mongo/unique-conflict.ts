/** Says which unique index a document that was not stored clashed with. */

import type { Engine } from '../engine/engine.ts'
import type { Collection, CollectionIndex } from './collections.ts'
import { CommandError } from './command-error.ts'
import { duplicateKeyError } from './duplicate-key.ts'
import { bsonIndexKeys } from './index-keys.ts'

export async function conflictError(
  engine: Engine,
  collection: Collection,
  document: Uint8Array | undefined,
): Promise<CommandError> {
  const unique = collection.indexes.filter(({ isUnique }) => isUnique)
  for (const index of unique) {
    if (document !== undefined && (unique.length === 1 || (await isTaken(engine, collection, index, document)))) {
      return duplicateKeyError(collection, index, document)
    }
  }
  return new CommandError('DuplicateKey', `E11000 duplicate key error collection: ${collection.name}`)
}

async function isTaken(
  engine: Engine,
  { container }: Collection,
  { number }: CollectionIndex,
  document: Uint8Array,
): Promise<boolean> {
  const definition = container.indexes.find(({ definition }) => definition.number === number)?.definition
  if (definition === undefined) return false
  const [made] = bsonIndexKeys([definition], document)
  const keys = made!.keys.map(key => ({ low: key, high: Buffer.concat([key, Buffer.of(0)]) }))
  for (const range of keys) {
    if ((await engine.store.countEntries(container, { index: definition.number, keys: [range] })) > 0) return true
  }
  return false
}
