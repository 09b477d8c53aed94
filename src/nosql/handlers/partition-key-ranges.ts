/** /pkranges: the physical partitions, which clients use for routing. */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { catalogReadRu } from '../../units/cost.ts'
import { viewOf } from '../http/container-view.ts'
import { requireContainer } from '../http/named-resource.ts'
import type { NosqlRequest } from '../http/request.ts'
import { etagOf } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'

export function listPartitionKeyRanges(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(requireContainer(request), container => {
    const view = viewOf(container)
    // The ranges change only when they are split.
    const etag = `"${etagOf(container.rid, 1 + container.partitionSplits)}"`
    const headers =
      header('etag', etag) + header('x-ms-content-path', view.rid) + header('x-ms-item-count', view.ranges.length)
    if (request.headers['if-none-match'] === etag) return { status: 304, chargeRu: catalogReadRu, headers }
    const ranges = view.ranges.map(({ min, maxExclusive, id, parents }) => ({
      _rid: view.rid,
      id,
      _etag: etag,
      minInclusive: min,
      maxExclusive,
      ridPrefix: Number(id),
      _self: `${view.self}pkranges/${id}/`,
      throughputFraction: 1 / view.ranges.length,
      status: 'online',
      parents,
      ownedArchivalPKRangeIds: [],
      _ts: container.ts,
      lsn: 1,
    }))
    const body = JSON.stringify({ _rid: view.rid, PartitionKeyRanges: ranges, _count: ranges.length })
    return { status: 200, body, chargeRu: catalogReadRu, headers }
  })
}
