import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effectivePartitionKey, partitionRanges } from '../../../document/effective-partition-key.ts'
import type { PartitionKeyDefinition } from '../../../document/partition-key.ts'
import { bucketCount, bucketOf, keyColumns, keyFromColumns, pkColumn, versionOf } from './keys.ts'

const definitions: PartitionKeyDefinition[] = [
  { paths: ['/a'], kind: 'Hash', version: 1 },
  { paths: ['/a'], kind: 'Hash', version: 2 },
  { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 },
]

test('buckets follow the order of keys, are about as full as each other, and keep to bounds between keys', () => {
  for (const definition of definitions) {
    const keys = Array.from({ length: 20_000 }, (_, n) => {
      const components = definition.kind === 'MultiHash' ? [`k${n}`, n] : [n % 2 === 0 ? `k${n}` : n]
      return effectivePartitionKey(definition, components)
    }).sort()
    const filled: number[] = new Array(bucketCount).fill(0)
    let previous = 0
    for (const key of keys) {
      const bucket = bucketOf(definition, key)
      assert.ok(bucket >= previous && bucket < bucketCount, `${key} is in ${bucket} behind ${previous}`)
      previous = bucket
      filled[bucket]!++
    }
    assert.ok(Math.min(...filled) > 200 && Math.max(...filled) < 450, `${definition.kind} ${filled}`)
    for (const { min, maxExclusive } of partitionRanges(definition, 7)) {
      const [low, high] = [bucketOf(definition, min), bucketOf(definition, maxExclusive)]
      for (const key of keys) {
        if (key < min || key >= maxExclusive) continue
        const bucket = bucketOf(definition, key)
        assert.ok(bucket >= low && bucket <= high, `${key} is in ${bucket}, outside of ${low} to ${high}`)
      }
    }
  }
})

test('a key comes back as it was, with NUL, beyond ASCII, and longer than an index can hold', () => {
  for (const pk of ['', '["a"]', '["\u0000😀"]', `["${'x'.repeat(511)}"]`, `["${'漢'.repeat(2000)}"]`]) {
    const key = { epk: '0A', pk, id: 'i\u0000😀' }
    const { epk, pk: indexed, longPk, id } = keyColumns(key)
    assert.ok(indexed.length <= 512)
    assert.deepEqual(indexed, pkColumn(pk))
    assert.deepEqual(keyFromColumns({ epk, pk: indexed, long_pk: longPk, id }), key)
  }
  const [one, other] = ['1', '2'].map(end => pkColumn('x'.repeat(2000) + end))
  assert.notDeepEqual(one, other)
})

test('versions of different buckets differ, and those of one increase', () => {
  const versions = [1, 2, 3].flatMap(lsn => Array.from({ length: bucketCount }, (_, bucket) => versionOf(lsn, bucket)))
  assert.equal(new Set(versions).size, 3 * bucketCount)
  assert.ok(versionOf(2, 0) > versionOf(1, bucketCount - 1))
})
