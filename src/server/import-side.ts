/** Joins imports with the two APIs: who reads rows for a container, and who creates it. */

import type { ImportSide } from '../admin/import-calls.ts'
import { RequestError } from '../base/error.ts'
import type { Engine } from '../engine/engine.ts'
import { ensureContainer, partitionKeyNamed } from '../nosql/ensure-container.ts'
import { importEdge } from '../nosql/items/import-edge.ts'

export function importSide({ engine, strict }: { readonly engine: Engine; readonly strict: boolean }): ImportSide {
  return {
    edgeOf: async (container, keepTtl) => {
      if (container.encoding === 'json') return importEdge(engine, container, { keepTtl, strict })
      throw new RequestError('unsupported', 'Rows cannot be imported into collections yet.')
    },
    create: async ({ api, database, container, partitionKey, defaultTtl }) => {
      if (api === 'mongo') throw new RequestError('unsupported', 'Rows cannot be imported into collections yet.')
      if (partitionKey === undefined) {
        throw new RequestError(
          'malformed',
          `There is no container ${database}/${container}. To create it, name its key.`,
        )
      }
      const definition = {
        id: container,
        partitionKey: partitionKeyNamed(partitionKey),
        ...(defaultTtl !== undefined && { defaultTtl }),
      }
      return (await ensureContainer(engine, database, definition)).container
    },
  }
}
