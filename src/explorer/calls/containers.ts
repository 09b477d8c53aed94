/** Finds the container or the item that a call names. */

import { RequestError } from '../../base/error.ts'
import { parsePartitionKeyHeader } from '../../document/partition-key.ts'
import { wholeItemKey } from '../../engine/item-key.ts'
import type { ContainerRecord, DatabaseRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { ApiCall } from '../http/call.ts'
import { ConflictError, FieldError } from '../http/error-map.ts'
import type { ExplorerService } from '../service/service.ts'
import { readKey } from '../service/tokens.ts'

export async function requireDatabase({ engine }: ExplorerService, id: string): Promise<DatabaseRecord> {
  const found = await engine.catalog.findDatabase(id)
  if (found === undefined) throw new RequestError('namespace_not_found', `There is no database '${id}'.`)
  return found
}

export async function requireContainer(
  service: ExplorerService,
  { names }: Pick<ApiCall, 'names'>,
): Promise<ContainerRecord> {
  return findContainer(service, names[0]!, names[1]!)
}

export async function findContainer(
  { engine }: ExplorerService,
  database: string,
  id: string,
): Promise<ContainerRecord> {
  const found = await engine.catalog.findContainer(database, id)
  if (found === undefined) throw new RequestError('namespace_not_found', `There is no container '${database}/${id}'.`)
  return found
}

export function requireNosql({ encoding, id }: ContainerRecord): void {
  if (encoding !== 'json') throw new ConflictError(`${id} is a Mongo collection: it has no such thing.`)
}

export function requireMongo({ encoding, id }: ContainerRecord): void {
  if (encoding !== 'bson') throw new ConflictError(`${id} is a NoSQL container: it has no such thing.`)
}

/** By `key`, or by `id` and `partitionKey` as people write them. */
export async function keyOfCall(
  service: ExplorerService,
  container: ContainerRecord,
  { query }: Pick<ApiCall, 'query'>,
): Promise<ItemKey> {
  const key = query.get('key')
  if (key !== null) return readKey(key)
  const id = query.get('id')
  const partitionKey = query.get('partitionKey')
  if (id === null) throw new FieldError('key', 'Name the item: ?key=…, or ?id=…&partitionKey=["…"].')
  if (container.encoding === 'bson') return (await service.mongo()).keyOf(container, id, partitionKey)
  if (partitionKey === null) throw new FieldError('partitionKey', 'Name the partition key: &partitionKey=["…"].')
  return wholeItemKey(container, parsePartitionKeyHeader(partitionKey), id)
}
