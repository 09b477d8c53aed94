/**
 * Writes DER (ITU-T X.690), as much of it as a certificate needs. Each value is a tag, a length and its
 * content.
 */

/** A value that belongs to the type around it, and not to ASN.1 itself. */
const contextClass = 0x80
const constructed = 0x20

function value(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content])
}

/** Below 128 one byte. Otherwise the number of length bytes, and then these, without leading zeros. */
function lengthOf(bytes: number): Buffer {
  if (bytes < 0x80) return Buffer.of(bytes)
  const digits = digitsOf(bytes, 256)
  return Buffer.of(0x80 | digits.length, ...digits)
}

/** The digits of a number, the first one not zero unless it is the only one. */
function digitsOf(number: number, base: number): number[] {
  const digits = [number % base]
  for (let rest = Math.floor(number / base); rest > 0; rest = Math.floor(rest / base)) digits.unshift(rest % base)
  return digits
}

export const sequence = (...members: readonly Buffer[]) => value(0x30, ...members)

/** Only for one member: DER sorts several. */
export const setOf = (member: Buffer) => value(0x31, member)

export const boolean = (isTrue: boolean) => value(0x01, Buffer.of(isTrue ? 0xff : 0))

/** An integer that is not negative, from its bytes. */
export function unsignedInteger(bytes: Buffer): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const shortest = bytes.subarray(start)
  // A first bit of 1 would make it negative.
  return shortest[0]! >= 0x80 ? value(0x02, Buffer.of(0), shortest) : value(0x02, shortest)
}

export const octetString = (bytes: Buffer) => value(0x04, bytes)

/** Whole bytes, or as many bits less as `unusedBits` says. */
export const bitString = (bytes: Buffer, unusedBits = 0) => value(0x03, Buffer.of(unusedBits), bytes)

/** A list of named bits: the names are numbers from 0. Trailing zero bits are left out. */
export function namedBits(...bits: readonly number[]): Buffer {
  const last = Math.max(...bits)
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1)
  for (const bit of bits) bytes[bit >> 3]! |= 0x80 >> (bit & 7)
  return bitString(bytes, 7 - (last & 7))
}

export const utf8String = (text: string) => value(0x0c, Buffer.from(text, 'utf8'))

/** `1.2.840.10045.4.3.2`: the first two numbers share a byte, the others are written in base 128. */
export function objectIdentifier(dotted: string): Buffer {
  const [first, second, ...others] = dotted.split('.').map(Number)
  const bytes = [first! * 40 + second!, ...others].flatMap(number =>
    digitsOf(number, 128).map((digit, at, digits) => (at === digits.length - 1 ? digit : digit | 0x80)),
  )
  return value(0x06, Buffer.from(bytes))
}

/** A time in a certificate: two digits for the year until 2049, four after it (RFC 5280, 4.1.2.5). */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().replace(/\.\d+|[-:T]/g, '')}`
  return date.getUTCFullYear() < 2050
    ? value(0x17, Buffer.from(digits.slice(2), 'latin1'))
    : value(0x18, Buffer.from(digits, 'latin1'))
}

/** `[n] EXPLICIT`, or `[n] IMPLICIT` of a type that has members. */
export const taggedMembers = (tag: number, ...members: readonly Buffer[]) =>
  value(contextClass | constructed | tag, ...members)

/** `[n] IMPLICIT` of a type without members: its content alone. */
export const taggedBytes = (tag: number, bytes: Buffer) => value(contextClass | tag, bytes)
