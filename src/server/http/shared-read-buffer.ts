/**
 * Connections that are read into one buffer, which all of them share.
 *
 * For every read of a socket node allocates 64 KiB and gives most of it back: a twelfth of a point read, in
 * the allocator, the collector and the caches (docs/decisions/0012). A socket that connects may bring a
 * buffer of its own (`onread`); one that a server accepted may not, so its handle moves into a socket that
 * can. `_handle` and `handle` are not documented: where there is no handle, the accepted socket is read in
 * the ordinary way.
 */

import { Socket } from 'node:net'

export interface SharedReading {
  /** In the place of the accepted one. Either closes with the other. */
  readonly socket: Socket
  /** What is read from here on comes out of the socket as of any other. */
  end(): void
}

/** As much as node reads at once. */
const shared = Buffer.allocUnsafeSlow(65_536)

/**
 * `onBytes` must not keep the bytes: the next to be read lie in their place. To be called when all that the
 * accepted socket has read is known: in its event of data, or before there was any.
 */
export function readInPlace(accepted: Socket, onBytes: (bytes: Buffer) => void): SharedReading {
  const owner: { _handle?: object | null } = accepted as object
  const handle = owner._handle
  if (typeof handle !== 'object' || handle === null) {
    accepted.on('data', onBytes)
    return { socket: accepted, end: () => accepted.off('data', onBytes) }
  }
  let isInPlace = true
  const onread = {
    buffer: shared,
    callback(length: number): boolean {
      const bytes = shared.subarray(0, length)
      if (!isInPlace) return socket.push(Buffer.from(bytes))
      onBytes(bytes)
      return true
    },
  }
  owner._handle = null
  const socket = new Socket({ handle, allowHalfOpen: accepted.allowHalfOpen, onread } as object)
  socket.on('error', error => accepted.destroy(error))
  socket.once('close', () => accepted.destroy())
  accepted.once('close', () => socket.destroy())
  return {
    socket,
    end() {
      isInPlace = false
    },
  }
}

/**
 * For those who keep what they read: it comes out of the socket as of any other, in chunks no larger than
 * what came.
 */
export function readCopies(accepted: Socket): Socket {
  const { socket, end } = readInPlace(accepted, () => {})
  end()
  return socket
}
