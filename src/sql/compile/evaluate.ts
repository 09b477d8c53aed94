/**
 * Compiles expressions to closures: the meaning of the language, one entry per kind of node.
 *
 * Compiling resolves every name once, so running touches no syntax tree. Undefined is JavaScript's undefined.
 * It is a normal value here: it flows through operators and disappears from arrays, objects and results.
 */

import { RequestError } from '../../base/error.ts'
import { spend } from '../../base/work.ts'
import { findFunction } from '../functions/table.ts'
import { aliasOf } from '../syntax/alias.ts'
import type { Expression, FunctionCall, Identifier, In, Index, Like, MemberAccess, Subquery } from '../syntax/ast.ts'
import { parseQuery } from '../syntax/parser.ts'
import { printExpression } from '../syntax/print.ts'
import { sameExpression } from '../syntax/same-expression.ts'
import { isAggregateCall } from '../syntax/select-list.ts'
import { contains, isExpression } from '../syntax/walk.ts'
import { isAggregate } from '../values/aggregate.ts'
import { equalValues } from '../values/compare.ts'
import { compileLike } from '../values/like.ts'
import type { Frame } from '../values/run-context.ts'
import { checkSize, elementAt, isPrimitive, ownProperty, type SqlValue, setOwn } from '../values/value.ts'
import { binaryFunctions, unaryFunctions } from './operators.ts'
import { type Evaluator, NameScope } from './scope.ts'
import { consumeSubquery } from './subquery.ts'

/**
 * Steps that one call of a user-defined function counts as. A call may take milliseconds, so the count is
 * high enough that the watch of the work is asked before each call.
 */
const stepsPerUserCall = 1000

export function compileExpression(node: Expression, scope: NameScope): Evaluator {
  const key = scope.grouping?.keys.find(key => sameExpression(key.expression, node))
  if (key !== undefined) return frame => frame.values[key.slot]
  return (compilers[node.kind] as (node: Expression, scope: NameScope) => Evaluator)(node, scope)
}

const compilers: {
  [Kind in Expression['kind']]: (node: Extract<Expression, { kind: Kind }>, scope: NameScope) => Evaluator
} = {
  literal: ({ value }) => constant(value),
  parameter: ({ name }) => {
    return frame => frame.context.parameters.get(name)
  },
  identifier: compileIdentifier,
  member: compileMember,
  index: compileIndex,
  unary: ({ operator, operand }, scope) => {
    const compute = unaryFunctions[operator]
    const evaluate = compileExpression(operand, scope)
    return frame => compute(evaluate(frame))
  },
  binary: ({ operator, left, right }, scope) => {
    const compute = binaryFunctions[operator]
    const evaluateLeft = compileExpression(left, scope)
    const evaluateRight = compileExpression(right, scope)
    return frame => compute(evaluateLeft(frame), evaluateRight(frame))
  },
  logical: ({ operator, operands }, scope) => {
    const terms = compileAll(operands, scope)
    const deciding = operator === 'OR'
    return frame => {
      spend(terms.length)
      let isKnown = true
      for (const term of terms) {
        const value = term(frame)
        if (value === deciding) return deciding
        if (typeof value !== 'boolean') isKnown = false
      }
      return isKnown ? !deciding : undefined
    }
  },
  coalesce: ({ left, right }, scope) => {
    const evaluateLeft = compileExpression(left, scope)
    const evaluateRight = compileExpression(right, scope)
    return frame => {
      const value = evaluateLeft(frame)
      return value === undefined ? evaluateRight(frame) : value
    }
  },
  conditional: ({ condition, consequent, alternative }, scope) => {
    const [test, whenTrue, otherwise] = compileAll([condition, consequent, alternative], scope)
    return frame => (test!(frame) === true ? whenTrue!(frame) : otherwise!(frame))
  },
  between: ({ not, operand, low, high }, scope) => {
    const [evaluate, evaluateLow, evaluateHigh] = compileAll([operand, low, high], scope)
    return frame => {
      const value = evaluate!(frame)
      const isAbove = binaryFunctions['>='](value, evaluateLow!(frame))
      const isBelow = binaryFunctions['<='](value, evaluateHigh!(frame))
      if (isAbove === false || isBelow === false) return not
      return isAbove === undefined || isBelow === undefined ? undefined : !not
    }
  },
  in: compileIn,
  like: compileLikeNode,
  array: ({ items }, scope) => {
    const elements = compileAll(items, scope)
    return frame => {
      spend(elements.length)
      const array: SqlValue[] = []
      for (const element of elements) {
        const value = element(frame)
        if (value !== undefined) array.push(value)
      }
      return array
    }
  },
  object: ({ properties }, scope) =>
    compileObject(
      properties.map(property => property.name),
      compileAll(
        properties.map(property => property.value),
        scope,
      ),
    ),
  call: compileCall,
  subquery: compileSubquery,
  let: ({ name, value, body }, scope) => {
    const evaluate = compileExpression(value, scope)
    const inner = new NameScope(scope.compilation, scope, scope.grouping)
    const slot = inner.define(name)
    const evaluateBody = compileExpression(body, inner)
    return frame => {
      const bound = evaluate(frame)
      checkSize(bound)
      frame.values[slot] = bound
      return evaluateBody(frame)
    }
  },
}

