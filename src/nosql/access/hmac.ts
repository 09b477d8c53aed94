/**
 * HMAC-SHA256 of short ASCII texts with one key, in JavaScript.
 *
 * Every request carries a signature. A request takes about 40 us, and `createHmac` takes 7 to 9 of them: for
 * objects, a call into C++ and a Buffer each time. Here the two hash states that depend only on the key are
 * computed once. The text of a request takes two to four rounds over reused arrays, and the digest is
 * compared in place, within the request. Texts that are not ASCII or exceed the scratch buffer go to
 * node:crypto. The tests compare both over random keys and texts of every length around the block
 * boundaries.
 */

import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto'

const blockBytes = 64
const digestBytes = 32
/** Room for a text of 15 blocks. Resource links of ordinary names need two to four. */
const scratchBytes = 16 * blockBytes

// FIPS 180-4, section 4.2.2 and 5.3.3: fractional parts of the cube and square roots of the first primes.
const roundConstants = new Int32Array(64)
const initialState = new Int32Array(8)
for (let candidate = 2, count = 0; count < 64; candidate++) {
  let isPrime = true
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) if (candidate % divisor === 0) isPrime = false
  if (!isPrime) continue
  roundConstants[count] = fraction(Math.cbrt(candidate))
  if (count < 8) initialState[count] = fraction(Math.sqrt(candidate))
  count++
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0
}

const schedule = new Int32Array(64)

/** Processes one block. */
function compress(state: Int32Array, bytes: Uint8Array, offset: number): void {
  const w = schedule
  const k = roundConstants
  for (let i = 0; i < 16; i++) {
    const at = offset + i * 4
    w[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
  }
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15]!
    const y = w[i - 2]!
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    w[i] = (w[i - 16]! + s0 + w[i - 7]! + s1) | 0
  }
  let a = state[0]!
  let b = state[1]!
  let c = state[2]!
  let d = state[3]!
  let e = state[4]!
  let f = state[5]!
  let g = state[6]!
  let h = state[7]!
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + k[i]! + w[i]!) | 0
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0] = (state[0]! + a) | 0
  state[1] = (state[1]! + b) | 0
  state[2] = (state[2]! + c) | 0
  state[3] = (state[3]! + d) | 0
  state[4] = (state[4]! + e) | 0
  state[5] = (state[5]! + f) | 0
  state[6] = (state[6]! + g) | 0
  state[7] = (state[7]! + h) | 0
}

export class HmacSha256 {
  readonly #key: KeyObject
  readonly #innerStart = Int32Array.from(initialState)
  readonly #outerStart = Int32Array.from(initialState)
  readonly #state = new Int32Array(8)
  readonly #scratch = new Uint8Array(scratchBytes)
  readonly #outerBlock = new Uint8Array(blockBytes)

  constructor(key: Buffer) {
    this.#key = createSecretKey(key)
    const padded = new Uint8Array(blockBytes)
    padded.set(key.length > blockBytes ? createHashOfLongKey(key) : key)
    compress(
      this.#innerStart,
      padded.map(byte => byte ^ 0x36),
      0,
    )
    compress(
      this.#outerStart,
      padded.map(byte => byte ^ 0x5c),
      0,
    )
    // The outer message is always one block of key and one digest, so its padding never changes.
    this.#outerBlock[digestBytes] = 0x80
    new DataView(this.#outerBlock.buffer).setUint32(blockBytes - 4, (blockBytes + digestBytes) * 8)
  }

  /** Whether `given`, from `start` to its end, is the digest of the text in base64, plain or URI-escaped. */
  isDigest(text: string, given: string, start: number): boolean {
    return holdsBase64(given, start, this.#digest(text))
  }

  /** The result is valid until the next call. */
  #digest(text: string): Int32Array {
    const { length } = text
    const bytes = this.#scratch
    if (length + 9 > scratchBytes) return this.#slowDigest(text)
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 0x7f) return this.#slowDigest(text)
      bytes[i] = unit
    }
    const end = Math.ceil((length + 9) / blockBytes) * blockBytes
    bytes.fill(0, length, end)
    bytes[length] = 0x80
    const bits = (blockBytes + length) * 8
    bytes[end - 2] = bits >>> 8
    bytes[end - 1] = bits
    const state = this.#state
    state.set(this.#innerStart)
    for (let offset = 0; offset < end; offset += blockBytes) compress(state, bytes, offset)
    const outer = this.#outerBlock
    for (let i = 0; i < 8; i++) {
      const word = state[i]!
      outer[i * 4] = word >>> 24
      outer[i * 4 + 1] = word >>> 16
      outer[i * 4 + 2] = word >>> 8
      outer[i * 4 + 3] = word
    }
    state.set(this.#outerStart)
    compress(state, outer, 0)
    return state
  }

  #slowDigest(text: string): Int32Array {
    const digest = createHmac('sha256', this.#key).update(text, 'utf8').digest()
    for (let i = 0; i < 8; i++) this.#state[i] = digest.readInt32BE(i * 4)
    return this.#state
  }
}

function createHashOfLongKey(key: Buffer): Uint8Array {
  // HMAC hashes keys longer than a block. Account keys are exactly one block; other keys end up here.
  return hash('sha256', key, 'buffer')
}

const base64Units = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
const equalsSign = 0x3d
const percent = 0x25

const hexadecimal = new Int8Array(128).fill(-1)
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16)
  hexadecimal[text.charCodeAt(0)] = digit
  hexadecimal[text.toUpperCase().charCodeAt(0)] = digit
}

/**
 * 256 bits are 42 base64 digits, one more for the last four bits, and "=". Allocates no text. The time
 * depends on the length of the input, not on how much of it is right.
 */
function holdsBase64(given: string, start: number, digest: Int32Array): boolean {
  let at = start
  let difference = 0
  for (let bit = 0; bit < 264; bit += 6) {
    const expected =
      bit < 258 ? base64Units[bit < 252 ? bitsAt(digest, bit, 6) : bitsAt(digest, bit, 4) << 2]! : equalsSign
    const unit = given.charCodeAt(at++)
    if (unit === percent) {
      difference |= expected ^ ((digitAt(given, at) << 4) | digitAt(given, at + 1))
      at += 2
    } else {
      difference |= expected ^ unit
    }
  }
  return difference === 0 && at === given.length
}

/** The value of a hexadecimal digit, or -1. */
function digitAt(text: string, at: number): number {
  return hexadecimal[text.charCodeAt(at)] ?? -1
}

function bitsAt(words: Int32Array, bit: number, width: number): number {
  const word = bit >>> 5
  const room = 32 - (bit & 31)
  if (width <= room) return (words[word]! >>> (room - width)) & ((1 << width) - 1)
  const rest = width - room
  return ((words[word]! & ((1 << room) - 1)) << rest) | (words[word + 1]! >>> (32 - rest))
}
