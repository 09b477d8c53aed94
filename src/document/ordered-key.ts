/**
 * Ordered keys: any value as bytes whose order, compared byte by byte, is the order of values.
 *
 *   undefined  10
 *   null       20
 *   boolean    30 for false, 31 for true
 *   number     40, then the double, big-endian, with its sign turned so that negative numbers come first
 *   string     50, then its text, then 00
 *   array      60, then its elements, then 00
 *   object     70, then its names (as strings) and values by turns, the names in order, then 00
 *
 * No encoded value is the beginning of another one, so the key of several components is their concatenation,
 * and a descending component has all its bytes complemented. Text never contains the byte 00: U+0000 and
 * U+0001 are written 01 01 and 01 02. (Escaping 00 by a byte behind it would break under the complement.)
 *
 * Text is ordered by code point, and well-formed text is written in UTF-8. Lone surrogates keep the place
 * that they have among UTF-16 units when all surrogates are put above U+FFFF: a lone high one just below the
 * pairs that begin with it, a lone low one above everything. So the order is the one that queries sort by,
 * and all strings with one prefix stand together even when the prefix ends within a pair, which in WTF-8 they
 * would not.
 *
 * Keys of an index are cut at `indexKeyBytesMax`. Cutting never turns an order around, but it can make two
 * keys equal.
 */

import { assert, RequestError } from '../base/error.ts'
import { nestingDepthMax, queryDepthMax, queryRowBytesMax } from '../base/limits.ts'
import { type Ends, indexKeyBytesMax, type KeyRange, mirrored, rangeBehind, successor } from './key-bytes.ts'

export interface KeyComponent {
  readonly value: unknown
  readonly isDescending?: boolean
}

export interface OrderedKey {
  readonly key: Uint8Array
  /**
   * Bytes are missing: equal keys may stand for different values, and only the values themselves can tell.
   */
  readonly isCut: boolean
}

const terminator = 0x00
const escaped = 0x01
const tags = {
  undefined: 0x10,
  null: 0x20,
  false: 0x30,
  true: 0x31,
  number: 0x40,
  string: 0x50,
  array: 0x60,
  object: 0x70,
} as const

/**
 * Scratch space. Every function that writes here copies its result out before it returns, so nothing is
 * remembered from one call to the next. A copy costs 50 ns; views would alias each other (an index entry
 * costs 10 us to write).
 */
const scratchBytes = 64 * 1024
let scratch = Buffer.allocUnsafeSlow(scratchBytes)
let view = new DataView(scratch.buffer)
let end = 0
/** Once `end` has passed it, what is written no longer matters. */
let limit = 0

/** The key of an index entry, cut. */
export function encodeKey(components: readonly KeyComponent[], bytesMax = indexKeyBytesMax): OrderedKey {
  write(components, bytesMax)
  const isCut = end > bytesMax
  return { key: copyOut(isCut ? bytesMax : end), isCut }
}

/**
 * The whole key, for sorting. That of any one item fits (`[1,1,…]` grows by 4.5 times, nothing by more), but
 * what a query builds of shared parts can be astronomical.
 */
export function encodeFullKey(components: readonly KeyComponent[]): Uint8Array {
  write(components, queryRowBytesMax)
  if (end > queryRowBytesMax) {
    shrink()
    throw new RequestError('too_large', 'A value is too large to be sorted.')
  }
  return copyOut(end)
}

function write(components: readonly KeyComponent[], bytesMax: number): void {
  end = 0
  limit = bytesMax
  for (const { value, isDescending } of components) {
    const start = end
    writeValue(value, 0)
    if (isDescending === true) for (let at = start; at < end; at += 1) scratch[at] = ~scratch[at]!
    if (end > limit) return
  }
}

function copyOut(length: number): Uint8Array {
  // From Node's pool, which is several times faster than Uint8Array.slice.
  const key = Buffer.allocUnsafe(length)
  scratch.copy(key, 0, 0, length)
  shrink()
  return key
}

function shrink(): void {
  if (scratch.length > scratchBytes) resize(scratchBytes)
}

function reserve(length: number): void {
  if (end + length <= scratch.length) return
  const old = scratch
  resize(Math.max(end + length, 2 * old.length))
  old.copy(scratch, 0, 0, end)
}

function resize(length: number): void {
  scratch = Buffer.allocUnsafeSlow(length)
  view = new DataView(scratch.buffer)
}

function writeByte(byte: number): void {
  reserve(1)
  scratch[end++] = byte
}

function writeValue(value: unknown, depth: number): void {
  if (typeof value === 'string') writeString(value)
  else if (typeof value === 'number') writeNumber(value)
  else if (typeof value === 'boolean') writeByte(value ? tags.true : tags.false)
  else if (value === undefined) writeByte(tags.undefined)
  else if (value === null) writeByte(tags.null)
  else {
    assert(typeof value === 'object', 'a key is made of JSON values')
    writeContainer(value, depth)
  }
}

function writeNumber(value: number): void {
  reserve(9)
  scratch[end] = tags.number
  // Adding zero makes 0 of -0, which equals it.
  view.setFloat64(end + 1, value + 0)
  const high = view.getInt32(end + 1)
  // Negative numbers have all their bits turned, because a larger magnitude is a smaller number.
  view.setInt32(end + 1, high < 0 ? ~high : high ^ 0x80000000)
  if (high < 0) view.setInt32(end + 5, ~view.getInt32(end + 5))
  end += 9
}

