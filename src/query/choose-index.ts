/**
 * Chooses the index for a query, and the key ranges to read.
 *
 * There are no statistics, so the shape of the bounds decides: a point is narrower than a prefix, a prefix is
 * narrower than a range with two ends, and that is narrower than a range with one end. Among equals, an index
 * that also gives the wanted order wins, because the page can stop early. An index that gives only the order
 * is better than sorting everything. If the first paths are fixed to one value each, the entries are in the
 * order of the remaining paths.
 */

import { anyElement, type IndexComponent, type IndexPath, printIndexPath } from '../document/index-definition.ts'
import { keyRange as jsonKeyRange, type KeyBound, type KeyComponent, type KeyRangeOf } from '../document/ordered-key.ts'
import type { IndexRecord } from '../store/catalog.ts'
import type { Demand, Demands, IndexHint } from './demands.ts'

export interface IndexChoice {
  readonly index: IndexRecord
  readonly keys: readonly { readonly low: Uint8Array; readonly high: Uint8Array }[]
  /** The entries come in the wanted order when read in the direction of `isReverse`. */
  readonly isOrdered: boolean
  readonly isReverse: boolean
  /** The bytes before the ordered part in every key. */
  readonly prefix: Uint8Array
  /** The keys alone decide: every item in the ranges satisfies all demands. */
  readonly isExact: boolean
}

export function chooseIndex(indexes: readonly IndexRecord[], demands: Demands): IndexChoice | undefined {
  if (demands.hint !== undefined) return hinted(indexes, demands, demands.hint)
  let best: IndexChoice | undefined
  let bestScore = 0
  for (const index of indexes) {
    // The keys of an index that is unique within a partition key start with the partition key. So no bound
    // of a filter fits them.
    if (!index.isReady || index.hasGaps || index.definition.uniqueness === 'partition') continue
    if (demands.mayUse?.(index) === false) continue
    const candidate = consider(index, demands)
    if (candidate !== undefined && candidate.score > bestScore) {
      best = candidate.choice
      bestScore = candidate.score
    }
  }
  return best
}

/**
 * The index that the hint names. It is read in the order of its keys unless another order is wanted, and as
 * a whole if there are no bounds.
 */
function hinted(indexes: readonly IndexRecord[], demands: Demands, hint: IndexHint): IndexChoice | undefined {
  if (typeof hint === 'string') return undefined
  const index = indexes.find(({ definition }) => definition.number === hint.index)
  if (index === undefined || !index.isReady || index.hasGaps) return undefined
  const { isReverse } = hint
  // If the keys are in another order (another collation), the bounds say nothing about this index.
  const considered = demands.givesOrder?.(index) === false ? undefined : consider(index, demands)?.choice
  if (considered === undefined) {
    return { index, keys: [everything], isOrdered: false, isReverse, prefix: nothing, isExact: false }
  }
  const isWhole = demands.demands.length === 0 && !considered.isOrdered
  const keys = isWhole ? [everything] : considered.keys
  return considered.isOrdered ? { ...considered, keys } : { ...considered, keys, isReverse }
}

/**
 * Items that are equal in the wanted order may come in either direction. Chooses the direction in which an
 * index can give the order.
 */
export function withServedTies(indexes: readonly IndexRecord[], demands: Demands): Demands {
  if (demands.order.length === 0 || chooseIndex(indexes, demands)?.isOrdered === true) return demands
  const turned = { ...demands, isTieReversed: !demands.order[0]!.isDescending }
  return chooseIndex(indexes, turned)?.isOrdered === true ? turned : demands
}

/** The index of one path that would serve the query best. It is built if such queries repeat. */
export function wishedIndex({ demands, order }: Demands): IndexComponent | undefined {
  const ranked = demands.toSorted((a, b) => demandScore(b) - demandScore(a))
  const [first] = ranked
  if (first !== undefined && demandScore(first) > orderScore) return { path: first.path, isDescending: false }
  if (order.length === 1) return { path: order[0]!.path, isDescending: false }
  return first === undefined ? undefined : { path: first.path, isDescending: false }
}

const orderScore = 15

function boundScore(bound: KeyBound<unknown>): number {
  if ('equals' in bound) return 100
  if ('startsWith' in bound) return bound.startsWith === '' ? 10 : 60
  if ('defined' in bound) return 5
  return 'min' in bound && 'max' in bound ? 50 : 20
}

function demandScore({ bounds }: Demand): number {
  return bounds.length === 0 ? 1000 : Math.min(...bounds.map(boundScore)) - Math.min(20, bounds.length - 1)
}

