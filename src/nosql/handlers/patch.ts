/** PATCH of /docs: changes parts of an item. */

import { RequestError } from '../../base/error.ts'
import { itemBytesMax } from '../../base/limits.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { TransactAnswer } from '../../store/writing.ts'
import { type ContainerView, requirePartitionKey, viewOf } from '../http/container-view.ts'
import { requireContainer } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { headerOf, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import type { NosqlResponse } from '../http/response.ts'
import { WorkTime } from '../http/work-time.ts'
import { type ItemOperation, stepsOf } from '../items/item-operation.ts'
import { parsePatch } from '../items/patch.ts'
import { LongCondition, PatientJudge } from '../items/patch-condition.ts'
import { LargePatch, patchOperation } from '../items/patch-operation.ts'
import { decodeJson } from '../json/parse-json.ts'
import { expectedVersion, operate } from './items.ts'

export function patchItem(request: NosqlRequest): MaybePromise<NosqlResponse> {
  return andThen(requireContainer(request), async container => {
    const { strict } = request.service
    if (request.body.length > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
    const view = viewOf(container)
    const patch = parsePatch(decodeJson(request.body))
    const key = itemKey(container, requirePartitionKey(view, headerOf(request, partitionKeyHeader)), request.path[5]!)
    const ifVersion = expectedVersion(request, container)
    const patient = patch.condition === undefined ? undefined : new PatientJudge(patch.condition)
    const judge = patient?.judge
    const bytes = request.body.length
    const operation = patchOperation(view, key, patch, { ifVersion, bytes, strict, judge, tellsSize: true })
    return operate(request, view, operation, transactPatiently(request, view, operation, patient))
  })
}

/** How often a patch begins again because the item has changed meanwhile. */
const attemptsMax = 10

/**
 * Runs the transaction of a patch. It begins again after it has found that the item is large, and after a
 * long condition was judged in another thread.
 */
async function transactPatiently(
  { service: { engine }, caller }: NosqlRequest,
  { record }: ContainerView,
  operation: ItemOperation,
  patient: PatientJudge | undefined,
): Promise<TransactAnswer> {
  const { chargeRu } = operation
  let done = await engine.transact(record, stepsOf(record, operation), chargeRu)
  using time = new WorkTime(caller)
  let bytes = 0
  for (let attempt = 1; attempt < attemptsMax; attempt++) {
    const error = done.refusal?.error
    if (error instanceof LargePatch) bytes = error.bytes
    else if (error instanceof LongCondition) await patient!.judgeElsewhere(engine, error, time.signal())
    else return done
    done = await engine.transact(record, stepsOf(record, { ...operation, bytes }), 0)
  }
  throw outcomeError('changed', chargeRu)
}
