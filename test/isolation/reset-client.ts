/** A thread that begins as many HTTP/2 requests as it is told, and cancels them, all in one write. */

import { once } from 'node:events'
import { constants } from 'node:http2'
import { connect } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { fields, frame, http2Start } from '../support/http2-frames.ts'

const port = parentPort!

const head = fields({ ':method': 'GET', ':scheme': 'http', ':path': '/', ':authority': 'localhost' })
const cancel = Buffer.of(0, 0, 0, constants.NGHTTP2_CANCEL)

port.on('message', async (count: number) => {
  const socket = connect(workerData.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.resume()
  socket.write(http2Start)
  await once(socket, 'data')
  const streams = Array.from({ length: count }, (_, n) => 2 * n + 1)
  socket.write(Buffer.concat(streams.flatMap(stream => [frame(1, 5, stream, head), frame(3, 0, stream, cancel)])))
  // The server is asked afterwards how long its turns were.
  await new Promise(resolve => setTimeout(resolve, workerData.waitMs))
  port.postMessage({ isClosed: socket.destroyed })
  socket.destroy()
})
port.postMessage('ready')
