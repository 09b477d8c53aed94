/**
 * The strings of binary JSON that are not written as UTF-8: well-known names, UUIDs, base64, and packed
 * characters.
 */

/** The names that have a number, in the order of their numbers. */
export const systemStrings = [
  ...['$s', '$t', '$v', '_attachments', '_etag', '_rid', '_self', '_ts', 'attachments/', 'coordinates', 'geometry'],
  ...['GeometryCollection', 'id', 'url', 'Value', 'label', 'LineString', 'link', 'MultiLineString', 'MultiPoint'],
  ...['MultiPolygon', 'name', 'Name', 'Type', 'Point', 'Polygon', 'properties', 'type', 'value', 'Feature'],
  ...['FeatureCollection', '_id'],
] as const

/** The characters of strings with 4 bits a character. */
export const characterSets = {
  lowerHex: '0123456789abcdef',
  upperHex: '0123456789ABCDEF',
  dateTime: ' 0123456789:-.TZ',
} as const

/** 16 bytes, in the order in which they are written. */
export function uuidText(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** The first three groups are little-endian numbers: the memory of a .NET Guid. */
export function guidText(bytes: Buffer): string {
  const swapped = Buffer.concat([
    Buffer.from(bytes.subarray(0, 4)).reverse(),
    Buffer.from(bytes.subarray(4, 6)).reverse(),
    Buffer.from(bytes.subarray(6, 8)).reverse(),
    bytes.subarray(8),
  ])
  return uuidText(swapped)
}

export function base64Text(bytes: Buffer, { isUrlSafe }: { readonly isUrlSafe: boolean }): string {
  const text = bytes.toString('base64')
  return isUrlSafe ? text.replaceAll('+', '-').replaceAll('/', '_') : text
}

/** The numbers of a bit stream, the lowest bits first. */
export function unpackBits(
  bytes: Buffer,
  { bits, count }: { readonly bits: number; readonly count: number },
): number[] {
  const numbers: number[] = []
  for (let at = 0; at < count; at++) {
    const bit = at * bits
    const two = bytes[bit >> 3]! | ((bytes[(bit >> 3) + 1] ?? 0) << 8)
    numbers.push((two >> (bit & 7)) & ((1 << bits) - 1))
  }
  return numbers
}
