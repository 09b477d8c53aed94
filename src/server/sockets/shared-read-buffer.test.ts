/**
 * Tests of the shared read buffer. test/conformance/nosql/bad-sockets.test.ts tests it through the server.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import test from 'node:test'
import { silentLog } from '../../base/log.ts'
import { readCopies, readInPlace } from './shared-read-buffer.ts'
import { enableSharedReading } from './shared-read-probe.ts'

async function pair(allowHalfOpen = true): Promise<{ client: Socket; accepted: Socket } & AsyncDisposable> {
  const server = createServer({ allowHalfOpen, pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  return {
    client,
    accepted,
    async [Symbol.asyncDispose]() {
      client.destroy()
      accepted.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

test('Until the probe has passed, a connection is read the ordinary way', async () => {
  await using connection = await pair()
  const { client, accepted } = connection
  const { promise, resolve } = Promise.withResolvers<string>()
  assert.equal(readInPlace(accepted, bytes => resolve(String(bytes))).socket, accepted)
  accepted.resume()
  client.write('hello')
  assert.equal(await promise, 'hello')
  assert.equal(await enableSharedReading(silentLog), true)
})

test('Bytes of all connections lie in the same place', async () => {
  await using one = await pair()
  await using other = await pair()
  const places = new Set<ArrayBufferLike>()
  for (const { client, accepted } of [one, other]) {
    const { promise, resolve } = Promise.withResolvers<string>()
    readInPlace(accepted, bytes => {
      places.add(bytes.buffer)
      resolve(String(bytes))
    })
    client.write('hello')
    assert.equal(await promise, 'hello')
  }
  assert.equal(places.size, 1)
})

test('Afterwards it is an ordinary socket, and a slow reader stops its client', async () => {
  await using connection = await pair()
  const { client, accepted } = connection
  const { promise, resolve } = Promise.withResolvers<string>()
  const { socket, end } = readInPlace(accepted, bytes => resolve(String(bytes)))
  client.write('first')
  assert.equal(await promise, 'first')
  end()
  const sent = Buffer.alloc(32 * 1024 * 1024, 'abcdefg')
  client.end(sent)
  await once(socket, 'readable')
  for (let turn = 0; turn < 100; turn++) await new Promise(resolve => setImmediate(resolve))
  assert.ok(socket.readableLength < 1024 * 1024, `${socket.readableLength} bytes wait`)
  const received: Buffer[] = []
  for await (const chunk of socket) received.push(chunk)
  assert.ok(Buffer.concat(received).equals(sent))
})

for (const side of ['accepted', 'socket'] as const) {
  test(`Both sockets close when the ${side} one does`, async () => {
    await using connection = await pair()
    const { accepted } = connection
    const { socket } = readInPlace(accepted, () => {})
    const closed = Promise.all([once(accepted, 'close'), once(socket, 'close')])
    ;({ accepted, socket })[side].destroy()
    await closed
  })
}

test('The option allowHalfOpen of the accepted socket is kept', async () => {
  for (const allowHalfOpen of [true, false]) {
    await using connection = await pair(allowHalfOpen)
    const socket = readCopies(connection.accepted)
    socket.resume()
    connection.client.end()
    await once(socket, 'end')
    assert.equal(socket.writable, allowHalfOpen)
  }
})

test('A socket without a handle is read in the ordinary way', async () => {
  await using connection = await pair()
  const { client, accepted } = connection
  const heard: string[] = []
  const withoutHandle: Socket = Object.create(accepted, { _handle: { value: undefined } })
  const { socket, end } = readInPlace(withoutHandle, bytes => heard.push(String(bytes)))
  assert.equal(socket, withoutHandle)
  accepted.resume()
  client.write('one')
  await once(accepted, 'data')
  end()
  client.write('two')
  await once(accepted, 'data')
  assert.deepEqual(heard, ['one'])
})
