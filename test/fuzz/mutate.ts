/** Changes valid inputs a little: bytes, texts and documents. The same seed makes the same changes. */

import type { Document } from 'bson'
import type { Random } from '../crash/random.ts'

/** Numbers at which lengths, counts and offsets go wrong. */
const edges = [0, 1, -1, 4, 5, 16, 127, 128, 255, 256, 32_767, 65_535, 2 ** 31 - 1, -(2 ** 31), 48_000_000]

const pieces = [
  ...['', ' ', '\0', '\n', '"', "'", '\\', '/', '//', '~', '~1', '.', '..', '$', '$$', '%', '%00', '%zz', '@', '#'],
  ...['{', '}', '[', ']', '(', ')', '<', '>', ',', ':', ';', '=', '*', '+', '-', '?', '^', '|', '&', '!', '_'],
  ...['0', '-1', '1e999', '9007199254740993', '2147483648', '0.1', 'NaN', 'null', 'true', 'undefined', '__proto__'],
  ...['\ud800', '\u{1f600}', 'é', 'ß', '\u2028', '\ufeff', '{"a":', '[[[[', '((((', 'aaaaaaaaaaaaaaaaaaaa', '(a+)+'],
]

export const bytesMax = 4096

/** Mostly one: after several changes hardly anything is accepted. */
function changesIn(random: Random): number {
  return random.chance(0.6) ? 1 : random.between(2, 5)
}

export function mutateBytes(seed: Uint8Array, seeds: readonly Uint8Array[], random: Random): Buffer {
  let bytes = Buffer.from(seed)
  for (let changes = changesIn(random); changes > 0; changes--) bytes = changeBytes(bytes, seeds, random)
  return bytes.subarray(0, bytesMax)
}

function changeBytes(bytes: Buffer<ArrayBuffer>, seeds: readonly Uint8Array[], random: Random): Buffer<ArrayBuffer> {
  const at = random.between(0, Math.max(0, bytes.length - 1))
  switch (random.weighted({ flip: 5, byte: 4, number: 4, cut: 2, insert: 2, repeat: 1, splice: 2 })) {
    case 'flip':
      if (bytes.length > 0) bytes[at] = bytes[at]! ^ (1 << random.between(0, 7))
      return bytes
    case 'byte':
      if (bytes.length > 0) bytes[at] = random.between(0, 255)
      return bytes
    case 'number':
      if (bytes.length >= at + 4) bytes.writeInt32LE(random.pick(edges), at)
      return bytes
    case 'cut':
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.between(1, 16))])
    case 'insert':
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(random.pick(pieces)), bytes.subarray(at)])
    case 'repeat': {
      const part = bytes.subarray(at, at + random.between(1, 32))
      return Buffer.concat([bytes.subarray(0, at), ...Array(random.between(2, 40)).fill(part), bytes.subarray(at)])
    }
    case 'splice': {
      const other = random.pick(seeds)
      const from = random.between(0, other.length)
      return Buffer.concat([bytes.subarray(0, at), other.subarray(from, from + random.between(1, 200))])
    }
  }
}

export function mutateText(seed: string, seeds: readonly string[], random: Random): string {
  let text = seed
  for (let changes = changesIn(random); changes > 0; changes--) text = changeText(text, seeds, random)
  return text.slice(0, bytesMax)
}

function changeText(text: string, seeds: readonly string[], random: Random): string {
  const at = random.between(0, text.length)
  const end = at + random.between(1, 12)
  switch (random.weighted({ replace: 5, insert: 5, cut: 3, repeat: 2, splice: 3, swap: 1, letter: 1 })) {
    case 'replace':
      return text.slice(0, at) + random.pick(pieces) + text.slice(end)
    case 'insert':
      return text.slice(0, at) + random.pick(pieces) + text.slice(at)
    case 'cut':
      return text.slice(0, at) + text.slice(end)
    case 'repeat':
      return text.slice(0, at) + text.slice(at, end).repeat(random.between(2, 60)) + text.slice(at)
    case 'splice': {
      const other = random.pick(seeds)
      const from = random.between(0, other.length)
      return text.slice(0, at) + other.slice(from, from + random.between(1, 60)) + text.slice(end)
    }
    case 'swap':
      return text.slice(at) + text.slice(0, at)
    case 'letter':
      return text.slice(0, at) + String.fromCharCode(random.between(0, 0x24ff)) + text.slice(at)
  }
}

/** Exchanges parts of documents, so that most of the results still mean something. */
export function mutateValue(seed: unknown, seeds: readonly unknown[], values: readonly unknown[], random: Random) {
  let value = structured(seed)
  for (let changes = random.between(1, 3); changes > 0; changes--) {
    const place = random.chance(0.9) ? placeIn(value, random) : undefined
    const part = newPart(seeds, values, random)
    if (place === undefined) value = random.chance(0.1) ? part : value
    else change(place, part, random)
  }
  return value
}

interface Place {
  readonly parent: Document | unknown[]
  readonly name: string
}

function change({ parent, name }: Place, part: unknown, random: Random): void {
  const key = name as never
  switch (random.weighted({ exchange: 5, remove: 1, rename: 2, add: 2, wrap: 1, multiply: 0.05 })) {
    case 'exchange':
      parent[key] = part as never
      return
    case 'multiply':
      multiply(parent, name, random)
      return
    case 'remove':
      if (Array.isArray(parent)) parent.splice(Number(name), 1)
      else delete parent[key]
      return
    case 'rename':
      if (!Array.isArray(parent)) parent[random.pick(pieces) + (random.chance(0.5) ? name : '')] = parent[key]
      return
    case 'add':
      if (Array.isArray(parent)) parent.push(part)
      else parent[random.pick(['a', 'b', '$a', '_id', 'a.b', '$expr', random.pick(pieces)])] = part
      return
    case 'wrap':
      parent[key] = (random.chance(0.5) ? [parent[key]] : { [random.pick(pieces)]: parent[key] }) as never
  }
}

/** So many that a parser shows whether it takes longer with each of them. */
const partsMax = 3000

/** A part again and again, in a document each time under another name. */
function multiply(parent: Document | unknown[], name: string, random: Random): void {
  const part = (parent as Document)[name]
  const start = random.pick(['a', '$a', '_id', name])
  for (let count = random.between(2, partsMax); count > 0; count--) {
    if (Array.isArray(parent)) parent.push(part)
    else parent[`${start}${count}`] = part
  }
}

/** A part of another seed, or a value of any type. */
function newPart(seeds: readonly unknown[], values: readonly unknown[], random: Random): unknown {
  if (random.chance(0.5)) return random.pick(values)
  const other = random.pick(seeds)
  const place = placeIn(other, random)
  return structured(place === undefined ? other : (place.parent as Document)[place.name])
}

function placeIn(value: unknown, random: Random): Place | undefined {
  let place: Place | undefined
  let at = value
  while (isPlain(at)) {
    const names = Object.keys(at as object)
    if (names.length === 0) break
    place = { parent: at as Document, name: random.pick(names) }
    at = (at as Document)[place.name]
    if (random.chance(0.3)) break
  }
  return place
}

function isPlain(value: unknown): value is Document | unknown[] {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

/** A copy of the plain part. Values of BSON's own types stay the same objects. */
function structured(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structured)
  if (!isPlain(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, structured(part)]))
}
