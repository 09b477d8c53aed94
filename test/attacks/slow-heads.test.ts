/**
 * Connections that begin to say something and stop: each is ended by its deadline, whatever protocol its
 * first byte promised. All wait at the same time.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { machine } from '../../src/base/clock.ts'
import { headersTimeoutMs } from '../../src/server/listener.ts'
import { startServer } from '../support/start-server.ts'

const server = await startServer()
const port = Number(new URL(server.db.endpoint).port)

/** Deadlines are looked at once a second, and the machine may be busy. */
const lateMsMax = 8000

/** The server says its settings first, in a frame. */
const noHttp1 = /^(?!HTTP\/1)/

const beginnings: readonly (readonly [name: string, bytes: Buffer, answer: RegExp])[] = [
  ['nothing', Buffer.alloc(0), /^$/],
  ['one byte of TLS', Buffer.of(0x16), /^$/],
  ['the header of a TLS record', Buffer.of(0x16, 3, 1, 2, 0), /^$/],
  ['one letter', Buffer.from('P'), /^(HTTP\/1\.1 408 |$)/],
  ['half a preface of HTTP/2', Buffer.from('PRI * HT'), noHttp1],
  ['half a line', Buffer.from('GET /dbs'), /^HTTP\/1\.1 408 /],
  ['half a head', Buffer.from('GET /dbs HTTP/1.1\r\nhost: localhost\r\nx-ms-da'), /^HTTP\/1\.1 408 /],
  ['half a head for the pages', Buffer.from('GET /_explorer/ HTTP/1.1\r\nhost: local'), /^HTTP\/1\.1 408 /],
]

test('connections that stop within their first request end by their deadline', { concurrency: true }, async t => {
  const work = beginnings.map(([name, bytes, answer]) =>
    t.test(name, async () => {
      const socket = connect(port, '127.0.0.1')
      const beganMs = machine.monotonicMs()
      let heard = ''
      socket.on('error', () => {})
      socket.on('data', chunk => {
        heard += chunk.toString('latin1')
      })
      socket.write(bytes)
      await once(socket, 'close', { signal: AbortSignal.timeout(headersTimeoutMs + lateMsMax) })
      assert.match(heard, answer)
      // It had its time.
      assert.ok(machine.monotonicMs() - beganMs > headersTimeoutMs / 2)
    }),
  )
  const { status } = await server.admin('GET', 'clock')
  assert.equal(status, 200)
  await Promise.all(work)
})
