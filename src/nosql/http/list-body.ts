/**
 * The JSON of a list whose elements are JSON texts already, and its conversion to bytes, in steps if it is
 * long.
 */

import { largeBuffer } from '../../base/large-buffer.ts'
import { KiB } from '../../base/limits.ts'
import type { Steps } from '../../base/steps.ts'
import { pieceOf } from '../../document/long-text.ts'

/** The elements are joined by commas. */
export interface TextList {
  readonly before: string
  readonly elements: readonly string[]
  readonly after: string
}

/** From this length on, writing each element into a buffer is cheaper than joining (three copies). */
export const longChars = 16_384

/** Characters that one step writes, which takes less than half a millisecond. */
const stepChars = 128 * KiB

/** Most bytes of a code point. */
const codePointBytesMax = 4

const comma = 0x2c

/** The form of every feed of items. */
export function documentList(rid: string, documents: readonly string[]): TextList {
  return { before: `{"_rid":"${rid}","Documents":[`, elements: documents, after: `],"_count":${documents.length}}` }
}

export function charsOf({ before, elements, after }: TextList): number {
  let chars = before.length + Math.max(0, elements.length - 1) + after.length
  for (const { length } of elements) chars += length
  return chars
}

export function joined({ before, elements, after }: TextList): string {
  return `${before}${elements.join(',')}${after}`
}

export function* bytesInSteps(list: TextList): Steps<Buffer> {
  // ASCII has a byte for each character. Measuring first would cost as much as writing.
  const ascii = yield* write(list, charsOf(list), true)
  if (ascii !== undefined) return ascii
  let bytes = list.elements.length
  let stepEnd = stepChars
  for (const text of partsOf(list)) {
    for (let from = 0; from < text.length; ) {
      const piece = pieceOf(text, from, stepChars)
      bytes += Buffer.byteLength(piece)
      from += piece.length
      if (bytes < stepEnd) continue
      stepEnd = bytes + stepChars
      yield
    }
  }
  return (yield* write(list, bytes, false))!
}

/** Undefined if only ASCII is expected, and there is something else. */
function* write(list: TextList, bytesMax: number, isAscii: boolean): Steps<Buffer | undefined> {
  // With room for one more code point, so more bytes than characters are always noticed.
  const bytes = largeBuffer(bytesMax + codePointBytesMax)
  const { elements } = list
  let end = 0
  let stepEnd = stepChars
  for (const [n, text] of partsOf(list).entries()) {
    if (n > 1 && n <= elements.length) bytes[end++] = comma
    for (let from = 0; from < text.length; ) {
      const piece = pieceOf(text, from, stepChars)
      const written = bytes.write(piece, end)
      if (isAscii && written !== piece.length) return undefined
      end += written
      from += piece.length
      if (end < stepEnd) continue
      stepEnd = end + stepChars
      yield
    }
  }
  return bytes.subarray(0, end)
}

function partsOf({ before, elements, after }: TextList): readonly string[] {
  return [before, ...elements, after]
}
