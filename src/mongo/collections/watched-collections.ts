/**
 * Which collections keep a log for change streams.
 *
 * A log costs every write, so there is none until somebody watches. From then on the collection keeps one;
 * whoever watches a database, all of them, or a name that is not there yet, leaves a mark that collections
 * look for when they are made.
 */

import type { Engine } from '../../engine/engine.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { Namespace } from '../../mql/words/namespace.ts'
import { nameOf } from '../requests/namespace.ts'

/** What is watched: one collection, a database, or everything. */
export type WatchScope =
  | { readonly kind: 'collection'; readonly namespace: Namespace }
  | { readonly kind: 'database'; readonly database: string }
  | { readonly kind: 'cluster' }

function markOf(scope: WatchScope): string {
  switch (scope.kind) {
    case 'collection':
      return `collection ${nameOf(scope.namespace)}`
    case 'database':
      return `database ${scope.database}`
    case 'cluster':
      return 'cluster'
  }
}

export async function mark(engine: Engine, scope: WatchScope): Promise<void> {
  const container = await engine.systemContainer('mongo-watched', null)
  const id = markOf(scope)
  await engine.store.write(container, {
    kind: 'upsert',
    key: itemKey(container, [id], id),
    draft: { texts: [JSON.stringify({ id, owner: id })], stamps: [] },
    ttl: undefined,
  })
}

/** Whether a collection of this name is to remember its changes, when it is made. */
export async function isWatched(engine: Engine, namespace: Namespace): Promise<boolean> {
  const container = await engine.systemContainer('mongo-watched', null)
  const scopes: WatchScope[] = [
    { kind: 'cluster' },
    { kind: 'database', database: namespace.database },
    { kind: 'collection', namespace },
  ]
  for (const scope of scopes) {
    const id = markOf(scope)
    const { item } = await engine.store.read(container, itemKey(container, [id], id))
    if (item !== undefined) return true
  }
  return false
}
