/**
 * Tests of the fast lane with a store that answers late, as a remote one does: nothing overwrites the bytes
 * of a request that waits.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { before, describe, test } from 'node:test'
import { silentLog } from '../../base/log.ts'
import { MemoryAccount } from '../../base/memory-account.ts'
import { enableSharedReading } from '../sockets/shared-read-probe.ts'
import { FastLane } from './fast-lane.ts'

/** Answers a request with its body, after a few turns of the event loop. */
async function startEcho(): Promise<{ open(): Promise<Socket>; readonly left: Buffer[] } & AsyncDisposable> {
  /** What was read from connections that left the lane, not copied. */
  const left: Buffer[] = []
  const lane = new FastLane({
    nosql: {
      async handle({ body }, reply) {
        await turns(4)
        const headers = `content-length: ${body.length}\r\n`
        reply({ status: 200, headers, body: String(body), bodyBytes: body.length })
      },
      receive(head, reply, takeBody) {
        takeBody().then(body => this.handle({ ...head, body }, reply))
      },
      refuse: () => assert.fail('nothing is refused'),
      [Symbol.asyncDispose]: async () => {},
    },
    memory: new MemoryAccount(1e7),
    isProtocolPath: url => url !== '/left',
    handOver: socket => socket.on('data', chunk => left.push(chunk)).on('end', () => socket.destroy()),
  })
  const server = createServer(socket => socket.once('data', first => lane.serve(socket, first))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clients: Socket[] = []
  return {
    left,
    async open() {
      const client = connect((server.address() as { port: number }).port, '127.0.0.1').setNoDelay(true)
      clients.push(client)
      // The first chunk of a connection is read before the lane gets it.
      client.write(requestTo('/', 'first'))
      await answersOf(client, 1)
      return client
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
}

const requestTo = (url: string, body: string) =>
  `POST ${url} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Waits for `count` answers and returns their bodies. */
async function answersOf(client: Socket, count: number): Promise<string[]> {
  let heard = ''
  while (true) {
    heard += (await once(client, 'data'))[0]
    const bodies = heard.split(/HTTP.*?\r\n\r\n/s).slice(1)
    if (bodies.length === count) return bodies
  }
}

for (const way of ['each on its own', 'into a shared buffer']) {
  describe(`Connections that are read ${way}`, () => {
    if (way === 'into a shared buffer') before(async () => assert.equal(await enableSharedReading(silentLog), true))

    test('Requests that arrive meanwhile do not change one that is not answered yet', async () => {
      await using echo = await startEcho()
      const clients = await Promise.all(Array.from({ length: 8 }, echo.open))
      const answers = clients.map(client => answersOf(client, 1))
      for (const [at, client] of clients.entries()) client.write(requestTo('/', `of ${at}`))
      assert.deepEqual(
        await Promise.all(answers),
        clients.map((_, at) => [`of ${at}`]),
      )
    })

    test('A request that waits for the one before it stays as it was', async () => {
      await using echo = await startEcho()
      const [hasty, other] = [await echo.open(), await echo.open()]
      const answers = answersOf(hasty, 2)
      hasty.write(requestTo('/', 'one'))
      await turns(2)
      hasty.write(requestTo('/', 'two'))
      await turns(1)
      other.write(requestTo('/', 'otherwise'))
      assert.deepEqual(await answers, ['one', 'two'])
    })

    test('A request that leaves the lane is read elsewhere as it was', async () => {
      await using echo = await startEcho()
      const [leaving, other] = [await echo.open(), await echo.open()]
      const odd = requestTo('/left', 'x'.repeat(1000))
      leaving.write(odd)
      while (echo.left.length === 0) await turns(1)
      other.write(requestTo('/', 'y'.repeat(2000)))
      await answersOf(other, 1)
      assert.equal(String(Buffer.concat(echo.left)), odd)
    })
  })
}
