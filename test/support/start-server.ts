/** A server for a test file: in this process, on a free port, with a manual clock; and clients for it. */

import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type Container, type ContainerRequest, CosmosClient, type Database } from '@azure/cosmos'
import { type Mayfly, type MayflyOptions, mayfly } from '../../src/index.ts'
import { call, type RawAnswer, type RawRequest, send } from './signed-request.ts'
import { testStore } from './test-store.ts'

export interface TestServer {
  readonly db: Mayfly
  readonly client: CosmosClient
  /** Sends a raw signed request. */
  send(request: RawRequest): Promise<RawAnswer>
  admin(method: string, path: string, body?: unknown): Promise<RawAnswer>
  /** Creates a new database for each call. */
  newDatabase(): Promise<Database>
  /** Creates a container `items` with partition key `/pk`, in a new database. */
  newContainer(definition?: Partial<ContainerRequest>): Promise<Container>
}

/** Starts a server that ends with the test file. Call it at the top of the file. */
export async function startServer(options: MayflyOptions = {}): Promise<TestServer> {
  const db = await mayfly({ clock: 'manual', ...(await testStore()), ...options })
  after(() => db.close())
  return testServer(db)
}

export function testServer(db: Mayfly): TestServer {
  const client = newClient(db)
  const newDatabase = async () => (await client.databases.create({ id: randomUUID() })).database
  return {
    db,
    client,
    send: request => send(db, request),
    admin: (method, path, body) => call(db.endpoint, method, `/_mayfly/${path}`, { body }),
    newDatabase,
    newContainer: async definition => {
      const database = await newDatabase()
      const { container } = await database.containers.create({ id: 'items', partitionKey: '/pk', ...definition })
      return container
    },
  }
}

/** Without retries by default, so that failures are seen. */
export function newClient({ endpoint, key }: { endpoint: string; key: string }): CosmosClient {
  const connectionPolicy = { retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0 } }
  return new CosmosClient({ endpoint, key, connectionPolicy: connectionPolicy as never })
}

/** The path of a container, or of something in it, for a raw request. */
export function pathOf(container: Container, ...rest: string[]): string {
  const names = ['dbs', container.database.id, 'colls', container.id, ...rest]
  return `/${names.map(encodeURIComponent).join('/')}`
}

/** All items of a container through the feed, page by page; the SDK has only a query for that. */
export async function readFeed(
  server: TestServer,
  container: Container,
  { pageSize = 2, headers = {} }: { pageSize?: number; headers?: Readonly<Record<string, string>> } = {},
): Promise<{ id: string }[]> {
  const items: { id: string }[] = []
  let continuation: string | undefined
  do {
    const page = await server.send({
      path: pathOf(container, 'docs'),
      headers: { 'x-ms-max-item-count': String(pageSize), 'x-ms-continuation': continuation, ...headers },
    })
    if (page.status !== 200) throw new Error(`the feed answered ${page.status}: ${page.text}`)
    if (page.json.Documents.length > pageSize) throw new Error('a page is larger than asked for')
    items.push(...page.json.Documents)
    continuation = page.headers['x-ms-continuation'] as string | undefined
  } while (continuation !== undefined)
  return items
}

export function idsOf(items: readonly { id?: string }[]): string[] {
  return items.map(({ id }) => id!).sort()
}

/** A directory that is removed with the test file. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-test-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
