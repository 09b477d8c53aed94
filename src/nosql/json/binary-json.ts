/**
 * Reads Cosmos binary JSON, which some SDKs send instead of text, and writes it as text.
 *
 * The first byte of a body is 0x80; no JSON in UTF-8 begins like that. One value follows. Each value begins
 * with a marker. All numbers are little-endian.
 *
 *   00..1F   the number 0 to 31                 C7       unsigned number of 8 bytes
 *   20..3F   a well-known string                C8..CB   number of 1 (unsigned), 2, 4, 8 bytes
 *   40..67   a string of a dictionary           CC..CE   double, float, double
 *   71..74   base64, as the bytes it stands for D0..D2   null, false, true
 *   75..77   a UUID, as 16 bytes                D3       a .NET Guid
 *   78..7F   packed characters                  D7..DC   UInt8, Int8, Int16, Int32, Int64, UInt32
 *   80..BF   a string of 0 to 63 bytes          DD..DF   bytes
 *   C0..C2   a string, with its length          E0..E7   arrays: empty, of one, by length (and count)
 *   C3..C6   a string, by its earlier place     E8..EF   objects, likewise
 *                                               F0..F3   arrays of numbers, arrays of such arrays
 *
 * Strings of a dictionary are refused: the dictionary is not part of the request. The format is described in
 * azure-cosmos-dotnet-v3 (Microsoft.Azure.Cosmos/src/Json) and azure-sdk-for-rust (BINARY_ENCODING_SPEC.md).
 *
 * The text may be larger than the body, because a string can be repeated by its place. So it has a limit too.
 */

import { isUtf8 } from 'node:buffer'
import { RequestError } from '../../base/error.ts'
import { nestingDepthMax, requestBytesMax } from '../../base/limits.ts'
import { base64Text, characterSets, guidText, systemStrings, unpackBits, uuidText } from './binary-strings.ts'
import { refuseTooDeep } from './parse-json.ts'

const preamble = 0x80

export function isBinaryJson(body: Buffer): boolean {
  return body[0] === preamble
}

/** The same value as JSON text in UTF-8. */
export function binaryJsonToText(body: Buffer): Buffer {
  const reader = new BinaryReader(body)
  reader.value(0)
  if (reader.at !== body.length) refuse('there are bytes after its value')
  return Buffer.from(reader.text, 'utf8')
}

function refuse(reason: string): never {
  throw new RequestError(
    'malformed',
    `The request payload is invalid. Ensure to provide a valid request payload: it is binary JSON, but ${reason}.`,
  )
}

function refuseMarker(marker: number): never {
  if (isBetween(marker, 0x40, 0x67)) refuse('it has strings of a dictionary, which was not sent')
  refuse(`0x${marker.toString(16).padStart(2, '0')} is not the beginning of a value it may have there`)
}

function isBetween(marker: number, first: number, last: number): boolean {
  return first <= marker && marker <= last
}

/** Bytes of the length that follows the first, second and third marker of a kind. */
const widths = [1, 2, 4] as const

class BinaryReader {
  readonly #body: Buffer
  at = 1
  text = ''

  constructor(body: Buffer) {
    this.#body = body
  }

  value(depth: number): void {
    const marker = this.#unsigned(1)
    if (isBetween(marker, 0xe0, 0xef) || isBetween(marker, 0xf0, 0xf3)) {
      if (depth === nestingDepthMax) refuseTooDeep()
      if (marker >= 0xf0) this.#numbers(marker, depth)
      else this.#container(marker & 7, marker >= 0xe8, depth + 1)
    } else if (marker === 0xd0) this.#write('null')
    else if (marker === 0xd1) this.#write('false')
    else if (marker === 0xd2) this.#write('true')
    else {
      const number = this.#number(marker)
      this.#write(number ?? JSON.stringify(this.#string(marker)))
    }
  }

