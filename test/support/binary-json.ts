/** Writes Cosmos binary JSON for tests. A choice decides between the ways to write a value. */

import { systemStrings } from '../../src/nosql/json/binary-strings.ts'

/** A number from 0 up to the limit, which it does not reach. */
export type Choose = (limit: number) => number

/** The first way that fits, which is the shortest. */
export const shortest: Choose = () => 0

export function binaryJson(value: unknown, choose: Choose = shortest): Buffer {
  const writer = new BinaryWriter(choose)
  writer.value(value)
  return Buffer.from(writer.bytes)
}

function little(number: number, width: number): number[] {
  return Array.from({ length: width }, (_, at) => Math.floor(number / 256 ** at) % 256)
}

const utf8 = (text: string) => [...Buffer.from(text, 'utf8')]

/** Numbers as a bit stream, the lowest bits first. */
export function packBits(numbers: readonly number[], bits: number): number[] {
  const bytes = new Array<number>(Math.ceil((numbers.length * bits) / 8)).fill(0)
  for (const [at, number] of numbers.entries()) {
    for (let bit = 0; bit < bits; bit++) {
      const place = at * bits + bit
      if ((number >> bit) & 1) bytes[place >> 3]! |= 1 << (place & 7)
    }
  }
  return bytes
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

class BinaryWriter {
  readonly bytes: number[] = [0x80]
  readonly #choose: Choose
  /** Where strings are that can be referred to. */
  readonly #places = new Map<string, number>()

  constructor(choose: Choose) {
    this.#choose = choose
  }

  #pick<T>(ways: readonly T[]): T {
    return ways[this.#choose(ways.length)]!
  }

  value(value: unknown): void {
    if (value === null) this.bytes.push(0xd0)
    else if (typeof value === 'boolean') this.bytes.push(value ? 0xd2 : 0xd1)
    else if (typeof value === 'number') this.bytes.push(...this.#pick(numberForms(value)))
    else if (typeof value === 'string') this.#string(value)
    else if (Array.isArray(value)) this.#array(value)
    else this.#object(Object.entries(value as object))
  }

  #string(text: string): void {
    const place = this.#places.get(text)
    const forms = stringForms(text)
    if (place !== undefined) {
      for (const width of [4, 3, 2, 1]) if (place < 256 ** width) forms.unshift([0xc2 + width, ...little(place, width)])
    }
    const form = this.#pick(forms)
    if (form[0]! < 0xc3 || form[0]! > 0xc6) this.#places.set(text, this.bytes.length)
    for (const byte of form) this.bytes.push(byte)
  }

  #array(list: readonly unknown[]): void {
    const uniform = uniformForms(list)
    if (uniform.length > 0 && this.#choose(2) === 0) this.bytes.push(...this.#pick(uniform))
    else this.#members(0xe0, list.length, at => this.value(list[at]))
  }

  #object(entries: readonly [string, unknown][]): void {
    this.#members(0xe8, entries.length, at => {
      this.#string(entries[at]![0])
      this.value(entries[at]![1])
    })
  }

  /** The length is known only when the members are written, and their places depend on its width. */
  #members(first: number, count: number, member: (at: number) => void): void {
    if (count === 0) {
      this.bytes.push(first)
      return
    }
    const kind = this.#choose(3)
    if (count === 1 && kind === 0) {
      this.bytes.push(first + 1)
      member(0)
      return
    }
    const widthAt = this.#choose(3)
    const hasCount = kind !== 1
    const start = this.bytes.length
    for (let at = widthAt; at < 3; at++) {
      const width = 2 ** at
      const saved = new Map(this.#places)
      this.bytes.push(first + 2 + at + (hasCount ? 3 : 0), ...new Array<number>(hasCount ? 2 * width : width).fill(0))
      const body = this.bytes.length
      for (let index = 0; index < count; index++) member(index)
      const length = this.bytes.length - body
      if (length < 256 ** width && count < 256 ** width) {
        const head = [...little(length, width), ...(hasCount ? little(count, width) : [])]
        for (const [index, byte] of head.entries()) this.bytes[start + 1 + index] = byte
        return
      }
      this.bytes.length = start
      this.#places.clear()
      for (const [text, place] of saved) this.#places.set(text, place)
    }
  }
}

/** Bytes of a number of each kind that markers have, or undefined if it does not fit. */
function bytesOf(value: number, marker: number): number[] | undefined {
  const buffer = Buffer.alloc(8)
  const integer = (width: number, isSigned: boolean) => {
    const limit = 256 ** width
    const [low, high] = isSigned ? [-limit / 2, limit / 2] : [0, limit]
    if (!Number.isSafeInteger(value) || Object.is(value, -0) || value < low || value >= high) return undefined
    buffer.writeBigInt64LE(BigInt(value))
    return [...buffer.subarray(0, width)]
  }
  switch (marker) {
    case 0xc8:
    case 0xd7:
      return integer(1, false)
    case 0xd8:
      return integer(1, true)
    case 0xc9:
    case 0xd9:
      return integer(2, true)
    case 0xca:
    case 0xda:
      return integer(4, true)
    case 0xdc:
      return integer(4, false)
    case 0xcb:
    case 0xdb:
      return integer(8, true)
    case 0xc7:
      return value >= 0 ? integer(8, false) : undefined
    case 0xcd:
      buffer.writeFloatLE(value)
      return Object.is(Math.fround(value), value) ? [...buffer.subarray(0, 4)] : undefined
    default:
      buffer.writeDoubleLE(value)
      return [...buffer]
  }
}

