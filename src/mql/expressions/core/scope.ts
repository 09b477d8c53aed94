/**
 * The scope and the context in which an expression is compiled and evaluated.
 *
 * Variable names are resolved at compile time: each variable gets its own slot, and evaluation reads the
 * slot. Nested pipelines take their slots from the same numbering, so they see the variables of outer ones.
 */

import { spend } from '../../../base/work.ts'
import { isSameOrigin, type Origin } from '../../../document/bson/origin.ts'
import { comingFrom } from '../../../document/bson/traced-values.ts'
import { BsonDocument, type Value } from '../../../document/bson/value.ts'
import type { Collation } from '../../../document/collation/collation.ts'

/** Values of the system variables during one command. */
export interface Constants {
  /** Milliseconds since 1970. */
  readonly now: bigint
  /** A timestamp. Without it, `$$CLUSTER_TIME` is not defined. */
  readonly clusterTime?: bigint
  /** A number from 0 to 1, 1 excluded. */
  readonly random: () => number
  /** How strings compare. */
  readonly collation?: Collation | undefined
}

/** The variables that expressions of a command can use. */
export interface CommandVariables {
  readonly constants: Constants
  /** The command's own variables (`let`). */
  readonly let?: BsonDocument | undefined
}

/** A variable whose value is known at compile time, or the slot that will hold it. */
export type Variable = { readonly value: Value | undefined } | { readonly slot: number }

export class VariableScope {
  readonly constants: Constants
  readonly #slots: { used: number }
  /** The scope around this one. Scopes nest as deep as expressions. */
  readonly #outer: VariableScope | undefined
  readonly #variables = new Map<string, Variable>()

  private constructor(constants: Constants, slots: { used: number }, outer: VariableScope | undefined) {
    this.constants = constants
    this.#slots = slots
    this.#outer = outer
  }

  static outermost(constants: Constants): VariableScope {
    return new VariableScope(constants, { used: 0 }, undefined)
  }

  /** Gives a name a value that is known at compile time. */
  define(name: string, value: Value | undefined): void {
    this.#variables.set(name, { value })
  }

  /** A new scope that defines the names as variables. `slots` lists their slots in the same order. */
  with(names: readonly string[]): { readonly scope: VariableScope; readonly slots: readonly number[] } {
    spend(names.length)
    const slots = names.map(() => this.#slots.used++)
    const scope = new VariableScope(this.constants, this.#slots, this)
    for (const [index, name] of names.entries()) scope.#variables.set(name, { slot: slots[index]! })
    return { scope, slots }
  }

  /** Number of slots so far. Later slots have higher numbers. */
  get slotsUsed(): number {
    return this.#slots.used
  }

  find(name: string): Variable | undefined {
    let scope: VariableScope | undefined = this
    while (scope !== undefined) {
      const found = scope.#variables.get(name)
      if (found !== undefined) return found
      scope = scope.#outer
    }
    return undefined
  }
}

const nothing = BsonDocument.of([])

/** Evaluation state: the current document and variables. One context serves many documents, in turn. */
export class Context {
  /** The current document. Paths begin here, and `$$ROOT` means this document. */
  root: BsonDocument = nothing
  readonly slots: (Value | undefined)[]
  /** Set while a value is traced: the origins of the values that paths and variables have returned. */
  origins: Origin[] | undefined
  #isTraceable: boolean | undefined

  constructor(slots: readonly (Value | undefined)[] = []) {
    this.slots = [...slots]
  }

  /** Moves on to another document. */
  at(root: BsonDocument): this {
    this.root = root
    this.#isTraceable = undefined
    return this
  }

  /** Whether parts of the document have origins. */
  get isTraceable(): boolean {
    this.#isTraceable ??= this.root.hasInnerOrigins()
    return this.#isTraceable
  }
}

/** A compiled expression. It returns undefined for a missing result. */
export type Evaluate = (context: Context) => Value | undefined

/**
 * The value of an expression, with its origin. A value that is made of parts of one document comes from that
 * document; one that is made of several documents has no origin.
 */
export function tracedValue(evaluate: Evaluate, context: Context): Value | undefined {
  if (!context.isTraceable) return evaluate(context)
  const origins: Origin[] = []
  context.origins = origins
  const value = evaluate(context)
  context.origins = undefined
  const [first] = origins
  if (value === undefined || first === undefined || value.origin !== undefined) return value
  return origins.every(origin => isSameOrigin(origin, first)) ? comingFrom(value, first) : value
}

/** Compiles the arguments of operators. */
export interface Compiler {
  readonly scope: VariableScope
  compile(spec: Value): Evaluate
  /** The constant value, or undefined if it depends on a document, a variable or chance. */
  constant(spec: Value): { readonly value: Value | undefined } | undefined
  /** The value at this moment, which may be random. Undefined if it depends on a document. */
  valueNow(spec: Value): { readonly value: Value | undefined } | undefined
  /** Must be called by operators whose result differs from call to call. */
  varies(): void
  /** The same compiler in another scope. */
  within(scope: VariableScope): Compiler
}

/** Compiles one operator; `argument` is the value of its field. */
export type CompileOperator = (argument: Value, compiler: Compiler, name: string) => Evaluate

export type OperatorFamily = Readonly<Record<string, CompileOperator>>
