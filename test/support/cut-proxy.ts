/** A proxy before a server, whose line can be cut and mended: for clients that nobody answers. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CutProxy extends AsyncDisposable {
  readonly endpoint: string
  /** Breaks all connections, and takes no new one until it is mended. */
  cut(): void
  mend(): void
}

export async function cutProxy(to: string): Promise<CutProxy> {
  const { hostname, port } = new URL(to)
  const sockets = new Set<Socket>()
  let isCut = false
  const proxy = createServer(client => {
    if (isCut) {
      client.resetAndDestroy()
      return
    }
    const server = connect(Number(port), hostname)
    for (const [from, into] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        into.destroy()
      })
      from.pipe(into)
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const breakAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut: () => {
      isCut = true
      breakAll()
    },
    mend: () => {
      isCut = false
    },
    [Symbol.asyncDispose]: async () => {
      breakAll()
      await new Promise(resolve => proxy.close(resolve))
    },
  }
}