const numberMarkers = [0xc8, 0xd7, 0xd8, 0xc9, 0xd9, 0xca, 0xda, 0xdc, 0xcd, 0xcb, 0xdb, 0xc7, 0xcc, 0xce]
const uniformMarkers = [0xd7, 0xd8, 0xd9, 0xda, 0xdc, 0xcd, 0xdb, 0xce]

function numberForms(value: number): number[][] {
  const forms = Number.isInteger(value) && value >= 0 && value < 32 && !Object.is(value, -0) ? [[value]] : []
  for (const marker of numberMarkers) {
    const bytes = bytesOf(value, marker)
    if (bytes !== undefined) forms.push([marker, ...bytes])
  }
  return forms
}

function uniformForms(list: readonly unknown[]): number[][] {
  const forms: number[][] = []
  const areNumbers = (items: readonly unknown[]): items is number[] => items.every(item => typeof item === 'number')
  const inner = list.every(Array.isArray) ? (list as unknown[][]) : undefined
  for (const marker of uniformMarkers) {
    for (const width of [1, 2]) {
      const count = (items: readonly unknown[]) => little(items.length, width)
      if (areNumbers(list) && list.length < 256 ** width) {
        const bytes = list.map(item => bytesOf(item, marker))
        if (!bytes.includes(undefined))
          forms.push([0xef + width, marker, ...count(list), ...(bytes as number[][]).flat()])
      }
      const first = inner?.[0]
      if (inner === undefined || first === undefined || inner.length >= 256 ** width) continue
      if (first.length >= 256 ** width || !inner.every(items => items.length === first.length)) continue
      const all = inner.flat()
      if (!areNumbers(all)) continue
      const bytes = all.map(item => bytesOf(item, marker))
      if (bytes.includes(undefined)) continue
      const head = [0xf1 + width, 0xef + width, marker, ...count(first), ...count(inner)]
      forms.push([...head, ...(bytes as number[][]).flat()])
    }
  }
  return forms
}

function stringForms(text: string): number[][] {
  const forms: number[][] = []
  const bytes = utf8(text)
  const known = (systemStrings as readonly string[]).indexOf(text)
  if (known !== -1) forms.push([0x20 + known])
  if (bytes.length < 64) forms.push([0x80 + bytes.length, ...bytes])
  for (const [at, width] of [1, 2, 4].entries()) {
    if (bytes.length < 256 ** width) forms.push([0xc0 + at, ...little(bytes.length, width), ...bytes])
  }
  const hex = (digits: string) => [...Buffer.from(digits.replaceAll(/[^0-9a-f]/gi, ''), 'hex')]
  if (uuid.test(text)) {
    const raw = hex(text)
    const parts = [raw.slice(0, 4).reverse(), raw.slice(4, 6).reverse(), raw.slice(6, 8).reverse(), raw.slice(8)]
    forms.push([0x75, ...raw], [0xd3, ...parts.flat()])
  }
  if (text !== text.toLowerCase() && uuid.test(text.toLowerCase()) && text === text.toUpperCase()) {
    forms.push([0x76, ...hex(text)])
  }
  if (text.startsWith('"') && text.endsWith('"') && uuid.test(text.slice(1, -1))) forms.push([0x77, ...hex(text)])
  if (text.length < 256) {
    for (const [at, set] of ['0123456789abcdef', '0123456789ABCDEF', ' 0123456789:-.TZ'].entries()) {
      const indexes = [...text].map(character => set.indexOf(character))
      if (!indexes.includes(-1)) forms.push([0x78 + at, text.length, ...packBits(indexes, 4)])
    }
  }
  forms.push(...packedForms(bytes))
  return [...forms, ...base64Forms(text)]
}

function packedForms(bytes: readonly number[]): number[][] {
  const forms: number[][] = []
  if (bytes.some(byte => byte > 0x7f)) return forms
  const base = bytes.length === 0 ? 0 : bytes.reduce((least, byte) => Math.min(least, byte))
  const offsets = bytes.map(byte => byte - base)
  for (const bits of [4, 5, 6]) {
    if (bytes.length < 256 && offsets.every(offset => offset < 1 << bits)) {
      forms.push([0x77 + bits, bytes.length, base, ...packBits(offsets, bits)])
    }
  }
  if (bytes.length < 256) forms.push([0x7e, bytes.length, ...packBits(bytes, 7)])
  if (bytes.length < 65_536) forms.push([0x7f, ...little(bytes.length, 2), ...packBits(bytes, 7)])
  return forms
}

function base64Forms(text: string): number[][] {
  const forms: number[][] = []
  for (const [at, isUrlSafe] of [false, true].entries()) {
    const standard = isUrlSafe ? text.replaceAll('-', '+').replaceAll('_', '/') : text
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(standard) || (isUrlSafe && /[+/]/.test(text))) continue
    const raw = Buffer.from(standard, 'base64')
    const padded = raw.toString('base64')
    const missing = padded.length - padded.replaceAll('=', '').length
    const isLeftOut = missing > 0 && standard === padded.slice(0, -missing)
    if (standard !== padded && !isLeftOut) continue
    const padding = isLeftOut ? 0xff - missing : missing
    const groups = padded.length / 4
    if (groups < 256) forms.push([0x71 + 2 * at, groups, padding, ...raw])
    if (groups < 65_536) forms.push([0x72 + 2 * at, ...little(groups, 2), padding, ...raw])
  }
  return forms
}
