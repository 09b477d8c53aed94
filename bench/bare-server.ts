/**
 * The upper limit for a server on `node:http`: it reads the request and sends back one prepared answer.
 *
 * Its only argument is the answer, in JSON, taken from the server that it is compared with.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer } from './http.ts'

const { status, headers, body } = JSON.parse(process.argv[2]!) as Answer

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(status, headers as string[])
    response.end(body)
    return
  }
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    // Any server must read the whole body before it can use it.
    const text = chunks.length === 1 ? chunks[0]!.toString() : Buffer.concat(chunks).toString()
    if (text.length === 0) response.statusCode = 400
    response.writeHead(status, headers as string[])
    response.end(body)
  })
})

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ ready: true, endpoint: `http://127.0.0.1:${port}` }))
})
