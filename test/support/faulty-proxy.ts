/**
 * A proxy between a store and PostgreSQL that disturbs connections at random: delays, cuts and resets, in
 * both directions. A seed decides what happens; the traffic decides when.
 */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Trouble {
  /** The probability of each for a chunk that passes. */
  readonly delay: number
  readonly cut: number
  readonly reset: number
  readonly delayMsMax: number
}

export interface FaultyProxy extends AsyncDisposable {
  readonly url: string
  /** Connections that were broken. */
  readonly broken: number
  trouble(now: Trouble | undefined): void
  /** While true, nothing passes and nothing breaks, like a network that has lost its route. */
  stall(isStalled: boolean): void
  /**
   * Ends the stall, except for the chunks that it holds. They arrive when the returned function is called,
   * even if their clients have gone.
   */
  strand(): () => Promise<void>
}

export async function faultyProxy(to: string, seed: number): Promise<FaultyProxy> {
  const { hostname, port } = new URL(to)
  const sockets = new Set<Socket>()
  /** Connections to the server whose client has gone, until everything is delivered. */
  const orphans = new Set<Promise<unknown>>()
  const random = randomNumbers(seed)
  let present: Trouble | undefined
  let broken = 0
  let stalled: { ended: Promise<void>; end: () => void } | undefined

  const proxy = createServer(client => {
    const server = connect(Number(port), hostname)
    const breakOff = (isReset: boolean) => {
      broken++
      if (isReset) client.resetAndDestroy()
      else client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    const closed = new Promise<void>(resolve => server.on('close', resolve))
    server.on('close', () => client.destroy())
    const abandon = (delivered: Promise<void>): void => {
      const orphan = Promise.race([closed, delivered.then(() => server.end())]).then(() => closed)
      orphans.add(orphan)
      orphan.then(() => orphans.delete(orphan))
    }
    for (const [from, into] of [
      [client, server],
      [server, client],
    ] as const) {
      // A delayed chunk holds up the chunks after it.
      let passing = Promise.resolve()
      if (from === client) client.on('close', () => abandon(passing))
      from.on('data', chunk => {
        passing = passing.then(async () => {
          await stalled?.ended
          if (present === undefined) {
            into.write(chunk)
            return
          }
          const { delay, cut, reset, delayMsMax } = present
          if (random() < delay) await new Promise(resolve => setTimeout(resolve, random() * delayMsMax))
          const isBroken = random() < cut + reset
          // Half of the interrupted chunks are still delivered.
          if (!isBroken || random() < 0.5) into.write(chunk)
          if (isBroken) breakOff(random() < reset / (cut + reset))
        })
      })
    }
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(to)
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    get broken() {
      return broken
    },
    trouble: now => {
      present = now
    },
    stall: isStalled => {
      stalled?.end()
      if (!isStalled) {
        stalled = undefined
        return
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      stalled = { ended: promise, end: resolve }
    },
    strand: () => {
      const held = stalled
      stalled = undefined
      return async () => {
        held?.end()
        await Promise.all(orphans)
      }
    },
    [Symbol.asyncDispose]: async () => {
      stalled?.end()
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
