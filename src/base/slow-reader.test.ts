import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import test from 'node:test'
import { drained } from './slow-reader.ts'

const msMax = 100
const much = Buffer.alloc(32 * 1024 * 1024)

/** Answers more than the buffers on the way can take, and tells when it has waited. */
function answering() {
  const over = Promise.withResolvers<ServerResponse>()
  const answer = async (_req: unknown, res: ServerResponse) => {
    res.writeHead(200)
    if (!res.write(much)) await drained(res, msMax)
    over.resolve(res)
    res.end()
  }
  return { answer, over: over.promise }
}

async function portOf(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

test('a client that does not read its answer is disconnected', async () => {
  const { answer, over } = answering()
  const server = createServer(answer)
  const socket = connect(await portOf(server), '127.0.0.1')
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  assert.ok((await over).destroyed)
  socket.destroy()
  server.close()
})

test('an HTTP/2 stream that is not read is ended, and its connection goes on', async () => {
  const { answer, over } = answering()
  const server = createHttp2Server((req, res) => void answer(req, res as unknown as ServerResponse))
  const session = connectHttp2(`http://127.0.0.1:${await portOf(server as unknown as Server)}`)
  const stream = session.request({ ':path': '/' }).end()
  await over
  await once(stream.resume(), 'close')
  assert.equal(stream.rstCode, constants.NGHTTP2_CANCEL)
  assert.ok(!session.destroyed)
  session.close()
  server.close()
})

test('a client that reads has its former time-out afterwards', async () => {
  const { answer, over } = answering()
  const server = createServer(answer)
  const socket = connect(await portOf(server), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  let bytes = 0
  socket.on('data', chunk => {
    bytes += chunk.length
  })
  const res = await over
  assert.ok(!res.destroyed)
  assert.equal(res.socket?.timeout, 0)
  assert.deepEqual([res.listenerCount('drain'), res.listenerCount('close') < 3], [0, true])
  await once(socket, 'close')
  assert.ok(bytes > much.length)
  server.close()
})
