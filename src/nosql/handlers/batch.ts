/**
 * POST /docs with operations: all or none in one transaction (a batch), or each on its own (bulk).
 *
 * The operations of a batch share a partition key. Those of a bulk request name their own. Operations on the
 * same item run in order, and all that arrive in one turn of the event loop are committed together.
 */

import { RequestError } from '../../base/error.ts'
import { itemBytesMax, pageBytesMax } from '../../base/limits.ts'
import { ShortWork } from '../../base/short-work.ts'
import { textOf } from '../../document/body.ts'
import { type PartitionKeyComponent, partitionKeysEqual } from '../../document/partition-key.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { Step, StepAnswer } from '../../store/writing.ts'
import { readRu } from '../../units/cost.ts'
import { isBinaryBatch, parseBinaryBatch, printBinaryResults } from '../batch/batch-binary.ts'
import { type BatchOperation, parseBatch } from '../batch/batch-request.ts'
import {
  type BatchResult,
  failedDependency,
  failureResult,
  isOperationError,
  printResults,
} from '../batch/batch-response.ts'
import { malformed } from '../definitions/definition-input.ts'
import { checkItemId } from '../definitions/resource-name.ts'
import {
  type ContainerView,
  checkPartitionKey,
  namedPartitionKey,
  requirePartitionKey,
  sessionHeader,
  viewOf,
} from '../http/container-view.ts'
import { refusalError } from '../http/outcome-error.ts'
import { hasFlag, headerOf, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import { etagOf, versionOfEtag } from '../http/resource-id.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { readItemText } from '../items/item-body.ts'
import {
  deleteOperation,
  type ItemOperation,
  readOperation,
  renameOperation,
  statusOf,
  stepsOf,
  writeOperation,
} from '../items/item-operation.ts'
import { readPatch } from '../items/patch.ts'
import { shortJudge } from '../items/patch-condition.ts'
import { patchOperation } from '../items/patch-operation.ts'
import { missingBody } from '../json/parse-json.ts'
import { physicalRange } from './item-feed.ts'

/** The service's limit for the body of a batch. The .NET SDK fills bulk requests up to this size. */
const batchBytesMax = 2_202_010

/**
 * Most bytes of items that the patches of one batch may rewrite: no more than its other writes. A megabyte
 * takes about 5 ms.
 */
const patchedBytesMax = itemBytesMax

interface Task {
  readonly asked: BatchOperation
  readonly operation: ItemOperation
}

export async function postBatch(request: NosqlRequest, container: ContainerRecord): Promise<NosqlResponse> {
  if (request.body.length > batchBytesMax) throw new RequestError('too_large', 'Request size is too large')
  const view = viewOf(container)
  const isBinary = isBinaryBatch(request.body)
  const operations = isBinary ? parseBinaryBatch(request.body) : parseBatch(request.body, view)
  const named = namedPartitionKey(view, headerOf(request, partitionKeyHeader))
  if (hasFlag(request, 'x-ms-cosmos-batch-atomic')) {
    const components = requirePartitionKey(view, headerOf(request, partitionKeyHeader))
    checkSameKey(view, operations, components)
    const partition = logicalPartitionOf(container, components)
    const work = new ShortWork()
    const tasks = operations.map(asked => prepare(request, view, asked, partition, work))
    return answer(view, tasks, await doTogether(request, container, tasks), isBinary)
  }
  // A client with a partition key in the header may be allowed only that key.
  if (named !== undefined) checkSameKey(view, operations, named)
  physicalRange(view, headerOf(request, 'x-ms-documentdb-partitionkeyrangeid'))
  const partition = named && logicalPartitionOf(container, named)
  const work = new ShortWork()
  const tasks = operations.map(asked => prepare(request, view, asked, partition, work))
  // Stops at the first failure only if the client asks for it.
  const stops = headerOf(request, 'x-ms-cosmos-batch-continue-on-error')?.toLowerCase() === 'false'
  const done = stops ? await doUntilFailure(request, container, tasks) : await doAll(request, container, tasks)
  return answer(view, tasks, done, isBinary)
}

/** Fails the whole request, not one operation: the service answers 400 without results. */
function checkSameKey(
  view: ContainerView,
  operations: readonly BatchOperation[],
  components: readonly PartitionKeyComponent[],
): void {
  for (const { partitionKey } of operations) {
    const own = namedPartitionKey(view, partitionKey)
    if (own !== undefined && !partitionKeysEqual(own, components)) {
      malformed(
        'One or more operations within the batch request have a different partition key value than the request.',
      )
    }
  }
}

/** An invalid operation fails at its position, because an earlier operation may fail first. */
function prepare(
  request: NosqlRequest,
  view: ContainerView,
  asked: BatchOperation,
  named: LogicalPartition | undefined,
  work: ShortWork,
): Task {
  const { partitionKey, kind } = asked
  try {
    const partition =
      partitionKey === undefined && named !== undefined
        ? named
        : logicalPartitionOf(view.record, requirePartitionKey(view, partitionKey))
    return { asked, operation: toOperation(request, view, asked, partition, work) }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    const decide = () => {
      throw error
    }
    return { asked, operation: { kind, key: nowhere, chargeRu: readRu(0), decide } }
  }
}

/** A partition key and the item keys in it. Most operations of a request share it, so it is hashed once. */
interface LogicalPartition {
  readonly components: readonly PartitionKeyComponent[]
  readonly keyOf: (id: string) => ItemKey
}

function logicalPartitionOf(
  container: ContainerRecord,
  components: readonly PartitionKeyComponent[],
): LogicalPartition {
  const { epk, pk } = itemKey(container, components, '')
  return { components, keyOf: id => ({ epk, pk, id }) }
}

/** The key of an item that cannot exist: ids are not empty. */
const nowhere: ItemKey = { epk: '', pk: '', id: '' }

function toOperation(
  request: NosqlRequest,
  view: ContainerView,
  asked: BatchOperation,
  { components, keyOf }: LogicalPartition,
  work: ShortWork,
): ItemOperation {
  const { record } = view
  const { strict } = request.service
  const { kind, body, ifMatch } = asked
  const ifVersion = ifMatch === undefined ? undefined : versionOfEtag(ifMatch, record.rid)
  if (kind === 'read') return readOperation(keyOf(checkItemId(asked.id)))
  if (kind === 'delete') return deleteOperation(keyOf(checkItemId(asked.id)), ifVersion)
  if (body === undefined) throw missingBody()
  const bytes = Buffer.byteLength(body.text)
  if (bytes > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
  if (kind === 'patch') {
    const key = keyOf(checkItemId(asked.id))
    const patch = readPatch(body.text, body.parsed)
    const judge = patch.condition === undefined ? undefined : shortJudge(patch.condition, work)
    return patchOperation(view, key, patch, { ifVersion, bytes, strict, judge })
  }
  const item = readItemText(body.text, body.parsed, bytes, { strict })
  checkPartitionKey(view, components, item.properties)
  if (kind === 'replace' && asked.id !== undefined && asked.id !== item.id) {
    const keys = { from: keyOf(checkItemId(asked.id)), to: keyOf(item.id) }
    return renameOperation(view, keys, item, ifVersion)
  }
  return writeOperation(view, kind, keyOf(item.id), item, ifVersion)
}

interface Done {
  readonly results: readonly BatchResult[]
  readonly version: number
}

async function doTogether(request: NosqlRequest, container: ContainerRecord, tasks: readonly Task[]): Promise<Done> {
  const chargeRu = tasks.reduce((sum, { operation }) => sum + operation.chargeRu, 0)
  const steps = boundedSteps(container, tasks)
  const { steps: answers, version, refusal } = await request.service.engine.transact(container, steps, chargeRu)
  // A task may have several steps. Its result is that of the last one.
  const tasksOfSteps = tasks.flatMap(({ operation }, at) => (operation.former === undefined ? [at] : [at, at]))
  if (refusal === undefined) {
    const results = tasks.map((task, at) => resultOf(request, container, task, answers[tasksOfSteps.lastIndexOf(at)]!))
    return { version, results }
  }
  const failedAt = tasksOfSteps[refusal.error === undefined ? answers.length - 1 : answers.length]
  const failure = refusalError(refusal, answers.at(-1))
  const results = tasks.map(({ operation }, at) =>
    at === failedAt
      ? failureResult(failure, operation.chargeRu)
      : { status: failedDependency, chargeRu: operation.chargeRu },
  )
  return { version, results }
}

/**
 * All reads of a batch together must fit in one answer. Its patches together must not write too much: a
 * short patch may write a large item, and all other requests wait while the batch is done.
 */
function boundedSteps(container: ContainerRecord, tasks: readonly Task[]): Step[] {
  const bytes = new Array<number>(tasks.length).fill(0)
  const patched = new Array<number>(tasks.length).fill(0)
  return tasks.flatMap(({ operation }, at): Step[] => {
    const steps = stepsOf(container, operation)
    if (operation.kind === 'patch') {
      const decide: Step['decide'] = (found, moment) => {
        patched[at] = found?.body.length ?? 0
        if (patched.slice(0, at + 1).reduce((sum, each) => sum + each) > patchedBytesMax) {
          throw new RequestError('too_large', 'The patches of the batch write too much. Send them in several requests.')
        }
        return operation.decide(found, moment)
      }
      return [{ ...steps[0]!, decide }]
    }
    if (operation.kind !== 'read') return steps
    const decide: Step['decide'] = (found, moment) => {
      bytes[at] = found?.body.length ?? 0
      if (bytes.slice(0, at + 1).reduce((sum, each) => sum + each) > pageBytesMax) {
        throw new RequestError('too_large', 'Response size is too large')
      }
      return operation.decide(found, moment)
    }
    return [{ ...steps[0]!, decide }]
  })
}

async function doUntilFailure(
  request: NosqlRequest,
  container: ContainerRecord,
  tasks: readonly Task[],
): Promise<Done> {
  const results: BatchResult[] = []
  let version = 0
  let hasFailed = false
  for (const task of tasks) {
    if (hasFailed) {
      results.push({ status: failedDependency, chargeRu: 0 })
      continue
    }
    const done = await doOne(request, container, task)
    version = Math.max(version, done.version)
    hasFailed = done.result.status >= 400
    results.push(done.result)
  }
  return { results, version }
}

async function doAll(request: NosqlRequest, container: ContainerRecord, tasks: readonly Task[]): Promise<Done> {
  // Operations on the same item wait for each other, because a store may reorder calls that run at the same
  // time.
  const byItem = new Map<string, Promise<unknown>>()
  const all = tasks.map(task => {
    const { key, former } = task.operation
    const items = (former === undefined ? [key] : [former.key, key]).map(({ pk, id }) => JSON.stringify([pk, id]))
    const before = items.flatMap(item => byItem.get(item) ?? [])
    const begin = () => doOne(request, container, task)
    const done = before.length === 0 ? begin() : Promise.all(before).then(begin)
    for (const item of items) byItem.set(item, done)
    return done
  })
  const done = await Promise.all(all)
  return { results: done.map(({ result }) => result), version: Math.max(...done.map(({ version }) => version)) }
}

async function doOne(
  request: NosqlRequest,
  container: ContainerRecord,
  task: Task,
): Promise<{ result: BatchResult; version: number }> {
  const { operation } = task
  const { chargeRu } = operation
  try {
    const { steps, version, refusal } = await request.service.engine.transact(
      container,
      stepsOf(container, operation),
      chargeRu,
    )
    if (refusal !== undefined) return { version, result: failureResult(refusalError(refusal, steps.at(-1)), chargeRu) }
    return { version, result: resultOf(request, container, task, steps.at(-1)!) }
  } catch (error) {
    if (!isOperationError(error)) throw error
    return { version: 0, result: failureResult(error, 0) }
  }
}

function resultOf(request: NosqlRequest, { rid }: ContainerRecord, task: Task, done: StepAnswer): BatchResult {
  const { asked, operation } = task
  const { chargeRu, kind } = operation
  const { item } = done
  if (kind === 'delete' || item === undefined) return { status: statusOf(operation, done), chargeRu }
  const etag = `"${etagOf(rid, item.version)}"`
  if (kind === 'read' && (asked.ifNoneMatch === etag || asked.ifNoneMatch === '*'))
    return { status: 304, chargeRu, etag }
  const isMinimal = kind !== 'read' && (asked.isMinimal || headerOf(request, 'prefer') === 'return=minimal')
  return { status: statusOf(operation, done), chargeRu, etag, body: isMinimal ? undefined : textOf(item.body) }
}

function answer(
  view: ContainerView,
  tasks: readonly Task[],
  { results, version }: Done,
  isBinary: boolean,
): NosqlResponse {
  const isWhole = results.every(({ status }) => status < 300)
  let headers =
    sessionHeader(view, version, tasks[0]!.operation.key.epk) +
    header('lsn', version) +
    header('x-ms-item-count', results.length) +
    view.pathHeaders
  const substatus = results.find(result => result.substatus !== undefined)?.substatus
  if (substatus !== undefined) headers += header('x-ms-substatus', substatus)
  const chargeRu = Math.round(results.reduce((sum, result) => sum + result.chargeRu, 0) * 100) / 100
  const body = isBinary ? printBinaryResults(results) : printResults(results)
  return { status: isWhole ? 200 : 207, body, isBinary, chargeRu, headers }
}
