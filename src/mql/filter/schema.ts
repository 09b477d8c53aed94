/**
 * A JSON Schema, compiled: each rule can test a value in place, and knows how it was written.
 *
 * A rule about strings, numbers, arrays or objects says nothing about values of other types, so these pass.
 * Only `type`, `enum` and the logical rules are about all values, and about a missing one (type 0).
 */

import type { BsonDocument } from '../../document/bson/value.ts'
import type { ElementTest } from '../paths/stored-path.ts'

export interface Schema {
  /** As it was written. Its `title` and `description` are shown in errors. */
  readonly spec: BsonDocument
  readonly rules: readonly SchemaRule[]
  readonly test: ElementTest
  /** The schema of a whole document allows only other types than `object`, so no document matches. */
  readonly isNever: boolean
}

interface RuleBase {
  readonly keyword: string
  /** The keyword with its operand. */
  readonly specifiedAs: BsonDocument
  readonly test: ElementTest
}

export interface PropertyRule {
  readonly name: string
  readonly schema: Schema
  /** A missing value is tested as well. */
  readonly isRequired: boolean
}

export interface PatternRule {
  readonly pattern: string
  readonly isNamed: (name: string) => boolean
  readonly schema: Schema
}

export interface DependencyRule {
  readonly name: string
  /** The properties or the schema that an object must have if it has this property. */
  readonly needs: readonly string[] | Schema
}

export type SchemaRule = RuleBase &
  (
    | { readonly kind: 'value'; readonly reason: string }
    | { readonly kind: 'type' | 'enum' | 'itemCount' | 'uniqueItems' | 'propertyCount' }
    | { readonly kind: 'eachItem'; readonly schema: Schema; readonly from: number; readonly reason: string }
    | { readonly kind: 'noItems'; readonly from: number }
    | { readonly kind: 'itemList'; readonly schemas: readonly Schema[] }
    | { readonly kind: 'properties'; readonly properties: readonly PropertyRule[] }
    | {
        readonly kind: 'otherProperties'
        readonly named: ReadonlySet<string>
        readonly patterns: readonly PatternRule[]
        /** The rule for properties that are neither named nor matched by a pattern. */
        readonly others: 'any' | 'none' | Schema
      }
    | { readonly kind: 'required'; readonly names: readonly string[] }
    | { readonly kind: 'dependencies'; readonly spec: BsonDocument; readonly dependencies: readonly DependencyRule[] }
    | { readonly kind: 'allOf' | 'anyOf' | 'oneOf'; readonly of: readonly Schema[] }
    | { readonly kind: 'not' }
  )
