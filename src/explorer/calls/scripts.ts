/** Stored procedures, triggers and user-defined functions: list, read, save, delete, run. */

import { randomUUID } from 'node:crypto'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { canonicalPartitionKey } from '../../document/partition-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { optionalText, partitionKeyField, textField } from '../http/fields.ts'
import { RawJson } from '../http/json-text.ts'
import type { ExplorerService } from '../service/service.ts'
import { requireContainer, requireNosql } from './containers.ts'

const types = { procedures: 'sprocs', triggers: 'triggers', functions: 'udfs' } as const
type Kind = keyof typeof types

interface ScriptResource {
  readonly id: string
  readonly body: string
  readonly _etag: string
  readonly triggerType?: string
  readonly triggerOperation?: string
}

async function scriptsOf(service: ExplorerService, call: ApiCall): Promise<ContainerRecord> {
  const container = await requireContainer(service, call)
  requireNosql(container)
  return container
}

function kindOf({ names }: ApiCall): Kind {
  const kind = names[2]!
  if (Object.hasOwn(types, kind)) return kind as Kind
  throw new RequestError('not_found', `There are procedures, triggers and functions, but no ${kind.slice(0, 40)}.`)
}

function pathOf({ database, id }: ContainerRecord, kind: Kind, ...rest: readonly string[]): string[] {
  return ['dbs', database.id, 'colls', id, types[kind], ...rest]
}

export async function listScripts(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await scriptsOf(service, call)
  const list = async (kind: Kind, answer: string) => {
    const found: object[] = []
    let continuation: string | undefined
    do {
      const headers: Record<string, string> = { 'x-ms-max-item-count': '1000' }
      if (continuation !== undefined) headers['x-ms-continuation'] = continuation
      const reply = await service.nosql.ask({ method: 'GET', path: pathOf(container, kind), headers })
      const resources = (JSON.parse(reply.body) as Record<string, ScriptResource[]>)[answer] ?? []
      found.push(...resources.map(({ body: _, ...script }) => showScript({ ...script, body: '' }, false)))
      continuation = reply.headers.get('x-ms-continuation')
    } while (continuation !== undefined)
    return found
  }
  return {
    json: {
      procedures: await list('procedures', 'StoredProcedures'),
      triggers: await list('triggers', 'Triggers'),
      functions: await list('functions', 'UserDefinedFunctions'),
    },
  }
}

function showScript({ id, body, _etag, triggerType, triggerOperation }: ScriptResource, withBody = true): object {
  return {
    ...{ id, etag: _etag },
    ...(withBody && { body }),
    ...(triggerType !== undefined && { type: word(triggerType), operation: word(triggerOperation ?? 'All') }),
  }
}

/** Some SDKs write these words in small letters, and the protocol keeps them so. */
function word(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()
}

export async function readScript(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await scriptsOf(service, call)
  const { body } = await service.nosql.ask({ method: 'GET', path: pathOf(container, kindOf(call), call.names[3]!) })
  return { json: showScript(JSON.parse(body) as ScriptResource) }
}

export async function createScript(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await scriptsOf(service, call)
  const kind = kindOf(call)
  const body = await call.body()
  const id = textField(body, 'id')
  const reply = await service.nosql.ask({
    method: 'POST',
    path: pathOf(container, kind),
    body: JSON.stringify(resourceOf(kind, id, body)),
  })
  return { status: 201, json: showScript(JSON.parse(reply.body) as ScriptResource) }
}

export async function saveScript(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await scriptsOf(service, call)
  const kind = kindOf(call)
  const id = call.names[3]!
  const expected = call.req.headers['if-match']
  const reply = await service.nosql.ask({
    method: 'PUT',
    path: pathOf(container, kind, id),
    headers: expected === undefined || expected === '*' ? {} : { 'if-match': expected },
    body: JSON.stringify(resourceOf(kind, id, await call.body())),
  })
  return { json: showScript(JSON.parse(reply.body) as ScriptResource) }
}

function resourceOf(kind: Kind, id: string, body: Readonly<Record<string, unknown>>): object {
  const script = { id, body: textField(body, 'body') }
  if (kind !== 'triggers') return script
  const triggerType = optionalText(body, 'type') ?? 'Pre'
  return { ...script, triggerType, triggerOperation: optionalText(body, 'operation') ?? 'All' }
}

export async function deleteScript(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await scriptsOf(service, call)
  await service.nosql.ask({ method: 'DELETE', path: pathOf(container, kindOf(call), call.names[3]!) })
  return { status: 204 }
}

export async function runProcedure(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await scriptsOf(service, call)
  if (call.names[2] !== 'procedures') throw new RequestError('not_found', 'Only procedures can be run.')
  const body = await call.body()
  const partitionKey = canonicalPartitionKey(partitionKeyField(body.partitionKey))
  const { arguments: values = [] } = body
  if (!Array.isArray(values)) throw new FieldError('arguments', '"arguments" must be one JSON array.')
  const startMs = machine.monotonicMs()
  const elapsed = () => Math.round((machine.monotonicMs() - startMs) * 10) / 10
  try {
    const id = optionalText(body, 'id') ?? randomUUID()
    const reply = await service.queries.run(call.caller.name, id, call.gone, signal =>
      service.nosql.ask({
        gone: signal,
        method: 'POST',
        path: pathOf(container, 'procedures', call.names[3]!),
        headers: { 'x-ms-documentdb-partitionkey': partitionKey, 'x-ms-documentdb-script-enable-logging': 'true' },
        body: JSON.stringify(values),
      }),
    )
    const log = decodeURIComponent(reply.headers.get('x-ms-documentdb-script-log-results') ?? '')
    const result = reply.body === '' ? null : new RawJson(reply.body)
    return { json: { status: reply.status, result, chargeRu: reply.chargeRu, elapsedMs: elapsed(), log } }
  } catch (error) {
    const failed = failedScript(error)
    if (failed === undefined) throw error
    return { json: { ...failed, result: null, elapsedMs: elapsed() } }
  }
}

/** A mistake of the script is a result; any other error is an error of the call. */
function failedScript(error: unknown): object | undefined {
  if (!(error instanceof Error) || !('log' in error) || !('chargeRu' in error)) return undefined
  const { message, log, chargeRu, number } = error as Error & { log: string; chargeRu: number; number?: number }
  return { status: number ?? 400, message, log, chargeRu }
}