function constant(value: SqlValue): Evaluator {
  return () => value
}

export function compileAll(nodes: readonly Expression[], scope: NameScope): Evaluator[] {
  return nodes.map(node => compileExpression(node, scope))
}

/** Makes an object with these names. Undefined values are left out; of two equal names the later counts. */
export function compileObject(names: readonly string[], evaluators: readonly Evaluator[]): Evaluator {
  return frame => {
    spend(names.length)
    const object: Record<string, SqlValue> = {}
    for (let index = 0; index < names.length; index += 1) {
      const value = evaluators[index]!(frame)
      if (value !== undefined) setOwn(object, names[index] as string, value)
    }
    return object
  }
}

function compileIdentifier(node: Identifier, scope: NameScope): Evaluator {
  const slot = scope.find(node.name)
  if (slot === undefined) throw scope.unresolved(node, node.name)
  scope.groupingAround(node.name)?.violations.push(ungrouped(node))
  return frame => frame.values[slot]
}

function compileMember(node: MemberAccess, scope: NameScope): Evaluator {
  const { name } = node
  const object = compilePathObject(node, scope)
  return compileComputed(node.object, name, scope) ?? (frame => ownProperty(object(frame), name))
}

/** A computed property is its query's expression, over the same item. It cannot use computed properties. */
function compileComputed(object: Expression, name: string, scope: NameScope): Evaluator | undefined {
  const { computed, itemSlots } = scope.compilation
  const text = computed.get(name)
  if (text === undefined || object.kind !== 'identifier') return undefined
  const slot = scope.find(object.name)
  if (slot === undefined || !itemSlots.has(slot)) return undefined
  const { sources, selection } = parseQuery(text)
  if (selection.kind !== 'value' || sources[0] === undefined) throw scope.unresolved(object, name)
  const inner = new NameScope(scope.compilation)
  const innerSlot = inner.define(aliasOf(sources[0]) ?? '')
  const evaluate = compileExpression(selection.expression, inner)
  return frame => {
    frame.values[innerSlot] = frame.values[slot]
    return evaluate(frame)
  }
}

function compileIndex(node: Index, scope: NameScope): Evaluator {
  const object = compilePathObject(node, scope)
  const { index } = node
  if (index.kind === 'literal' && typeof index.value === 'string') {
    const name = index.value
    return compileComputed(node.object, name, scope) ?? (frame => ownProperty(object(frame), name))
  }
  const evaluateIndex = compileExpression(index, scope)
  return frame => {
    const key = evaluateIndex(frame)
    if (typeof key === 'string') return ownProperty(object(frame), key)
    return typeof key === 'number' ? elementAt(object(frame), key) : undefined
  }
}

/**
 * Compiles the object of a path. In a grouped select list, a path without a group key is reported whole, so
 * the violation for its start (`s`) is replaced by one for the longer path (`s.score`).
 */
function compilePathObject(node: MemberAccess | Index, scope: NameScope): Evaluator {
  const { grouping } = scope
  if (grouping === undefined) return compileExpression(node.object, scope)
  const known = grouping.violations.length
  const object = compileExpression(node.object, scope)
  const violation = grouping.violations[known]
  if (violation !== undefined && violation.span?.start === node.span.start) {
    grouping.violations[known] = ungrouped(node)
  }
  return object
}

function ungrouped(node: Expression) {
  const reference = printExpression(node)
  return {
    code: 'SC2102',
    message:
      `Property reference '${reference}' is invalid in the select list because it is not contained in either an ` +
      'aggregate function or the GROUP BY clause.',
    span: node.span,
  }
}

/** Long lists of literals become a set, so the cost of IN does not grow with the list. */
function compileIn({ not, operand, items }: In, scope: NameScope): Evaluator {
  const evaluate = compileExpression(operand, scope)
  const literals = new Set<SqlValue>()
  const others: Evaluator[] = []
  for (const item of items) {
    if (item.kind === 'literal') literals.add(item.value)
    else others.push(compileExpression(item, scope))
  }
  return frame => {
    const value = evaluate(frame)
    if (value === undefined) return undefined
    const isAmong =
      (isPrimitive(value) && literals.has(value)) || others.some(other => equalValues(value, other(frame)))
    return isAmong !== not
  }
}

