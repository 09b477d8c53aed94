/**
 * /docs: creates, reads, replaces, upserts and deletes single items. Other requests for items, which are
 * rarer, are loaded when they come.
 */

import { lazily } from '../../base/lazily.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { textOf } from '../../document/body.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { TransactAnswer } from '../../store/writing.ts'
import {
  type ContainerView,
  checkPartitionKey,
  requirePartitionKey,
  sessionHeader,
  viewOf,
} from '../http/container-view.ts'
import { checkMayRename, requireContainer } from '../http/named-resource.ts'
import { checkWritten, outcomeError, refusalError } from '../http/outcome-error.ts'
import { hasFlag, hasTriggers, headerOf, isQuery, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import { etagOf, versionOfEtag } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { itemDraft } from '../items/item-body.ts'
import { parseItem } from '../items/item-bytes.ts'
import { type ItemOperation, renameOperation, stepsOf } from '../items/item-operation.ts'
import { planQuery, queryItems } from './lazy-queries.ts'

const postBatch = lazily(
  () => import('./batch.ts'),
  batch => batch.postBatch,
)
const writeWithTriggers = lazily(
  () => import('./triggered-write.ts'),
  writes => writes.writeWithTriggers,
)

export function readItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(requireContainer(request), container => {
    const view = viewOf(container)
    const { headers } = request
    const key = itemKey(container, requirePartitionKey(view, headerOf(request, partitionKeyHeader)), request.path[5]!)
    return andThen(request.service.engine.findItem(container, key), ({ item, chargeRu, version }) => {
      if (item === undefined) throw outcomeError('missing', chargeRu)
      const etag = `"${etagOf(container.rid, item.version)}"`
      const common = itemHeaders(view, key, version, etag)
      const known = headers['if-none-match']
      if (known !== undefined && (known === '*' || known === etag)) return { status: 304, chargeRu, headers: common }
      return { status: 200, body: textOf(item.body), chargeRu, headers: common }
    })
  })
}

export function postItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  if (hasFlag(request, 'x-ms-cosmos-is-query-plan-request')) return planQuery(request)
  if (isQuery(request)) return andThen(requireContainer(request), container => queryItems(request, container))
  if (hasFlag(request, 'x-ms-cosmos-is-batch-request')) {
    return andThen(requireContainer(request), container => postBatch(request, container))
  }
  const kind = hasFlag(request, 'x-ms-documentdb-is-upsert') ? 'upsert' : 'create'
  return andThen(requireContainer(request), container => writeItem(request, container, kind))
}

export function replaceItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(requireContainer(request), container => writeItem(request, container, 'replace'))
}

async function writeItem(
  request: NosqlRequest,
  container: ContainerRecord,
  kind: 'create' | 'replace' | 'upsert',
): Promise<NosqlResponse> {
  if (hasTriggers(request)) return writeWithTriggers(request, container, kind)
  const { engine, strict } = request.service
  const view = viewOf(container)
  const body = parseItem(request.body, view, { strict })
  const components = requirePartitionKey(view, headerOf(request, partitionKeyHeader))
  checkPartitionKey(view, components, body.properties)
  const key = itemKey(container, components, body.id)
  const ifVersion = expectedVersion(request, container)
  if (kind === 'replace' && body.id !== request.path[5]) {
    checkMayRename(request)
    const from = { ...key, id: request.path[5]! }
    return operate(request, view, renameOperation(view, { from, to: key }, body, ifVersion))
  }
  const written = await engine.writeItem(
    container,
    { kind, key, ifVersion, draft: itemDraft(view, body), ttl: body.ttl },
    body.bytes,
  )
  checkWritten(written.outcome, written.chargeRu)
  const item = written.item!
  return {
    status: written.outcome === 'created' ? 201 : 200,
    body: wantsNothing(request) ? undefined : textOf(item.body),
    chargeRu: written.chargeRu,
    headers: itemHeaders(view, key, written.version, `"${etagOf(container.rid, item.version)}"`),
  }
}

/**
 * Answers a request that changes one item. Runs the transaction, unless the caller has run it already
 * (`done`).
 */
export async function operate(
  request: NosqlRequest,
  view: ContainerView,
  operation: ItemOperation,
  done?: Promise<TransactAnswer>,
): Promise<NosqlResponse> {
  const { record } = view
  const { chargeRu, key } = operation
  const { engine } = request.service
  const { steps, version, refusal } = await (done ?? engine.transact(record, stepsOf(record, operation), chargeRu))
  if (refusal !== undefined) {
    const error = refusalError(refusal, steps.at(-1))
    error.chargeRu = chargeRu
    throw error
  }
  const item = steps.at(-1)!.item!
  const headers = itemHeaders(view, key, version, `"${etagOf(record.rid, item.version)}"`)
  return { status: 200, body: wantsNothing(request) ? undefined : textOf(item.body), chargeRu, headers }
}

export function deleteItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(requireContainer(request), async container => {
    if (hasTriggers(request)) return writeWithTriggers(request, container, 'delete')
    const view = viewOf(container)
    const key = itemKey(container, requirePartitionKey(view, headerOf(request, partitionKeyHeader)), request.path[5]!)
    const write = { kind: 'delete', key, ifVersion: expectedVersion(request, container) } as const
    const { outcome, chargeRu, version } = await request.service.engine.writeItem(container, write, 0)
    checkWritten(outcome, chargeRu)
    return { status: 204, chargeRu, headers: itemHeaders(view, key, version) }
  })
}

function wantsNothing(request: NosqlRequest): boolean {
  return headerOf(request, 'prefer') === 'return=minimal'
}

export function expectedVersion(request: NosqlRequest, container: ContainerRecord): number | undefined {
  const etag = headerOf(request, 'if-match')
  return etag === undefined ? undefined : versionOfEtag(etag, container.rid)
}

function itemHeaders(view: ContainerView, key: ItemKey, version: number, etag?: string): string {
  const common = sessionHeader(view, version, key.epk) + header('lsn', version) + view.pathHeaders
  return etag === undefined ? common : common + header('etag', etag)
}
