/** The JSON of a list whose elements are text already: a string while it is short, bytes when it is long. */

import { largeBuffer } from '../../base/large-buffer.ts'

/** From this length on, writing each element into a buffer is cheaper than joining (three copies). */
const longChars = 16_384

/** Most bytes of a code point. */
const codePointBytesMax = 4

const comma = 0x2c

export function listBody(before: string, elements: readonly string[], after: string): string | Buffer {
  let chars = before.length + elements.length + after.length
  for (const { length } of elements) chars += length
  return chars > longChars
    ? (asciiList(before, elements, after, chars) ?? bytesOf(joined(before, elements, after)))
    : joined(before, elements, after)
}

/** A text, as a string or as bytes. */
export function textBody(text: string): string | Buffer {
  return text.length > longChars ? listBody(text, [], '') : text
}

/** The form of every feed of items. */
export function documentList(rid: string, documents: readonly string[]): string | Buffer {
  return listBody(`{"_rid":"${rid}","Documents":[`, documents, `],"_count":${documents.length}}`)
}

function bytesOf(text: string): Buffer {
  const bytes = largeBuffer(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}

function joined(before: string, elements: readonly string[], after: string): string {
  return `${before}${elements.join(',')}${after}`
}

/** Undefined if not all is ASCII (one byte per character). Measuring first would cost as much as writing. */
function asciiList(before: string, elements: readonly string[], after: string, chars: number): Buffer | undefined {
  const bytes = largeBuffer(chars + codePointBytesMax)
  let end = 0
  /** The buffer has room for one more code point, so more bytes than characters are always noticed. */
  const write = (text: string) => {
    const written = bytes.write(text, end)
    end += written
    return written === text.length
  }
  if (!write(before)) return undefined
  for (let at = 0; at < elements.length; at++) {
    if (at > 0) bytes[end++] = comma
    if (!write(elements[at]!)) return undefined
  }
  return write(after) ? bytes.subarray(0, end) : undefined
}
