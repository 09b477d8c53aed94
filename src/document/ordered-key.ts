/**
 * Ordered keys: any value as bytes that, compared byte by byte, sort as the values do.
 *
 *   undefined  10
 *   null       20
 *   boolean    30 for false, 31 for true
 *   number     40, then the double, big-endian, with its sign flipped so that negative numbers come first
 *   string     50, then its text, then 00
 *   array      60, then its elements, then 00
 *   object     70, then its names (as strings) and values in alternation, the names in order, then 00
 *
 * key-writer.ts says how texts are written, how keys of several components are put together and where they
 * are cut. The order is the one that queries sort by.
 */

import { assert, RequestError } from '../base/error.ts'
import { nestingDepthMax, queryDepthMax, queryRowBytesMax } from '../base/limits.ts'
import { spend } from '../base/work.ts'
import { type Ends, indexKeyBytesMax, type KeyRange, mirrored, rangeAfterPrefix, successor } from './key-bytes.ts'
import { compareTexts, KeyWriter, type OrderedKey } from './key-writer.ts'

export interface KeyComponent {
  readonly value: unknown
  readonly isDescending?: boolean
}

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

const writer = new KeyWriter(queryRowBytesMax)

/** The key of an index entry, cut. */
export function encodeKey(components: readonly KeyComponent[], bytesMax = indexKeyBytesMax): OrderedKey {
  writer.begin(bytesMax)
  writeComponents(components)
  return writer.cutKey()
}

/**
 * The whole key, for sorting. The key of any stored item fits: no value grows by more than 4.5 times, as
 * `[1,1,…]` does. A value that a query builds from shared parts can be too large: then the key is refused.
 */
export function encodeFullKey(components: readonly KeyComponent[]): Uint8Array {
  writer.begin()
  writeComponents(components)
  return writer.fullKey()
}

function writeComponents(components: readonly KeyComponent[]): void {
  for (const { value, isDescending } of components) {
    const start = writer.end
    writeValue(value, 0)
    if (isDescending === true) writer.complementFrom(start)
    if (writer.isFull) return
  }
}

function writeValue(value: unknown, depth: number): void {
  if (typeof value === 'string') writeString(value)
  else if (typeof value === 'number') writeNumber(value)
  else if (typeof value === 'boolean') writer.writeByte(value ? tags.true : tags.false)
  else if (value === undefined) writer.writeByte(tags.undefined)
  else if (value === null) writer.writeByte(tags.null)
  else {
    assert(typeof value === 'object', 'a key is made of JSON values')
    writeContainer(value, depth)
  }
}

function writeNumber(value: number): void {
  writer.writeByte(tags.number)
  // Adding zero turns -0 into 0, which is equal to it.
  writer.writeDouble(value + 0)
}

function writeString(text: string): void {
  writer.writeByte(tags.string)
  writer.writeText(text)
}

function writeContainer(value: object, depth: number): void {
  spend(8)
  // Items and parameters have fewer levels, and a query adds at most as many levels as it has itself.
  if (depth >= nestingDepthMax + queryDepthMax) throw new RequestError('malformed', 'A value is nested too deeply.')
  if (Array.isArray(value)) {
    writer.writeByte(tags.array)
    for (let index = 0; index < value.length && !writer.isFull; index += 1) writeValue(value[index], depth + 1)
  } else {
    writer.writeByte(tags.object)
    for (const name of Object.keys(value).sort(compareTexts)) {
      writeString(name)
      if (writer.isFull) return
      writeValue((value as Record<string, unknown>)[name], depth + 1)
    }
  }
  writer.writeTerminator()
}

export type KeyPrimitive = null | boolean | number | string

/**
 * A condition on one component. A range never leaves the type of its ends, like `<` in queries. The values
 * belong to the language that asks; the `KeyRangeOf` of that language understands them.
 */
export type KeyBound<V = KeyPrimitive> =
  | { readonly equals: unknown }
  | { readonly min: V; readonly minInclusive: boolean }
  | { readonly max: V; readonly maxInclusive: boolean }
  | { readonly min: V; readonly minInclusive: boolean; readonly max: V; readonly maxInclusive: boolean }
  | { readonly startsWith: string }
  | { readonly defined: true }

export interface KeyRangeOptions {
  /** The direction of the bound's component. */
  readonly isDescending?: boolean
  /** The components before it, each equal to its value, with their directions in the index. */
  readonly after?: readonly KeyComponent[]
  readonly bytesMax?: number
}

/** Computes a range in the key encoding of one language. */
export type KeyRangeOf = (bound: KeyBound<never>, options?: KeyRangeOptions) => KeyRange

/** The range of the keys of all values that satisfy the bound, cut or not, whatever components follow. */
export function keyRange(bound: KeyBound, options: KeyRangeOptions = {}): KeyRange {
  const { isDescending = false, after = [], bytesMax = indexKeyBytesMax } = options
  const ascending = fullRange(bound)
  return rangeAfterPrefix(encodeFullKey(after), isDescending ? mirrored(ascending) : ascending, bytesMax)
}

function fullRange(bound: KeyBound): Ends {
  if ('defined' in bound) return [Uint8Array.of(tags.null), Uint8Array.of(tags.object + 1)]
  if ('equals' in bound) {
    const key = keyOf(bound.equals)
    return [key, successor(key)]
  }
  if ('startsWith' in bound) {
    // Every string with this prefix lies below the prefix followed by the largest unit and anything after it.
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
