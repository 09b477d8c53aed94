/**
 * The entry point of expressions: compiled once, then evaluated for each document.
 *
 *   const evaluate = compileExpression(spec, VariableScope.outermost({ now, random }))
 *   const context = new Context()
 *   evaluate(context.at(BsonDocument.view(bytes)))
 *
 * Constant parts are computed at compile time. If that fails, the compilation fails. A lazy compiler does not
 * fail then; the evaluation fails instead.
 */

import { machine } from '../../base/clock.ts'
import { mayTakeLong, StepWatch, spend, WorkTooLong, watched } from '../../base/work.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, date, timestamp, type Value } from '../../document/bson/value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { printDocument } from '../errors/print.ts'
import { checkedPath, checkFieldName, compilePath } from '../paths/expression-path.ts'
import { isTrue, refuse } from './core/define-operator.ts'
import { type Compiler, Context, type Evaluate, type Variable, type VariableScope } from './core/scope.ts'
import { checkVariableUse } from './core/variable-name.ts'
import { listOf } from './operators/object.ts'
import { findOperator } from './operators/table.ts'

/**
 * Most steps for computing constants in one turn of the event loop: about two milliseconds. A constant that
 * takes more is computed for each document.
 */
const constantStepsMax = 100_000
let constantsOfTurn: StepWatch | undefined

function watchOfTurn(): StepWatch {
  if (constantsOfTurn === undefined) {
    constantsOfTurn = new StepWatch(constantStepsMax, () => new WorkTooLong())
    machine.setImmediate(() => {
      constantsOfTurn = undefined
    })
  }
  return constantsOfTurn
}

/** Compiling a part of an expression takes one or two microseconds. */
const partSteps = 50

export function compileExpression(spec: Value, scope: VariableScope): Evaluate {
  return expressionCompiler(scope).compile(spec)
}

export function expressionCompiler(scope: VariableScope, { isLazy = false } = {}): Compiler {
  return new ExpressionCompiler(scope, { varying: 0, documents: 0, parts: 0, lowestSlot: noSlot, isLazy })
}

/** For filters: makes a test whether an expression is true for a document. `slots` holds outer variables. */
export function expressionTest(scope: VariableScope, slots: readonly (Value | undefined)[] = []) {
  return (spec: Value): ((document: Uint8Array) => boolean) => {
    const evaluate = compileExpression(spec, scope)
    const context = new Context(slots)
    return document => isTrue(evaluate(context.at(BsonDocument.view(document))))
  }
}

/** For projections of find: makes a function for the value of an expression. */
export function expressionValue(scope: VariableScope, slots: readonly (Value | undefined)[] = []) {
  return (spec: Value): ((document: Uint8Array) => Value | undefined) => {
    const evaluate = compileExpression(spec, scope)
    const context = new Context(slots)
    return document => evaluate(context.at(BsonDocument.view(document)))
  }
}

const noSlot = Number.POSITIVE_INFINITY

/** What keeps an expression from being constant, collected while compiling. */
interface Seen {
  /** Number of parts that differ from evaluation to evaluation. */
  varying: number
  /** Number of those that read the document. */
  documents: number
  /** The direct parts of the expression that is being compiled. */
  parts: number
  /** The slot of the outermost variable that is used. */
  lowestSlot: number
  /** A constant that cannot be computed fails when it is evaluated, not when it is compiled. */
  readonly isLazy: boolean
}

class ExpressionCompiler implements Compiler {
  readonly scope: VariableScope
  readonly #seen: Seen

  constructor(scope: VariableScope, seen: Seen) {
    this.scope = scope
    this.#seen = seen
  }

  within(scope: VariableScope): Compiler {
    return new ExpressionCompiler(scope, this.#seen)
  }

  varies(): void {
    this.#seen.varying += 1
  }

  compile(spec: Value): Evaluate {
    return this.#compile(spec).evaluate
  }

  constant(spec: Value): { readonly value: Value | undefined } | undefined {
    const { evaluate, isConstant } = this.#compile(spec)
    return isConstant ? { value: evaluate(new Context()) } : undefined
  }

  valueNow(spec: Value): { readonly value: Value | undefined } | undefined {
    const before = this.#seen.documents
    const { evaluate } = this.#compile(spec)
    return this.#seen.documents === before ? { value: evaluate(new Context()) } : undefined
  }

  #compile(spec: Value): { readonly evaluate: Evaluate; readonly isConstant: boolean } {
    this.#seen.parts += 1
    if (isPlain(spec)) {
      spend(1)
      return { evaluate: () => spec, isConstant: true }
    }
    spend(partSteps)
    const seen = this.#seen
    const { varying, lowestSlot, parts } = seen
    const { slotsUsed } = this.scope
    seen.parts = 0
    seen.lowestSlot = noSlot
    const evaluate = this.#read(spec)
    seen.parts = parts
    // Variables that an expression defines itself do not keep it from being constant.
    const isClosed = seen.lowestSlot >= slotsUsed
    seen.lowestSlot = isClosed ? lowestSlot : Math.min(lowestSlot, seen.lowestSlot)
    if (seen.varying !== varying || !isClosed) return { evaluate, isConstant: false }
    try {
      const compute = () => evaluate(new Context())
      const value = mayTakeLong() ? compute() : watched(watchOfTurn(), compute)
      return { evaluate: () => value, isConstant: true }
    } catch (error) {
      // The constant is computed for each document instead, where the work may take long.
      if (error instanceof WorkTooLong && !mayTakeLong()) return { evaluate, isConstant: false }
      if (!(error instanceof MongoError)) throw error
      if (seen.isLazy) return { evaluate, isConstant: false }
      throw new MongoError(error.code, `Failed to optimize pipeline :: caused by :: ${error.message}`)
    }
  }

