/** Connections that do not log in: they may greet and watch, but hold neither memory nor a place for long. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test, { type TestContext } from 'node:test'
import { machine } from '../../../src/base/clock.ts'
import { startServer } from '../../support/start-server.ts'

const { db } = await startServer({ mongoPort: 0 })
const port = Number(new URL(db.mongoUri!).port)

async function open(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Lets timers with this time end soon. */
function shorten(t: TestContext, time: number): void {
  const { setTimeout } = machine
  t.mock.method(machine, 'setTimeout', (work: () => void, ms: number) => setTimeout(work, ms === time ? 50 : ms))
}

/** The first bytes of a message with this length. */
function beginningOf(length: number): Buffer {
  const bytes = Buffer.alloc(100)
  bytes.writeInt32LE(length, 0)
  bytes.writeInt32LE(2013, 12)
  return bytes
}

const closeOf = (socket: Socket) => new Promise(resolve => socket.on('close', resolve))

test('A long message is refused before login', async () => {
  const socket = await open()
  const closed = closeOf(socket)
  socket.write(beginningOf(100_000))
  await closed
})

test('A message that does not arrive in time ends the connection, also one that comes byte by byte', async t => {
  shorten(t, 10_000)
  const socket = await open()
  const closed = closeOf(socket)
  const drip = setInterval(() => socket.write('x'), 5)
  socket.write(beginningOf(50_000))
  await closed
  clearInterval(drip)
})

test('A TLS handshake that does not go on ends the connection', async t => {
  shorten(t, 10_000)
  const socket = await open()
  const closed = closeOf(socket)
  socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02]))
  await closed
})
