/**
 * Serves the Mongo protocol, plain and TLS, on one port: the first bytes of a connection tell them apart.
 *
 * TLS begins with 16 03 and a version of at least 1. In the Mongo protocol these bytes would be a message
 * length of 66 KB or more. The first message of a client is far shorter.
 */

import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { machine } from '../base/clock.ts'
import { CapacityError } from '../base/error.ts'
import type { Logger } from '../base/log.ts'
import { watchSlowReader } from '../base/slow-reader.ts'
import type { MongoServer } from '../mongo/server.ts'
import { Gate } from './gate.ts'
import { headersTimeoutMs, type Listener } from './listener.ts'
import { readCopies } from './sockets/shared-read-buffer.ts'
import type { Certificate } from './tls/certificate.ts'

export interface MongoListenerOptions {
  readonly host: string
  readonly port: number
  /** How errors name the setting of the port. */
  readonly portName: string
  readonly connectionsMax: number
  /**
   * Loads the Mongo side when the first client connects, and returns the same one from then on. Many servers
   * never have a client, and the code of the Mongo side takes a tenth of the memory of an idle process.
   */
  readonly load: () => Promise<MongoServer>
  /** Load at once: there are collections, and perhaps work that the last run did not finish. */
  readonly isNeeded: boolean
  readonly certificate: () => Promise<Certificate>
  readonly log: Logger
  readonly holdsProcess: boolean
}

type Protocol = 'tls' | 'mongo'

/** Enough to tell TLS from Mongo. */
const sniffedBytes = 3

export async function listenMongo(options: MongoListenerOptions): Promise<Listener> {
  const { host, port, portName, connectionsMax, load, isNeeded, certificate, log, holdsProcess } = options
  let loading: Promise<MongoServer> | undefined
  const serverWhenLoaded = () => {
    loading = load()
    return loading
  }
  let securing: Promise<(socket: Socket) => TLSSocket> | undefined
  const secure = () => {
    securing ??= Promise.all([certificate(), import('node:tls')]).then(([{ key, chain }, tls]) => {
      const secureContext = tls.createSecureContext({ key, cert: chain })
      return socket => {
        const decrypted = new tls.TLSSocket(socket, { isServer: true, secureContext })
        const limit = machine.setTimeout(() => socket.destroy(), headersTimeoutMs).unref()
        decrypted.once('secure', () => machine.clearTimeout(limit))
        socket.once('close', () => machine.clearTimeout(limit))
        return decrypted
      }
    })
    // The next connection tries again: the cause may have been removed.
    securing.catch(() => {
      securing = undefined
    })
    return securing
  }
  if (isNeeded) await serverWhenLoaded()

  async function serve(accepted: Socket, first: Buffer, protocol: Protocol): Promise<void> {
    const isTls = protocol === 'tls'
    const socket = isTls ? accepted : readCopies(accepted)
    socket.pause()
    socket.unshift(first)
    const server = await serverWhenLoaded()
    if (!isTls) {
      server.serve(socket, socket, () => watchSlowReader(socket))
      socket.resume()
      return
    }
    const decrypted = (await secure())(socket)
    decrypted.on('error', () => socket.destroy())
    decrypted.on('close', () => socket.destroy())
    server.serve(decrypted, socket, () => watchSlowReader(decrypted))
  }

  const gate = await Gate.open({
    ...{ host, port, portName, connectionsMax, holdsProcess },
    allowHalfOpen: false,
    protocolOf,
    serve: (socket, first, protocol) => {
      gate.noteRequest(socket)
      serve(socket, first, protocol).catch(error => {
        // It was logged once that the store is away, and drivers come back every second.
        const level = error instanceof CapacityError ? 'debug' : 'error'
        log[level]({ error }, 'a connection to the Mongo port could not be served')
        socket.destroy()
      })
    },
  })

  return {
    port: gate.port,
    renewCertificate() {
      securing = undefined
    },
    async [Symbol.asyncDispose]() {
      const closed = gate.close()
      // If the Mongo side could not be loaded, there is nothing to close.
      const server = await loading?.catch(() => undefined)
      server?.close()
      await closed
    },
  }
}

/** The protocol that the first bytes of a connection show; undefined if they are too few. */
function protocolOf(first: Buffer): Protocol | undefined {
  if (!isTlsSoFar(first)) return 'mongo'
  return first.length < sniffedBytes ? undefined : 'tls'
}

function isTlsSoFar(bytes: Buffer): boolean {
  const [record, major, minor] = bytes
  return record === 0x16 && (major === undefined || major === 3) && (minor === undefined || minor >= 1)
}
