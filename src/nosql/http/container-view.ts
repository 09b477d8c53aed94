/** What the REST edge derives from a container once: links, key paths, ranges, session tokens. */

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
import {
  type PartitionLayout,
  type PhysicalPartition,
  partitionLayout,
  partitionOf,
} from '../../document/partition-layout.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ScanRange } from '../../store/reading.ts'
import { containerRid, databaseRid } from './resource-id.ts'
import { header } from './response.ts'

export interface ContainerView {
  readonly record: ContainerRecord
  readonly rid: string
  /** `dbs/<rid>/colls/<rid>/`: the link that resources use. */
  readonly self: string
  /** `dbs/<id>/colls/<id>`, URI-encoded: the link made of names. */
  readonly path: string
  /** Both links as headers, which most answers have. */
  readonly pathHeaders: string
  readonly keyPaths: readonly (readonly string[])[]
  readonly ranges: readonly PhysicalPartition[]
  /** Ranges that were split, by id. */
  readonly goneRanges: PartitionLayout['gone']
  /** The ranges when the container was made. */
  readonly firstRanges: readonly EffectivePartitionKeyRange[]
}

const views = new WeakMap<ContainerRecord, ContainerView>()

export function viewOf(record: ContainerRecord): ContainerView {
  let view = views.get(record)
  if (view === undefined) {
    const rid = containerRid(record)
    const { partitionKey, partitionCount, partitionSplits } = record
    const { present, gone } = partitionLayout(partitionKey, partitionCount, partitionSplits)
    const path = encodeURI(`dbs/${record.database.id}/colls/${record.id}`)
    view = {
      record,
      rid,
      self: `dbs/${databaseRid(record.database)}/colls/${rid}/`,
      path,
      pathHeaders: ownText(header('x-ms-content-path', rid) + header('x-ms-alt-content-path', path)),
      keyPaths: record.partitionKey.paths.map(parsePartitionKeyPath),
      ranges: present,
      goneRanges: gone,
      firstRanges: partitionRanges(partitionKey, partitionCount),
    }
    views.set(record, view)
  }
  return view
}

/** The partition key that a request names, or undefined. */
export function namedPartitionKey(
  view: ContainerView,
  header: string | undefined,
): PartitionKeyComponent[] | undefined {
  if (header === undefined) return undefined
  const components = parsePartitionKeyHeader(header)
  // A container from before partition keys has an internal key that no item carries. Clients send an empty
  // list for it.
  if (view.record.partitionKey.systemKey === true && components.length === 0) return [undefinedComponent]
  return components
}

/** The partition key of a request for one item. It must be complete. */
export function requirePartitionKey(view: ContainerView, header: string | undefined): PartitionKeyComponent[] {
  // Clients from before partition keys send no header where newer ones send an empty list.
  const { systemKey } = view.record.partitionKey
  const components = namedPartitionKey(view, header) ?? (systemKey === true ? [undefinedComponent] : undefined)
  if (components === undefined) {
    throw new RequestError('malformed', 'PartitionKey value must be supplied for this operation.')
  }
  if (components.length !== view.keyPaths.length) {
    throw new RequestError(
      'partition_key_mismatch',
      `Partition key provided either doesn't correspond to definition in the collection or doesn't match ` +
        'partition key field values specified in the document.',
    )
  }
  return components
}

/** Throws unless the document's own partition key is the one that the request names. */
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

/**
 * The range that answered, and the session token `<range>:-1#<version>`: the version that a session has seen
 * in the range.
 */
export function sessionHeader(view: ContainerView, version: number, epk: string): string {
  const range = view.ranges.length === 1 ? view.ranges[0]! : partitionOf(view.ranges, epk)
  const token = header('x-ms-session-token', `${range.id}:-1#${version}`)
  return token + header('x-ms-documentdb-partitionkeyrangeid', range.id)
}

/**
 * The part of a container that a continuation token is bound to. It is the same before and after splits:
 * clients use the token of a range for its halves.
 */
export function tokenRange({ firstRanges }: ContainerView, { min, maxExclusive, pk }: ScanRange): string {
  const first = firstRanges[partitionRangeIndex(firstRanges, min)]!
  const isPart = pk === undefined && maxExclusive <= first.maxExclusive
  return isPart ? `${first.min} ${first.maxExclusive}` : `${min} ${maxExclusive} ${pk ?? ''}`
}
