/** Queries: SQL over containers, filters and pipelines over collections, page by page, and their plans. */

import { machine, toEpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { pageBytesMax } from '../../base/limits.ts'
import { inSlices } from '../../base/slices.ts'
import type { Steps } from '../../base/steps.ts'
import { printExtendedJson, printInSteps } from '../../document/bson/extended-json.ts'
import { parseDocumentInSteps, parseInSteps } from '../../document/bson/parse-extended-json.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Field, int32, int64, string, type Value } from '../../document/bson/value.ts'
import { printIndexPath } from '../../document/index-definition.ts'
import { judgeLife } from '../../engine/item-lives.ts'
import type { PagePosition } from '../../query/execute.ts'
import type { RowOrigins } from '../../query/row-origins.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { neverDeadline } from '../../store/policy.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { optionalText, partitionKeyField, textField, wholeField } from '../http/fields.ts'
import { RawJson } from '../http/json-text.ts'
import { deadOf } from '../items/figures.ts'
import { shardValues } from '../items/rows.ts'
import type { ExplorerService } from '../service/service.ts'
import type { SqlQuery } from '../service/sides.ts'
import { printKey, readToken, signToken } from '../service/tokens.ts'
import { requireContainer } from './containers.ts'

type Body = Readonly<Record<string, unknown>>

const rowsMax = 1000

export async function runQuery(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const body = await call.body()
  const id = textField(body, 'id')
  if (id.length > 64) throw new FieldError('id', 'The id of a query has at most 64 characters.')
  const limit = body.limit === undefined ? 100 : wholeField(body, 'limit', 1, rowsMax)
  const answer = await service.queries.run(call.caller.name, id, call.gone, signal =>
    container.encoding === 'json'
      ? runSql(service, container, body, limit, signal)
      : runMongo(service, container, body, limit, signal),
  )
  return { json: answer }
}

export async function cancelQuery({ queries }: ExplorerService, { names, caller }: ApiCall): Promise<ApiAnswer> {
  if (!queries.cancel(caller.name, names[0]!)) throw new RequestError('not_found', 'No query with this id is running.')
  return { status: 204 }
}

function sqlOf(body: Body): SqlQuery {
  return {
    text: textField(body, 'text'),
    parameters: body.parameters,
    partitionKey: body.partitionKey === undefined ? undefined : partitionKeyField(body.partitionKey),
  }
}

async function runSql(
  service: ExplorerService,
  container: ContainerRecord,
  body: Body,
  limit: number,
  signal: AbortSignal,
): Promise<object> {
  const query = sqlOf(body)
  const scope = JSON.stringify(['query', container.number, query.text, query.parameters, body.partitionKey])
  const after = optionalText(body, 'after')
  const page = await service.nosql.query(container, query, {
    position: after === undefined ? undefined : (readToken(service.secret, scope, after) as PagePosition),
    rowsMax: limit,
    bytesMax: pageBytesMax,
    keepsOrigins: true,
    signal: () => signal,
  })
  const { statistics, rows, indexUse, chargeRu, next, origins } = page
  const { itemsRead, bytesRead, rowsOut, bytesOut, elapsedMs } = statistics
  return {
    rows: rows.map(row => new RawJson(String(row))),
    lives: await livesOf(service, container, rows.length, origins),
    ...(next !== undefined && { next: signToken(service.secret, scope, next) }),
    ...{ chargeRu, elapsedMs: tenths(elapsedMs), itemsRead, bytesRead, rowsOut, bytesOut },
    indexHit: itemsRead === 0 ? 1 : Math.min(1, rowsOut / itemsRead),
    usedIndexes: indexUse.used.map(printIndexPath),
    // If every item that was read is in the result, no index would have read less.
    wishedIndexes: rowsOut < itemsRead ? indexUse.wished.map(printIndexPath) : [],
    deadSkipped: (await deadOf(service, container)).value.backlog,
  }
}

/** When the items of the rows die; null for a row that is not one item. */
async function livesOf(
  { engine }: ExplorerService,
  container: ContainerRecord,
  count: number,
  origins: RowOrigins | undefined,
): Promise<(object | null)[]> {
  const moment = await engine.moment()
  const lives = Array.from({ length: count }, async (_, row) => {
    const life = origins?.[2 * row]
    const sequence = origins?.[2 * row + 1]
    if (life === undefined || sequence === undefined || sequence < 0) return null
    const item = await engine.findBySequence(container, sequence)
    // Dead or deleted since the page was made: then only its origin knows when it died.
    const { ts, deadline } = item ?? { ts: toEpochSeconds(Math.max(0, life)), deadline: life >= 0 ? null : -life }
    const { dies } = judgeLife({ moment, policy: container.policy }, { ts, deadline })
    return {
      ts: item !== undefined || life >= 0 ? ts : null,
      deadline: dies === neverDeadline ? null : dies,
      key: item === undefined ? null : printKey(item.key),
    }
  })
  return Promise.all(lives)
}

async function runMongo(
  service: ExplorerService,
  container: ContainerRecord,
  body: Body,
  limit: number,
  signal: AbortSignal,
): Promise<object> {
  const mongo = await service.mongo()
  const { after: _, id: __, ...asked } = body
  const scope = JSON.stringify(['find', container.number, asked])
  const after = optionalText(body, 'after')
  const startMs = machine.monotonicMs()
  const command =
    after === undefined
      ? await findCommand(container, body, limit)
      : BsonDocument.of([
          ['getMore', int64(BigInt(String(readToken(service.secret, scope, after))))],
          ['collection', string(container.id)],
          ['batchSize', int32(limit)],
        ])
  const { answer, chargeRu } = await mongo.run(container.database.id, command, signal)
  const cursor = answer.get('cursor')
  if (cursor?.type !== bsonType.document) throw new RequestError('malformed', 'The command gives no documents.')
  const batch = cursor.get(after === undefined ? 'firstBatch' : 'nextBatch')
  const rows = batch?.type === bsonType.array ? batch.elements : []
  const cursorId = cursor.get('id')
  const next = cursorId?.type === bsonType.int64 && cursorId.value !== 0n ? cursorId.value : undefined
  const isPlain = body.pipeline === undefined && optionalText(body, 'projection') === undefined
  const plan = after === undefined ? await planOf(service, container, body).catch(() => undefined) : undefined
  const bytesOut = rows.reduce((sum, row) => sum + (row.type === bsonType.document ? sizeOf(row) : 0), 0)
  return {
    rows: await inSlices(printRows(rows)),
    lives: isPlain ? await livesOfDocuments(service, container, rows) : rows.map(() => null),
    ...(next !== undefined && { next: signToken(service.secret, scope, String(next)) }),
    ...{ chargeRu, elapsedMs: tenths(machine.monotonicMs() - startMs) },
    ...{ itemsRead: null, bytesRead: null, rowsOut: rows.length, bytesOut },
    indexHit: null,
    usedIndexes: plan === undefined ? null : plan.source === 'points' ? ['_id'] : plan.indexes.map(namesOf),
    wishedIndexes: [],
    deadSkipped: (await deadOf(service, container)).value.backlog,
  }
}

function* printRows(rows: readonly Value[]): Steps<RawJson[]> {
  const printed: RawJson[] = []
  for (const row of rows) {
    printed.push(new RawJson(yield* printInSteps(row, { mode: 'relaxed' })))
    yield
  }
  return printed
}

function namesOf({ paths }: ShownPlan['indexes'][number]): string {
  return paths.join(', ')
}

function sizeOf({ raw }: BsonDocument): number {
  return raw === undefined ? 0 : raw.end - raw.start
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10
}

async function livesOfDocuments(
  service: ExplorerService,
  container: ContainerRecord,
  rows: readonly Value[],
): Promise<(object | null)[]> {
  const mongo = await service.mongo()
  return Promise.all(
    rows.map(async row => {
      const id = row.type === bsonType.document ? row.get('_id') : undefined
      if (row.type !== bsonType.document || id === undefined) return null
      const shard = shardValues(container, row)
      if (shard.some(value => value === undefined)) return null
      const canonical = (value: Value) => printExtendedJson(value, { mode: 'canonical' })
      const key = mongo.keyOf(
        container,
        canonical(id),
        shard.length === 0 ? null : `[${shard.map(value => canonical(value!)).join(',')}]`,
      )
      const { ts, expiresAt, state } = await service.engine.reports.explain(container, key)
      return state === 'alive' ? { ts, deadline: expiresAt, key: printKey(key) } : null
    }),
  )
}

async function findCommand({ id }: ContainerRecord, body: Body, limit: number): Promise<BsonDocument> {
  const pipeline = optionalText(body, 'pipeline')
  if (pipeline !== undefined) {
    const stages = await placed('pipeline', () => inSlices(parseInSteps(pipeline)))
    if (stages.type !== bsonType.array) throw new FieldError('pipeline', 'A pipeline is an array of stages: [ … ]')
    for (const stage of stages.elements) {
      const name = stage.type === bsonType.document ? stage.fields[0]?.[0] : undefined
      if (name === '$out' || name === '$merge') {
        throw new FieldError('pipeline', `The explorer runs no ${name}: it would write to a collection.`)
      }
      if (name === '$changeStream') throw new FieldError('pipeline', 'Changes are shown in the Feed, not in a query.')
    }
    return BsonDocument.of([
      ['aggregate', string(id)],
      ['pipeline', stages],
      ['cursor', BsonDocument.of([['batchSize', int32(limit)]])],
    ])
  }
  const fields: Field[] = [['find', string(id)]]
  for (const name of ['filter', 'sort', 'projection']) {
    const text = optionalText(body, name)
    if (text === undefined || text.trim() === '') continue
    fields.push([name, await placed(name, () => inSlices(parseDocumentInSteps(text)))])
  }
  return BsonDocument.of([...fields, ['batchSize', int32(limit)]])
}

/** Says in which field the text is wrong. */
async function placed<T>(field: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    const { line, column } = error as unknown as { line?: number; column?: number }
    throw new FieldError(field, error.message, line === undefined ? undefined : { line, column: column! })
  }
}

