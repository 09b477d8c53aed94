/** Works that want more memory than they should have, by name. */

import { randomBytes } from 'node:crypto'
import { connect as connectHttp2, constants } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { deflateSync } from 'node:zlib'
import { Binary, Long, serialize } from 'bson'
import { cursorId, setRequestId } from '../mongo-wire.ts'
import { queryRequest } from '../query-items.ts'
import { DATABASE, signedRequest } from '../requests.ts'
import {
  feedRequest,
  itemsPath,
  type MongoClient,
  openHalf,
  openSilent,
  pause,
  repeatHttp,
  repeatMongo,
  type Target,
  times,
} from './client.ts'

const MiB = 1024 * 1024

/** Ends when the target is over. What is open then is closed with the process. */
export type Work = (target: Target) => Promise<unknown>

const unsigned = (text: string): Buffer =>
  Buffer.from(
    `POST ${itemsPath('items')} HTTP/1.1\r\nhost: a\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    'latin1',
  )

const createLarge = (n: number): Buffer =>
  signedRequest({
    method: 'POST',
    path: itemsPath('items'),
    headers: { 'x-ms-documentdb-partitionkey': '["huge"]', 'x-ms-documentdb-is-upsert': 'True' },
    body: JSON.stringify({ id: `huge${n % 8}`, pk: 'huge', text: 'x'.repeat(2_000_000) }),
  })

/** A batch whose operations are `isAtomic` or not. */
function batchRequest(isAtomic: boolean): Buffer {
  const operation = (n: number) => ({
    operationType: 'Upsert',
    partitionKey: '["batch"]',
    resourceBody: { id: `b${n}`, pk: 'batch', text: 'x'.repeat(20_000) },
  })
  return signedRequest({
    method: 'POST',
    path: itemsPath('items'),
    headers: {
      'x-ms-cosmos-is-batch-request': 'True',
      'x-ms-cosmos-batch-atomic': isAtomic ? 'True' : 'False',
      'x-ms-documentdb-partitionkeyrangeid': '0',
      ...(isAtomic && { 'x-ms-documentdb-partitionkey': '["batch"]' }),
      'x-ms-cosmos-batch-continue-on-error': isAtomic ? 'False' : 'True',
    },
    body: JSON.stringify(times(100, operation)),
  })
}

/** Chunks that go on until the other side ends them. */
async function openChunked(target: Target): Promise<void> {
  const plain = createLarge(0).toString('latin1')
  const head = plain.slice(0, plain.indexOf('\r\n\r\n')).replace(/content-length: \d+/, 'transfer-encoding: chunked')
  const chunk = 'x'.repeat(64 * 1024)
  const body = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(24)
  await openHalf(target, Buffer.from(`${head}\r\n\r\n${body}`), 1)
}

/** The first bytes of a message that says to be longer. */
function halfMessage(saidBytes: number, sentBytes: number): Buffer {
  const bytes = Buffer.alloc(sentBytes)
  bytes.writeInt32LE(saidBytes, 0)
  bytes.writeInt32LE(2013, 12)
  return bytes
}

/** A few KB that become 47 MB of zeros. */
function bomb(): Buffer {
  const packed = deflateSync(Buffer.alloc(47_000_000), { level: 1 })
  const message = Buffer.concat([Buffer.alloc(25), packed])
  message.writeInt32LE(message.length, 0)
  message.writeInt32LE(2012, 12)
  message.writeInt32LE(2013, 16)
  message.writeInt32LE(47_000_000, 20)
  message[24] = 2
  return message
}

const documents = (count: number, bytes: number): Buffer =>
  Buffer.concat(times(count, () => serialize({ text: 'x'.repeat(bytes) })))

async function untilOver({ isOver }: Target): Promise<void> {
  while (!isOver()) await pause(50)
}

/** All clients at once, and again if they end early. */
const crowd = (count: number, work: (client: MongoClient, target: Target, n: number) => Promise<unknown>): Work => {
  return target =>
    Promise.all(
      times(count, n =>
        repeatMongo(target, async client => {
          await work(client, target, n)
        }),
      ),
    )
}

const opensAndWaits = (count: number, open: (target: Target, n: number) => Promise<unknown>): Work => {
  return async target => {
    await Promise.all(times(count, n => open(target, n)))
    await untilOver(target)
  }
}

const getMore = (collection: string, id: unknown, batchSize?: number) => ({
  getMore: cursorId(id),
  collection,
  ...(batchSize !== undefined && { batchSize }),
})

/** Each of them has its own index before long, if any. */
const fields = ['text', 'kind', 'session', 'referrer']

const grouped = { _id: { $mod: ['$n', 10] }, all: { $push: '$$ROOT' } }

export const WORKS: Readonly<Record<string, Work>> = {
  '400 half bodies without login': opensAndWaits(400, target => openHalf(target, unsigned('x'.repeat(2e6)), 0.9)),
  '400 half bodies with a signature': opensAndWaits(400, (target, n) => openHalf(target, createLarge(n), 0.9)),
  '400 bodies in chunks without an end': opensAndWaits(400, openChunked),
  '500 strangers on the Mongo port': opensAndWaits(500, async target => {
    const half = halfMessage(64 * 1024, 63 * 1024)
    await openSilent(target, target.mongoPort, half)
  }),
  '60 half Mongo messages of 48 MB': crowd(60, async ({ connection }, target) => {
    await connection.ask(halfMessage(47_900_000, 40_000_000))
    target.count('answered')
  }),
  '40 compressed messages of 47 MB': crowd(40, async ({ connection }) => {
    const message = bomb()
    setRequestId(message, 1)
    await connection.ask(message)
  }),
  '300 TLS connections that stop in the handshake': opensAndWaits(300, target =>
    openSilent(target, target.port, Buffer.concat([Buffer.from('16030140000100', 'hex'), randomBytes(16_000)])),
  ),
  '1,000 clients that never read a 4 MB page': opensAndWaits(1000, async target => {
    await openSilent(target, target.port, feedRequest('large'))
  }),
  '100 TLS clients that never read a 4 MB page': opensAndWaits(100, async ({ port, count }) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    socket.on('error', () => {}).on('close', () => count('closed'))
    await new Promise<void>(resolve => socket.once('secureConnect', resolve).once('close', resolve))
    socket.write(feedRequest('large'))
  }),
  '1,000 http2 streams that are not read': opensAndWaits(10, async ({ port, count }) => {
    const session = connectHttp2(`http://localhost:${port}`, { settings: { initialWindowSize: 1 } })
    session.on('error', () => count('closed'))
    const head = feedRequest('large').toString('latin1').split('\r\n').slice(1)
    const fields = Object.fromEntries(head.filter(Boolean).map(line => line.split(/: (.*)/s).slice(0, 2)))
    delete fields.host
    for (let n = 0; n < 100; n++) {
      const stream = session.request({ ':method': 'GET', ':path': itemsPath('large'), ...fields })
      stream.on('error', () => {})
      stream.on('response', headers => count(String(headers[constants.HTTP2_HEADER_STATUS])))
    }
  }),
  '64 clients that create items of 2 MB': target =>
    Promise.all(times(64, n => repeatHttp(target, () => createLarge(n)))),
  '64 batches of 2 MB': target => Promise.all(times(64, () => repeatHttp(target, () => batchRequest(true)))),
  '64 bulk bodies of 2 MB': target => Promise.all(times(64, () => repeatHttp(target, () => batchRequest(false)))),
  '16 insertMany of 40 MB': crowd(16, async ({ ask }) => {
    await ask({ insert: 'inserted' }, { name: 'documents', documents: documents(4000, 10_000) })
  }),
  '32 SQL clients that scan 20,000 items': target =>
    Promise.all(
      times(32, () => repeatHttp(target, () => queryRequest('items', 'SELECT * FROM c WHERE c.version = 3'))),
    ),
  '32 clients that scan 20,000 documents': crowd(32, async ({ ask }, target) => {
    let { cursor } = await ask({ find: 'docs', filter: { n: { $gte: 0 } }, batchSize: 5000 })
    while (cursor !== undefined && !isZero(cursor.id) && !target.isOver()) {
      cursor = (await ask(getMore('docs', cursor.id))).cursor
    }
  }),
  '64 SQL sorts': target =>
    Promise.all(
      times(64, n => repeatHttp(target, () => queryRequest('items', `SELECT * FROM c ORDER BY c.${fields[n % 4]}`))),
    ),
  '64 SQL groups': target =>
    Promise.all(
      times(64, () =>
        repeatHttp(target, () =>
          queryRequest('items', 'SELECT c.id, c.text, COUNT(1) AS n FROM c GROUP BY c.id, c.text'),
        ),
      ),
    ),
  '64 sorts of 20,000 documents': crowd(64, async ({ ask }) => {
    await ask({ aggregate: 'docs', pipeline: [{ $sort: { text: 1, n: -1 } }], cursor: { batchSize: 1 } })
  }),
  '120 cursors behind $group': crowd(120, async ({ ask }, target) => {
    await ask({ aggregate: 'docs', pipeline: [{ $group: grouped }], cursor: { batchSize: 1 } })
    await pause(target.isOver() ? 0 : 1000)
  }),
  '40 cursors behind a sorted find': crowd(40, async ({ ask }, target) => {
    const { cursor } = await ask({ find: 'docs', sort: { text: 1, n: -1 }, batchSize: 10 })
    if (cursor !== undefined) await ask(getMore('docs', cursor.id, 10))
    await pause(target.isOver() ? 0 : 1000)
  }),
  '2,000 idle cursors': crowd(20, async ({ ask }, target) => {
    for (let n = 0; n < 100 && !target.isOver(); n++) {
      await ask({
        aggregate: 'docs',
        pipeline: [{ $match: { n: { $gte: 0 } } }, { $unwind: '$n' }],
        cursor: { batchSize: 100 },
      })
    }
    await untilOver(target)
  }),
  'one growing transaction': crowd(1, async ({ ask }, target) => {
    const lsid = { id: new Binary(randomBytes(16), Binary.SUBTYPE_UUID) }
    const session = { lsid, txnNumber: Long.ONE, autocommit: false }
    const sent = { name: 'documents', documents: documents(1000, 16_000) }
    for (let n = 0; !target.isOver(); n++) {
      const answer = await ask({ insert: 'inserted', ...session, ...(n === 0 && { startTransaction: true }) }, sent)
      if (answer.ok !== 1) break
    }
  }),
  '50 transactions': crowd(50, async ({ ask }, target) => {
    const lsid = { id: new Binary(randomBytes(16), Binary.SUBTYPE_UUID) }
    const session = { lsid, txnNumber: Long.ONE, autocommit: false }
    const sent = { name: 'documents', documents: documents(100, 16_000) }
    for (let n = 0; !target.isOver(); n++) {
      const answer = await ask({ insert: 'inserted', ...session, ...(n === 0 && { startTransaction: true }) }, sent)
      if (answer.ok !== 1) break
    }
  }),
  '32 scripts with full heaps': target =>
    Promise.all(
      times(32, () =>
        repeatHttp(target, () =>
          signedRequest({
            method: 'POST',
            path: `/dbs/${DATABASE}/colls/items/sprocs/full`,
            headers: { 'x-ms-documentdb-partitionkey': '["huge"]' },
            body: '[]',
          }),
        ),
      ),
    ),
  '32 readers of the change feed': target =>
    Promise.all(times(32, () => repeatHttp(target, () => feedRequest('large', { 'a-im': 'Incremental feed' })))),
  '200 change streams with slow readers': async target => {
    const readers = times(200, () =>
      repeatMongo(target, async ({ ask, connection }) => {
        const { cursor } = await ask({ aggregate: 'watched', pipeline: [{ $changeStream: {} }], cursor: {} })
        while (!target.isOver()) {
          const answer = await ask({ ...getMore('watched', cursor.id), maxTimeMS: 500 })
          if (answer.ok !== 1) break
          await pause(500)
        }
        connection.close()
      }),
    )
    const writer = repeatMongo(target, async ({ ask }) => {
      await ask({ insert: 'watched' }, { name: 'documents', documents: documents(100, 50_000) })
      await pause(200)
    })
    await Promise.all([...readers, writer])
  },
}

function isZero(id: unknown): boolean {
  return String(id) === '0'
}

/** The body of the script `full`. */
export const FULL_SCRIPT = `function () { const all = []; for (;;) { all.push(new Array(1000).fill(all.length)) } }`

/** Data beside the items: pages of 4 MB, and documents to sort and group. */
export const LARGE_ITEMS = 120
export const LARGE_BYTES = 100_000
export const ITEMS = 20_000
export const ROOM_BYTES = MiB
