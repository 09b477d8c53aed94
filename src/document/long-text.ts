/** Long texts in pieces, since one call of the runtime on 50 MB takes too long. */

import { KiB } from '../base/limits.ts'
import type { Steps } from '../base/steps.ts'

/** Longer texts are read and written in pieces of this length: each takes less than half a millisecond. */
export const pieceChars = 64 * KiB

/** A piece of a text. It does not end between the two halves of a surrogate pair. */
export function pieceOf(text: string, from: number, chars = pieceChars): string {
  if (from === 0 && text.length <= chars) return text
  const end = from + chars
  const isHalf = end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
  return text.slice(from, isHalf ? end + 1 : end)
}

/** A string as JSON. */
export function* quoteInSteps(text: string): Steps<string> {
  if (text.length <= pieceChars) return JSON.stringify(text)
  const pieces = ['"']
  for (let from = 0; from < text.length; ) {
    const piece = pieceOf(text, from)
    pieces.push(JSON.stringify(piece).slice(1, -1))
    from += piece.length
    yield
  }
  pieces.push('"')
  return pieces.join('')
}

/** Texts as bytes: short ones together, long ones in pieces. */
export function* bytesInSteps(texts: Iterable<string>): Steps<Buffer> {
  const buffers: Buffer[] = []
  let waiting = ''
  for (const text of texts) {
    if (waiting.length + text.length <= pieceChars) {
      waiting += text
      continue
    }
    buffers.push(Buffer.from(waiting))
    waiting = ''
    for (let from = 0; from < text.length; ) {
      const piece = pieceOf(text, from)
      buffers.push(Buffer.from(piece))
      from += piece.length
      yield
    }
  }
  if (buffers.length === 0) return Buffer.from(waiting)
  buffers.push(Buffer.from(waiting))
  return Buffer.concat(buffers)
}
