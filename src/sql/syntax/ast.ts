/**
 * The syntax tree of a query: closed unions, immutable by convention; every node knows its position in the
 * text.
 *
 * AND and OR are flat lists, however they were written: generated queries chain thousands of terms, and no
 * walk over the tree may recurse per term. (The logic is associative, also with undefined.)
 */

import type { Span } from './diagnostic.ts'

export interface Node {
  readonly span: Span
}

export type UnaryOperator = '-' | '+' | '~' | 'NOT'

export type BinaryOperator =
  | ('*' | '/' | '%')
  | ('+' | '-' | '&' | '^' | '|')
  | '||'
  | ('=' | '!=' | '<' | '<=' | '>' | '>=' | '<<' | '>>' | '>>>')

export interface Literal extends Node {
  readonly kind: 'literal'
  readonly value: null | boolean | number | string | undefined
  /** The exact value of an integer that a number cannot hold. */
  readonly integer?: bigint
}

/** `@name`; the name includes the @, as in the request. */
export interface Parameter extends Node {
  readonly kind: 'parameter'
  readonly name: string
}

export interface Identifier extends Node {
  readonly kind: 'identifier'
  readonly name: string
}

/** `object.name` */
export interface MemberAccess extends Node {
  readonly kind: 'member'
  readonly object: Expression
  readonly name: string
}

/** `object[index]` */
export interface Index extends Node {
  readonly kind: 'index'
  readonly object: Expression
  readonly index: Expression
}

export interface Unary extends Node {
  readonly kind: 'unary'
  readonly operator: UnaryOperator
  readonly operand: Expression
}

export interface Binary extends Node {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}

export interface Logical extends Node {
  readonly kind: 'logical'
  readonly operator: 'AND' | 'OR'
  /** Two or more; the first is never a Logical with the same operator. */
  readonly operands: readonly Expression[]
}

export interface Coalesce extends Node {
  readonly kind: 'coalesce'
  readonly left: Expression
  readonly right: Expression
}

export interface Conditional extends Node {
  readonly kind: 'conditional'
  readonly condition: Expression
  readonly consequent: Expression
  readonly alternative: Expression
}

export interface Between extends Node {
  readonly kind: 'between'
  readonly not: boolean
  readonly operand: Expression
  readonly low: Expression
  readonly high: Expression
}

export interface In extends Node {
  readonly kind: 'in'
  readonly not: boolean
  readonly operand: Expression
  readonly items: readonly Expression[]
}

export interface Like extends Node {
  readonly kind: 'like'
  readonly not: boolean
  readonly operand: Expression
  readonly pattern: Expression
  readonly escapeCharacter: string | undefined
}

export interface ArrayLiteral extends Node {
  readonly kind: 'array'
  readonly items: readonly Expression[]
}

export interface ObjectLiteral extends Node {
  readonly kind: 'object'
  readonly properties: readonly { readonly name: string; readonly value: Expression }[]
}

export interface FunctionCall extends Node {
  readonly kind: 'call'
  /** As written; built-in names are case-insensitive. */
  readonly name: string
  readonly isUserDefined: boolean
  readonly arguments: readonly Expression[]
}

export type SubqueryForm = 'SCALAR' | 'EXISTS' | 'ARRAY' | 'ALL' | 'FIRST' | 'LAST'

export interface Subquery extends Node {
  readonly kind: 'subquery'
  readonly form: SubqueryForm
  readonly query: Query
}

/** `LET name = value IN body` */
export interface Let extends Node {
  readonly kind: 'let'
  readonly name: string
  readonly value: Expression
  readonly body: Expression
}

export type Expression =
  | Literal
  | Parameter
  | Identifier
  | MemberAccess
  | Index
  | Unary
  | Binary
  | Logical
  | Coalesce
  | Conditional
  | Between
  | In
  | Like
  | ArrayLiteral
  | ObjectLiteral
  | FunctionCall
  | Subquery
  | Let

export interface SelectItem extends Node {
  readonly expression: Expression
  readonly alias: string | undefined
}

export type Selection =
  | (Node & { readonly kind: 'star' })
  | (Node & { readonly kind: 'value'; readonly expression: Expression })
  | (Node & { readonly kind: 'list'; readonly items: readonly SelectItem[] })

/** The number in TOP, OFFSET and LIMIT. `isInteger` is false for `TOP 5.0`, which the service refuses. */
export type Count = (Node & { readonly kind: 'count'; readonly value: number; readonly isInteger: boolean }) | Parameter

export type FromCollection =
  /** An identifier followed by names and literal indexes. */
  | (Node & { readonly kind: 'path'; readonly expression: Expression })
  | (Node & { readonly kind: 'query'; readonly query: Query })

export interface FromSource extends Node {
  /** `x IN collection` iterates over an array; `collection AS x` takes the value as it is. */
  readonly iterates: boolean
  readonly alias: string | undefined
  readonly collection: FromCollection
}

export interface OrderItem extends Node {
  readonly expression: Expression
  readonly direction: 'ASC' | 'DESC' | undefined
}

export interface OrderBy extends Node {
  readonly isRank: boolean
  readonly items: readonly OrderItem[]
}

export interface Query extends Node {
  readonly distinct: boolean
  readonly top: Count | undefined
  readonly selection: Selection
  /** The first is FROM, the others are JOINs; empty without FROM. */
  readonly sources: readonly FromSource[]
  readonly where: Expression | undefined
  readonly groupBy: readonly Expression[] | undefined
  readonly orderBy: OrderBy | undefined
  readonly offset: Count | undefined
  readonly limit: Count | undefined
}
