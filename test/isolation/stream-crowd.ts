/** A thread with many change streams that wait for the same changes. Its work is in no turn of the server. */

import { parentPort, workerData } from 'node:worker_threads'
import { type Long, serialize } from 'bson'
import { cursorId, documentOf, type MongoConnection, openMongo, opMsg } from '../../bench/mongo-wire.ts'

const { mongoPort, size, documents, documentBytes } = workerData
const port = parentPort!
const failed = (error: Error) => port.postMessage({ failed: String(error) })

interface Stream {
  readonly connection: MongoConnection
  readonly id: Long
}

const writer = await openMongo(mongoPort, failed)
const streams = await Promise.all(Array.from({ length: size }, openStream))

async function ask(connection: MongoConnection, command: object, sequence?: Parameters<typeof opMsg>[1]) {
  const answer = documentOf(await connection.ask(opMsg({ ...command, $db: 'streams' }, sequence)))
  if (answer.ok !== 1) throw new Error(JSON.stringify(answer))
  return answer
}

async function openStream(): Promise<Stream> {
  const connection = await openMongo(mongoPort, failed)
  const { cursor } = await ask(connection, { aggregate: 'items', pipeline: [{ $changeStream: {} }], cursor: {} })
  return { connection, id: cursorId(cursor.id) }
}

/** In how many answers all changes were seen. Not a number: some were seen twice. */
async function readAll({ connection, id }: Stream): Promise<number> {
  let events = 0
  let batches = 0
  while (events < documents) {
    const { cursor } = await ask(connection, { getMore: id, collection: 'items' })
    events += cursor.nextBatch.length
    batches++
  }
  return events === documents ? batches : Number.NaN
}

port.on('message', async () => {
  const read = streams.map(readAll)
  const text = 'x'.repeat(documentBytes)
  const all = Array.from({ length: documents }, () => serialize({ text }))
  await ask(writer, { insert: 'items' }, { name: 'documents', documents: Buffer.concat(all) })
  port.postMessage({ batches: await Promise.all(read) })
})
port.postMessage('ready')
