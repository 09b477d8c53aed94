/**
 * A query in its own language, as plain data, from which another thread makes the program again.
 *
 * A statement names its language. The worker has one table of languages and looks the statement's up
 * (`server/query-thread/programs.ts`).
 */

import type { CollationOptions } from '../document/collation/collation.ts'

export type QueryStatement = SqlStatement | MqlStatement

export type QueryLanguage = QueryStatement['language']

interface SqlStatement {
  readonly language: 'sql'
  readonly text: string
  readonly parameters: ReadonlyMap<string, unknown>
  readonly computed?: readonly ComputedDefinition[]
  readonly functions?: StatementFunctions | undefined
}

/** The user-defined functions that a query calls. */
export interface StatementFunctions {
  /** Source texts by name. */
  readonly bodies: ReadonlyMap<string, string>
  /** The functions' clock. */
  readonly epochMs: number
}

/** A property that items do not have: queries get its value from another query over the item. */
export interface ComputedDefinition {
  readonly name: string
  readonly query: string
}

/** Documents are BSON bytes in a buffer of their own: a message to a thread copies the whole buffer. */
export interface MqlStatement {
  readonly language: 'mql'
  readonly variables: MqlVariables
  readonly query: MqlFind | MqlCount | MqlDistinct | MqlPipeline | MqlEvaluation
}

/** The variables that the expressions of a command can use. */
export interface MqlVariables {
  /** `$$NOW`, milliseconds since 1970. */
  readonly now: bigint
  readonly clusterTime: bigint | undefined
  readonly collation: CollationOptions | undefined
  readonly let: Uint8Array | undefined
}

export interface MqlFilter {
  readonly filter: Uint8Array
  readonly allowsNear: boolean
}

export interface MqlFind extends MqlFilter {
  readonly kind: 'find'
  readonly sort: readonly { readonly path: string; readonly isDescending: boolean }[] | undefined
  readonly skip: number
  readonly limit: number
  readonly projection: Uint8Array | undefined
  readonly isTieReversed: boolean | undefined
  readonly idOrder: IdOrder | undefined
}

export interface MqlCount extends MqlFilter {
  readonly kind: 'count'
  readonly idOrder: IdOrder | undefined
}

export interface MqlDistinct extends MqlFilter {
  readonly kind: 'distinct'
  readonly path: string
  readonly idOrder: IdOrder | undefined
}

/** A pipeline. The part that needs only its own collection runs in one go (`mql/pipeline/own-part.ts`). */
export interface MqlPipeline {
  readonly kind: 'pipeline'
  /** A document whose field `pipeline` is the array of stages. */
  readonly pipeline: Uint8Array
  readonly namespace: { readonly database: string; readonly collection: string }
  readonly geoPath: string | undefined
  readonly views?: readonly MqlView[] | undefined
  readonly isTieReversed: boolean | undefined
  readonly idOrder: IdOrder | undefined
}

/** Something that is computed from single documents (`mql/evaluation.ts`). */
export interface MqlEvaluation {
  readonly kind: 'evaluation'
  readonly of: 'filter' | 'parsing' | 'projection' | 'update' | 'compiling' | 'merge' | 'rules' | 'let'
  readonly inputs: Uint8Array
  readonly namespace: { readonly database: string; readonly collection: string }
}

/** A view that a pipeline names. */
export interface MqlView {
  readonly name: string
  readonly on: { readonly database: string; readonly collection: string }
  /** A document whose field `pipeline` is the array of stages. */
  readonly pipeline: Uint8Array
}

/** Documents are read in the order of their `_id`. */
export interface IdOrder {
  readonly isReverse: boolean
  /** From this item id on, no document can pass the filter. */
  readonly end: string | undefined
  /** The result must be in this order. A document that may be out of order ends the page. */
  readonly isWanted: boolean
}
