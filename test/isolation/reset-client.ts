/** A thread that begins as many HTTP/2 requests as it is told, and cancels them, all in one write. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

const port = parentPort!

const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const END_HEADERS_AND_STREAM = 5
const CANCEL = Buffer.of(0, 0, 0, 8)
/** GET, http, path `/` and the authority `localhost`: the first three are in HPACK's static table. */
const head = Buffer.concat([Buffer.of(0x82, 0x86, 0x84, 0x01, 9), Buffer.from('localhost')])

function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const start = Buffer.alloc(9)
  start.writeUIntBE(payload.length, 0, 3)
  start[3] = type
  start[4] = flags
  start.writeUInt32BE(stream, 5)
  return Buffer.concat([start, payload])
}

port.on('message', async (count: number) => {
  const socket = connect(workerData.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0)]))
  await once(socket, 'data')
  const bytes: Buffer[] = []
  for (let n = 0; n < count; n++) {
    bytes.push(frame(HEADERS, END_HEADERS_AND_STREAM, 2 * n + 1, head), frame(RST_STREAM, 0, 2 * n + 1, CANCEL))
  }
  socket.on('error', () => {})
  socket.resume()
  socket.write(Buffer.concat(bytes))
  // The server is asked afterwards how long its turns were.
  await new Promise(resolve => setTimeout(resolve, workerData.waitMs))
  port.postMessage({ isClosed: socket.destroyed })
  socket.destroy()
})
port.postMessage('ready')
