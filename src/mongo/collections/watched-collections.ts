/**
 * Which collections keep a change log for change streams.
 *
 * A log costs every write, so a collection has none until a client watches it. A client that watches a
 * database, the whole server, or a collection that does not exist yet, leaves a mark. New collections look
 * for such marks.
 */

import type { Engine } from '../../engine/engine.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { nameOf } from '../requests/namespace.ts'

/** What is watched: a collection, a database, or the whole server. */
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
  const container = await engine.systemItems.container('mongo-watched', null)
  const id = markOf(scope)
  if ((await engine.systemItems.find(container, itemKey(container, [id], id))) !== undefined) return
  await engine.systemItems.write(container, {
    kind: 'upsert',
    key: itemKey(container, [id], id),
    draft: { texts: [JSON.stringify({ id, owner: id })], stamps: [] },
    ttl: undefined,
  })
}

/** Whether a new collection of this name must keep a change log. */
export async function isWatched(engine: Engine, namespace: Namespace): Promise<boolean> {
  const container = await engine.systemItems.container('mongo-watched', null)
  const scopes: WatchScope[] = [
    { kind: 'cluster' },
    { kind: 'database', database: namespace.database },
    { kind: 'collection', namespace },
  ]
  for (const scope of scopes) {
    const id = markOf(scope)
    const item = await engine.systemItems.find(container, itemKey(container, [id], id))
    if (item !== undefined) return true
  }
  return false
}
