/**
 * An entry of a container's change log as the feed of all versions and deletes shows it.
 *
 *   {"current": the item,
 *    "metadata": {"lsn", "crts", "operationType": "create" | "replace", "previousImageLSN"}}
 *   {"current": {},
 *    "metadata": {…, "operationType": "delete", "timeToLiveExpired", "id", "partitionKey"},
 *    "previous": the item}
 *
 * The shape is that of wire format 2021-09-15 (azure-cosmos-dotnet-v3, ChangeFeedMetadata and
 * BuilderWithCustomSerializerTests). A patch, or an upsert of an existing item, is a replace.
 */

import { textOf } from '../../document/body.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { LogEntry } from '../../store/reading.ts'

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
