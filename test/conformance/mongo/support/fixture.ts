/** A server and clients for a test file: in this process, on free ports, with a manual clock. */

import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { type Collection, type Db, type Document, MongoClient, type MongoClientOptions } from 'mongodb'
import { type Mayfly, type MayflyOptions, mayfly } from '../../../../src/index.ts'
import { testStore } from '../../../support/test-store.ts'

export interface MongoFixture {
  readonly db: Mayfly
  readonly uri: string
  readonly client: MongoClient
  /** Another client, which is closed at the end of the test file. */
  connect(options?: MongoClientOptions, uri?: string): MongoClient
  newDatabase(): Db
  /** A new collection for each caller. It does not exist before something is written to it. */
  newCollection(): Collection<Document>
}

export async function startMongo(options: MayflyOptions = {}): Promise<MongoFixture> {
  const db = await mayfly({ clock: 'manual', ...(await testStore()), ...options })
  const uri = db.mongoUri!
  const clients: MongoClient[] = []
  after(async () => {
    for (const client of clients) await client.close()
    await db.close()
  })
  const connect: MongoFixture['connect'] = (settings = {}, address = uri) => {
    const client = new MongoClient(address, { serverSelectionTimeoutMS: 5000, ...settings })
    clients.push(client)
    return client
  }
  const client = connect()
  const newDatabase = () => client.db(`d${randomUUID().slice(0, 8)}`)
  return { db, uri, client, connect, newDatabase, newCollection: () => newDatabase().collection('items') }
}

/** The code and the text of the error of a failing command or write. */
export async function failure(work: Promise<unknown>): Promise<{
  readonly code: number | undefined
  readonly codeName: string | undefined
  readonly message: string
  readonly labels: readonly string[]
}> {
  try {
    await work
  } catch (error) {
    const { code, codeName, message, errorLabels } = error as {
      code?: number
      codeName?: string
      message: string
      errorLabels?: string[]
    }
    return { code, codeName, message, labels: errorLabels ?? [] }
  }
  throw new Error('it did not fail')
}

export function idsOf(documents: readonly Document[]): unknown[] {
  return documents.map(({ _id }) => _id)
}
