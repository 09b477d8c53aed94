/** Chooses where a page of a query gets its items: known ids, a range of an index, or a scan. */

import { hash } from 'node:crypto'
import { RequestError } from '../base/error.ts'
import type { IndexPath } from '../document/index-definition.ts'
import { chooseIndex, describeIndex, isSamePath } from '../query/choose-index.ts'
import type { Demands } from '../query/demands.ts'
import type { PagePosition } from '../query/execute.ts'
import type { Program } from '../query/program.ts'
import type { SourcePlan } from '../query/source.ts'
import type { ContainerRecord, IndexRecord } from '../store/catalog.ts'
import { isWholeRange, type ScanRange } from '../store/reading.ts'
import type { ItemQuery } from './item-query.ts'

export interface Chosen {
  readonly source: SourcePlan
  readonly index?: IndexRecord | undefined
  readonly paths: readonly IndexPath[]
}

export const scan: Chosen = { source: { kind: 'scan' }, paths: [] }

export function pathsOf({ definition }: IndexRecord): readonly IndexPath[] {
  return definition.components.map(({ path }) => path)
}

/** Index numbers are reused, so a position carries a digest of its index definition. */
export function digestOf({ definition }: IndexRecord): string {
  return hash('sha256', describeIndex(definition.components), 'base64').slice(0, 12)
}

/** Whether the position belongs to a source. Then every later page must use the same source. */
export function isBound(position: PagePosition | undefined, program: Program): position is PagePosition {
  return position !== undefined && program.order === 'source'
}

export function chooseSource(
  container: ContainerRecord,
  { range, demands }: ItemQuery,
  position: PagePosition | undefined,
  program: Program,
): Chosen {
  if (isBound(position, program)) {
    if (position.index === undefined) return idsWithin(container, range, demands) ?? scan
    const bound = container.indexes.filter(index => digestOf(index) === position.index)
    const again = fromIndex(bound, demands)
    if (again !== undefined) return again
    throw new RequestError('malformed', 'Invalid Continuation Token: the index it belongs to is gone. Query again.')
  }
  return idsWithin(container, range, demands) ?? fromIndex(container.indexes, demands) ?? scan
}

function fromIndex(indexes: readonly IndexRecord[], demands: Demands): Chosen | undefined {
  const choice = chooseIndex(indexes, demands)
  if (choice === undefined) return undefined
  const { index, keys, isReverse, isOrdered, prefix } = choice
  const { number } = index.definition
  return {
    source: { kind: 'index', index: number, keys, isReverse, isOrdered, prefix, isDistinct: index.hasSeveralKeys },
    index,
    paths: pathsOf(index),
  }
}

const idPath: IndexPath = ['id']

/** Within one partition key, an id names one item. In BSON, `id` is an ordinary field. */
function idsWithin({ encoding }: ContainerRecord, { pk, min }: ScanRange, { demands }: Demands): Chosen | undefined {
  if (encoding !== 'json') return undefined
  const bounds = demands.find(({ path }) => isSamePath(path, idPath))?.bounds
  if (pk === undefined || bounds === undefined) return undefined
  const ids = new Set<string>()
  for (const bound of bounds) {
    if (!('equals' in bound)) return undefined
    if (typeof bound.equals === 'string') ids.add(bound.equals)
  }
  return { source: { kind: 'points', keys: [...ids].map(id => ({ epk: min, pk, id })) }, paths: [idPath] }
}

/** A count over exactly the ranges of an index needs no item, if no dead item is present. */
export function chooseCount(
  { indexes }: ContainerRecord,
  { range, demands, isRangeOfFilter = isWholeRange(range) }: ItemQuery,
  program: Program,
) {
  if (program.countItems === undefined || !isRangeOfFilter || demands.demands.length === 0) return undefined
  const choice = chooseIndex(indexes, demands)
  if (choice === undefined || !choice.isExact) return undefined
  const { index, keys } = choice
  const count = { index: index.definition.number, keys }
  return { count, index, paths: demands.demands.map(({ path }) => path) }
}
