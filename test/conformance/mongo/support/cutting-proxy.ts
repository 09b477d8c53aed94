/** A proxy between a client and the server that cuts connections on demand. */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after } from 'node:test'

export interface CuttingProxy {
  /** The URI of the server through the proxy. */
  readonly uri: string
  /**
   * The next messages that a test wants cut: `request` before they reach the server, `answer` when the server
   * has answered and before the client sees it. Called for each message that begins in a chunk, with its
   * bytes.
   */
  cut: (direction: 'request' | 'answer', bytes: Buffer) => boolean
  cuts: number
}

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const proxy: { cut: CuttingProxy['cut']; cuts: number } = { cut: () => false, cuts: 0 }
  const server = createServer({ noDelay: true }, client => {
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    const pass = (from: Socket, to: Socket, direction: 'request' | 'answer') =>
      from.on('data', chunk => {
        if (!proxy.cut(direction, chunk)) {
          to.write(chunk)
          return
        }
        proxy.cuts++
        client.destroy()
        upstream.destroy()
      })
    pass(client, upstream, 'request')
    pass(upstream, client, 'answer')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const uri = new URL(target)
  uri.port = String((server.address() as AddressInfo).port)
  return Object.assign(proxy, { uri: uri.href })
}