  #write(text: string): void {
    this.text += text
    if (this.text.length > requestBytesMax) throw new RequestError('too_large', 'Request size is too large')
  }

  #bytes(length: number): Buffer {
    const start = this.at
    if (start + length > this.#body.length) refuse('it ends too early')
    this.at += length
    return this.#body.subarray(start, this.at)
  }

  #unsigned(width: 1 | 2 | 3 | 4): number {
    return this.#bytes(width).readUIntLE(0, width)
  }

  /** The kinds are: empty, one member, a length (of three widths), a length and a count (likewise). */
  #container(kind: number, isObject: boolean, depth: number): void {
    const member = () => {
      if (isObject) {
        this.#write(JSON.stringify(this.#string(this.#unsigned(1))))
        this.#write(':')
      }
      this.value(depth)
    }
    this.#write(isObject ? '{' : '[')
    if (kind === 1) member()
    if (kind >= 2) this.#members(widths[(kind - 2) % 3]!, kind >= 5, member)
    this.#write(isObject ? '}' : ']')
  }

  #members(width: 1 | 2 | 4, hasCount: boolean, member: () => void): void {
    const length = this.#unsigned(width)
    const count = hasCount ? this.#unsigned(width) : undefined
    const end = this.at + length
    if (end > this.#body.length) refuse('it ends too early')
    let found = 0
    while (this.at < end) {
      if (found > 0) this.#write(',')
      member()
      found++
    }
    if (this.at > end) refuse('a value is longer than the array or object around it')
    if (count !== undefined && count !== found) refuse('an array or object has another number of members than it says')
  }

  /** Reads numbers without markers: the marker at the beginning holds for all of them. */
  #numbers(marker: number, depth: number): void {
    const width = marker === 0xf0 || marker === 0xf2 ? 1 : 2
    const isNested = marker >= 0xf2
    if (isNested) {
      if (depth + 1 === nestingDepthMax) refuseTooDeep()
      const inner = this.#unsigned(1)
      if (inner !== marker - 2) refuseMarker(inner)
    }
    const item = this.#unsigned(1)
    if (!isBetween(item, 0xd7, 0xdc) && item !== 0xcd && item !== 0xce) refuseMarker(item)
    const count = this.#unsigned(width)
    const list = () => this.#list(count, () => this.#write(this.#number(item)!))
    if (isNested) this.#list(this.#unsigned(width), list)
    else list()
  }

  #list(count: number, item: () => void): void {
    this.#write('[')
    for (let at = 0; at < count; at++) {
      if (at > 0) this.#write(',')
      item()
    }
    this.#write(']')
  }

  /** Undefined if the marker is not that of a number. */
  #number(marker: number): string | undefined {
    if (marker <= 0x1f) return String(marker)
    switch (marker) {
      case 0xc7:
        return this.#bytes(8).readBigUInt64LE().toString()
      case 0xc8:
      case 0xd7:
        return String(this.#unsigned(1))
      case 0xd8:
        return String(this.#bytes(1).readInt8())
      case 0xc9:
      case 0xd9:
        return String(this.#bytes(2).readInt16LE())
      case 0xca:
      case 0xda:
        return String(this.#bytes(4).readInt32LE())
      case 0xcb:
      case 0xdb:
        return this.#bytes(8).readBigInt64LE().toString()
      case 0xdc:
        return String(this.#unsigned(4))
      case 0xcd:
        return finite(this.#bytes(4).readFloatLE())
      case 0xcc:
      case 0xce:
        return finite(this.#bytes(8).readDoubleLE())
      default:
        return undefined
    }
  }

  #string(marker: number): string {
    if (isBetween(marker, 0xc3, 0xc6)) return this.#earlierString((marker - 0xc2) as 1 | 2 | 3 | 4)
    if (isBetween(marker, 0x20, 0x3f)) return systemStrings[marker - 0x20]!
    if (isBetween(marker, 0x80, 0xbf)) return this.#utf8(marker - 0x80)
    if (isBetween(marker, 0xc0, 0xc2)) return this.#utf8(this.#unsigned(widths[marker - 0xc0]!))
    if (isBetween(marker, 0xdd, 0xdf)) {
      return this.#bytes(this.#unsigned(widths[marker - 0xdd]!)).toString('base64')
    }
    switch (marker) {
      case 0x71:
      case 0x72:
      case 0x73:
      case 0x74:
        return this.#base64(marker === 0x71 || marker === 0x73 ? 1 : 2, marker >= 0x73)
      case 0x75:
        return uuidText(this.#bytes(16))
      case 0x76:
        return uuidText(this.#bytes(16)).toUpperCase()
      case 0x77:
        return `"${uuidText(this.#bytes(16))}"`
      case 0x78:
        return this.#ofSet(characterSets.lowerHex)
      case 0x79:
        return this.#ofSet(characterSets.upperHex)
      case 0x7a:
        return this.#ofSet(characterSets.dateTime)
      case 0x7b:
      case 0x7c:
      case 0x7d: {
        const count = this.#unsigned(1)
        return this.#packed(marker - 0x77, count, this.#unsigned(1))
      }
      case 0x7e:
      case 0x7f:
        return this.#packed(7, this.#unsigned(marker === 0x7e ? 1 : 2), 0)
      case 0xd3:
        return guidText(this.#bytes(16))
      default:
        return refuseMarker(marker)
    }
  }

  #utf8(length: number): string {
    const bytes = this.#bytes(length)
    if (!isUtf8(bytes)) refuse('a string is not UTF-8')
    return bytes.toString('utf8')
  }

  /**
   * The place counts from the first byte of the body. The string there must not refer to another place
   * itself.
   */
  #earlierString(width: 1 | 2 | 3 | 4): string {
    const marked = this.at - 1
    const place = this.#unsigned(width)
    const marker = this.#body[place]!
    const isString = isBetween(marker, 0x20, 0xc2)
    if (place === 0 || place >= marked || !isString) refuse('a string refers to a place where none is')
    const after = this.at
    this.at = place + 1
    const text = this.#string(marker)
    this.at = after
    return text
  }

  /**
   * Reads the number of groups of four characters, and the number of `=` at the end. If the second number
   * has its bits inverted, that many `=` are left out.
   */
  #base64(width: 1 | 2, isUrlSafe: boolean): string {
    const groups = this.#unsigned(width)
    const padding = this.#unsigned(1)
    const isLeftOut = padding > 2
    const missing = isLeftOut ? 0xff - padding : padding
    if (missing > 2 || missing > groups * 4) refuse('a base64 string has too much padding')
    const text = base64Text(this.#bytes(Math.floor(((groups * 4 - missing) * 3) / 4)), { isUrlSafe })
    return isLeftOut ? text.slice(0, groups * 4 - missing) : text
  }

  #ofSet(set: string): string {
    const count = this.#unsigned(1)
    const indexes = unpackBits(this.#bytes(Math.ceil(count / 2)), { bits: 4, count })
    return indexes.map(index => set[index]!).join('')
  }

  #packed(bits: number, count: number, base: number): string {
    const codes = unpackBits(this.#bytes(Math.ceil((count * bits) / 8)), { bits, count })
    const bytes = Buffer.from(codes.map(code => code + base))
    if (codes.some(code => code + base > 0x7f)) refuse('a packed string is not ASCII')
    return bytes.toString('latin1')
  }
}

function finite(number: number): string {
  if (!Number.isFinite(number)) refuse('a number is not finite')
  return Object.is(number, -0) ? '-0' : String(number)
}
