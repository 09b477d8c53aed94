/** Sends an answer piece by piece, as fast as the client reads. One that does not read is disconnected. */

import type { ServerResponse } from 'node:http'
import type { MemoryAccount, MemoryLease } from '../base/memory-account.ts'
import { drained } from '../base/slow-reader.ts'
import type { Engine } from '../engine/engine.ts'

/** What every streamed answer needs. */
export interface AnswerParts {
  readonly engine: Engine
  readonly memory: MemoryAccount
}

/** Small pieces are joined up to this size before they are written to the socket. */
const writeBytesMin = 256 * 1024

/**
 * The memory of what waits for the client is counted, and so is that of what the pieces are made of
 * (`held`). Without room for it the answer fails.
 *
 * The signal aborts when the client has gone. If a piece fails after the first one was sent, the connection
 * is cut: so an answer that ends properly is complete. An earlier failure is thrown.
 */
export async function sendPieces(
  res: ServerResponse,
  memory: MemoryAccount,
  headers: Readonly<Record<string, string>>,
  pieces: (signal: AbortSignal, held: MemoryLease) => AsyncIterable<Uint8Array>,
): Promise<void> {
  const share = memory.shareOf(res.req.socket)
  using lease = share.hold('answers')
  using held = share.hold('answers')
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  let waiting: Uint8Array[] = []
  let bytes = 0
  const begin = () => {
    if (!res.headersSent)
      res.writeHead(200, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers })
  }
  const flush = async () => {
    begin()
    const isFull = !res.write(waiting.length === 1 ? waiting[0] : Buffer.concat(waiting))
    waiting = []
    bytes = 0
    if (isFull) await drained(res)
    lease.set(0)
    gone.signal.throwIfAborted()
  }
  try {
    for await (const piece of pieces(gone.signal, held)) {
      waiting.push(piece)
      lease.add(piece.length)
      bytes += piece.length
      if (bytes >= writeBytesMin) await flush()
    }
    if (bytes > 0) await flush()
    begin()
    res.end()
  } catch (error) {
    if (gone.signal.aborted) return
    if (!res.headersSent) throw error
    res.destroy()
    throw error
  }
}
