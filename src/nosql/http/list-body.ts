/** The JSON of a list whose elements are text already: text while it is short, bytes when it is long. */

/**
 * From here on joining, measuring and joining to a head (three copies) cost more than writing each element in
 * its place.
 */
const longChars = 16_384

/** No code point has more bytes. */
const codePointBytesMax = 4

const comma = 0x2c

export function listBody(before: string, elements: readonly string[], after: string): string | Buffer {
  let chars = before.length + elements.length + after.length
  for (const { length } of elements) chars += length
  return chars > longChars
    ? (asciiList(before, elements, after, chars) ?? Buffer.from(joined(before, elements, after)))
    : joined(before, elements, after)
}

/** One text, as it is or as its bytes. */
export function textBody(text: string): string | Buffer {
  return text.length > longChars ? listBody(text, [], '') : text
}

/** The form of every feed of items. */
export function documentList(rid: string, documents: readonly string[]): string | Buffer {
  return listBody(`{"_rid":"${rid}","Documents":[`, documents, `],"_count":${documents.length}}`)
}

function joined(before: string, elements: readonly string[], after: string): string {
  return `${before}${elements.join(',')}${after}`
}

/**
 * undefined: not all of it is ASCII, which alone has a byte for each character. Measuring first would cost as
 * much as writing.
 */
function asciiList(before: string, elements: readonly string[], after: string, chars: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(chars + codePointBytesMax)
  let end = 0
  /**
   * There is room behind for one code point more, so what has more bytes than characters cannot look as if it
   * had not.
   */
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
