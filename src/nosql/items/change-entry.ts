/**
 * Changes in wire format 2021-09-15: an item and the facts of its change, side by side.
 *
 *   {"current": the item,
 *    "metadata": {"lsn", "crts", "operationType": "create" | "replace", "previousImageLSN"}}
 *   {"current": {},
 *    "metadata": {…, "operationType": "delete", "timeToLiveExpired", "id", "partitionKey"},
 *    "previous": the item}
 *
 * The shape is that of azure-cosmos-dotnet-v3, ChangeFeedMetadata and BuilderWithCustomSerializerTests. A
 * patch, or an upsert of an existing item, is a replace. Latest versions have only "lsn" and "crts"
 * (azure-sdk-for-java, the design notes of its change feed processor).
 */

import { textOf } from '../../document/body.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ScannedItem } from '../../store/item.ts'
import type { LogEntry } from '../../store/reading.ts'

/** A change in the feed of latest versions. */
export function printLatest({ body, version, ts }: ScannedItem): string {
  return `{"current":${textOf(body)},"metadata":{"lsn":${version},"crts":${ts}}}`
}

/** An entry of the change log, in the feed of all versions and deletes. */
export function printLogEntry({ partitionKey }: ContainerRecord, entry: LogEntry): string {
  const { kind, version, ts, body, previous, key } = entry
  const lsns = `"lsn":${version},"crts":${ts}`
  const before = previous === undefined ? '' : `,"previousImageLSN":${previous.version}`
  if (kind === 'create' || kind === 'replace') {
    return `{"current":${textOf(body!)},"metadata":{${lsns},"operationType":"${kind}"${before}}}`
  }
  const name = `"id":${JSON.stringify(key.id)},"partitionKey":${printKey(partitionKey.paths, key.pk)}`
  const metadata = `${lsns},"operationType":"delete","timeToLiveExpired":${kind === 'expire'}${before},${name}`
  const image = previous === undefined ? '' : `,"previous":${textOf(previous.body)}`
  return `{"current":{},"metadata":{${metadata}}${image}}`
}

/** Each level by its path. Levels that the item does not have are left out. */
function printKey(paths: readonly string[], pk: string): string {
  const levels = JSON.parse(pk) as unknown[]
  const isThere = (level: unknown) => typeof level !== 'object' || level === null
  const named = levels.flatMap((level, at) => (isThere(level) ? [[paths[at]!.slice(1), level]] : []))
  return JSON.stringify(Object.fromEntries(named))
}
