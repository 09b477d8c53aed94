/**
 * What cases of the aggregation language are. They name nothing of ours, so that a driver can run them as
 * well.
 */

import { Decimal128, type Document, Double, Long } from 'bson'

/** A refusal with a code. */
export class Failure {
  readonly code: number

  constructor(code: number) {
    this.code = code
  }
}

export const fails = (code: number): Failure => new Failure(code)

/** No value at all. */
export const missing = Symbol('missing')

/** What an expression is, of a document or of none in particular. */
export type ExpressionCase = readonly [expression: unknown, is: unknown, document?: Document]

/** By operator. */
export type ExpressionCases = Readonly<Record<string, readonly ExpressionCase[]>>

export interface StageCase {
  readonly name: string
  readonly pipeline: readonly Document[]
  /** Of the collection that the pipeline runs on. */
  readonly documents?: readonly Document[]
  /** Other collections of the same database. */
  readonly others?: Readonly<Record<string, readonly Document[]>>
  readonly let?: Document
  readonly results?: readonly Document[]
  /** The order of the results is not promised. */
  readonly isUnordered?: true
  /** Other collections afterwards, for stages that write. */
  readonly writes?: Readonly<Record<string, readonly Document[]>>
  readonly error?: Failure
}

/** By stage or accumulator. */
export type StageCases = Readonly<Record<string, readonly StageCase[]>>

export const long = (value: number | string): Long => Long.fromString(String(value))
export const decimal = (text: string): Decimal128 => Decimal128.fromString(text)
/** A double even where it has no fraction. */
export const double = (value: number): Double => new Double(value)
export const date = (text: string): Date => new Date(text)

/** What `$$NOW` is in all cases. */
export const caseNow = new Date(1_700_000_000_000)

/** A name that an object literal should not have, since promises have it. */
export const thenName = 'then'
