/** Fills a collection of the Mongo side as fast as possible. */

import { type MongoInserts, mongoSource } from './mongo-requests.ts'
import { askMongo, openMongo } from './mongo-wire.ts'
import type { Load, ServerProcess } from './processes.ts'

/** Two connections: one sends while the server writes the documents of the other. */
export const INSERT_CONNECTIONS = 2
export const PER_MESSAGE = 1_000

/** The server's answer to a message, on a separate connection. */
export async function sampleReply(port: number, message: Buffer, needsLogin = true): Promise<Buffer> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await openMongo(port, reject, needsLogin)
  try {
    return await Promise.race([askMongo(connection, message), failure])
  } finally {
    connection.close()
  }
}

/** Inserts documents 0 to `count` - 1, and returns the length of the reply to a good insert. */
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
