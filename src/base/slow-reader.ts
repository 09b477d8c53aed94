/** Watches clients that do not read their answers: those that read nothing for a while are disconnected. */

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { constants, type Http2Stream } from 'node:http2'
import type { Socket } from 'node:net'

/**
 * A client that reads nothing for this time will not read at all, or its network is gone. For encrypted
 * connections Node sees progress only at the end of an answer, and waits twice as long.
 */
export const unreadMsMax = 20_000

const watched = new WeakSet<Socket>()

/** Call this when a write has returned false. Afterwards the socket has its former time-out again. */
export function watchSlowReader(socket: Socket, msMax = unreadMsMax): void {
  if (watched.has(socket) || socket.destroyed) return
  watched.add(socket)
  const timeoutBefore = socket.timeout ?? 0
  const onTimeout = () => socket.destroy()
  const end = () => {
    socket.off('drain', end).off('close', end).off('timeout', onTimeout)
    if (!socket.destroyed) socket.setTimeout(timeoutBefore)
    watched.delete(socket)
  }
  // This time-out begins again whenever the client has read a part.
  socket.setTimeout(msMax, onTimeout)
  socket.on('drain', end).on('close', end)
}

/**
 * Waits until the client has taken what was written, or has gone. One that does not read is disconnected.
 */
export async function drained(res: ServerResponse, msMax = unreadMsMax): Promise<void> {
  // Then it has gone already, and 'close' does not come again.
  if (res.destroyed) return
  const end = watchAnswer(res, msMax)
  const over = new AbortController()
  const { signal } = over
  try {
    await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })])
  } finally {
    over.abort()
    end()
  }
}

/** An answer over HTTP/2 has a time-out of its own: others share its connection. */
function watchAnswer(res: ServerResponse & { readonly stream?: Http2Stream }, msMax: number): () => void {
  const { stream, socket } = res
  if (stream === undefined) {
    if (socket !== null) watchSlowReader(socket, msMax)
    return () => {}
  }
  const onTimeout = () => stream.close(constants.NGHTTP2_CANCEL)
  stream.setTimeout(msMax, onTimeout)
  return () => {
    if (!stream.destroyed) stream.setTimeout(0, onTimeout)
  }
}
