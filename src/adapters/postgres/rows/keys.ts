/**
 * How the key of an item is laid out in PostgreSQL: its bucket, and columns that an index can hold.
 *
 * A container has 64 buckets, by the first six bits of the hash that vary; kind Range uses bucket 0.
 * Everything that one write touches has the bucket as a column, so that a cluster can distribute by it. The
 * bucket never decreases when the effective partition key increases: (bucket, key) sorts as the key does.
 *
 * Ids and partition keys are stored as bytes: text in PostgreSQL cannot contain NUL, and bytes need no
 * collation.
 */

import { createHash } from 'node:crypto'
import type { PartitionKeyDefinition } from '../../../document/partition-key.ts'
import type { ItemKey } from '../../../store/item.ts'

/** It can never change: versions and the index of the change order are stored with it. */
export const bucketCount = 64
const bucketBits = 6
/**
 * Neighbouring buckets that share a call. A larger stripe shares more commits; a smaller one waits less for
 * locks.
 */
const stripeBuckets = 16

/**
 * An entry of a B-tree may have 2,704 bytes; an effective key of version 1 may need 600 of them, and an id
 * 1,023. A longer partition key is indexed by its beginning and its digest.
 */
const indexedPkBytesMax = 512
const digestBytes = 32

const float = new DataView(new ArrayBuffer(8))

/** The bucket of a key, or of a bound of a range, which may be shorter than a key. */
export function bucketOf(definition: PartitionKeyDefinition, epk: string): number {
  // Keys of kind Range are not spread by a hash.
  if (definition.kind === 'Range') return 0
  if (definition.kind === 'Hash' && definition.version === 1) return version1Bucket(epk)
  // The two highest bits of a version 2 hash are zero, so its first byte is the bucket.
  return Math.min(byteAt(epk, 0), bucketCount - 1)
}

export function firstOfStripe(bucket: number): number {
  return bucket - (bucket % stripeBuckets)
}

/**
 * The key begins with the 32-bit hash, written as a double in the ordered form of
 * `document/effective-partition-key.ts`: a mark, eight bits, then seven bits per byte, whose last bit says
 * whether more follow. The sign bit is flipped. The first 29 bits of the double are enough to find the first
 * six of the hash.
 */
function version1Bucket(epk: string): number {
  const mark = 0x05
  const first = byteAt(epk, 0)
  if (first !== mark) return first < mark ? 0 : bucketCount - 1
  let high = byteAt(epk, 1) << 24
  for (let at = 2, shift = 17; shift > 0; at++, shift -= 7) {
    const group = byteAt(epk, at)
    high |= (group >>> 1) << shift
    if ((group & 1) === 0) break
  }
  const isNegative = high >= 0
  if (isNegative) return 0
  float.setInt32(0, high ^ 0x80000000)
  const bucket = Math.floor(float.getFloat64(0) / 2 ** (32 - bucketBits))
  return Math.min(bucket, bucketCount - 1)
}

/** Bytes that a bound leaves out count as zero. */
function byteAt(epk: string, index: number): number {
  const digits = epk.slice(index * 2, index * 2 + 2)
  return digits === '' ? 0 : Number.parseInt(digits.padEnd(2, '0'), 16)
}

/** The version of a write, unique in the container, from its number in the bucket. */
export function versionOf(lsn: number, bucket: number): number {
  return lsn * bucketCount + bucket
}

export interface KeyColumns {
  readonly epk: string
  /** As it is indexed: whole, or shortened. */
  readonly pk: Buffer
  /** The whole partition key, if the indexed one is shortened. */
  readonly longPk: Buffer | null
  readonly id: Buffer
}

export function keyColumns({ epk, pk, id }: ItemKey): KeyColumns {
  const whole = Buffer.from(pk)
  const indexed = indexedPk(whole)
  return { epk, pk: indexed, longPk: indexed === whole ? null : whole, id: Buffer.from(id) }
}

export function pkColumn(pk: string): Buffer {
  return indexedPk(Buffer.from(pk))
}

function indexedPk(whole: Buffer): Buffer {
  if (whole.length <= indexedPkBytesMax) return whole
  const digest = createHash('sha256').update(whole).digest()
  return Buffer.concat([whole.subarray(0, indexedPkBytesMax - digestBytes), digest])
}

export function keyFromColumns(row: { epk: string; pk: Buffer; long_pk: Buffer | null; id: Buffer }): ItemKey {
  return { epk: row.epk, pk: (row.long_pk ?? row.pk).toString(), id: row.id.toString() }
}
