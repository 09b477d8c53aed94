/**
 * POST /operations/partitionkeydelete: deletes all items of a partition key.
 *
 * Items written while the request runs stay: only the versions that existed at its start are deleted, page by
 * page. The service deletes in the background and hides the items at once; here the answer comes when they
 * are gone.
 */

import { RequestError } from '../../base/error.ts'
import { scanBytesMax } from '../../base/limits.ts'
import { effectivePartitionKeyPrefixRange } from '../../document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../../document/partition-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import type { Step } from '../../store/writing.ts'
import { deleteRu } from '../../units/cost.ts'
import { requirePartitionKey, sessionHeader, viewOf } from '../http/container-view.ts'
import { requireContainer } from '../http/named-resource.ts'
import { headerOf, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import { header, type NosqlResponse } from '../http/response.ts'

/** Most items that one transaction deletes: about a millisecond on the event loop. */
const partitionDeleteItemsMax = 100

export async function postOperation(request: NosqlRequest): Promise<NosqlResponse> {
  if (request.path[5] !== 'partitionkeydelete') {
    throw new RequestError('not_found', 'The requested resource does not exist: no such operation.')
  }
  const { engine } = request.service
  const container = await requireContainer(request)
  const view = viewOf(container)
  const components = requirePartitionKey(view, headerOf(request, partitionKeyHeader))
  const range = {
    ...effectivePartitionKeyPrefixRange(container.partitionKey, components),
    pk: canonicalPartitionKey(components),
  }
  const page = { itemsMax: partitionDeleteItemsMax, bytesMax: scanBytesMax }
  let after: ItemKey | undefined
  let chargeRu = 0
  let version: number
  do {
    const found = await engine.uncharged.scan(container, { ...range, after }, page)
    const steps = found.items.map(item => deletion(container, item))
    const deletesRu = steps.length * deleteRu
    chargeRu += deletesRu
    version = steps.length === 0 ? found.version : (await engine.transact(container, steps, deletesRu)).version
    after = found.last
  } while (after !== undefined)
  const headers = sessionHeader(view, version, range.min) + header('x-ms-content-path', view.rid)
  return { status: 200, chargeRu, headers }
}

function deletion(container: ContainerRecord, { key, version }: ScannedItem): Step {
  return { container, key, decide: found => (found?.version === version ? { kind: 'delete' } : undefined) }
}
