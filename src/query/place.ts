/**
 * The place of a row in an ordered result: its order key, then its item, then its row within the item.
 *
 * The item breaks ties in the direction of the first key, because that is how an index is read: from the
 * front in ascending, from the end in descending order of (key, item).
 */

const sequenceBytes = 6
const rowBytes = 4
const tieBytes = sequenceBytes + rowBytes

export function tieOf(sequence: number, rowOfItem: number, isReverse: boolean): Buffer {
  const tie = Buffer.alloc(tieBytes)
  tie.writeUIntBE(isReverse ? complement(sequence) : sequence, 0, sequenceBytes)
  tie.writeUInt32BE(rowOfItem, sequenceBytes)
  return tie
}

/** Where equal rows are one, a place ends in the row's identity instead of its item. */
export const identityBytes = 16

export function identityOf(place: Uint8Array): string {
  return Buffer.from(place.buffer, place.byteOffset, place.length).toString('latin1', place.length - identityBytes)
}

/**
 * The index entry a place stands for. Read in reverse, the index has the key that the place has complemented.
 */
export function splitPlace(place: Uint8Array, isReverse: boolean): { key: Uint8Array; sequence: number } {
  const bytes = Buffer.from(place.buffer, place.byteOffset, place.length)
  const stored = bytes.readUIntBE(bytes.length - tieBytes, sequenceBytes)
  const key = bytes.subarray(0, bytes.length - tieBytes)
  return { key: isReverse ? key.map(byte => ~byte) : key, sequence: isReverse ? complement(stored) : stored }
}

function complement(sequence: number): number {
  return 2 ** (8 * sequenceBytes) - 1 - sequence
}
