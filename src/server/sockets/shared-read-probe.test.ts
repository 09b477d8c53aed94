/** Tests of the probe: a way of reading that would lose bytes or sockets is found out and not used. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, Socket } from 'node:net'
import test from 'node:test'
import { silentLog } from '../../base/log.ts'
import { type ReadConnection, readCopies, readInPlace, readShared } from './shared-read-buffer.ts'
import { enableSharedReading, probeReading } from './shared-read-probe.ts'

test('Shared reading passes on this Node', async () => {
  assert.equal(await probeReading(readShared), undefined)
})

const broken: Readonly<Record<string, readonly [ReadConnection, RegExp]>> = {
  'throws, as for a handle that has changed': [
    () => {
      throw new TypeError('handle.readStart is not a function')
    },
    /readStart/,
  ],
  'never delivers a byte': [accepted => ({ socket: accepted, end() {} }), /no result within/],
  'delivers other bytes': [
    (accepted, onBytes) => readShared(accepted, bytes => onBytes(bytes.subarray(1))),
    /must arrive in place/,
  ],
  'ends with its client': [
    (accepted, onBytes) => {
      accepted.allowHalfOpen = false
      return readShared(accepted, onBytes)
    },
    /must not end the socket/,
  ],
  'leaves a socket open': [
    (accepted, onBytes) => ({ ...readShared(accepted, onBytes), socket: new Socket() }),
    /no result within/,
  ],
}

for (const [name, [read, failure]] of Object.entries(broken)) {
  test(`A way of reading that ${name} does not pass`, async () => {
    assert.match((await probeReading(read)) ?? 'passed', failure)
  })
}

test('Without a probe that passed, connections are read the ordinary way', async () => {
  const lines: string[] = []
  const log = { ...silentLog, debug: (_: object, message: string) => lines.push(message) }
  const [read] = broken['delivers other bytes']!
  assert.equal(await enableSharedReading(log, read), false)
  assert.deepEqual(lines, ['connections cannot share a read buffer on this Node; each reads into its own'])
  assert.equal(await enableSharedReading(log), false)

  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [accepted] = (await once(server, 'connection')) as [Socket]
  const { promise, resolve } = Promise.withResolvers<string>()
  const { socket, end } = readInPlace(accepted, bytes => resolve(String(bytes)))
  assert.equal(socket, accepted)
  client.write('hello')
  assert.equal(await promise, 'hello')
  end()
  assert.equal(readCopies(accepted), accepted)
  client.end()
  await once(accepted.resume(), 'close')
  server.close()
})
