/** Raw frames of HTTP/2, for what no client sends. */

/** A frame, by its type, flags and stream. */
export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Header fields in the simplest form of HPACK: literal, without indexing and Huffman codes. */
export function fields(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) =>
    Buffer.concat([
      value.length < 127
        ? Buffer.of(value.length)
        : Buffer.of(127, ((value.length - 127) % 128) | 128, (value.length - 127) >> 7),
      Buffer.from(value, 'latin1'),
    ])
  return Buffer.concat(Object.entries(headers).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]))
}

/** What a client says first: the preface, and settings that change nothing. */
export const http2Start = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(4, 0, 0, Buffer.alloc(0)),
])
