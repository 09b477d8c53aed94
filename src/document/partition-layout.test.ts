import assert from 'node:assert/strict'
import { test } from 'node:test'
import { effectivePartitionKey, partitionRanges } from './effective-partition-key.ts'
import type { PartitionKeyDefinition } from './partition-key.ts'
import { partitionLayout, partitionOf } from './partition-layout.ts'

const definitions: readonly PartitionKeyDefinition[] = [
  { paths: ['/pk'], kind: 'Hash', version: 1 },
  { paths: ['/pk'], kind: 'Hash', version: 2 },
  { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 },
]

test('Without splits, partitions are the first ranges', () => {
  for (const definition of definitions) {
    for (const count of [1, 3, 100]) {
      const ranges = partitionLayout(definition, count, 0).present.map(({ min, maxExclusive }) => ({
        min,
        maxExclusive,
      }))
      assert.deepEqual(ranges, partitionRanges(definition, count))
    }
  }
})

/** Stored containers rely on these ids and bounds: a change of the rule would need a migration. */
test('A split halves the first of the widest partitions, and its halves know their ancestors', () => {
  const at = (splits: number) =>
    partitionLayout(definitions[1]!, 1, splits).present.map(({ id, min, parents }) => [
      id,
      min.slice(0, 2),
      parents.join(),
    ])
  assert.deepEqual(at(1), [
    ['1', '', '0'],
    ['2', '1F', '0'],
  ])
  assert.deepEqual(at(2), [
    ['3', '', '0,1'],
    ['4', '0F', '0,1'],
    ['2', '1F', '0'],
  ])
  assert.deepEqual(
    partitionLayout(definitions[0]!, 2, 2).present.map(({ id, parents }) => [id, ...parents]),
    [
      ['2', '0'],
      ['3', '0'],
      ['4', '1'],
      ['5', '1'],
    ],
  )
})

test('Splits leave no gap, and each half lies within its ancestors', () => {
  for (const definition of definitions) {
    for (const count of [1, 2, 5]) {
      const known = new Map<string, { min: string; maxExclusive: string }>()
      for (let splits = 0; count + splits <= 100; splits++) {
        const { present: partitions, gone } = partitionLayout(definition, count, splits)
        assert.equal(partitions.length, count + splits)
        assert.equal(partitions[0]!.min, '')
        assert.equal(partitions.at(-1)!.maxExclusive, 'FF')
        for (const [index, { id, min, maxExclusive, parents }] of partitions.entries()) {
          assert.ok(min < maxExclusive)
          if (index > 0) assert.equal(min, partitions[index - 1]!.maxExclusive)
          assert.deepEqual(known.get(id) ?? { min, maxExclusive }, { min, maxExclusive }, 'an id means one range')
          known.set(id, { min, maxExclusive })
          for (const parent of parents) {
            assert.ok(known.get(parent)!.min <= min && maxExclusive <= known.get(parent)!.maxExclusive)
            assert.ok(!partitions.some(other => other.id === parent))
            assert.deepEqual(known.get(parent)!.min, gone.get(parent)!.min)
          }
        }
      }
    }
  }
})

test('A key is in one partition', () => {
  for (const definition of definitions) {
    const partitions = partitionLayout(definition, 3, 8).present
    for (let number = 0; number < 1000; number++) {
      const epk = effectivePartitionKey(
        definition,
        definition.paths.map(path => path + number),
      )
      const holding = partitions.filter(({ min, maxExclusive }) => min <= epk && epk < maxExclusive)
      assert.deepEqual(holding, [partitionOf(partitions, epk)])
    }
  }
})

test('Keys of kind Range have one partition that is never split', () => {
  const ids = partitionLayout({ paths: ['/pk'], kind: 'Range', version: 1 }, 1, 5).present.map(({ id }) => id)
  assert.deepEqual(ids, ['0'])
})
