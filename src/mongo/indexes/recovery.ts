/**
 * Repairs indexes when a server starts: the last server may have stopped in the middle, or had another ICU.
 */

import type { BsonIndexOptions } from '../../document/bson/index-keys.ts'
import { type Collation, collationOf, collationVersion } from '../../document/collation/collation.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import type { Engine } from '../../engine/engine.ts'
import { storedDefinition } from '../collections/collection-definition.ts'
import { type Collection, changeCollection, collectionsOf } from '../collections/collections.ts'
import type { MongoSettings } from '../service/service.ts'
import { rewriteLives } from './index-changes.ts'

async function allCollections(engine: Engine): Promise<Collection[]> {
  const databases = await engine.catalog.databases()
  return (await Promise.all(databases.map(database => collectionsOf(engine, database)))).flat()
}

/** Drops indexes of the store that no specification names: their creation or drop was interrupted. */
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

/**
 * The keys of a collation depend on the version of ICU: indexes of another version are built anew. The
 * tables of the collations are made before the first write needs them.
 */
export async function renewCollatedIndexes(engine: Engine): Promise<void> {
  for (const collection of await allCollections(engine)) {
    let current = collection
    for (const { definition } of collection.container.indexes) {
      const { collation } = (definition.options ?? {}) as BsonIndexOptions
      if (collation === undefined) continue
      const present = collationOf({ ...collation, version: collationVersion })
      await present.prepare()
      if (collation.version !== collationVersion) current = await renewIndex(engine, current, definition, present)
    }
  }
}

async function renewIndex(
  engine: Engine,
  collection: Collection,
  { number: old, components, uniqueness, options }: IndexDefinition,
  collation: Collation,
): Promise<Collection> {
  const { container } = collection
  const renewed = { ...(options as BsonIndexOptions), collation: collation.options }
  const draft = { components, uniqueness, options: renewed, isDeclared: true }
  const number = await engine.indexes.create(container, draft)
  if (number === undefined) return collection
  await engine.indexes.complete(container, number, () => {})
  const changed = await changeCollection(engine, collection, current => {
    const definition = storedDefinition(current.definition)
    const indexes = definition.indexes.map(index => (index.number === old ? { ...index, number } : index))
    return { definition: { ...definition, indexes } }
  })
  await engine.indexes.drop(container, old)
  return changed
}
