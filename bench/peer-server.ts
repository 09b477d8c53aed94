/**
 * Runs the peer with keep-alive, which its own command line does not offer. Without it every request would
 * pay for a new connection, and the comparison would measure that.
 */

import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'

interface Peer {
  createHttpServer(options: { keepAlive: boolean }): Server
}

const { createHttpServer } = createRequire(import.meta.url)(process.argv[2]!) as Peer
const server = createHttpServer({ keepAlive: true })
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  console.log(JSON.stringify({ ready: true, endpoint: `http://127.0.0.1:${port}` }))
})
