/** Fills a collection of the Mongo side, as fast as it takes documents. */

import { type MongoInserts, mongoSource } from './mongo-requests.ts'
import { askMongo, openMongo } from './mongo-wire.ts'
import type { Load, ServerProcess } from './processes.ts'

/** One connection sends while the documents of the other are written. */
export const INSERT_CONNECTIONS = 2
export const PER_MESSAGE = 1_000

/** What the server answers to a message on a connection of its own. */
export async function sampleReply(port: number, message: Buffer): Promise<Buffer> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await openMongo(port, reject)
  try {
    return await Promise.race([askMongo(connection, message), failure])
  } finally {
    connection.close()
  }
}

/** Inserts documents 0 to `count` - 1, and answers how long the reply to a good insert is. */
export async function fillMongo(
  load: Load,
  { port }: ServerProcess,
  { count, ...fields }: Pick<MongoInserts, 'collection' | 'bytes' | 'groups'> & { readonly count: number },
): Promise<number> {
  const inserts = { ...fields, kind: 'mongo-insert', perMessage: PER_MESSAGE, isRetryable: false } as const
  const { length: replyBytes } = await sampleReply(port, mongoSource({ ...inserts, firstDocument: 0 })(0))
  await load.prepare({
    port,
    connections: INSERT_CONNECTIONS,
    requests: { ...inserts, firstDocument: PER_MESSAGE },
    answers: { replyBytes, needsLogin: true },
    atMost: { count: count / PER_MESSAGE - 1 },
  })
  await load.run()
  return replyBytes
}
