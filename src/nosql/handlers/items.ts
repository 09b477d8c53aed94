/** /docs: one item at a time (create, read, replace, upsert, delete), and the feed of them all. */

import { RequestError } from '../../base/error.ts'
import { pageBytesMax } from '../../base/limits.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { effectivePartitionKeyPrefixRange } from '../../document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../../document/partition-key.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord, ItemKey, ScanRange } from '../../storage/port.ts'
import {
  type ContainerView,
  checkPartitionKey,
  namedPartitionKey,
  requirePartitionKey,
  sessionToken,
  viewOf,
} from '../container-view.ts'
import { decodeContinuation, encodeContinuation } from '../continuation.ts'
import { pageSize } from '../feed.ts'
import { itemDraft, parseItemBody } from '../item-body.ts'
import { hasFlag, headerOf, type NosqlRequest } from '../request.ts'
import { etagOf, versionOfEtag } from '../resource-id.ts'
import type { NosqlResponse } from '../response.ts'
import { planQuery, queryItems } from './query.ts'

const partitionKeyHeader = 'x-ms-documentdb-partitionkey'

function containerOf({ service, path }: NosqlRequest): MaybePromise<ContainerRecord> {
  return service.engine.requireContainer(path[1]!, path[3]!)
}

export function readItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(containerOf(request), container => {
    const view = viewOf(container)
    const { headers } = request
    const key = itemKey(container, requirePartitionKey(view, headerOf(request, partitionKeyHeader)), request.path[5]!)
    return andThen(request.service.engine.readItem(container, key), ({ item, chargeRu, version }) => {
      const etag = `"${etagOf(container.rid, item.version)}"`
      const common = itemHeaders(view, key, version, etag)
      const known = headers['if-none-match']
      if (known !== undefined && (known === '*' || known === etag)) return { status: 304, chargeRu, headers: common }
      return { status: 200, body: item.body, chargeRu, headers: common }
    })
  })
}

export function postItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  if (hasFlag(request, 'x-ms-cosmos-is-query-plan-request')) return planQuery(request)
  if (isQuery(request)) return andThen(containerOf(request), container => queryItems(request, container))
  if (hasFlag(request, 'x-ms-cosmos-is-batch-request')) {
    throw new RequestError('unsupported', 'Transactional batch and bulk requests are not supported yet.')
  }
  const kind = hasFlag(request, 'x-ms-documentdb-is-upsert') ? 'upsert' : 'create'
  return andThen(containerOf(request), container => writeItem(request, container, kind))
}

function isQuery(request: NosqlRequest): boolean {
  return hasFlag(request, 'x-ms-documentdb-isquery') || headerOf(request, 'content-type') === 'application/query+json'
}

export function replaceItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(containerOf(request), container => writeItem(request, container, 'replace'))
}

async function writeItem(
  request: NosqlRequest,
  container: ContainerRecord,
  kind: 'create' | 'replace' | 'upsert',
): Promise<NosqlResponse> {
  const { engine, strict } = request.service
  const view = viewOf(container)
  const body = parseItemBody(request.body, { strict })
  if (kind === 'replace' && body.id !== request.path[5]) {
    throw new RequestError('malformed', 'The id of the document and the id in the path are not the same.')
  }
  const components = requirePartitionKey(view, headerOf(request, partitionKeyHeader))
  checkPartitionKey(view, components, body.properties)
  const key = itemKey(container, components, body.id)
  const ifVersion = expectedVersion(request, container)
  const written = await engine.writeItem(
    container,
    { kind, key, ifVersion, draft: itemDraft(view, body), ttl: body.ttl },
    body.bytes,
  )
  const item = written.item!
  const wantsNothing = headerOf(request, 'prefer') === 'return=minimal'
  return {
    status: written.isNew ? 201 : 200,
    body: wantsNothing ? undefined : item.body,
    chargeRu: written.chargeRu,
    headers: itemHeaders(view, key, written.version, `"${etagOf(container.rid, item.version)}"`),
  }
}

