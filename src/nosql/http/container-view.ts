/**
 * What the REST edge derives from a container once and needs in every request: names, key paths, ranges,
 * session tokens.
 */

import { RequestError } from '../../base/error.ts'
import { ownText } from '../../base/own-text.ts'
import {
  type EffectivePartitionKeyRange,
  partitionRangeIndex,
  partitionRanges,
} from '../../document/effective-partition-key.ts'
import {
  extractPartitionKey,
  type PartitionKeyComponent,
  parsePartitionKeyHeader,
  parsePartitionKeyPath,
  partitionKeysEqual,
  undefinedComponent,
} from '../../document/partition-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { containerRid, databaseRid } from './resource-id.ts'
import { header } from './response.ts'

export interface ContainerView {
  readonly record: ContainerRecord
  readonly rid: string
  /** `dbs/<rid>/colls/<rid>/`, the form in which resources name each other. */
  readonly self: string
  /** `dbs/<id>/colls/<id>`, the form in which people do, encoded. */
  readonly path: string
  /** Both as headers, which most answers have. */
  readonly pathHeaders: string
  readonly keyPaths: readonly (readonly string[])[]
  readonly ranges: readonly EffectivePartitionKeyRange[]
}

const views = new WeakMap<ContainerRecord, ContainerView>()

export function viewOf(record: ContainerRecord): ContainerView {
  let view = views.get(record)
  if (view === undefined) {
    const rid = containerRid(record)
    const path = encodeURI(`dbs/${record.database.id}/colls/${record.id}`)
    view = {
      record,
      rid,
      self: `dbs/${databaseRid(record.database)}/colls/${rid}/`,
      path,
      pathHeaders: ownText(header('x-ms-content-path', rid) + header('x-ms-alt-content-path', path)),
      keyPaths: record.partitionKey.paths.map(parsePartitionKeyPath),
      ranges: partitionRanges(record.partitionKey, record.partitionCount),
    }
    views.set(record, view)
  }
  return view
}

/** The partition key a request names; undefined when it names none. */
export function namedPartitionKey(
  view: ContainerView,
  header: string | undefined,
): PartitionKeyComponent[] | undefined {
  if (header === undefined) return undefined
  const components = parsePartitionKeyHeader(header)
  // A container from before partition keys has a key of its own that no item carries: clients send an empty
  // list.
  if (view.record.partitionKey.systemKey === true && components.length === 0) return [undefinedComponent]
  return components
}

/** Of a request that concerns one item, the whole partition key must be named. */
export function requirePartitionKey(view: ContainerView, header: string | undefined): PartitionKeyComponent[] {
  // Clients from before partition keys send no header at all where newer ones send an empty list.
  const { systemKey } = view.record.partitionKey
  const components = namedPartitionKey(view, header) ?? (systemKey === true ? [undefinedComponent] : undefined)
  if (components === undefined) {
    throw new RequestError('malformed', 'PartitionKey value must be supplied for this operation.')
  }
  if (components.length !== view.keyPaths.length) {
    throw new RequestError(
      'partition_key_mismatch',
      `Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key field values specified in the document.`,
    )
  }
  return components
}

/** The key a document itself carries must be the one the request names. */
export function checkPartitionKey(
  view: ContainerView,
  named: readonly PartitionKeyComponent[],
  document: Record<string, unknown>,
): void {
  if (view.record.partitionKey.systemKey === true) return
  if (!partitionKeysEqual(named, extractPartitionKey(document, view.keyPaths))) throw partitionKeyMismatch()
}

export function partitionKeyMismatch(): RequestError {
  return new RequestError(
    'partition_key_mismatch',
    `PartitionKey extracted from document doesn't match the one specified in the header`,
  )
}

/** A session token, `<range>:-1#<version>`: what a session has seen in the range. */
export function sessionHeader(view: ContainerView, version: number, epk: string): string {
  const range = view.ranges.length === 1 ? 0 : partitionRangeIndex(view.ranges, epk)
  return header('x-ms-session-token', `${range}:-1#${version}`)
}