function compileLikeNode({ not, operand, pattern, escapeCharacter }: Like, scope: NameScope): Evaluator {
  const evaluate = compileExpression(operand, scope)
  const evaluatePattern = compileExpression(pattern, scope)
  return frame => {
    const text = evaluate(frame)
    const source = evaluatePattern(frame)
    if (typeof text !== 'string' || typeof source !== 'string') return undefined
    const key = `LIKE ${escapeCharacter ?? ''} ${source}`
    const matches = frame.context.cached(key, () => compileLike(source, escapeCharacter))
    return matches(text, steps => frame.context.budget.chargeSteps(steps)) !== not
  }
}

function compileCall(node: FunctionCall, scope: NameScope): Evaluator {
  if (node.isUserDefined) {
    const values = compileAll(node.arguments, scope)
    return frame => {
      spend(stepsPerUserCall)
      return frame.context.callUserDefined(
        node.name,
        values.map(value => value(frame)),
      )
    }
  }
  const found = findFunction(node.name)
  if (found === undefined) {
    const span = { start: node.span.start, end: node.span.start + node.name.length }
    throw scope.error({ span }, 'SC2005', `'${node.name}' is not a recognized built-in function name.`)
  }
  if (found.isRefused) {
    throw new RequestError('unsupported', `The function ${node.name.toUpperCase()} is not supported yet.`)
  }
  checkArity(node, scope)
  if (isAggregate(node.name)) return compileAggregate(node, scope)
  const { evaluate, takesInt64 = false } = found
  const values = node.arguments.map(argument => {
    const integer = takesInt64 ? exactInteger(argument) : undefined
    return integer === undefined ? compileExpression(argument, scope) : constant(integer as unknown as SqlValue)
  })
  const [first, second] = values
  const call = (given: readonly SqlValue[], { context }: Frame) => {
    context.budget.chargeCall()
    for (const value of given) {
      if (typeof value === 'string') spend(value.length / 16)
      else if (Array.isArray(value)) spend(value.length)
    }
    return evaluate(given, context)
  }
  if (values.length === 1) return frame => call([first!(frame)], frame)
  if (values.length === 2) return frame => call([first!(frame), second!(frame)], frame)
  return frame =>
    call(
      values.map(value => value(frame)),
      frame,
    )
}

/** The value of an integer literal, if a number cannot hold it. */
function exactInteger(node: Expression): bigint | undefined {
  if (node.kind === 'literal') return node.integer
  const isMinus = node.kind === 'unary' && node.operator === '-' && node.operand.kind === 'literal'
  return isMinus && node.operand.integer !== undefined ? -node.operand.integer : undefined
}

function checkArity(node: FunctionCall, scope: NameScope): void {
  const { argumentsMin, argumentsMax } = findFunction(node.name)!
  const count = node.arguments.length
  if (count >= argumentsMin && count <= argumentsMax) return
  const wanted =
    argumentsMax === Number.POSITIVE_INFINITY
      ? `at least ${argumentsMin}`
      : argumentsMin === argumentsMax
        ? `${argumentsMin}`
        : `${argumentsMin} to ${argumentsMax}`
  throw scope.error(node, 'SC2050', `The ${node.name.toUpperCase()} function requires ${wanted} argument(s).`)
}

/** The call becomes a slot that the grouping fills. Its argument is evaluated for each row. */
function compileAggregate(node: FunctionCall, scope: NameScope): Evaluator {
  const { grouping } = scope
  const [argument] = node.arguments as [Expression]
  if (containsAggregateOrSubquery(argument)) {
    const message = 'Cannot perform an aggregate function on an expression containing an aggregate or a subquery.'
    throw scope.error(node, 'SC2101', message)
  }
  if (grouping === undefined) {
    throw scope.error(node, 'SC2101', `The aggregate function ${node.name} is allowed in the select list only.`)
  }
  const slot = scope.allocate()
  grouping.aggregates.push({
    name: node.name.toUpperCase(),
    argument: compileExpression(argument, scope.rowScope()),
    slot,
  })
  return frame => frame.values[slot]
}

function containsAggregateOrSubquery(node: Expression): boolean {
  return contains(node, found => !isExpression(found) || isAggregateCall(found))
}

function compileSubquery({ form, query }: Subquery, scope: NameScope): Evaluator {
  return consumeSubquery(form, scope.compilation.compileSubquery(withForm(form, query), scope))
}

/** `ALL(… WHERE f)` is true if no row satisfies NOT f. */
function withForm(form: Subquery['form'], query: Subquery['query']): Subquery['query'] {
  if (form !== 'ALL') return query
  const { span } = query
  const filter: Expression = query.where ?? { kind: 'literal', value: true, span }
  return { ...query, where: { kind: 'unary', operator: 'NOT', operand: filter, span } }
}