export function deleteItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(containerOf(request), async container => {
    const view = viewOf(container)
    const key = itemKey(container, requirePartitionKey(view, headerOf(request, partitionKeyHeader)), request.path[5]!)
    const write = { kind: 'delete', key, ifVersion: expectedVersion(request, container) } as const
    const { chargeRu, version } = await request.service.engine.writeItem(container, write, 0)
    return { status: 204, chargeRu, headers: itemHeaders(view, key, version) }
  })
}

function expectedVersion(request: NosqlRequest, container: ContainerRecord): number | undefined {
  const etag = headerOf(request, 'if-match')
  return etag === undefined ? undefined : versionOfEtag(etag, container.rid)
}

function itemHeaders(view: ContainerView, key: ItemKey, version: number, etag?: string): string[] {
  const list = [
    'x-ms-session-token',
    sessionToken(view, version, key.epk),
    'lsn',
    String(version),
    'x-ms-content-path',
    view.rid,
    'x-ms-alt-content-path',
    view.path,
  ]
  if (etag !== undefined) list.push('etag', etag)
  return list
}

/** A page of everything, in the order of effective partition keys. The bodies are joined as they are stored. */
export function listItems(request: NosqlRequest): MaybePromise<NosqlResponse> {
  if (headerOf(request, 'a-im') !== undefined) {
    throw new RequestError('unsupported', 'The change feed is not supported yet.')
  }
  return andThen(containerOf(request), container => {
    const view = viewOf(container)
    const { engine, key } = request.service
    const range = rangeOf(request, view)
    const scope = `docs ${view.rid} ${range.min} ${range.maxExclusive} ${range.pk ?? ''}`
    const token = headerOf(request, 'x-ms-continuation')
    const after = token === undefined ? undefined : keyOf(decodeContinuation(key, scope, token))
    const page = { itemsMax: pageSize(request), bytesMax: pageBytesMax }
    return andThen(engine.readPage(container, { ...range, after }, page), ({ items, last, chargeRu, version }) => {
      const headers = [
        'x-ms-session-token',
        sessionToken(view, version, range.min),
        'x-ms-item-count',
        String(items.length),
        'x-ms-content-path',
        view.rid,
      ]
      if (last !== undefined)
        headers.push('x-ms-continuation', encodeContinuation(key, scope, [last.epk, last.pk, last.id]))
      const documents = items.map(({ body }) => body).join(',')
      const body = `{"_rid":"${view.rid}","Documents":[${documents}],"_count":${items.length}}`
      return { status: 200, body, chargeRu, headers }
    })
  })
}

function keyOf([epk, pk, id]: readonly string[]): ItemKey {
  return { epk: epk!, pk: pk!, id: id! }
}

/** What part of the container a request is about: one partition key, a prefix of it, a physical partition, or all. */
export function rangeOf(request: NosqlRequest, view: ContainerView): ScanRange {
  const components = namedPartitionKey(view, headerOf(request, partitionKeyHeader))
  if (components !== undefined) {
    if (components.length > view.keyPaths.length) requirePartitionKey(view, headerOf(request, partitionKeyHeader))
    const range = effectivePartitionKeyPrefixRange(view.record.partitionKey, components)
    const isWhole = components.length === view.keyPaths.length
    return isWhole ? { ...range, pk: canonicalPartitionKey(components) } : range
  }
  const { min, maxExclusive } = physicalRange(view, headerOf(request, 'x-ms-documentdb-partitionkeyrangeid'))
  const start = headerOf(request, 'x-ms-start-epk')
  const end = headerOf(request, 'x-ms-end-epk')
  return {
    min: start !== undefined && start > min ? start : min,
    maxExclusive: end !== undefined && end < maxExclusive ? end : maxExclusive,
  }
}

function physicalRange(view: ContainerView, id: string | undefined) {
  if (id === undefined) return { min: '', maxExclusive: 'FF' }
  const range = view.ranges[Number(id)]
  if (range === undefined) {
    throw new RequestError('position_gone', `The partition key range with id ${id.slice(0, 32)} is gone.`)
  }
  return range
}