  /** Recurses as deep as documents nest. */
  #read(spec: Value): Evaluate {
    switch (spec.type) {
      case bsonType.string:
        return this.#readPath(spec.value)
      case bsonType.document:
        return this.#readDocument(spec)
      case bsonType.array: {
        const elements = spec.elements.map(element => this.compile(element))
        return context => {
          spend(elements.length)
          return listOf(elements.map(element => element(context)))
        }
      }
      default:
        return () => spec
    }
  }

  #readDocument(spec: BsonDocument): Evaluate {
    const [first] = spec.fields
    if (first?.[0].startsWith('$')) return this.#readOperator(spec, first)
    const names = new Set<string>()
    const fields = spec.fields.map(([name, inner]): readonly [string, Evaluate] => {
      checkFieldName(name)
      if (names.has(name)) {
        refuse(16406, `duplicate field name specified in object literal: ${printDocument(spec)}`)
      }
      names.add(name)
      return [name, this.compile(inner)]
    })
    return context => {
      spend(fields.length)
      const made: [string, Value][] = []
      for (const [name, evaluate] of fields) {
        const value = evaluate(context)
        if (value !== undefined) made.push([name, value])
      }
      return BsonDocument.of(made)
    }
  }

  #readOperator(spec: BsonDocument, [name, argument]: readonly [string, Value]): Evaluate {
    if (spec.fields.length !== 1) {
      refuse(15983, `An object representing an expression must have exactly one field: ${printDocument(spec)}`)
    }
    const compileOperator = findOperator(name) ?? refuse(168, `Unrecognized expression '${name}'`)
    const compute = compileOperator(argument, this, name)
    const steps = 1 + this.#seen.parts
    return context => {
      spend(steps)
      return compute(context)
    }
  }

  #readPath(text: string): Evaluate {
    if (text === '$') refuse(16872, "'$' by itself is not a valid FieldPath")
    if (!text.startsWith('$$')) {
      return this.#follow(this.#variable('CURRENT'), checkedPath(text.slice(1)))
    }
    const path = text.slice(2)
    const name = path.split('.', 1)[0]!
    checkVariableUse(name)
    const variable = this.#variable(name)
    return name === path ? variable : this.#follow(variable, checkedPath(path).slice(1))
  }

  #follow(variable: Evaluate, names: readonly string[]): Evaluate {
    const follow = compilePath(names)
    return context => noted(follow(variable(context), context.root), context)
  }

  #variable(name: string): Evaluate {
    const variable = this.scope.find(name)
    if (variable !== undefined) return this.#defined(variable)
    const { now, clusterTime } = this.scope.constants
    switch (name) {
      case 'ROOT':
      case 'CURRENT':
        this.varies()
        this.#seen.documents += 1
        return context => context.root
      case 'REMOVE':
        return () => undefined
      case 'NOW': {
        const value = date(now)
        return () => value
      }
      case 'CLUSTER_TIME': {
        if (clusterTime === undefined) refuse(51144, "Builtin variable '$$CLUSTER_TIME' is not available")
        const value = timestamp(clusterTime)
        return () => value
      }
      default:
        return refuse(17276, `Use of undefined variable: ${name}`)
    }
  }

  #defined(variable: Variable): Evaluate {
    if ('value' in variable) return () => variable.value
    this.#seen.lowestSlot = Math.min(this.#seen.lowestSlot, variable.slot)
    return context => noted(context.slots[variable.slot], context)
  }
}

/** Whether the spec is a plain value, which stands for itself. */
function isPlain(spec: Value): boolean {
  if (spec.type === bsonType.string) return !spec.value.startsWith('$')
  return spec.type !== bsonType.document && spec.type !== bsonType.array
}

/** Remembers the origin of a value that an expression uses. */
function noted(value: Value | undefined, { origins }: Context): Value | undefined {
  if (origins !== undefined && value?.origin !== undefined) origins.push(value.origin)
  return value
}
