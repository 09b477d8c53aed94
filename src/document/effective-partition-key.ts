/**
 * The effective partition key: the position of a partition key in the hash space, and the ranges of that
 * space.
 *
 * The position is upper-case hexadecimal, compared as text. It must equal the one that the SDKs compute,
 * because clients route bulk requests, feed ranges and hierarchical queries themselves:
 *
 *   Hash, version 1   the 32-bit hash in ordered form, then the value itself in ordered form (strings are cut
 *                     at 100 characters)
 *   Hash, version 2   the 128-bit hash, highest byte first, its two highest bits cleared: 32 digits
 *   MultiHash         one version 2 hash for each level, so that a prefix of the key is a prefix here
 *   Range             the values in ordered form, without a hash
 *
 * Where the SDKs disagree, this follows the JavaScript SDK. The .NET SDK ends the ordered form of 0 and 2
 * with a zero byte, and cuts long non-ASCII strings at 101 bytes. This concerns only the part of version 1
 * after the hash, so all SDKs agree on the range of a key.
 */

import { assert } from '../base/error.ts'
import { type Hash128, murmurBlockBytes, murmurHash32, murmurHash128 } from './murmur-hash.ts'
import {
  type PartitionKeyComponent,
  type PartitionKeyDefinition,
  partitionKeyBytesMax,
  undefinedComponent,
} from './partition-key.ts'

export interface EffectivePartitionKeyRange {
  min: string
  maxExclusive: string
}

/** Type marks before a value, in its hashed and in its ordered form. */
const mark = { undefined: 0x00, null: 0x01, false: 0x02, true: 0x03, number: 0x05, string: 0x08 } as const

/** Version 1 uses only this many characters of a string. */
const version1CharsMax = 100

/** A number in ordered form: mark, eight bits, eight groups of seven. Its hashed form is a byte shorter. */
const numberBytesMax = 10

const spaceEnd = 'FF'

// Scratch memory. Each call overwrites it, and no call depends on an earlier one.
const scratch = new Uint8Array(3 * partitionKeyBytesMax + 64)
const hash: Hash128 = { firstHigh: 0, firstLow: 0, secondHigh: 0, secondLow: 0 }
const float = new DataView(new ArrayBuffer(8))
const encoder = new TextEncoder()

const hexDigits = Uint8Array.from('0123456789ABCDEF', digit => digit.charCodeAt(0))

export function effectivePartitionKey(
  definition: PartitionKeyDefinition,
  components: readonly PartitionKeyComponent[],
): string {
  switch (definition.kind) {
    case 'Hash':
      return definition.version === 2 ? hashVersion2(components) : hashVersion1(components)
    case 'MultiHash': {
      let text = ''
      for (const component of components) text += hashVersion2([component])
      return text
    }
    case 'Range':
      return orderedHex(components)
  }
}

/**
 * The range of a key, or of a prefix of a hierarchical key. No level of a key starts with FF, so a prefix
 * followed by FF is above all its continuations. The SDK forms the bound in the same way.
 */
export function effectivePartitionKeyPrefixRange(
  definition: PartitionKeyDefinition,
  components: readonly PartitionKeyComponent[],
): EffectivePartitionKeyRange {
  const min = components.length === 0 ? '' : effectivePartitionKey(definition, components)
  return { min, maxExclusive: min + spaceEnd }
}

function hashVersion2(components: readonly PartitionKeyComponent[]): string {
  const bytes = bufferFor(components)
  let length = 0
  for (let level = 0; level < components.length; level++) {
    const component = components[level]!
    length = writeHashed(component, bytes, length)
    // Version 1 ends a string with a zero byte, version 2 with FF, which UTF-8 never contains.
    if (typeof component === 'string') bytes[length++] = 0xff
  }
  murmurHash128(bytes, length, hash)
  return hexOfWords(hash.secondHigh & 0x3fffffff, hash.secondLow, hash.firstHigh, hash.firstLow)
}

/**
 * Makes the string in one call. Concatenation would make a rope, which must be flattened before it can be
 * compared. That doubles the cost.
 */
function hexOfWords(a: number, b: number, c: number, d: number): string {
  const x = hexDigits
  // biome-ignore format: two lines for each word
  return String.fromCharCode(
    x[a >>> 28]!, x[(a >>> 24) & 15]!, x[(a >>> 20) & 15]!, x[(a >>> 16) & 15]!,
    x[(a >>> 12) & 15]!, x[(a >>> 8) & 15]!, x[(a >>> 4) & 15]!, x[a & 15]!,
    x[b >>> 28]!, x[(b >>> 24) & 15]!, x[(b >>> 20) & 15]!, x[(b >>> 16) & 15]!,
    x[(b >>> 12) & 15]!, x[(b >>> 8) & 15]!, x[(b >>> 4) & 15]!, x[b & 15]!,
    x[c >>> 28]!, x[(c >>> 24) & 15]!, x[(c >>> 20) & 15]!, x[(c >>> 16) & 15]!,
    x[(c >>> 12) & 15]!, x[(c >>> 8) & 15]!, x[(c >>> 4) & 15]!, x[c & 15]!,
    x[d >>> 28]!, x[(d >>> 24) & 15]!, x[(d >>> 20) & 15]!, x[(d >>> 16) & 15]!,
    x[(d >>> 12) & 15]!, x[(d >>> 8) & 15]!, x[(d >>> 4) & 15]!, x[d & 15]!,
  )
}

