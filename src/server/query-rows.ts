/** All rows of a query, as JSON texts: SQL over a container; a filter or a pipeline over a collection. */

import { RequestError } from '../base/error.ts'
import { pageBytesMax } from '../base/limits.ts'
import { inSlices, nextSlice } from '../base/slices.ts'
import type { Steps } from '../base/steps.ts'
import { printInSteps } from '../document/bson/extended-json.ts'
import { parseExtendedDocument, parseExtendedJson } from '../document/bson/parse-extended-json.ts'
import { bsonType } from '../document/bson/types.ts'
import { BsonDocument, type Field, int32, int64, string, type Value } from '../document/bson/value.ts'
import type { MongoDoor } from '../mongo/door.ts'
import type { NosqlDoor } from '../nosql/door.ts'
import type { DirectQuery } from '../nosql/handlers/query.ts'
import type { PagePosition } from '../query/execute.ts'
import type { ContainerRecord } from '../store/catalog.ts'

const rowsMax = 1000

/** `partitionKey` belongs to SQL; `sort` and `projection` to a filter, as extended JSON. */
interface RowsQuery {
  readonly text: string
  readonly partitionKey?: DirectQuery['partitionKey']
  readonly sort?: string
  readonly projection?: string
}

export interface QueryDoors {
  readonly nosql: NosqlDoor
  readonly mongo: () => Promise<MongoDoor>
}

/** Yields pages. */
export async function* queryRows(
  doors: QueryDoors,
  container: ContainerRecord,
  query: RowsQuery,
  signal: AbortSignal,
): AsyncGenerator<readonly string[], void> {
  if (container.encoding === 'json') yield* sqlRows(doors.nosql, container, query, signal)
  else yield* documents(await doors.mongo(), container, query, signal)
}

async function* sqlRows(
  nosql: NosqlDoor,
  container: ContainerRecord,
  { text, partitionKey }: RowsQuery,
  signal: AbortSignal,
): AsyncGenerator<readonly string[], void> {
  if (/^\s*[{[]/.test(text)) {
    throw new RequestError('malformed', 'A container takes SQL: SELECT … Filters and pipelines are for collections.')
  }
  let position: PagePosition | undefined
  do {
    // Many queries take turns.
    await nextSlice()
    const asked = { position, rowsMax, bytesMax: pageBytesMax, signal: () => signal }
    const { rows, next } = await nosql.query(container, { text, partitionKey }, asked)
    position = next
    yield rows.map(String)
  } while (position !== undefined)
}

async function* documents(
  mongo: MongoDoor,
  { database, id }: ContainerRecord,
  query: RowsQuery,
  signal: AbortSignal,
): AsyncGenerator<readonly string[], void> {
  await nextSlice()
  let { answer } = await mongo.run(database.id, findOrAggregate(id, query), signal)
  for (let name = 'firstBatch'; ; name = 'nextBatch') {
    const cursor = answer.get('cursor')
    if (cursor?.type !== bsonType.document) throw new RequestError('malformed', 'The command returns no documents.')
    const batch = cursor.get(name)
    const found: readonly Value[] = batch?.type === bsonType.array ? batch.elements : []
    yield await inSlices(printRows(found))
    const cursorId = cursor.get('id')
    if (cursorId?.type !== bsonType.int64 || cursorId.value === 0n) return
    const more = BsonDocument.of([
      ['getMore', int64(cursorId.value)],
      ['collection', string(id)],
      ['batchSize', int32(rowsMax)],
    ])
    await nextSlice()
    ;({ answer } = await mongo.run(database.id, more, signal))
  }
}

function* printRows(rows: readonly Value[]): Steps<string[]> {
  const printed: string[] = []
  for (const row of rows) {
    printed.push(yield* printInSteps(row, { mode: 'canonical' }))
    yield
  }
  return printed
}

function findOrAggregate(collection: string, { text, sort, projection }: RowsQuery): BsonDocument {
  const batchSize = int32(rowsMax)
  if (!/^\s*[{[]/.test(text)) {
    throw new RequestError('malformed', 'A collection takes a filter {…} or a pipeline […], not SQL.')
  }
  if (!text.trimStart().startsWith('[')) {
    const fields: Field[] = [['find', string(collection)]]
    for (const [name, given] of Object.entries({ filter: text, sort, projection })) {
      if (given !== undefined) fields.push([name, parseExtendedDocument(given)])
    }
    return BsonDocument.of([...fields, ['batchSize', batchSize]])
  }
  if (sort !== undefined || projection !== undefined) {
    throw new RequestError('malformed', 'A pipeline has stages of its own for "sort" and "projection".')
  }
  const stages = parseExtendedJson(text)
  if (stages.type !== bsonType.array) throw new RequestError('malformed', 'A pipeline is an array of stages: [ … ]')
  for (const stage of stages.elements) {
    const name = stage.type === bsonType.document ? stage.fields[0]?.[0] : undefined
    if (name === '$out' || name === '$merge' || name === '$changeStream') {
      throw new RequestError('malformed', `A query here only reads, and must end. It cannot use ${name}.`)
    }
  }
  return BsonDocument.of([
    ['aggregate', string(collection)],
    ['pipeline', stages],
    ['cursor', BsonDocument.of([['batchSize', batchSize]])],
  ])
}
