/**
 * Buffers whose memory goes back to the system as soon as they are collected.
 *
 * Node takes ordinary buffers from malloc, and what is freed there stays with the process: after 600 MB of
 * buffers of a megabyte or two, 500 MB stay for ever (docs/decisions/0019-memory-that-comes-back.md). V8
 * maps the memory of a resizable buffer by itself, and unmaps it with the buffer. Pages that nobody writes
 * to take no memory at all, so a buffer may be made for a whole message before it has arrived.
 */

import { KiB } from './limits.ts'

/** Below, malloc serves better: mapping costs some microseconds and whole pages. */
const largeBytesMin = 128 * KiB

/** Not of the pool. A large one is zeroed; the contents of a small one are undefined. */
export function largeBuffer(bytes: number): Buffer {
  if (bytes < largeBytesMin) return Buffer.allocUnsafeSlow(bytes)
  return Buffer.from(new ArrayBuffer(bytes, { maxByteLength: bytes }), 0, bytes)
}

/**
 * Gives the memory of a large buffer back now, instead of with the next collection. The buffer and its parts
 * become empty, so no other code may use them any more.
 */
export function giveUp({ buffer }: Uint8Array): void {
  // Smaller ones may come from a pool, which others share.
  if (buffer.byteLength >= largeBytesMin && buffer instanceof ArrayBuffer) buffer.transferToFixedLength(0)
}
