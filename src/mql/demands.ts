/**
 * The part of a filter that an index can answer, and the order that an index could supply.
 *
 * Only the terms of the outermost `$and` are used, and an `$or` whose branches all test the same path. The
 * filter itself runs over everything that the index finds, so it tests the other terms.
 *
 * A document without a value at the path has an index entry for a missing value. So null is a range like any
 * other, and `$exists` says nothing that an index could use. Paths with numbers in them are not used: a
 * number can be a field name or an array index.
 */

import { isArrayIndex } from '../document/bson/dotted-path.ts'
import { bsonKeyRange } from '../document/bson/key-range.ts'
import { isNaNValue, isNumeric } from '../document/bson/number.ts'
import { bsonType, rankOf } from '../document/bson/types.ts'
import { nullValue, regex, undefinedValue, type Value } from '../document/bson/value.ts'
import type { Collation } from '../document/collation/collation.ts'
import type { IndexPath } from '../document/index-definition.ts'
import type { KeyBound } from '../document/ordered-key.ts'
import { isSamePath } from '../query/choose-index.ts'
import type { Demand, Demands, IdDemands } from '../query/demands.ts'
import { indexBoundsMax } from '../query/demands.ts'
import { type Condition, type Filter, termsOf } from './filter/filter.ts'
import { collationOfIndex, mayUseIndex } from './filter/partial-index.ts'
import { isPrefixOnly, prefixOf } from './filter/regex.ts'
import { idBounds } from './named-ids.ts'
import type { Sort } from './paths/sort-order.ts'

type Bound = KeyBound<Value>

/** Most terms of one list that are used. Every pair is compared; more terms would not give a better index. */
const termsMax = 100

interface PathDemand extends Demand {
  readonly bounds: readonly Bound[]
  /** Whether the bounds express the whole term. */
  readonly isWhole: boolean
}

export function demandsOf(filter: Filter, sort?: Sort, collation?: Collation | undefined): Demands {
  const terms = termsOf(filter)
  const found = terms.slice(0, termsMax).map(term => demandsOfTerm(term, collation))
  const demands = merged(found.flat())
  return {
    demands: demands.toSorted((a, b) => narrowness(b) - narrowness(a)),
    order: orderOf(sort),
    isWholeFilter:
      terms.length <= termsMax &&
      found.every(each => each.length === 1 && each[0]!.isWhole) &&
      new Set(demands.map(({ path }) => path.join('.'))).size === demands.length,
    keyRange: (bound, options) => bsonKeyRange(bound, options, collation),
    mayUse: index => mayUseIndex(index, filter, collation),
    givesOrder: index => collationOfIndex(index) === collation?.name,
    // Ids are in simple order.
    ids: collation === undefined ? idDemandsOf(filter, sort) : undefined,
  }
}

/** Of two demands on one path the first is used, so points come before ranges. */
function narrowness({ bounds }: Demand): number {
  if (bounds.length === 0) return 3
  return bounds.every(bound => 'equals' in bound) ? 2 : 1
}

function demandsOfTerm(term: Filter, collation: Collation | undefined): PathDemand[] {
  if (term.kind === 'field') return demandsOfField(term.path.split('.'), term.condition, collation)
  return term.kind === 'or' ? alternatives(term.of, collation) : []
}

/** `{ $or: [{ a: 1 }, { a: 2 }] }`: one path with the bounds of all branches. */
function alternatives(filters: readonly Filter[], collation: Collation | undefined): PathDemand[] {
  if (filters.length > indexBoundsMax) return []
  const branches = filters.map(filter => {
    const terms = termsOf(filter)
    const demands = terms.flatMap(each => demandsOfTerm(each, collation))
    return terms.length === 1 && demands.length === 1 ? demands[0] : undefined
  })
  const [first] = branches
  if (first === undefined || !branches.every(branch => branch !== undefined && isSamePath(branch.path, first.path)))
    return []
  const bounds = branches.flatMap(branch => branch!.bounds)
  if (bounds.length > indexBoundsMax) return []
  return [{ path: first.path, bounds, isWhole: branches.every(branch => branch!.isWhole) }]
}