function consider(
  index: IndexRecord,
  { demands, order: wanted, isTieReversed, isWholeFilter, givesOrder, keyRange = jsonKeyRange as KeyRangeOf }: Demands,
): { choice: IndexChoice; score: number } | undefined {
  const { components } = index.definition
  const { hasSeveralKeys } = index
  const order = givesOrder?.(index) === false ? [] : wanted
  const fixed: KeyComponent[] = []
  let used = 0
  let score = 0
  let bounds: readonly KeyBound<unknown>[] | undefined
  let open: IndexComponent | undefined
  for (const component of components) {
    const demand = demands.find(({ path }) => isSamePath(path, component.path))
    const asked = hasSeveralKeys ? (demand?.boundsOfMany ?? demand?.bounds) : demand?.bounds
    const [bound] = asked ?? []
    if (demand !== undefined) {
      used++
      score += demandScore(demand)
    }
    const isPoint = asked?.length === 1 && bound !== undefined && 'equals' in bound
    const isLast = component === components.at(-1)
    if (isPoint && !isLast) {
      fixed.push({ value: bound.equals, isDescending: component.isDescending })
      continue
    }
    open = component
    bounds = asked
    break
  }
  const prefix = prefixOf(fixed, keyRange)
  const wholeOrder = orderOf(index, components, order, isTieReversed)
  const restOrder = prefix && orderOf(index, components.slice(fixed.length), order, isTieReversed)
  const ordering = wholeOrder ?? restOrder
  if (ordering !== undefined) score += orderScore
  if (score === 0 || open === undefined) return undefined
  // An index of several paths has entries for items without some of the values. Without a bound on its first
  // path, the whole index is read.
  const isWholeIndex = bounds === undefined && fixed.length === 0
  const asked: readonly KeyBound<unknown>[] = bounds ?? (components.length === 1 ? [{ defined: true }] : [])
  const { isDescending } = open
  const ranges =
    isWholeIndex && components.length > 1
      ? [everything]
      : asked.map(bound => keyRange(bound as KeyBound<never>, { isDescending, after: fixed }))
  const keys = bounds === undefined && fixed.length > 0 ? [prefixRange(fixed, keyRange)] : ranges
  return {
    score,
    choice: {
      index,
      keys: inOrder(keys),
      isOrdered: ordering !== undefined,
      isReverse: ordering ?? false,
      prefix: wholeOrder === undefined && restOrder !== undefined ? prefix! : nothing,
      isExact:
        isWholeFilter &&
        used === demands.length &&
        keys.every(range => range.isExact) &&
        !index.hasCutKeys &&
        !hasSeveralKeys &&
        !components.some(({ path }) => path.includes(anyElement)),
    },
  }
}

const everything = { low: new Uint8Array(), high: Uint8Array.of(0xff), isExact: true }

/** All entries that begin with the fixed components. */
function prefixRange(fixed: readonly KeyComponent[], keyRange: KeyRangeOf) {
  const { value, isDescending = false } = fixed.at(-1)!
  return keyRange({ equals: value }, { isDescending, after: fixed.slice(0, -1) })
}

const nothing = new Uint8Array()

/** The first bytes of all keys with these components; undefined without components, or if the key is cut. */
function prefixOf(fixed: readonly KeyComponent[], keyRange: KeyRangeOf): Uint8Array | undefined {
  if (fixed.length === 0) return undefined
  const { low, isExact } = keyRange({ startsWith: '' }, { after: fixed })
  // The key of an empty string prefix is only the type byte; without it the fixed components remain.
  return isExact ? low.subarray(0, -1) : undefined
}

/**
 * Whether the index must be read in reverse to give the wanted order; undefined when it cannot give it. Items
 * with equal keys must come in sort key order, which an index gives in one direction only. An index that
 * starts with an ascending component (`ascendingFirst`) is read in reverse if the first key is descending.
 */
function orderOf(
  { hasCutKeys, hasSeveralKeys }: IndexRecord,
  components: readonly IndexComponent[],
  order: Demands['order'],
  isTieReversed = order[0]?.isDescending,
): boolean | undefined {
  if (order.length !== components.length || hasCutKeys || hasSeveralKeys) return undefined
  if (!components.every(({ path }, at) => isSamePath(path, order[at]!.path))) return undefined
  const turned = components.map(({ isDescending }, at) => isDescending !== order[at]!.isDescending)
  const [isReverse] = turned
  return isReverse === isTieReversed && turned.every(isTurned => isTurned === isReverse) ? isReverse : undefined
}

/** An index serves an order and its opposite. The one that starts ascending is used for both. */
export function ascendingFirst(components: readonly IndexComponent[]): IndexComponent[] {
  const isTurned = components[0]?.isDescending === true
  return components.map(({ path, isDescending }) => ({ path, isDescending: isDescending !== isTurned }))
}

type Range = { readonly low: Uint8Array; readonly high: Uint8Array; readonly isExact: boolean }

/** In ascending order, without empty, repeated or overlapping ranges. */
function inOrder(ranges: readonly Range[]): Range[] {
  const sorted = ranges
    .filter(({ low, high }) => Buffer.compare(low, high) < 0)
    .toSorted((a, b) => Buffer.compare(a.low, b.low))
  const joined: Range[] = []
  for (const range of sorted) {
    const last = joined.at(-1)
    if (last !== undefined && Buffer.compare(range.low, last.high) < 0) {
      const high = Buffer.compare(range.high, last.high) > 0 ? range.high : last.high
      joined[joined.length - 1] = { low: last.low, high, isExact: last.isExact && range.isExact }
    } else {
      joined.push(range)
    }
  }
  return joined
}

/** An index definition as text. It shows whether an index is still the one of a plan or of a position. */
export function describeIndex(components: readonly IndexComponent[]): string {
  return components.map(({ path, isDescending }) => printIndexPath(path) + (isDescending ? ' DESC' : '')).join(', ')
}

export function isSamePath(a: IndexPath, b: IndexPath): boolean {
  return a.length === b.length && a.every((step, index) => step === b[index])
}
