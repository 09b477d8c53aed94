/** Finds a container for an import or a seed, or creates it with its database. */

import { RequestError } from '../base/error.ts'
import type { Engine } from '../engine/engine.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import { logSeconds, parseContainerDefinition } from './definitions/container-definition.ts'
import { uniqueIndexes } from './definitions/indexed-paths.ts'
import { toPartitionKeyDefinition } from './definitions/partition-key-policy.ts'
import { parseResourceId } from './definitions/resource-name.ts'

/** The version of the protocol whose rules hold for the definition. */
const apiVersion = '2020-07-15'

/** `definition`: as in a request that creates a container. An existing container keeps its own. */
export async function ensureContainer(
  engine: Engine,
  database: string,
  definition: { readonly id: string; readonly [property: string]: unknown },
): Promise<{ readonly container: ContainerRecord; readonly isNew: boolean }> {
  const { catalog } = engine
  const found = await catalog.findContainer(database, definition.id)
  if (found !== undefined) return { container: found, isNew: false }
  const parsed = parseContainerDefinition(definition, { apiVersion })
  parseResourceId(database)
  // Somebody else may create it at the same time.
  const record =
    (await catalog.findDatabase(database)) ??
    (await catalog.createDatabase(database, null)) ??
    (await catalog.findDatabase(database))
  if (record === undefined) throw new RequestError('not_found', `The database ${database} was deleted meanwhile.`)
  const container = await catalog.createContainer(record, {
    id: parsed.id,
    definition: parsed,
    partitionKey: toPartitionKeyDefinition(parsed.partitionKey),
    throughput: null,
    defaultTtl: parsed.defaultTtl ?? null,
    logSeconds: logSeconds(parsed),
    declaredIndexes: uniqueIndexes(parsed),
  })
  if (container === undefined) return ensureContainer(engine, database, definition)
  await engine.indexes.declare(container)
  return { container, isNew: true }
}

/** `/a/b` is one path; `/a,/b` are the levels of a hierarchical key. */
export function partitionKeyNamed(text: string): { paths: string[]; kind: 'Hash' | 'MultiHash'; version: 2 } {
  const paths = text.split(/,(?=\/)/).map(path => path.trim())
  return { paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 }
}