function demandsOfField(path: readonly string[], condition: Condition, collation: Collation | undefined): PathDemand[] {
  if (path.some(isArrayIndex)) return []
  switch (condition.kind) {
    case 'all':
      return condition.of.slice(0, termsMax).flatMap(each => demandsOfField(path, each, collation).map(inexact))
    case 'elementValue': {
      const demands = condition.of.slice(0, termsMax).flatMap(each => demandsOfField(path, each, collation))
      // All conditions test the same element, so two ends always make one range.
      return merged(demands).map(({ path, bounds }) => ({ path, bounds: bounds as readonly Bound[], isWhole: false }))
    }
    case 'elementDocument':
      return termsOf(condition.of)
        .slice(0, termsMax)
        .flatMap(term => {
          if (term.kind !== 'field') return []
          return demandsOfField([...path, ...term.path.split('.')], term.condition, collation).map(inexact)
        })
    default: {
      // A pattern tests the text, but the keys of a collated index are sort keys.
      if (collation !== undefined && hasPattern(condition)) return []
      const bounds = boundsOf(condition)
      return bounds === undefined ? [] : [{ path, bounds, isWhole: isWholeCondition(condition) }]
    }
  }
}

function hasPattern(condition: Condition): boolean {
  return condition.kind === 'regex' || (condition.kind === 'in' && condition.patterns.length > 0)
}

function inexact(demand: PathDemand): PathDemand {
  return { ...demand, isWhole: false }
}

function isWholeCondition(condition: Condition): boolean {
  if (condition.kind === 'regex') return isPrefixOnly(condition)
  return condition.kind !== 'in' || condition.patterns.every(isPrefixOnly)
}

const nullBound: Bound = { min: undefinedValue, minInclusive: true, max: nullValue, maxInclusive: true }

function boundsOf(condition: Condition): readonly Bound[] | undefined {
  switch (condition.kind) {
    case 'compare':
      return comparisonBounds(condition)
    case 'regex':
      return [{ startsWith: prefixOf(condition) }, { equals: regex(condition.pattern, condition.options) }]
    case 'in': {
      if (condition.values.length + 2 * condition.patterns.length > indexBoundsMax) return undefined
      return [...condition.values.map(pointOf), ...condition.patterns.flatMap(each => boundsOf(each) ?? [])]
    }
    case 'never':
      return []
    default:
      return undefined
  }
}

function pointOf(value: Value): Bound {
  return value.type === bsonType.null ? nullBound : { equals: value }
}

function comparisonBounds({ operator, value }: Extract<Condition, { kind: 'compare' }>): readonly Bound[] {
  const allowsEqual = operator === 'eq' || operator === 'gte' || operator === 'lte'
  const isOnlyEqual = value.type === bsonType.null || (isNumeric(value) && isNaNValue(value))
  if (operator === 'eq' || isOnlyEqual) return allowsEqual ? [pointOf(value)] : []
  return operator === 'gt' || operator === 'gte'
    ? [{ min: value, minInclusive: allowsEqual }]
    : [{ max: value, maxInclusive: allowsEqual }]
}

/**
 * A lower and an upper end for one path make one range. But if the index has several keys per item, one key
 * may meet the lower end and another the upper one. Then only one end can be used (`boundsOfMany`).
 */
function merged(demands: readonly PathDemand[]): Demand[] {
  const result: Demand[] = []
  for (const demand of demands) {
    const at = result.findIndex(other => isSamePath(other.path, demand.path) && joined(other, demand) !== undefined)
    if (at === -1) result.push({ path: demand.path, bounds: demand.bounds })
    else result[at] = { path: demand.path, bounds: [joined(result[at]!, demand)!], boundsOfMany: demand.bounds }
  }
  return result
}

function joined(left: Demand, right: Demand): Bound | undefined {
  const [a, b] = [left.bounds, right.bounds].map(bounds => (bounds.length === 1 ? (bounds[0] as Bound) : undefined))
  if (a === undefined || b === undefined) return undefined
  const [low, high] = 'min' in a ? [a, b] : [b, a]
  if (!('min' in low) || 'max' in low || !('max' in high) || 'min' in high) return undefined
  return rankOf(low.min.type) === rankOf(high.max.type) ? { ...low, ...high } : undefined
}

function orderOf(sort: Sort | undefined): Demands['order'] {
  const order = (sort?.components ?? []).map(({ path, isDescending }) => ({ path: path.split('.'), isDescending }))
  return order.some(({ path }) => (path as IndexPath).some(step => isArrayIndex(step as string))) ? [] : order
}

/** `_id` is unique, so the components of a sort behind it have no effect. */
function idDemandsOf(filter: Filter, sort: Sort | undefined): IdDemands | undefined {
  const first = sort?.components[0]
  if (sort !== undefined && first?.path !== '_id') return undefined
  const order = first === undefined ? undefined : first.isDescending ? 'descending' : 'ascending'
  return { path: ['_id'], ...idBounds(filter), order }
}
