/** Tests of effective partition keys against the SDKs' values, and of the ranges of the hash space. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getEPKRangeForPrefixPartitionKey } from '../../node_modules/@azure/cosmos/dist/esm/client/ChangeFeed/changeFeedUtils.js'
import { hashPartitionKey } from '../../node_modules/@azure/cosmos/dist/esm/utils/hashing/hash.js'
import { fc } from '../../test/support/property.ts'
import {
  effectivePartitionKey,
  effectivePartitionKeyPrefixRange,
  partitionRangeIndex,
  partitionRanges,
} from './effective-partition-key.ts'
import { type PartitionKeyComponent, type PartitionKeyDefinition, undefinedComponent } from './partition-key.ts'

const version1: PartitionKeyDefinition = { paths: ['/pk'], kind: 'Hash', version: 1 }
const version2: PartitionKeyDefinition = { paths: ['/pk'], kind: 'Hash', version: 2 }
const hierarchical: PartitionKeyDefinition = { paths: ['/a', '/b', '/c'], kind: 'MultiHash', version: 2 }
const ordered: PartitionKeyDefinition = { paths: ['/pk'], kind: 'Range', version: 1 }

const latin = 'abcdefghijklmnopqrstuvwxyz'.repeat(5)
const cyrillic = 'абвгдеёжзийклмнопрстуфхцчшщъыьэюя'.repeat(4)

// PartitionKeyHashingTests.java of the Java SDK: value, version 1, version 2.
const javaSdk: [PartitionKeyComponent, string, string][] = [
  ['', '05C1CF33970FF80800', '32E9366E637A71B4E710384B2F4970A0'],
  ['partitionKey', '05C1E1B3D9CD2608716273756A756A706F4C667A00', '013AEFCF77FA271571CF665A58C933F1'],
  ['a'.repeat(1024), `05C1EB5921F70608${'62'.repeat(100)}00`, '332BDF5512AE49615F32C7D98C2DB86C'],
  [null, '05C1ED45D7475601', '378867E4430E67857ACE5C908374FE16'],
  [undefinedComponent, '05C1D529E345DC00', '11622DAA78F835834610ABE56EFF5CB5'],
  [true, '05C1D7C5A903D803', '0E711127C5B5A8E4726AC6DD306A3E59'],
  [false, '05C1DB857D857C02', '2FE1BE91E90A3439635E0E9E37361EF2'],
  [-128, '05C1D73349F54C053FA0', '01DAEDABF913540367FE219B2AD06148'],
  [127, '05C1DD539DDFCC05C05FE0', '0C507ACAC853ECA7977BF4CEFB562A25'],
  [-(2 ** 63), '05C1DB35F33D1C053C20', '23D5C6395512BDFEAFADAD15328AD2BB'],
  [2 ** 63, '05C1B799AB2DD005C3E0', '2EDB959178DFCCA18983F89384D1629B'],
  [-2147483648, '05C1DFBF252BCC053E20', '0B1660D5233C3171725B30D4A5F4CC1F'],
  [2147483647, '05C1E1F503DFB205C1DFFFFFFFFC', '2D9349D64712AEB5EB1406E2F0BE2725'],
  [Number.MIN_VALUE, '05C1E5C91F4D3005800101010101010102', '0E6CBA63A280927DE485DEF865800139'],
  [Number.MAX_VALUE, '05C1CBE367C53005FFEFFFFFFFFFFFFFFE', '31424D996457102634591FF245DBCC4D'],
]

test('keys have the values that the Java SDK expects', () => {
  for (const [value, expected1, expected2] of javaSdk) {
    assert.equal(effectivePartitionKey(version1, [value]), expected1)
    assert.equal(effectivePartitionKey(version2, [value]), expected2)
  }
})

// EffectivePartitionKeyBaselineTest.{Numbers,Singletons}.xml of azure-cosmos-dotnet-v3: value, version 2.
const dotnetBaseline: [PartitionKeyComponent, string][] = [
  [0, '155B95BEDAC4B1E9EC1CDC9BB0DDDE58'],
  [-0, '3D018BB1DF3DB27235766E81FD10406E'],
  [1, '20CD98B339BA78A5D0CF6953B87070B0'],
  [-1, '19938E7A936C1C5B9E3AE842BBC16839'],
  [-Number.MAX_VALUE, '27050CC4910CFD9DACE1283D3801DF25'],
  [Number.MAX_SAFE_INTEGER, '12C221C7032CED1F9E6693CE1428E6CF'],
  [Number.MAX_SAFE_INTEGER - 1, '0FEA3467D94AA6E4628EF0B248C1FD9B'],
  [2 ** 53, '15335910D01122E3D99DA5DE569B065D'],
]

// PartitionKeyInternalTest.cs of azure-cosmos-dotnet-v3, checked there against the service: text, version 2,
// and the hash at the start of version 1.
const dotnetStrings: [string, string, string][] = [
  [latin.slice(0, 99), '072D8FA3228DD2A6C0A7129C845700E6', '05C19B2DC38FC0'],
  [latin.slice(0, 100), '023D5F0B62EBEF22A43564F267193B4D', '05C1DD5D814964'],
  [latin.slice(0, 101), '357D83181DB32D35F58CDA3C9F2E0742', '05C1DD5D814964'],
  [latin.slice(0, 116), '2BA0757B833F3922A3CBBB6DDA3803B4', '05C1DD5D814964'],
  [cyrillic.slice(0, 49), '3742C1AF65AFA809282539F4BCDF2F6F', '05C1C1BD37FE'],
  [cyrillic.slice(0, 51), '2D63C2F5FDAC6EFE5660CD509A723A90', '05C1EB1F29DBFA'],
  [cyrillic.slice(0, 99), '1E9836D9BCB67FDB2B5C984BD40AFAF9', '05C1E72F79C716'],
  [cyrillic.slice(0, 100), '16102F19448867537E51BB4377962AF9', '05C1E3653D9F3E'],
  [cyrillic.slice(0, 101), '0B6D25D07748AB9CA0F523D4BAD146C8', '05C1E3653D9F3E'],
]

test('keys have the values that the .NET SDK expects', () => {
  for (const [value, expected] of dotnetBaseline) assert.equal(effectivePartitionKey(version2, [value]), expected)
  for (const [value, expected2, start1] of dotnetStrings) {
    assert.equal(effectivePartitionKey(version2, [value]), expected2)
    assert.equal(effectivePartitionKey(version1, [value]).slice(0, start1.length + 2), `${start1}08`)
  }
  const several = effectivePartitionKey(version2, [5, 'redmond', true, null])
  assert.equal(several, '3032DECBE2AB1768D8E0AEDEA35881DF')
})

test('keys of kind Range are the values in ordered form', () => {
  const cases: [PartitionKeyComponent[], string][] = [
    [[5], '05C014'],
    [[5.123124190509124], '05C0153F858949735550'],
    [['redmond'], '087366656E706F6500'],
    [[5, 'redmond', true, null], '05C014087366656E706F65000301'],
    [[], ''],
  ]
  for (const [key, expected] of cases) assert.equal(effectivePartitionKey(ordered, key), expected)
})

const anyComponent: fc.Arbitrary<PartitionKeyComponent> = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  // Long strings, which version 1 cuts anywhere, also inside a surrogate pair.
  { weight: 2, arbitrary: fc.string({ unit: 'binary', minLength: 40, maxLength: 300 }) },
  { weight: 2, arbitrary: fc.string({ minLength: 95, maxLength: 300 }) },
  { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 2, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.integer({ min: -1074, max: 1023 }).map(exponent => 2 ** exponent) },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, undefinedComponent, 0, -0, '', '\ud800', 'x\udc00y') },
)

function sdkKey(definition: PartitionKeyDefinition, key: readonly PartitionKeyComponent[]): string {
  const values = key.map(component => (component === undefinedComponent ? {} : component))
  return hashPartitionKey(values as never, definition as never) as string
}

for (const [name, definition, levels] of [
  ['version 1', version1, { minLength: 0, maxLength: 1 }],
  ['version 2', version2, { minLength: 0, maxLength: 3 }],
  ['hierarchical keys', hierarchical, { minLength: 0, maxLength: 3 }],
] as const) {
  test(`the SDK computes the same value for ${name}`, () => {
    fc.assert(
      fc.property(fc.array(anyComponent, levels), key => {
        assert.equal(effectivePartitionKey(definition, key), sdkKey(definition, key))
      }),
      { numRuns: 1500 },
    )
  })
}

test('strings longer than the working memory are hashed completely', () => {
  for (const letter of ['a', 'é', '😀']) {
    const text = letter.repeat(20_000)
    for (const definition of [version1, version2]) {
      assert.equal(effectivePartitionKey(definition, [text]), sdkKey(definition, [text]))
    }
    assert.equal(effectivePartitionKey(version2, ['a', text]), sdkKey(version2, ['a', text]))
  }
  // A long key leaves no bytes behind for a short one.
  assert.equal(effectivePartitionKey(version2, ['x']), sdkKey(version2, ['x']))
})

test('a prefix of a hierarchical key covers its continuations and nothing else', async () => {
  for (const prefix of [['a'], ['a', 'b'], ['a', 'b', 'c'], [undefinedComponent]] as PartitionKeyComponent[][]) {
    const range = effectivePartitionKeyPrefixRange(hierarchical, prefix)
    const values = prefix.map(component => (component === undefinedComponent ? {} : component))
    const sdkRange = await getEPKRangeForPrefixPartitionKey(values as never)
    assert.deepEqual(range, { min: sdkRange.min, maxExclusive: sdkRange.max })
  }
  const { min, maxExclusive } = effectivePartitionKeyPrefixRange(hierarchical, ['a', 1])
  const isInside = (key: PartitionKeyComponent[]) => {
    const epk = effectivePartitionKey(hierarchical, key)
    return min <= epk && epk < maxExclusive
  }
  fc.assert(
    fc.property(anyComponent, anyComponent, (x, y) => {
      assert.ok(isInside(['a', 1, x]))
      assert.equal(isInside(['a', x, y]), x === 1)
      assert.equal(isInside([x, 1, y]), x === 'a')
    }),
  )
})

test('a whole key covers itself, and no key at all covers everything', () => {
  for (const definition of [version1, version2]) {
    const epk = effectivePartitionKey(definition, ['a'])
    assert.deepEqual(effectivePartitionKeyPrefixRange(definition, ['a']), { min: epk, maxExclusive: `${epk}FF` })
  }
  for (const definition of [version1, version2, hierarchical, ordered]) {
    assert.deepEqual(effectivePartitionKeyPrefixRange(definition, []), { min: '', maxExclusive: 'FF' })
  }
})

test('ranges have the bounds that the service gives them', () => {
  const bounds = (definition: PartitionKeyDefinition, count: number) =>
    partitionRanges(definition, count).map(range => range.maxExclusive)
  assert.deepEqual(partitionRanges(version2, 1), [{ min: '', maxExclusive: 'FF' }])
  assert.deepEqual(bounds(version1, 2), ['05C1DFFFFFFFFC', 'FF'])
  // As recorded in the continuation tokens and traces of azure-cosmos-dotnet-v3.
  assert.deepEqual(bounds(version1, 4), ['05C1CFFFFFFFF8', '05C1DFFFFFFFF8', '05C1E7FFFFFFFA', 'FF'])
  assert.deepEqual(bounds(version1, 5).slice(1), ['05C1D9CD673398', '05C1E399CD6732', '05C1E9CD673398', 'FF'])
  assert.deepEqual(bounds(version2, 2), [`1${'F'.repeat(31)}`, 'FF'])
  assert.deepEqual(bounds(hierarchical, 2), bounds(version2, 2))
  assert.deepEqual(partitionRanges(ordered, 4), [{ min: '', maxExclusive: 'FF' }])
})

test('ranges are adjacent, without gaps', () => {
  for (const definition of [version1, version2, hierarchical]) {
    for (const count of [1, 2, 3, 5, 7, 100]) {
      const ranges = partitionRanges(definition, count)
      assert.equal(ranges.length, count)
      assert.equal(ranges[0]!.min, '')
      assert.equal(ranges.at(-1)!.maxExclusive, 'FF')
      for (let index = 1; index < count; index++) {
        assert.equal(ranges[index]!.min, ranges[index - 1]!.maxExclusive)
        assert.ok(ranges[index]!.min < ranges[index]!.maxExclusive)
      }
    }
  }
})

test('keys spread evenly over the ranges, each in exactly one', () => {
  const keys = 20_000
  for (const definition of [version1, version2, hierarchical]) {
    const ranges = partitionRanges(definition, 5)
    const counts = [0, 0, 0, 0, 0]
    for (let number = 0; number < keys; number++) {
      const value = number % 2 === 0 ? `tenant-${number}` : number
      const epk = effectivePartitionKey(definition, definition.kind === 'MultiHash' ? [value, 'b', 3] : [value])
      const holding = ranges.flatMap((range, index) => (range.min <= epk && epk < range.maxExclusive ? [index] : []))
      assert.deepEqual(holding, [partitionRangeIndex(ranges, epk)])
      counts[holding[0]!]!++
    }
    for (const count of counts) assert.ok(Math.abs(count - keys / 5) < keys / 5 / 10, `${definition.kind}: ${counts}`)
  }
})

test('a key on a bound belongs to the range that begins there', () => {
  for (const definition of [version1, version2]) {
    const ranges = partitionRanges(definition, 5)
    ranges.forEach((range, index) => {
      assert.equal(partitionRangeIndex(ranges, range.min), index)
    })
    assert.equal(partitionRangeIndex(ranges, ''), 0)
  }
})
