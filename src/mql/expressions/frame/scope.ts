/**
 * What an expression is compiled and evaluated in.
 *
 * Names are resolved when an expression is compiled: every variable gets a slot of its own, and evaluating it
 * reads the slot. Pipelines within pipelines take their slots from the same numbers, so that they see the
 * variables of the outer ones.
 */

import { BsonDocument, type Value } from '../../../document/bson/value.ts'
import { MongoError } from '../../words/error.ts'

/** Elements that expressions look at for one document: a second or so in which nobody else gets a turn. */
const expressionStepsMax = 10_000_000

/** What the system variables mean in one command. */
export interface Constants {
  /** Milliseconds since 1970. */
  readonly now: bigint
  /** A timestamp; without one there is no `$$CLUSTER_TIME`. */
  readonly clusterTime?: bigint
  /** A number from 0 to 1, 1 excluded. */
  readonly random: () => number
}

/** A variable whose value is known when an expression is compiled, or the place where it will be found. */
export type Variable = { readonly value: Value | undefined } | { readonly slot: number }

export class VariableScope {
  readonly constants: Constants
  readonly #slots: { used: number }
  readonly #variables: ReadonlyMap<string, Variable>

  private constructor(constants: Constants, slots: { used: number }, variables: ReadonlyMap<string, Variable>) {
    this.constants = constants
    this.#slots = slots
    this.#variables = variables
  }

  static outermost(constants: Constants): VariableScope {
    return new VariableScope(constants, { used: 0 }, new Map())
  }

  /** A scope in which the name means the value. */
  knowing(name: string, value: Value | undefined): VariableScope {
    return new VariableScope(this.constants, this.#slots, new Map([...this.#variables, [name, { value }]]))
  }

  /** A scope in which the names mean variables of their own; `slots` has their places, in the same order. */
  with(names: readonly string[]): { readonly scope: VariableScope; readonly slots: readonly number[] } {
    const slots = names.map(() => this.#slots.used++)
    const variables = new Map(this.#variables)
    for (const [index, name] of names.entries()) variables.set(name, { slot: slots[index]! })
    return { scope: new VariableScope(this.constants, this.#slots, variables), slots }
  }

  /** How many slots there are so far; later ones have higher numbers. */
  get slotsUsed(): number {
    return this.#slots.used
  }

  find(name: string): Variable | undefined {
    return this.#variables.get(name)
  }
}

const nothing = BsonDocument.of([])

/**
 * Where evaluating has got to: the document, and what variables hold. One of them serves many documents, one
 * at a time.
 */
export class Context {
  /** The document that paths begin in, and `$$ROOT`. */
  root: BsonDocument = nothing
  readonly slots: (Value | undefined)[]
  #steps = 0

  constructor(slots: readonly (Value | undefined)[] = []) {
    this.slots = [...slots]
  }

  /** Goes on to another document. */
  at(root: BsonDocument): this {
    this.root = root
    this.#steps = 0
    return this
  }

  /** To be called for everything that expressions repeat, since they nest. */
  spend(steps: number): void {
    this.#steps += steps
    if (this.#steps > expressionStepsMax) {
      throw new MongoError(50, 'operation exceeded time limit: an expression takes too many steps for one document')
    }
  }
}

/** A compiled expression. Without a value the result is missing. */
export type Evaluate = (context: Context) => Value | undefined

/** Compiles what operators have as arguments. */
export interface Compiler {
  readonly scope: VariableScope
  compile(spec: Value): Evaluate
  /** Undefined when it depends on a document, a variable or chance. */
  constant(spec: Value): { readonly value: Value | undefined } | undefined
  /** To be called by operators whose result is not always the same. */
  varies(): void
  /** The same in another scope. */
  within(scope: VariableScope): Compiler
}

/** Compiles one operator, of which `argument` is what stands behind its name. */
export type CompileOperator = (argument: Value, compiler: Compiler, name: string) => Evaluate

/** Operators by their names. */
export type OperatorFamily = Readonly<Record<string, CompileOperator>>
