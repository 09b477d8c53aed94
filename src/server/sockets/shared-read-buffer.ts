/**
 * Reads many connections into one shared buffer.
 *
 * For every read of a socket, Node allocates 64 KiB and frees most of it again. That is a twelfth of the cost
 * of a point read (docs/decisions/0012). A client socket can bring its own buffer (option `onread`), but a
 * socket that a server accepted cannot. So the handle of the accepted socket moves into a new socket that has
 * the option.
 *
 * The property `_handle` and the option `handle` are not documented. So sharing is off until a probe
 * (shared-read-probe.ts) has shown that it works on this Node. Until then, and if the probe fails,
 * connections are read the ordinary way.
 */

import { Socket } from 'node:net'

export interface Reading {
  /** Use this socket instead of the accepted one. Closing one closes both. */
  readonly socket: Socket
  /** From now on the socket emits what it reads as `data`, like any other. */
  end(): void
}

/** Starts to read a connection. `onBytes` gets the bytes until `Reading.end` is called. */
export type ReadConnection = (accepted: Socket, onBytes: (bytes: Buffer) => void) => Reading

/** Node reads at most this much at once. */
const shared = Buffer.allocUnsafeSlow(65_536)

let isSharing = false

/** Connections that are read from now on share the buffer. */
export function turnSharingOn(): void {
  isSharing = true
}

/**
 * `onBytes` must not keep the bytes: the next read overwrites them. Call this before the accepted socket has
 * read anything, or in its `data` event, so that no bytes are left in it.
 */
export const readInPlace: ReadConnection = (accepted, onBytes) =>
  isSharing && handleOf(accepted) !== undefined ? readShared(accepted, onBytes) : readOrdinarily(accepted, onBytes)

/**
 * For readers that keep what they read: the socket emits chunks of their own, no larger than what arrived.
 */
export function readCopies(accepted: Socket): Socket {
  const { socket, end } = readInPlace(accepted, () => {})
  end()
  return socket
}

const readOrdinarily: ReadConnection = (accepted, onBytes) => {
  accepted.on('data', onBytes)
  return { socket: accepted, end: () => accepted.off('data', onBytes) }
}

/** Only for the probe: others call `readInPlace`, which looks whether sharing is on. */
export const readShared: ReadConnection = (accepted, onBytes) => {
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
  const handle = handleOf(accepted)
  const owner: { _handle?: object | null } = accepted as object
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

function handleOf(socket: Socket): object | undefined {
  const { _handle: handle }: { _handle?: unknown } = socket as object
  return typeof handle === 'object' && handle !== null ? handle : undefined
}
