/** Connects imports with the two APIs, which read the rows for a container and create it. */

import type { ImportSide } from '../admin/import-calls.ts'
import { RequestError } from '../base/error.ts'
import type { Engine } from '../engine/engine.ts'
import type { MongoServer } from '../mongo/server.ts'

export function importSide({
  engine,
  strict,
  mongo,
}: {
  readonly engine: Engine
  readonly strict: boolean
  readonly mongo: () => Promise<MongoServer>
}): ImportSide {
  return {
    edgeOf: async (container, keepTtl) => {
      if (container.encoding === 'json') {
        const { importEdge } = await import('../nosql/items/import-edge.ts')
        return importEdge(engine, container, { keepTtl, strict })
      }
      return (await mongo()).importEdge(container, keepTtl)
    },
    create: async ({ api, database, container, partitionKey, definition: rest }) => {
      if (api === 'mongo' && rest.defaultTtl !== undefined) {
        throw new RequestError(
          'malformed',
          `Documents of ${database}/${container} die by a TTL index on _ts, which you create: leave defaultTtl out.`,
        )
      }
      if (api === 'mongo') return (await mongo()).ensureCollection({ database, collection: container }, partitionKey)
      if (partitionKey === undefined) {
        throw new RequestError(
          'malformed',
          `There is no container ${database}/${container}. To create it, name its key.`,
        )
      }
      const { ensureContainer, partitionKeyNamed } = await import('../nosql/ensure-container.ts')
      const definition = { ...rest, id: container, partitionKey: partitionKeyNamed(partitionKey) }
      return (await ensureContainer(engine, database, definition)).container
    },
  }
}