export async function planQuery(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  return { json: await planOf(service, container, await call.body()) }
}

interface ShownPlan {
  readonly source: 'index' | 'scan' | 'ids' | 'points'
  readonly indexes: readonly { readonly paths: readonly string[]; readonly state: string; readonly declared: boolean }[]
  readonly wished: readonly string[]
  readonly isSorted: boolean
  readonly isCrossPartition: boolean
  readonly text: string
  readonly raw: unknown
}

async function planOf(service: ExplorerService, container: ContainerRecord, body: Body): Promise<ShownPlan> {
  return container.encoding === 'json' ? sqlPlan(service, container, body) : mongoPlan(service, container, body)
}

async function sqlPlan({ nosql }: ExplorerService, container: ContainerRecord, body: Body): Promise<ShownPlan> {
  const { plan, explained, isCrossPartition, wish } = await nosql.plan(container, sqlOf(body))
  const { index, idOrder } = explained
  const paths = index?.index.definition.components.map(({ path }) => printIndexPath(path)) ?? []
  const source = index !== undefined ? 'index' : idOrder !== undefined ? 'ids' : 'scan'
  // All items of one partition have its key, so an index on it would not help.
  const needless = isCrossPartition ? [] : container.partitionKey.paths.map(path => `${path}/?`)
  const wishes = index === undefined && wish !== undefined ? [printIndexPath(wish)] : []
  const wished = wishes.filter(path => !needless.includes(path))
  return {
    source,
    indexes: index === undefined ? [] : [{ paths, state: 'ready', declared: index.index.isDeclared }],
    wished,
    isSorted: index?.isOrdered === true || idOrder !== undefined,
    isCrossPartition,
    text: sentence(source, paths, wished, isCrossPartition),
    raw: plan,
  }
}