function writeContainer(value: object, depth: number): void {
  // Items and parameters nest less deep, and what a query builds of them is bounded by the depth of the
  // query.
  if (depth >= nestingDepthMax + queryDepthMax) throw new RequestError('malformed', 'A value is nested too deeply.')
  if (Array.isArray(value)) {
    writeByte(tags.array)
    for (let index = 0; index < value.length && end <= limit; index += 1) writeValue(value[index], depth + 1)
  } else {
    writeByte(tags.object)
    for (const name of Object.keys(value).sort(compareTexts)) {
      writeString(name)
      if (end > limit) return
      writeValue((value as Record<string, unknown>)[name], depth + 1)
    }
  }
  writeByte(terminator)
}

function compareTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at += 1) {
    const a = left.charCodeAt(at)
    const b = right.charCodeAt(at)
    if (a !== b) return (isSurrogate(a) ? a + 0x10000 : a) - (isSurrogate(b) ? b + 0x10000 : b)
  }
  return left.length - right.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

function writeString(text: string): void {
  // A unit takes at least one byte, so those beyond the limit need not be looked at, and four bytes at most.
  const units = Math.min(text.length, Math.max(0, limit - end))
  reserve(units * 4 + 2)
  const bytes = scratch
  let at = end
  bytes[at++] = tags.string
  for (let index = 0; index < units; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) {
      if (unit > escaped) {
        bytes[at++] = unit
      } else {
        bytes[at++] = escaped
        bytes[at++] = unit + 1
      }
    } else if (unit < 0x800) {
      bytes[at++] = 0xc0 | (unit >> 6)
      bytes[at++] = 0x80 | (unit & 0x3f)
    } else if (!isSurrogate(unit)) {
      bytes[at++] = 0xe0 | (unit >> 12)
      bytes[at++] = 0x80 | ((unit >> 6) & 0x3f)
      bytes[at++] = 0x80 | (unit & 0x3f)
    } else if (unit >= 0xdc00) {
      // UTF-8 ends at F4 8F BF BF.
      bytes[at++] = 0xf5
      bytes[at++] = 0x80 | ((unit >> 6) & 0x0f)
      bytes[at++] = 0x80 | (unit & 0x3f)
    } else {
      // NaN at the end of the text, which is no low surrogate either.
      const low = text.charCodeAt(index + 1)
      const isPair = low >= 0xdc00 && low <= 0xdfff
      const codePoint = 0x10000 + ((unit & 0x3ff) << 10) + (isPair ? low & 0x3ff : 0)
      bytes[at++] = 0xf0 | (codePoint >> 18)
      bytes[at++] = 0x80 | ((codePoint >> 12) & 0x3f)
      bytes[at++] = 0x80 | ((codePoint >> 6) & 0x3f)
      bytes[at++] = isPair ? 0x80 | (codePoint & 0x3f) : 0x7f
      if (isPair) index += 1
    }
  }
  bytes[at++] = terminator
  end = at
}

export type KeyPrimitive = null | boolean | number | string

/**
 * What is asked of one component. A range never leaves the type of its ends, as `<` does not in queries. The
 * values are those of the language that asks; `KeyRangeOf` of that language understands them.
 */
export type KeyBound<V = KeyPrimitive> =
  | { readonly equals: unknown }
  | { readonly min: V; readonly minInclusive: boolean }
  | { readonly max: V; readonly maxInclusive: boolean }
  | { readonly min: V; readonly minInclusive: boolean; readonly max: V; readonly maxInclusive: boolean }
  | { readonly startsWith: string }
  | { readonly defined: true }

export interface KeyRangeOptions {
  /** The direction of the component that the bound is about. */
  readonly isDescending?: boolean
  /** The components before it, each equal to its value, with the directions they have in the index. */
  readonly after?: readonly KeyComponent[]
  readonly bytesMax?: number
}

/** Where keys lie, in the encoding of one language. */
export type KeyRangeOf = (bound: KeyBound<never>, options?: KeyRangeOptions) => KeyRange

/**
 * Where the keys of all values lie that satisfy the bound, whether cut or not and whatever components follow.
 */
export function keyRange(bound: KeyBound, options: KeyRangeOptions = {}): KeyRange {
  const { isDescending = false, after = [], bytesMax = indexKeyBytesMax } = options
  const ascending = fullRange(bound)
  return rangeBehind(encodeFullKey(after), isDescending ? mirrored(ascending) : ascending, bytesMax)
}

function fullRange(bound: KeyBound): Ends {
  if ('defined' in bound) return [Uint8Array.of(tags.null), Uint8Array.of(tags.object + 1)]
  if ('equals' in bound) {
    const key = keyOf(bound.equals)
    return [key, successor(key)]
  }
  if ('startsWith' in bound) {
    // No string with this prefix lies above the prefix followed by the largest unit, whatever follows that.
    return [
      withoutTerminator(keyOf(bound.startsWith)),
      successor(withoutTerminator(keyOf(`${bound.startsWith}\udfff`))),
    ]
  }
  let [low, high] = typeRange('min' in bound ? bound.min : bound.max)
  if ('max' in bound) assert(typeRange(bound.max)[0][0] === low[0], 'both ends of a range have one type')
  if ('min' in bound) low = bound.minInclusive ? keyOf(bound.min) : successor(keyOf(bound.min))
  if ('max' in bound) high = bound.maxInclusive ? successor(keyOf(bound.max)) : keyOf(bound.max)
  return [low, high]
}

function typeRange(value: KeyPrimitive): Ends {
  if (typeof value === 'boolean') return [Uint8Array.of(tags.false), Uint8Array.of(tags.true + 1)]
  const tag = value === null ? tags.null : tags[typeof value as 'number' | 'string']
  return [Uint8Array.of(tag), Uint8Array.of(tag + 1)]
}

function keyOf(value: unknown): Uint8Array {
  return encodeFullKey([{ value }])
}

function withoutTerminator(key: Uint8Array): Uint8Array {
  return key.subarray(0, -1)
}
