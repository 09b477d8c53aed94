/**
 * Ends a stream with a large body, a piece at a time, as fast as the other side takes them. TLS and HTTP/2
 * copy whatever they are given, and Node copies text: a whole body would be in memory twice.
 */

import type { Writable } from 'node:stream'
import { KiB } from '../../base/limits.ts'

const pieceBytes = 64 * KiB

export function endInPieces(stream: Writable, body: string | Buffer): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  let at = 0
  const next = () => {
    while (!stream.destroyed) {
      const piece = bytes.subarray(at, at + pieceBytes)
      at += piece.length
      if (at === bytes.length) {
        stream.end(piece)
        return
      }
      if (!stream.write(piece)) {
        stream.once('drain', next)
        return
      }
    }
  }
  next()
}
