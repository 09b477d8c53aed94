/**
 * MurmurHash3 with seed 0, as partition keys need it: the 32-bit form (x86) and the 128-bit form (x64).
 *
 * JavaScript has no fast 64-bit integers, so the 128-bit form keeps each 64-bit word as two 32-bit halves in
 * local variables: no BigInt, no allocation. Algorithm: Austin Appleby's public domain MurmurHash3.cpp.
 */

import { assert } from '../base/error.ts'

/** The four 32-bit words of a 128-bit hash: first and second 64-bit word, each as high and low half. */
export interface Hash128 {
  firstHigh: number
  firstLow: number
  secondHigh: number
  secondLow: number
}

/** The buffer must reach the end of the last block; bytes after `length` are overwritten with zeros. */
export const murmurBlockBytes = 16

/** The upper half of the 64-bit product of two unsigned 32-bit integers. */
function multiplyHigh(a: number, b: number): number {
  const a0 = a & 0xffff
  const a1 = a >>> 16
  const b0 = b & 0xffff
  const b1 = b >>> 16
  const middle = (Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16)) | 0
  const carry = (Math.imul(a0, b1) + (middle & 0xffff)) | 0
  return (Math.imul(a1, b1) + (middle >>> 16) + (carry >>> 16)) | 0
}

function wordAt(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

/** Fills the last block with zeros, so it needs no special case: a word of zeros does not change the hash. */
function padToBlock(bytes: Uint8Array, length: number): number {
  const padded = (length + murmurBlockBytes - 1) & -murmurBlockBytes
  assert(padded <= bytes.length, 'the buffer to hash ends on a block boundary or later')
  for (let at = length; at < padded; at++) bytes[at] = 0
  return padded
}

/** The 32-bit hash of the first `length` bytes, unsigned. */
export function murmurHash32(bytes: Uint8Array, length: number): number {
  padToBlock(bytes, length)
  let hash = 0
  for (let at = 0; at < length; at += 4) {
    let word = Math.imul(wordAt(bytes, at), 0xcc9e2d51)
    word = Math.imul((word << 15) | (word >>> 17), 0x1b873593)
    hash ^= word
    // Only whole words rotate the hash; a tail is only mixed in.
    if (at + 4 <= length) hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0
  }
  hash ^= length
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The 128-bit hash of the first `length` bytes, written to `out`. */
export function murmurHash128(bytes: Uint8Array, length: number, out: Hash128): void {
  const padded = padToBlock(bytes, length)
  let h1h = 0
  let h1l = 0
  let h2h = 0
  let h2l = 0
  let low = 0
  let high = 0

  for (let at = 0; at < padded; at += murmurBlockBytes) {
    // k1 = rotl(k1 * c1, 31) * c2; h1 ^= k1
    let kl = wordAt(bytes, at)
    let kh = wordAt(bytes, at + 4)
    low = Math.imul(kl, 0x114253d5)
    high = (multiplyHigh(kl, 0x114253d5) + Math.imul(kh, 0x114253d5) + Math.imul(kl, 0x87c37b91)) | 0
    kh = (high << 31) | (low >>> 1)
    kl = (low << 31) | (high >>> 1)
    h1l ^= Math.imul(kl, 0x2745937f)
    h1h ^= multiplyHigh(kl, 0x2745937f) + Math.imul(kh, 0x2745937f) + Math.imul(kl, 0x4cf5ad43)
    const isWhole = at + murmurBlockBytes <= length
    if (isWhole) {
      // h1 = (rotl(h1, 27) + h2) * 5 + 0x52dce729
      high = (h1h << 27) | (h1l >>> 5)
      low = (h1l << 27) | (h1h >>> 5)
      h1l = (low + h2l) | 0
      h1h = (high + h2h + (h1l >>> 0 < low >>> 0 ? 1 : 0)) | 0
      low = Math.imul(h1l, 5)
      high = (multiplyHigh(h1l, 5) + Math.imul(h1h, 5)) | 0
      h1l = (low + 0x52dce729) | 0
      h1h = (high + (h1l >>> 0 < low >>> 0 ? 1 : 0)) | 0
    }

    // k2 = rotl(k2 * c2, 33) * c1; h2 ^= k2
    kl = wordAt(bytes, at + 8)
    kh = wordAt(bytes, at + 12)
    low = Math.imul(kl, 0x2745937f)
    high = (multiplyHigh(kl, 0x2745937f) + Math.imul(kh, 0x2745937f) + Math.imul(kl, 0x4cf5ad43)) | 0
    kh = (low << 1) | (high >>> 31)
    kl = (high << 1) | (low >>> 31)
    h2l ^= Math.imul(kl, 0x114253d5)
    h2h ^= multiplyHigh(kl, 0x114253d5) + Math.imul(kh, 0x114253d5) + Math.imul(kl, 0x87c37b91)
    if (isWhole) {
      // h2 = (rotl(h2, 31) + h1) * 5 + 0x38495ab5
      high = (h2h << 31) | (h2l >>> 1)
      low = (h2l << 31) | (h2h >>> 1)
      h2l = (low + h1l) | 0
      h2h = (high + h1h + (h2l >>> 0 < low >>> 0 ? 1 : 0)) | 0
      low = Math.imul(h2l, 5)
      high = (multiplyHigh(h2l, 5) + Math.imul(h2h, 5)) | 0
      h2l = (low + 0x38495ab5) | 0
      h2h = (high + (h2l >>> 0 < low >>> 0 ? 1 : 0)) | 0
    }
  }

  h1l ^= length
  h2l ^= length
  h1h = (h1h + h2h + carryOf(h1l, h2l)) | 0
  h1l = (h1l + h2l) | 0
  h2h = (h2h + h1h + carryOf(h2l, h1l)) | 0
  h2l = (h2l + h1l) | 0

  // The finalizer, once for each word: x ^= x >>> 33; x *= f1; x ^= x >>> 33; x *= f2; x ^= x >>> 33
  h1l ^= h1h >>> 1
  h1h = (multiplyHigh(h1l, 0xed558ccd) + Math.imul(h1h, 0xed558ccd) + Math.imul(h1l, 0xff51afd7)) | 0
  h1l = Math.imul(h1l, 0xed558ccd) ^ (h1h >>> 1)
  h1h = (multiplyHigh(h1l, 0x1a85ec53) + Math.imul(h1h, 0x1a85ec53) + Math.imul(h1l, 0xc4ceb9fe)) | 0
  h1l = Math.imul(h1l, 0x1a85ec53) ^ (h1h >>> 1)
  h2l ^= h2h >>> 1
  h2h = (multiplyHigh(h2l, 0xed558ccd) + Math.imul(h2h, 0xed558ccd) + Math.imul(h2l, 0xff51afd7)) | 0
  h2l = Math.imul(h2l, 0xed558ccd) ^ (h2h >>> 1)
  h2h = (multiplyHigh(h2l, 0x1a85ec53) + Math.imul(h2h, 0x1a85ec53) + Math.imul(h2l, 0xc4ceb9fe)) | 0
  h2l = Math.imul(h2l, 0x1a85ec53) ^ (h2h >>> 1)

  h1h = (h1h + h2h + carryOf(h1l, h2l)) | 0
  h1l = (h1l + h2l) | 0
  out.firstHigh = h1h
  out.firstLow = h1l
  out.secondHigh = (h2h + h1h + carryOf(h2l, h1l)) | 0
  out.secondLow = (h2l + h1l) | 0
}

/** The carry from adding two low halves. */
function carryOf(a: number, b: number): number {
  return (a + b) >>> 0 < a >>> 0 ? 1 : 0
}
