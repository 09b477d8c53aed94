/** Watches clients that do not read their answers: those that read nothing for a while are disconnected. */

import type { Socket } from 'node:net'

/**
 * A client that reads nothing for so long will not read at all, or its network is gone. For encrypted
 * connections Node sees progress only at the end of an answer, and waits twice as long.
 */
export const unreadMsMax = 20_000

const watched = new WeakSet<Socket>()

/** Call this when a write has returned false. Afterwards the socket has its former time-out again. */
export function watchSlowReader(socket: Socket): void {
  if (watched.has(socket) || socket.destroyed) return
  watched.add(socket)
  const timeoutBefore = socket.timeout ?? 0
  const onTimeout = () => socket.destroy()
  const end = () => {
    socket.off('drain', end).off('close', end).off('timeout', onTimeout)
    if (!socket.destroyed) socket.setTimeout(timeoutBefore)
    watched.delete(socket)
  }
  // This time-out begins anew whenever the client has read a part.
  socket.setTimeout(unreadMsMax, onTimeout)
  socket.on('drain', end).on('close', end)
}
