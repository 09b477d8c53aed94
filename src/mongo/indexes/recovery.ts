/** Cleans up after a server that stopped in the middle of changing indexes. */

import type { Engine } from '../../engine/engine.ts'
import { type Collection, collectionsOf } from '../collections/collections.ts'
import type { MongoSettings } from '../service/service.ts'
import { rewriteLives } from './index-changes.ts'

async function allCollections(engine: Engine): Promise<Collection[]> {
  const databases = await engine.catalog.databases()
  return (await Promise.all(databases.map(database => collectionsOf(engine, database)))).flat()
}

/** Drops indexes of the store that no specification names: somebody was creating or dropping them. */
export async function dropForgottenIndexes(engine: Engine): Promise<void> {
  for (const { container, indexes } of await allCollections(engine)) {
    const known = new Set(indexes.map(({ number }) => number))
    for (const { definition: index, isDeclared } of container.indexes) {
      if (isDeclared && !known.has(index.number)) await engine.indexes.drop(container, index.number)
    }
  }
}

export async function finishRewriting(engine: Engine, settings: MongoSettings): Promise<void> {
  for (const collection of await allCollections(engine)) {
    if (collection.definition.isRewriting === true) await rewriteLives(engine, collection, settings)
  }
}
