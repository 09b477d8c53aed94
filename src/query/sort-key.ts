/**
 * The sort key of a row: its order key (the encoded ORDER BY values), then a tie-breaker.
 *
 * The tie-breaker is the item's sequence number and the number of the row within the item. Ties are broken
 * in the direction of the first order key. An index does the same: read from the front, it has the ascending
 * order of (key, item); read from the end, the descending order.
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

/** With DISTINCT by identity, a sort key ends in the row's identity (a digest) instead of a tie-breaker. */
export const identityBytes = 16

export function identityOf(sortKey: Uint8Array): string {
  return Buffer.from(sortKey.buffer, sortKey.byteOffset, sortKey.length).toString(
    'latin1',
    sortKey.length - identityBytes,
  )
}

/** The index entry of a sort key. When the index is read in reverse, sort keys hold complemented keys. */
export function splitSortKey(sortKey: Uint8Array, isReverse: boolean): { key: Uint8Array; sequence: number } {
  const bytes = Buffer.from(sortKey.buffer, sortKey.byteOffset, sortKey.length)
  const stored = bytes.readUIntBE(bytes.length - tieBytes, sequenceBytes)
  const key = bytes.subarray(0, bytes.length - tieBytes)
  return { key: isReverse ? key.map(byte => ~byte) : key, sequence: isReverse ? complement(stored) : stored }
}

function complement(sequence: number): number {
  return 2 ** (8 * sequenceBytes) - 1 - sequence
}
