/** All rows of a query, as JSON texts: SQL over a container; a filter or a pipeline over a collection. */

import { RequestError } from '../base/error.ts'
import { pageBytesMax } from '../base/limits.ts'
import { printExtendedJson } from '../document/bson/extended-json.ts'
import { parseExtendedDocument, parseExtendedJson } from '../document/bson/parse-extended-json.ts'
import { bsonType } from '../document/bson/types.ts'
import { BsonDocument, int32, int64, string, type Value } from '../document/bson/value.ts'
import type { MongoDoor } from '../mongo/door.ts'
import type { NosqlDoor } from '../nosql/door.ts'
import type { PagePosition } from '../query/execute.ts'
import type { ContainerRecord } from '../store/catalog.ts'

const rowsMax = 1000

export interface QueryDoors {
  readonly nosql: NosqlDoor
  readonly mongo: () => Promise<MongoDoor>
}

/** Yields lines, many at a time. */
export async function* queryRows(
  doors: QueryDoors,
  container: ContainerRecord,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (container.encoding === 'json') yield* sqlRows(doors.nosql, container, text, signal)
  else yield* documents(await doors.mongo(), container, text, signal)
}

async function* sqlRows(
  nosql: NosqlDoor,
  container: ContainerRecord,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let position: PagePosition | undefined
  do {
    const asked = { position, rowsMax, bytesMax: pageBytesMax, signal: () => signal }
    const { rows, next } = await nosql.query(container, { text }, asked)
    position = next
    yield rows.map(row => `${String(row).replaceAll(/[\r\n]+/g, ' ')}\n`).join('')
  } while (position !== undefined)
}

async function* documents(
  mongo: MongoDoor,
  { database, id }: ContainerRecord,
  text: string,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let { answer } = await mongo.run(database.id, findOrAggregate(id, text), signal)
  for (let name = 'firstBatch'; ; name = 'nextBatch') {
    const cursor = answer.get('cursor')
    if (cursor?.type !== bsonType.document) throw new RequestError('malformed', 'The command gives no documents.')
    const batch = cursor.get(name)
    const found: readonly Value[] = batch?.type === bsonType.array ? batch.elements : []
    yield found.map(each => `${printExtendedJson(each, { mode: 'canonical' })}\n`).join('')
    const cursorId = cursor.get('id')
    if (cursorId?.type !== bsonType.int64 || cursorId.value === 0n) return
    const more = BsonDocument.of([
      ['getMore', int64(cursorId.value)],
      ['collection', string(id)],
      ['batchSize', int32(rowsMax)],
    ])
    ;({ answer } = await mongo.run(database.id, more, signal))
  }
}

function findOrAggregate(collection: string, text: string): BsonDocument {
  const batchSize = int32(rowsMax)
  if (!text.trimStart().startsWith('[')) {
    return BsonDocument.of([
      ['find', string(collection)],
      ['filter', parseExtendedDocument(text)],
      ['batchSize', batchSize],
    ])
  }
  const stages = parseExtendedJson(text)
  if (stages.type !== bsonType.array) throw new RequestError('malformed', 'A pipeline is an array of stages: [ … ]')
  for (const stage of stages.elements) {
    const name = stage.type === bsonType.document ? stage.fields[0]?.[0] : undefined
    if (name === '$out' || name === '$merge' || name === '$changeStream') {
      throw new RequestError('malformed', `A query here only reads, and ends: it runs no ${name}.`)
    }
  }
  return BsonDocument.of([
    ['aggregate', string(collection)],
    ['pipeline', stages],
    ['cursor', BsonDocument.of([['batchSize', batchSize]])],
  ])
}
