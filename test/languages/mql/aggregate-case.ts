/** The form of the cases of the aggregation language. They do not depend on Mayfly: a driver can run them. */

import { Decimal128, type Document, Double, Long } from 'bson'

/** An error with a code. */
export class Failure {
  readonly code: number

  constructor(code: number) {
    this.code = code
  }
}

export const fails = (code: number): Failure => new Failure(code)

/** Stands for a missing value. */
export const missing = Symbol('missing')

/** An expression, its value, and the document it is evaluated for. */
export type ExpressionCase = readonly [expression: unknown, is: unknown, document?: Document]

/** Cases by operator. */
export type ExpressionCases = Readonly<Record<string, readonly ExpressionCase[]>>

export interface StageCase {
  readonly name: string
  readonly pipeline: readonly Document[]
  /** Documents of the collection that the pipeline runs on. */
  readonly documents?: readonly Document[]
  /** Other collections of the same database. */
  readonly others?: Readonly<Record<string, readonly Document[]>>
  readonly let?: Document
  readonly results?: readonly Document[]
  /** The order of the results is undefined. */
  readonly isUnordered?: true
  /** Expected content of other collections, for stages that write. */
  readonly writes?: Readonly<Record<string, readonly Document[]>>
  readonly error?: Failure
}

/** Cases by stage or accumulator. */
export type StageCases = Readonly<Record<string, readonly StageCase[]>>

export const long = (value: number | string): Long => Long.fromString(String(value))
export const decimal = (text: string): Decimal128 => Decimal128.fromString(text)
/** A double, even without a fraction. */
export const double = (value: number): Double => new Double(value)
export const date = (text: string): Date => new Date(text)

/** The value of `$$NOW` in all cases. */
export const caseNow = new Date(1_700_000_000_000)

/** An object literal with this name would look like a promise. */
export const thenName = 'then'
