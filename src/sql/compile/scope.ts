/**
 * Resolves names to slots at compile time.
 *
 * All scopes of one query share one numbering, so a correlated subquery reads its outer rows from the same
 * frame.
 */

import type { Expression, Query } from '../syntax/ast.ts'
import { type Diagnostic, QueryError } from '../syntax/diagnostic.ts'
import type { Frame } from '../values/run-context.ts'
import type { SqlValue } from '../values/value.ts'

export type Evaluator = (frame: Frame) => SqlValue

/** Runs a select on the current frame: calls `row` with each result until it returns false. */
export type SubqueryRunner = (frame: Frame, row: (value: SqlValue) => boolean) => void

/** The state that all scopes of one query share. */
export interface Compilation {
  readonly text: string
  slots: number
  /** The slots that hold the item itself. Only there names can be computed properties. */
  readonly itemSlots: Set<number>
  /** The queries of computed properties by name. */
  readonly computed: ReadonlyMap<string, string>
  /** Compiles a query in a scope. Passed in, because expressions and queries contain each other. */
  readonly compileSubquery: (query: Query, scope: NameScope) => SubqueryRunner
}

/** An aggregate of a select list: its argument, and the slot of its result. */
export interface AggregateUse {
  readonly name: string
  readonly argument: Evaluator
  readonly slot: number
}

/** Present while a grouped select list is compiled: only aggregates and group keys may be read there. */
export interface Grouping {
  readonly keys: readonly { readonly expression: Expression; readonly slot: number }[]
  readonly aggregates: AggregateUse[]
  readonly violations: Diagnostic[]
}

export class NameScope {
  readonly compilation: Compilation
  readonly grouping: Grouping | undefined
  readonly #parent: NameScope | undefined
  readonly #slots = new Map<string, number>()

  constructor(compilation: Compilation, parent?: NameScope, grouping?: Grouping) {
    this.compilation = compilation
    this.#parent = parent
    this.grouping = grouping
  }

  allocate(): number {
    const slot = this.compilation.slots
    this.compilation.slots += 1
    return slot
  }

  define(name: string): number {
    const slot = this.allocate()
    this.#slots.set(name, slot)
    return slot
  }

  defineAt(name: string, slot: number): void {
    this.#slots.set(name, slot)
  }

  definesItself(name: string): boolean {
    return this.#slots.has(name)
  }

  find(name: string): number | undefined {
    return this.#slots.get(name) ?? this.#parent?.find(name)
  }

  /** The grouped select list between this scope and the row that the name belongs to, if any. */
  groupingAround(name: string): Grouping | undefined {
    if (this.#slots.has(name)) return undefined
    return this.grouping ?? this.#parent?.groupingAround(name)
  }

  /** The scope of single rows, in which the argument of an aggregate is compiled. */
  rowScope(): NameScope {
    return this.grouping === undefined || this.#parent === undefined ? this : this.#parent.rowScope()
  }

  error(node: Pick<Expression, 'span'>, code: string, message: string): QueryError {
    return new QueryError('malformed', this.compilation.text, [{ code, message, span: node.span }])
  }

  unresolved(node: Pick<Expression, 'span'>, name: string): QueryError {
    return this.error(node, 'SC2001', `Identifier '${name}' could not be resolved.`)
  }
}
