/**
 * The upper limit for a server on `node:net`: it reads a message and sends back one prepared answer.
 *
 * Its argument is the answer in base64, taken from the server that it is compared with. It serves only the
 * load generator, which sends a message only after the previous one is answered.
 */

import { type AddressInfo, createServer } from 'node:net'

const reply = Buffer.from(process.argv[2]!, 'base64')

const server = createServer({ noDelay: true }, socket => {
  const answer = Buffer.from(reply)
  let missingBytes = 0
  socket.on('data', chunk => {
    if (missingBytes === 0) {
      missingBytes = chunk.readInt32LE(0)
      // Which request it answers.
      answer.writeInt32LE(chunk.readInt32LE(4), 8)
    }
    missingBytes -= chunk.length
    if (missingBytes === 0) socket.write(answer)
  })
  socket.on('error', () => socket.destroy())
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ ready: true, endpoint: `http://127.0.0.1:${port}` }))
})
