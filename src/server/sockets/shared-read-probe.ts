/**
 * Lets connections share a read buffer if that works on this Node.
 *
 * The probe is a loopback connection. Its bytes must arrive in place, and later ones as `data`. The client's
 * end must leave the socket writable. In the end all sockets must close.
 */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { machine } from '../../base/clock.ts'
import { assert } from '../../base/error.ts'
import type { Logger } from '../../base/log.ts'
import { type ReadConnection, readShared, turnSharingOn } from './shared-read-buffer.ts'

/** A probe takes a few milliseconds. One that takes longer has failed. */
const probeMsMax = 1000

let enabling: Promise<boolean> | undefined

/** Probes once per process. Resolves to whether connections share the buffer from now on. */
export function enableSharedReading(log: Logger, read: ReadConnection = readShared): Promise<boolean> {
  enabling ??= probeReading(read).then(failure => {
    if (failure === undefined) turnSharingOn()
    else log.debug({ failure }, 'connections cannot share a read buffer on this Node; each reads into its own')
    return failure === undefined
  })
  return enabling
}

/** Returns why this way of reading does not work here, or undefined if it works. */
export async function probeReading(read: ReadConnection): Promise<string | undefined> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true })
  const sockets: Socket[] = []
  // An error fails the probe by ending what it waits for. Without a listener it would end the process.
  server.on('error', () => {})
  const keep = (socket: Socket) => {
    sockets.push(socket)
    return socket.on('error', () => {})
  }
  const { promise: late, resolve: giveUp } = Promise.withResolvers<string>()
  const limit = machine.setTimeout(() => giveUp(`no result within ${probeMsMax} ms`), probeMsMax)

  async function attempt(): Promise<undefined> {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = keep(connect((server.address() as AddressInfo).port, '127.0.0.1'))
    const [accepted] = (await once(server, 'connection')) as [Socket]
    keep(accepted)
    const { promise: inPlace, resolve: onText } = Promise.withResolvers<string>()
    const { socket, end } = read(accepted, bytes => onText(String(bytes)))
    keep(socket)
    client.write('one')
    assert((await inPlace) === 'one', 'bytes must arrive in place')
    end()
    client.write('two')
    assert(String((await once(socket, 'data'))[0]) === 'two', 'bytes must arrive as data')
    client.end()
    await once(socket, 'end')
    assert(socket.writable, 'the end of the client must not end the socket')
    const closed = Promise.all([once(accepted, 'close'), once(socket, 'close'), once(client, 'close')])
    socket.end('three')
    assert(String((await once(client, 'data'))[0]) === 'three', 'the client must hear an answer')
    await closed
  }

  try {
    return await Promise.race([attempt().catch(error => String(error)), late])
  } finally {
    machine.clearTimeout(limit)
    for (const socket of sockets) socket.destroy()
    server.close()
  }
}
