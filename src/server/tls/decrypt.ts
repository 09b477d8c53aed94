/** Decrypts accepted connections, and agrees with the client on HTTP/2 or HTTP/1.1 (ALPN). */

import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Certificate } from './certificate.ts'

/** Calls `serve` after the handshake. Closing either socket closes both. */
export type Decrypt = (accepted: Socket, serve: (decrypted: TLSSocket) => void) => void

export async function makeDecrypt(
  certificate: () => Promise<Certificate>,
  { handshakeMsMax }: { readonly handshakeMsMax: number },
): Promise<Decrypt> {
  const [{ key, chain }, tls] = await Promise.all([certificate(), import('node:tls')])
  /** What to do with connections after their handshake. */
  const waiting = new Map<string, (decrypted: TLSSocket) => void>()
  // It never listens: connections are given to it.
  const server = tls.createServer({
    key,
    cert: chain,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: handshakeMsMax,
  })
  server.on('secureConnection', decrypted => waiting.get(endsOf(decrypted))?.(decrypted))
  server.on('tlsClientError', (_error, decrypted) => decrypted.destroy())

  return (accepted, serve) => {
    const ends = endsOf(accepted)
    const onEnd = () => accepted.destroy()
    const onClose = () => waiting.delete(ends)
    accepted.once('end', onEnd)
    accepted.once('close', onClose)
    waiting.set(ends, decrypted => {
      waiting.delete(ends)
      accepted.off('end', onEnd)
      accepted.off('close', onClose)
      decrypted.on('error', () => accepted.destroy())
      decrypted.once('close', () => accepted.destroy())
      serve(decrypted)
    })
    server.emit('connection', accepted)
  }
}

/** The addresses tell open connections apart. Node does not say which socket a decrypted one belongs to. */
function endsOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`
}
