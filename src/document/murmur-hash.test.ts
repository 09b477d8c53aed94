/** Tests of MurmurHash3 against published values and an independent implementation. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import sdkMurmurHash from '../../node_modules/@azure/cosmos/dist/esm/utils/hashing/murmurHash.js'
import { fc } from '../../test/support/property.ts'
import { InvariantError } from '../base/error.ts'
import { type Hash128, murmurHash32, murmurHash128 } from './murmur-hash.ts'

/** A copy with room for padding, filled with random bytes that must not matter. */
function padded(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(bytes.length + 32).fill(0xaa)
  copy.set(bytes)
  return copy
}

function hash128(bytes: Uint8Array): Hash128 {
  const out: Hash128 = { firstHigh: 0, firstLow: 0, secondHigh: 0, secondLow: 0 }
  murmurHash128(padded(bytes), bytes.length, out)
  return out
}

function hex(...words: number[]): string {
  return words.map(word => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** The order in which the service stores the hash: the second word first. */
function storedHex(bytes: Uint8Array): string {
  const { firstHigh, firstLow, secondHigh, secondLow } = hash128(bytes)
  return hex(secondHigh, secondLow, firstHigh, firstLow)
}

const text = (value: string) => new TextEncoder().encode(value)

test('the 32-bit hash gives the published values', () => {
  assert.equal(murmurHash32(padded(text('')), 0), 0)
  assert.equal(murmurHash32(padded(text('test')), 4), 0xba6bd213)
  assert.equal(murmurHash32(padded(text('Hello, world!')), 13), 0xc0363e43)
})

test('the 128-bit hash gives the published values', () => {
  assert.equal(storedHex(text('')), '0'.repeat(32))
  const { firstHigh, firstLow, secondHigh, secondLow } = hash128(text('The quick brown fox jumps over the lazy dog'))
  assert.equal(hex(firstHigh, firstLow, secondHigh, secondLow), 'e34bbc7bbc071b6c7a433ca9c49a9347')
})

// PartitionKeyHashBaselineTest.Strings.xml of azure-cosmos-dotnet-v3. That class leaves out the terminator of
// a string, so its values are not effective partition keys; they are hashes of 08 and the text.
const baseline: [string, string][] = [
  ['', '6A63D2CF33E52BDBDFA3A1B71AF6E07E'],
  ['asdf', '498D89FE394B068D05EE6EB149D83908'],
  ['a'.repeat(99), '83A559265D272A0B0897D5DAB8497A67'],
  ['a'.repeat(100), 'A9288CFBBD2936CE26ED98C272505B4E'],
  ['a'.repeat(101), '4346A8E3F50BE781D8E072651D398EAE'],
  ['a'.repeat(2048), 'CECAB75F2B220F6142080AFA1CFB6CD6'],
]

test('the 128-bit hash gives the values of the .NET baseline', () => {
  for (const [value, expected] of baseline) {
    assert.equal(storedHex(text(`\x08${value}`)).toUpperCase(), expected, `${value.length} characters`)
  }
})

test('both hashes agree with the SDK on any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), bytes => {
      assert.equal(murmurHash32(padded(bytes), bytes.length), sdkMurmurHash.x86.hash32(bytes))
      const stored = Buffer.from(storedHex(bytes), 'hex').reverse().toString('hex')
      assert.equal(stored, sdkMurmurHash.x64.hash128(bytes))
    }),
    { numRuns: 2000 },
  )
})

test('a buffer that ends inside the last block is an invariant error', () => {
  assert.throws(() => murmurHash32(new Uint8Array(15), 15), InvariantError)
})
