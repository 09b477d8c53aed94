/**
 * The syntax tree of a filter.
 *
 * Filters test documents; conditions test the values at one path. A condition holds if any value at the path
 * (stored-path.ts) meets it. So `not` and `all` apply to the path as a whole, except within `$elemMatch`,
 * where they apply to one element. `later` is a part of a large filter that is parsed when the first document
 * is tested.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { badValue } from '../errors/mongo-error.ts'
import type { GeoCondition } from './parse-geo.ts'
import type { Schema } from './schema.ts'

export type Filter =
  | { readonly kind: 'and' | 'or' | 'nor'; readonly of: readonly Filter[] }
  | { readonly kind: 'field'; readonly path: string; readonly condition: Condition }
  | { readonly kind: 'expression'; readonly spec: Value }
  | { readonly kind: 'always'; readonly holds: boolean }
  | { readonly kind: 'schema'; readonly schema: Schema }
  | { readonly kind: 'later'; readonly spec: BsonDocument; readonly context: FilterContext }

/** The terms of the outermost conjunction. */
export function termsOf(filter: Filter): readonly Filter[] {
  return filter.kind === 'and' ? filter.of.flatMap(termsOf) : [filter]
}

export type Comparison = 'eq' | 'lt' | 'lte' | 'gt' | 'gte'

export interface RegexCondition {
  readonly kind: 'regex'
  readonly pattern: string
  readonly options: string
}

export type Condition =
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly value: Value }
  | { readonly kind: 'in'; readonly values: readonly Value[]; readonly patterns: readonly RegexCondition[] }
  | RegexCondition
  | { readonly kind: 'exists' }
  | { readonly kind: 'type'; readonly types: ReadonlySet<number> }
  | { readonly kind: 'mod'; readonly divisor: bigint; readonly remainder: bigint }
  | { readonly kind: 'size'; readonly size: number }
  | { readonly kind: 'bits'; readonly positions: readonly number[]; readonly isAny: boolean; readonly isSet: boolean }
  | { readonly kind: 'elementValue'; readonly of: readonly Condition[] }
  | { readonly kind: 'elementDocument'; readonly of: Filter }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'all'; readonly of: readonly Condition[] }
  | { readonly kind: 'never' }
  | GeoCondition

export interface FilterContext {
  /** False within `$elemMatch`: some operators work only on whole documents. */
  readonly isWholeDocument: boolean
  /** `$near` sorts the result, which only commands can do. */
  readonly allowsNear: boolean
}

/** What a plain value in a filter means: a regular expression must match, anything else must be equal. */
export function equalTo(value: Value): Condition {
  if (value.type === bsonType.regex) return { kind: 'regex', pattern: value.pattern, options: value.options }
  if (value.type === bsonType.undefined) throw badValue('cannot compare to undefined')
  return { kind: 'compare', operator: 'eq', value }
}

const dollar = 0x24

/** True of `{ $gt: 1 }`. `{ a: 1 }`, `{}` and DBRefs (`{ $ref: …, $id: … }`) are values. */
export function isOperatorDocument(value: Value): value is BsonDocument {
  if (value.type !== bsonType.document) return false
  // A plain document may be large, so only the first byte of its first name is read.
  if (value.raw !== undefined && value.raw.bytes[value.raw.start + 5] !== dollar) return false
  const names = value.fields.map(([name]) => name)
  return names[0]?.startsWith('$') === true && !(names.includes('$ref') && names.includes('$id'))
}

/** The operators that may stand in place of a field name. */
export const filterOperators: ReadonlySet<string> = new Set([
  '$and',
  '$or',
  '$nor',
  '$comment',
  '$expr',
  '$alwaysTrue',
  '$alwaysFalse',
  '$ref',
  '$id',
  '$db',
  '$where',
  '$text',
  '$jsonSchema',
])
