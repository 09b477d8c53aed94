/** Writes of items with triggers. The triggers and the write are one transaction. */

import { RequestError } from '../../base/error.ts'
import { itemBytesMax } from '../../base/limits.ts'
import { textOf } from '../../document/body.ts'
import type { ScriptRuns } from '../../scripts/script-runner.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { malformed } from '../definitions/definition-input.ts'
import type { Script } from '../definitions/script-definition.ts'
import { type ContainerView, requirePartitionKey, sessionHeader, viewOf } from '../http/container-view.ts'
import { checkMayRename } from '../http/named-resource.ts'
import { hasFlag, headerOf, type NosqlRequest, partitionKeyHeader, triggerHeaders } from '../http/request.ts'
import { etagOf } from '../http/resource-id.ts'
import { header, logHeader, type NosqlResponse } from '../http/response.ts'
import { readItemText } from '../items/item-body.ts'
import { decodeJson, parseJson } from '../json/parse-json.ts'
import { inTransaction, scriptRun } from '../scripts/script-run.ts'
import { findScript } from '../scripts/script-store.ts'
import type { ScriptTransaction, SeenItem } from '../scripts/script-transaction.ts'

export type WriteKind = 'create' | 'upsert' | 'replace' | 'delete'

type TriggerType = keyof typeof triggerHeaders

interface Triggers {
  readonly pre: readonly Script[]
  readonly post: readonly Script[]
}

interface Outcome {
  readonly id: string
  readonly isNew: boolean
  /** The response that a post-trigger set instead of the item. */
  readonly answer: string | undefined
  readonly log: string
}

export async function writeWithTriggers(
  request: NosqlRequest,
  container: ContainerRecord,
  kind: WriteKind,
): Promise<NosqlResponse> {
  const view = viewOf(container)
  const components = requirePartitionKey(view, headerOf(request, partitionKeyHeader))
  if (request.body.length > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
  const triggers = { pre: await find(request, view, 'pre', kind), post: await find(request, view, 'post', kind) }
  const { result, transaction, stored } = await inTransaction(request, view, components, (transaction, runs) =>
    run(request, { transaction, runs }, kind, triggers),
  )
  const item = stored.get(result.id)
  const headers =
    sessionHeader(view, item?.version ?? 0, transaction.range.min) +
    view.pathHeaders +
    (item === undefined || kind === 'delete' ? '' : header('etag', `"${etagOf(container.rid, item.version)}"`)) +
    (hasFlag(request, 'x-ms-documentdb-script-enable-logging') ? logHeader(result.log) : '')
  const { chargeRu } = transaction
  if (kind === 'delete') return { status: 204, chargeRu, headers }
  const text = result.answer === undefined ? textOf(item!.body) : transaction.withRealNames(result.answer, stored)
  const body = headerOf(request, 'prefer') === 'return=minimal' ? undefined : text
  return { status: result.isNew ? 201 : 200, body, chargeRu, headers }
}

async function find(
  request: NosqlRequest,
  view: ContainerView,
  type: TriggerType,
  kind: WriteKind,
): Promise<readonly Script[]> {
  const names = headerOf(request, triggerHeaders[type])?.split(',') ?? []
  const found: Script[] = []
  for (const name of names.map(each => each.trim()).filter(each => each !== '')) {
    const trigger = await findScript(request.service.engine, view, 'triggers', name)
    // INFERRED texts (the service does not document them). That a trigger runs only for its operations is
    // documented.
    if (trigger === undefined) malformed(`The trigger '${name.slice(0, 255)}' does not exist.`)
    if (trigger.triggerType?.toLowerCase() !== type) malformed(`The trigger '${trigger.id}' is not a ${type}-trigger.`)
    if (!isFor(trigger.triggerOperation!.toLowerCase(), kind)) {
      malformed(`The trigger '${trigger.id}' is for the operation ${trigger.triggerOperation}, not for ${kind}.`)
    }
    found.push(trigger)
  }
  return found
}

function isFor(operation: string, kind: WriteKind): boolean {
  if (operation === 'all') return true
  if (kind === 'delete') return operation === 'delete'
  if (kind === 'upsert') return operation !== 'delete'
  return kind === 'create' ? operation === 'create' : operation === 'replace' || operation === 'update'
}

const operations = { create: 'Create', upsert: 'Upsert', replace: 'Replace', delete: 'Delete' } as const

async function run(
  request: NosqlRequest,
  { transaction, runs }: { readonly transaction: ScriptTransaction; readonly runs: ScriptRuns },
  kind: WriteKind,
  { pre, post }: Triggers,
): Promise<Outcome> {
  const operation = operations[kind]
  let requestBody = kind === 'delete' ? undefined : decodeJson(request.body)
  if (requestBody !== undefined) parseJson(requestBody)
  let log = ''
  for (const script of pre) {
    const base = scriptRun(request, transaction, runs, script)
    const outcome = await runs.runTrigger({ ...base, type: 'pre', operation, requestBody })
    requestBody = kind === 'delete' ? undefined : outcome.requestBody
    log += outcome.log
  }
  const { item, isNew, id } = await perform(request, transaction, kind, requestBody)
  let answer: string | undefined
  for (const script of post) {
    const responseBody = answer ?? item?.text
    const base = scriptRun(request, transaction, runs, script)
    const outcome = await runs.runTrigger({ ...base, type: 'post', operation, requestBody, responseBody })
    if (outcome.responseBody !== responseBody) answer = outcome.responseBody
    log += outcome.log
  }
  return { id, isNew, answer, log }
}

async function perform(
  request: NosqlRequest,
  transaction: ScriptTransaction,
  kind: WriteKind,
  text: string | undefined,
): Promise<{ item: SeenItem | undefined; isNew: boolean; id: string }> {
  const etag = headerOf(request, 'if-match')
  if (kind === 'delete') {
    const id = request.path[5]!
    await transaction.delete(id, etag)
    return { item: undefined, isNew: false, id }
  }
  const bytes = Buffer.byteLength(text ?? '')
  if (bytes > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
  const body = readItemText(text ?? '', parseJson(text ?? ''), bytes, { strict: request.service.strict })
  if (kind === 'replace' && body.id !== request.path[5]) checkMayRename(request)
  const written =
    kind === 'replace'
      ? await transaction.replace(request.path[5]!, body, etag)
      : await transaction.write(kind, body, etag)
  return { ...written, id: body.id }
}