/** Only the first component counts. A key without any (legacy containers) is the undefined one. */
function hashVersion1(components: readonly PartitionKeyComponent[]): string {
  let component = components.length > 0 ? components[0]! : undefinedComponent
  if (typeof component === 'string') component = component.slice(0, version1CharsMax)
  const bytes = bufferFor([component])
  let length = writeHashed(component, bytes, 0)
  if (typeof component === 'string') bytes[length++] = 0x00
  return orderedHex([murmurHash32(bytes, length), component])
}

/** Room for every component in any form, with mark and terminator, and for the hash's padding. */
function bufferFor(components: readonly PartitionKeyComponent[]): Uint8Array<ArrayBuffer> {
  let room = murmurBlockBytes
  for (let level = 0; level < components.length; level++) {
    const component = components[level]!
    room += typeof component === 'string' ? 3 * component.length + 2 : numberBytesMax
  }
  return room <= scratch.length ? scratch : new Uint8Array(room)
}

/** Writes a component in hashed form (a string without its terminator) and returns the end. */
function writeHashed(component: PartitionKeyComponent, bytes: Uint8Array, start: number): number {
  if (typeof component === 'string') {
    bytes[start] = mark.string
    return writeUtf8(component, bytes, start + 1)
  }
  if (typeof component === 'number') {
    bytes[start] = mark.number
    float.setFloat64(0, component, true)
    for (let at = 0; at < 8; at++) bytes[start + 1 + at] = float.getUint8(at)
    return start + 9
  }
  bytes[start] = markOf(component)
  return start + 1
}

function markOf(component: boolean | null | typeof undefinedComponent): number {
  if (component === undefinedComponent) return mark.undefined
  if (component === null) return mark.null
  return component ? mark.true : mark.false
}

/** Lone surrogates become U+FFFD, also in the SDK. Keys that differ only in them have the same hash. */
function writeUtf8(text: string, bytes: Uint8Array, start: number): number {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x80) return start + encoder.encodeInto(text, bytes.subarray(start)).written
    bytes[start + at] = code
  }
  return start + text.length
}

/** The components in ordered form: these texts sort as the keys do. */
function orderedHex(components: readonly PartitionKeyComponent[]): string {
  const bytes = bufferFor(components)
  let length = 0
  for (let level = 0; level < components.length; level++) length = writeOrdered(components[level]!, bytes, length)
  return Buffer.from(bytes.buffer, 0, length).toString('hex').toUpperCase()
}

function writeOrdered(component: PartitionKeyComponent, bytes: Uint8Array, start: number): number {
  if (typeof component === 'number') return writeOrderedNumber(component, bytes, start)
  if (typeof component !== 'string') {
    bytes[start] = markOf(component)
    return start + 1
  }
  bytes[start] = mark.string
  const end = writeUtf8(component, bytes, start + 1)
  // Each byte plus one, so that zero is free for the terminator.
  for (let at = start + 1; at < end; at++) bytes[at]!++
  bytes[end] = 0
  return end + 1
}

/**
 * The bits of the double, changed so that they sort as unsigned integers. First eight bits, then seven per
 * byte; the lowest bit of a byte says whether more follow. Zeros at the end are left out.
 */
function writeOrderedNumber(value: number, bytes: Uint8Array, start: number): number {
  float.setFloat64(0, value)
  let high = float.getInt32(0)
  let low = float.getInt32(4)
  if (high >= 0) {
    high ^= 0x80000000
  } else {
    low = -low | 0
    high = (~high + (low === 0 ? 1 : 0)) | 0
  }
  bytes[start] = mark.number
  bytes[start + 1] = high >>> 24
  let end = start + 2
  high = (high << 8) | (low >>> 24)
  low <<= 8
  while ((high | low) !== 0) {
    const group = (high >>> 25) << 1
    high = (high << 7) | (low >>> 25)
    low <<= 7
    bytes[end++] = group | ((high | low) !== 0 ? 1 : 0)
  }
  return end
}

/**
 * Divides the hash space into `count` adjacent ranges of equal size, from "" to "FF". The bounds are those of
 * the service: i * floor(max / count), where max is the largest hash. Keys of kind Range have no hash, so no
 * division could be fair in advance: they get one range.
 */
export function partitionRanges(definition: PartitionKeyDefinition, count: number): EffectivePartitionKeyRange[] {
  assert(Number.isInteger(count) && count > 0, 'a container has at least one partition')
  const ranges: EffectivePartitionKeyRange[] = []
  let min = ''
  const size = hashSpaceSize(definition) / BigInt(count)
  for (let index = 1; definition.kind !== 'Range' && index < count; index++) {
    const maxExclusive = hashBound(definition, BigInt(index) * size)
    ranges.push({ min, maxExclusive })
    min = maxExclusive
  }
  ranges.push({ min, maxExclusive: spaceEnd })
  return ranges
}

/** The largest hash. */
export function hashSpaceSize(definition: PartitionKeyDefinition): bigint {
  return isVersion1(definition) ? 0xffff_ffffn : (1n << 126n) - 1n
}

/** A bound between ranges: the effective partition keys of lower hashes come before it. */
export function hashBound(definition: PartitionKeyDefinition, hash: bigint): string {
  if (isVersion1(definition)) return orderedHex([Number(hash)])
  return hash.toString(16).toUpperCase().padStart(32, '0')
}

function isVersion1({ kind, version }: PartitionKeyDefinition): boolean {
  return kind === 'Hash' && version === 1
}

/** The index of the range that holds the key. The ranges must be in order and without gaps. */
export function partitionRangeIndex(ranges: readonly EffectivePartitionKeyRange[], epk: string): number {
  let low = 0
  let high = ranges.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (ranges[middle]!.min <= epk) low = middle
    else high = middle - 1
  }
  return low
}