function sentence(
  source: ShownPlan['source'],
  paths: readonly string[],
  wished: readonly string[],
  isCrossPartition: boolean,
): string {
  const where = isCrossPartition ? 'all partitions' : 'one partition'
  if (source === 'index') return `Reads a part of the index on ${paths.join(', ')}, in ${where}.`
  if (source !== 'scan') return `Reads items in the order of their ids, in ${where}.`
  const help = wished.length > 0 ? ` An index on ${wished.join(', ')} would help.` : ''
  return `Reads every item of ${where}.${help}`
}

async function mongoPlan(service: ExplorerService, container: ContainerRecord, body: Body): Promise<ShownPlan> {
  const mongo = await service.mongo()
  const { answer } = await mongo.run(
    container.database.id,
    BsonDocument.of([
      ['explain', await findCommand(container, body, 100)],
      ['verbosity', string('queryPlanner')],
    ]),
  )
  const raw = JSON.parse(printExtendedJson(answer, { mode: 'relaxed' })) as unknown
  const text = JSON.stringify(raw)
  const names = [...text.matchAll(/"indexName":"((?:[^"\\]|\\.)*)"/g)].map(([, name]) => name!)
  const source = names.length > 0 ? 'index' : text.includes('"IDHACK"') ? 'points' : 'scan'
  return {
    source,
    indexes: names.map(name => ({ paths: [name], state: 'ready', declared: name !== 'adaptive' })),
    wished: [],
    isSorted: !text.includes('"stage":"SORT"'),
    isCrossPartition: !text.includes('SINGLE_SHARD'),
    text:
      source === 'points'
        ? 'Reads one document by its _id.'
        : sentence(source, names, [], !text.includes('SINGLE_SHARD')),
    raw,
  }
}
