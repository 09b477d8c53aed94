/** A proxy to PostgreSQL that breaks connections at the worst point: after a commit, before its answer. */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface ForgetfulProxy extends AsyncDisposable {
  readonly url: string
  readonly forgotten: number
  /** Lets the next write pass, and cuts the connection after the server has committed it. */
  forgetNextWrite(): void
  /** The same with the next COMMIT of a transaction. Then accepts no connections until told otherwise. */
  loseNextCommit(): void
  /** Cuts all connections and accepts no new ones while true. */
  refuse(isRefusing: boolean): void
}

export async function forgetfulProxy(to: string): Promise<ForgetfulProxy> {
  const { hostname, port } = new URL(to)
  const sockets = new Set<Socket>()
  let isForgetting = false
  let isLosing = false
  let isRefusing = false
  let forgotten = 0
  const refuse = (now: boolean): void => {
    isRefusing = now
    if (now) for (const socket of sockets) socket.destroy()
  }
  const proxy = createServer(client => {
    if (isRefusing) {
      client.destroy()
      return
    }
    const upstream = connect(Number(port), hostname)
    let isCutting = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', chunk => {
      if (isForgetting && chunk.includes('\0write\0')) {
        isForgetting = false
        isCutting = true
      }
      if (isLosing && chunk.includes('COMMIT\0')) isCutting = true
      upstream.write(chunk)
    })
    upstream.on('data', chunk => {
      if (!isCutting) client.write(chunk)
      else if (chunk.includes('SELECT 1\0') || chunk.includes('COMMIT\0')) {
        forgotten++
        client.destroy()
        if (isLosing) refuse(true)
        isLosing = false
      }
    })
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(to)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    get forgotten() {
      return forgotten
    },
    forgetNextWrite: () => {
      isForgetting = true
    },
    loseNextCommit: () => {
      isLosing = true
    },
    refuse,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}
