import assert from 'node:assert/strict'
import test from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { ChunkSizes } from './chunk-sizes.ts'

const bytesMax = 0x100

function read(text: string): ChunkSizes {
  const sizes = new ChunkSizes(bytesMax)
  sizes.read(Buffer.from(text, 'latin1'))
  return sizes
}

const cases: readonly (readonly [text: string, isTooLong: boolean, isOver: boolean])[] = [
  ['100\r\n', false, false],
  ['101\r\n', true, true],
  ['FFFFFFFFFF\r\n', true, true],
  ['ffffffffffffffff\r\n', true, true],
  // node:http answers these.
  ['ffffffffffffffff0\r\n', false, true],
  ['\r\n', false, true],
  ['xyz\r\n', false, true],
  // Digits that go on, leading zeros, extensions, the end.
  ['FFFFFFFFFF', false, false],
  ['0000000000000000000000101\r\n', true, true],
  ['1;fff=fff\r\nx\r\n0\r\n\r\n', false, true],
  ['101;a=b\r\n', true, true],
  ['0\r\nfff: x\r\n\r\nfff\r\n', false, true],
  // Sizes are not looked for in the data.
  ['6\r\nfff\r\nf\r\n1\r\nx\r\n', false, false],
]

for (const [text, isTooLong, isOver] of cases) {
  test(`the sizes in ${JSON.stringify(text)}`, () => {
    const sizes = read(text)
    assert.deepEqual([sizes.isTooLong, sizes.isOver], [isTooLong, isOver])
  })
}

test('a body of any chunks that arrives in any pieces is too long if one of its chunks is', () => {
  const chunk = fc.record({
    bytes: fc.nat(2 * bytesMax),
    zeros: fc.nat(20),
    extension: fc.constantFrom('', ';a=b', ' ', ';fff'),
    fill: fc.constantFrom('f', '\r', '\n', 'x'),
  })
  fc.assert(
    fc.property(fc.array(chunk), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (chunks, cuts) => {
      const texts = chunks
        .filter(({ bytes }) => bytes > 0)
        .map(({ bytes, zeros, extension, fill }) => {
          return `${'0'.repeat(zeros)}${bytes.toString(16)}${extension}\r\n${fill.repeat(bytes)}\r\n`
        })
      const body = Buffer.from(`${texts.join('')}0\r\n\r\n`)
      const sizes = new ChunkSizes(bytesMax)
      for (let at = 0, n = 0; at < body.length; n++) {
        const end = at + cuts[n % cuts.length]!
        sizes.read(body.subarray(at, end))
        at = end
      }
      assert.equal(
        sizes.isTooLong,
        chunks.some(({ bytes }) => bytes > bytesMax),
      )
      assert.equal(sizes.isOver, true)
    }),
  )
})
