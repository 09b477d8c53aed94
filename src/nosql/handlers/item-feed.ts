/** The feed of all items, page by page, in order of effective partition key. */

import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { pageBytesMax } from '../../base/limits.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { textOf } from '../../document/body.ts'
import { effectivePartitionKeyPrefixRange } from '../../document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../../document/partition-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { type ScanRange, wholeRange } from '../../store/reading.ts'
import {
  type ContainerView,
  namedPartitionKey,
  requirePartitionKey,
  sessionHeader,
  tokenRange,
  viewOf,
} from '../http/container-view.ts'
import { decodeRangeContinuation, encodeRangeContinuation } from '../http/continuation.ts'
import { pageSize } from '../http/feed.ts'
import { documentList } from '../http/list-body.ts'
import { requireContainer } from '../http/named-resource.ts'
import { headerOf, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { metricsHeaders } from './query-metrics.ts'

export function listItems(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(requireContainer(request), container => feedOfItems(request, container))
}

/** Joins the bodies as they are stored. */
export function feedOfItems(request: NosqlRequest, container: ContainerRecord): MaybePromise<NosqlResponse> {
  const view = viewOf(container)
  const { engine, keys } = request.service
  const range = rangeOf(request, view)
  const scope = `docs ${view.rid} ${tokenRange(view, range)}`
  const token = headerOf(request, 'x-ms-continuation')
  const after = token === undefined ? undefined : (decodeRangeContinuation(keys, scope, token) as ItemKey)
  const page = { itemsMax: pageSize(request), bytesMax: pageBytesMax }
  const startMs = machine.monotonicMs()
  return andThen(engine.readPage(container, { ...range, after }, page), ({ items, last, bytes, chargeRu, version }) => {
    let headers =
      sessionHeader(view, version, range.min) +
      header('x-ms-item-count', items.length) +
      header('x-ms-content-path', view.rid)
    if (last !== undefined) headers += header('x-ms-continuation', encodeRangeContinuation(keys, scope, range, last))
    const counts = { itemsRead: items.length, bytesRead: bytes, rowsOut: items.length, bytesOut: bytes }
    const statistics = { ...counts, elapsedMs: machine.monotonicMs() - startMs }
    headers += metricsHeaders(request, view, statistics, { used: [], wished: [] })
    const documents = items.map(({ body }) => textOf(body))
    return { status: 200, body: documentList(view.rid, documents), chargeRu, headers }
  })
}

/**
 * The part of the container that a request addresses: a partition key, its prefix, a physical partition, or
 * all.
 */
export function rangeOf(request: NosqlRequest, view: ContainerView): ScanRange {
  const components = namedPartitionKey(view, headerOf(request, partitionKeyHeader))
  if (components !== undefined) {
    if (components.length > view.keyPaths.length) requirePartitionKey(view, headerOf(request, partitionKeyHeader))
    const range = effectivePartitionKeyPrefixRange(view.record.partitionKey, components)
    const isWhole = components.length === view.keyPaths.length
    return isWhole ? { ...range, pk: canonicalPartitionKey(components) } : range
  }
  const id = headerOf(request, 'x-ms-documentdb-partitionkeyrangeid')
  const { min, maxExclusive } = physicalRange(view, id, headerOf(request, 'a-im') === undefined)
  const start = headerOf(request, 'x-ms-start-epk')
  const end = headerOf(request, 'x-ms-end-epk')
  return {
    min: start !== undefined && start > min ? start : min,
    maxExclusive: end !== undefined && end < maxExclusive ? end : maxExclusive,
  }
}

/**
 * The range of a physical partition. Readers of change feeds and writers in bulk must name a present range:
 * for a range that was split they get 410, read the ranges again and go on. A query or a feed may still name
 * a range that was split, and gets all of it: no data has moved, and the JavaScript SDK (4.10) repeats a
 * query that gets 410 for ever.
 */
export function physicalRange(view: ContainerView, id: string | undefined, mayBeGone = false) {
  if (id === undefined) return wholeRange
  const range = view.ranges.find(range => range.id === id) ?? (mayBeGone ? view.goneRanges.get(id) : undefined)
  if (range === undefined) {
    throw new RequestError('position_gone', `The partition key range with id ${id.slice(0, 32)} is gone.`)
  }
  return range
}
