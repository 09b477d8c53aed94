/** Partial indexes: which documents they contain, and whether a filter can be answered from one. */

import { compareValues, isCollatable } from '../../document/bson/compare.ts'
import type { BsonIndexOptions, PartialFilter } from '../../document/bson/index-keys.ts'
import { bsonType, rankOf } from '../../document/bson/types.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { type Collation, type CollationOptions, collationOf } from '../../document/collation/collation.ts'
import type { IndexRecord } from '../../store/catalog.ts'
import type { Condition, Filter } from './filter.ts'
import { compileFilter, compileParsed } from './match.ts'
import { parseFilter } from './parse-filter.ts'

/** Passed to the code that makes index keys (document/bson/index-keys.ts). */
export const partialFilter: PartialFilter = (filter, collation) => {
  const { matches } = compileFilter(filterOf(filter), { collation })
  return matches
}

function filterOf(base64: string): BsonDocument {
  return BsonDocument.view(Buffer.from(base64, 'base64'))
}

/** The name of the index's collation. Undefined: simple comparison of bytes. */
export function collationOfIndex({ definition }: IndexRecord): string | undefined {
  const { collation } = (definition.options ?? {}) as BsonIndexOptions
  if (collation === undefined) return undefined
  const known = names.get(collation)
  if (known !== undefined) return known
  const { name } = collationOf(collation)
  names.set(collation, name)
  return name
}

/** A cache of names. Definitions are few and live long. */
const names = new WeakMap<CollationOptions, string>()

export function mayUseIndex(index: IndexRecord, filter: Filter, collation: Collation | undefined): boolean {
  const { definition, hasSeveralKeys } = index
  const { isSparse, partialFilter } = (definition.options ?? {}) as BsonIndexOptions
  // Only the keys of strings differ between collations.
  const isCollated = collationOfIndex(index) !== collation?.name
  if (isCollated && (partialFilter !== undefined || asksForStrings(filter))) return false
  const paths = definition.components.map(({ path }) => path.join('.'))
  // Each array element makes its own key, but two conditions may be met by two different elements.
  if (hasSeveralKeys && new Set(paths.map(path => path.split('.')[0])).size < paths.length) return false
  const terms = fieldTerms(filter)
  if (isSparse === true && !terms.some(({ path, condition }) => paths.includes(path) && excludesMissing(condition))) {
    return false
  }
  return partialFilter === undefined || implies(terms, parseFilter(filterOf(partialFilter)), collation)
}

/** Whether a condition compares with a string, or with a value that can contain one. */
function asksForStrings(filter: Filter): boolean {
  if (filter.kind === 'field') return comparesStrings(filter.condition)
  if (filter.kind === 'later') return true
  return (filter.kind === 'and' || filter.kind === 'or' || filter.kind === 'nor') && filter.of.some(asksForStrings)
}

function comparesStrings(condition: Condition): boolean {
  switch (condition.kind) {
    case 'compare':
      return isCollatable(condition.value)
    case 'in':
      return condition.patterns.length > 0 || condition.values.some(isCollatable)
    case 'regex':
      return true
    case 'elementValue':
    case 'all':
      return condition.of.some(comparesStrings)
    case 'not':
      return comparesStrings(condition.of)
    case 'elementDocument':
      return asksForStrings(condition.of)
    default:
      return false
  }
}

type FieldTerm = Extract<Filter, { kind: 'field' }>

function fieldTerms(filter: Filter): FieldTerm[] {
  if (filter.kind === 'field') return [filter]
  return filter.kind === 'and' ? filter.of.flatMap(fieldTerms) : []
}

/** Whether every document that satisfies the condition has the field. */
function excludesMissing(condition: Condition): boolean {
  switch (condition.kind) {
    case 'compare': {
      const { type } = condition.value
      return type !== bsonType.null && type !== bsonType.minKey && type !== bsonType.maxKey
    }
    case 'in':
      return condition.values.every(({ type }) => type !== bsonType.null)
    case 'all':
      return condition.of.some(excludesMissing)
    case 'not':
    case 'never':
      return false
    default:
      return true
  }
}

/** Whether the terms together imply the filter. Answers false when in doubt. */
function implies(terms: readonly FieldTerm[], filter: Filter, collation: Collation | undefined): boolean {
  if (filter.kind === 'and') return filter.of.every(each => implies(terms, each, collation))
  if (filter.kind === 'or') return filter.of.some(each => implies(terms, each, collation))
  if (filter.kind !== 'field') return false
  return terms.some(({ path, condition }) => path === filter.path && impliesCondition(condition, filter, collation))
}

function impliesCondition(given: Condition, wanted: FieldTerm, collation: Collation | undefined): boolean {
  const { condition } = wanted
  if (condition.kind === 'exists') return excludesMissing(given)
  if (given.kind === 'in' && given.patterns.length === 0) {
    return given.values.every(value => impliesCondition({ kind: 'compare', operator: 'eq', value }, wanted, collation))
  }
  if (given.kind === 'all') return given.of.some(each => impliesCondition(each, wanted, collation))
  if (given.kind !== 'compare') return false
  const { value, operator } = given
  if (operator === 'eq') {
    // A stored array may hold other elements besides the equal one; they cannot break a condition without
    // `not`.
    if (condition.kind === 'not' || value.type === bsonType.null || value.type === bsonType.array) return false
    const path = wanted.path.split('.')
    const document = path.reduceRight<typeof value>((inner, name) => BsonDocument.of([[name, inner]]), value)
    return compileParsed(wanted, { collation }).matches(encodeDocument(document as BsonDocument))
  }
  if (condition.kind !== 'compare' || rankOf(condition.value.type) !== rankOf(value.type)) return false
  const order = compareValues(value, condition.value, collation)
  const isAbove = operator === 'gt' || operator === 'gte'
  if (isAbove !== (condition.operator === 'gt' || condition.operator === 'gte') || condition.operator === 'eq')
    return false
  if (order === 0) return operator === condition.operator || condition.operator.endsWith('e')
  return isAbove ? order > 0 : order < 0
}
