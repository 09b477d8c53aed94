/**
 * The physical partitions that a container presents to clients: ranges of the hash space with ids.
 *
 * A container begins with a number of ranges of equal size. Each later split halves one range: of the ranges
 * with the fewest ancestors, the leftmost. A half gets the next free id and remembers its ancestors. The id
 * of a range that was split is never used again. So two numbers describe the whole layout: the number of
 * ranges at the beginning, and the number of splits. Stored containers rely on this rule. A split moves no
 * data.
 */

import {
  type EffectivePartitionKeyRange,
  hashBound,
  hashSpaceSize,
  partitionRangeIndex,
  partitionRanges,
} from './effective-partition-key.ts'
import type { PartitionKeyDefinition } from './partition-key.ts'

export interface PhysicalPartition extends EffectivePartitionKeyRange {
  readonly id: string
  /** Ids of the ranges that this one was split from, the oldest first. */
  readonly parents: readonly string[]
}

interface Bounds {
  readonly low: bigint
  readonly high: bigint
}

export interface PartitionLayout {
  /** In order of their ranges, without gaps. */
  readonly present: readonly PhysicalPartition[]
  /** Partitions that were split, by id. */
  readonly gone: ReadonlyMap<string, PhysicalPartition>
}

export function partitionLayout(definition: PartitionKeyDefinition, count: number, splits: number): PartitionLayout {
  const gone = new Map<string, PhysicalPartition>()
  const first = partitionRanges(definition, count)
  const partitions = first.map((range, at): PhysicalPartition => ({ ...range, id: String(at), parents: [] }))
  // Keys of kind Range have no hash to halve.
  if (definition.kind === 'Range') return { present: partitions, gone }
  const space = hashSpaceSize(definition)
  const edge = (at: number) => (at === count ? space : BigInt(at) * (space / BigInt(count)))
  const bounds = first.map((_, at): Bounds => ({ low: edge(at), high: edge(at + 1) }))
  let nextId = count
  for (let made = 0; made < splits; made++) {
    const at = nextToSplit(partitions)
    const { low, high } = bounds[at]!
    const middle = (low + high) / 2n
    bounds.splice(at, 1, { low, high: middle }, { low: middle, high })
    const split = partitions[at]!
    const { min, maxExclusive, id, parents } = split
    gone.set(id, split)
    const bound = hashBound(definition, middle)
    const ancestors = [...parents, id]
    partitions.splice(
      at,
      1,
      { min, maxExclusive: bound, id: String(nextId++), parents: ancestors },
      { min: bound, maxExclusive, id: String(nextId++), parents: ancestors },
    )
  }
  return { present: partitions, gone }
}

/** The partition that holds the key. */
export function partitionOf(partitions: readonly PhysicalPartition[], epk: string): PhysicalPartition {
  return partitions[partitionRangeIndex(partitions, epk)]!
}

function nextToSplit(partitions: readonly PhysicalPartition[]): number {
  const fewest = Math.min(...partitions.map(({ parents }) => parents.length))
  return partitions.findIndex(({ parents }) => parents.length === fewest)
}
