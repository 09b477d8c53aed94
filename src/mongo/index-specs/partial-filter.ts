/** The filters that a partial index may have: only those that the planner can compare with a query. */

import type { BsonDocument } from '../../document/bson/value.ts'
import { printValue } from '../../mql/errors/print.ts'
import type { Condition, Filter } from '../../mql/filter/filter.ts'
import { compileParsed } from '../../mql/filter/match.ts'
import { parseFilter } from '../../mql/filter/parse-filter.ts'
import { CommandError } from '../answers/command-error.ts'

/** As in MongoDB (`internalPartialFilterExpressionMaxDepth`). */
const partialFilterDepthMax = 4

/** Each write of a document tests all of them. MongoDB has no such limit. */
const partialConditionsMax = 100

/** Throws MongoDB's error. A filter that passes can be compiled, whenever a document comes. */
export function checkPartialFilter(filter: BsonDocument): void {
  const parsed = parseFilter(filter)
  compileParsed(parsed)
  checkFilter(parsed, 1)
  if (conditionsIn(parsed) > partialConditionsMax) {
    const problem = `partialFilterExpression may not have more than ${partialConditionsMax} conditions`
    throw new CommandError('CannotCreateIndex', problem)
  }
}

function conditionsIn(filter: Filter): number {
  if (filter.kind === 'and' || filter.kind === 'or') return filter.of.reduce((sum, each) => sum + conditionsIn(each), 0)
  return filter.kind === 'field' && filter.condition.kind === 'all' ? filter.condition.of.length : 1
}

function checkFilter(filter: Filter, depth: number): void {
  if (depth > partialFilterDepthMax) {
    throw new CommandError('CannotCreateIndex', `partialFilterExpression depth may not exceed ${partialFilterDepthMax}`)
  }
  switch (filter.kind) {
    case 'and':
    case 'or':
      for (const each of filter.of) checkFilter(each, depth + 1)
      return
    case 'field':
      if (!isComparable(filter.condition)) throw notSupported(filter)
      return
    case 'schema':
      throw new CommandError('QueryFeatureNotAllowed', '$jsonSchema is not allowed in this context')
    default:
      throw notSupported(filter)
  }
}

function isComparable(condition: Condition): boolean {
  switch (condition.kind) {
    case 'compare':
    case 'in':
    case 'exists':
    case 'type':
    case 'geoWithin':
    case 'geoIntersects':
      return true
    case 'all':
      return condition.of.every(isComparable)
    default:
      return false
  }
}

function notSupported(filter: Filter): CommandError {
  return new CommandError('CannotCreateIndex', `Expression not supported in partial index: ${textOf(filter, 0)}`)
}

/** Prints a filter as MongoDB prints the tree that it parses: one node on a line, indented. */
function textOf(filter: Filter, level: number): string {
  switch (filter.kind) {
    case 'and':
    case 'or':
    case 'nor':
      return line(level, `$${filter.kind}`) + filter.of.map(each => textOf(each, level + 1)).join('')
    case 'field':
      return conditionText(filter.path, filter.condition, level)
    case 'expression':
      return line(level, `$expr ${printValue(filter.spec)}`)
    case 'schema':
      return line(level, `$jsonSchema ${printValue(filter.schema.spec)}`)
    case 'later':
      return line(level, printValue(filter.spec))
    case 'always':
      return line(level, filter.holds ? '$alwaysTrue: 1' : '$alwaysFalse: 1')
  }
}

function conditionText(path: string, condition: Condition, level: number): string {
  switch (condition.kind) {
    case 'compare':
      return line(level, `${path} $${condition.operator} ${printValue(condition.value)}`)
    case 'in':
      return line(level, `${path} $in [ ${condition.values.map(value => `${printValue(value)} `).join('')}]`)
    case 'regex':
      return line(level, `${path} regex /${condition.pattern}/${condition.options}`)
    case 'exists':
      return line(level, `${path} exists`)
    case 'mod':
      return line(level, `${path} mod ${condition.divisor} % x == ${condition.remainder}`)
    case 'size':
      return line(level, `${path} $size : ${condition.size}`)
    case 'not':
      return line(level, '$not') + conditionText(path, condition.of, level + 1)
    case 'all': {
      const [only, second] = condition.of
      if (only !== undefined && second === undefined) return conditionText(path, only, level)
      return line(level, '$and') + condition.of.map(each => conditionText(path, each, level + 1)).join('')
    }
    case 'elementValue':
      return (
        line(level, `${path} $elemMatch (value)`) +
        condition.of.map(each => conditionText('', each, level + 1)).join('')
      )
    case 'elementDocument':
      return line(level, `${path} $elemMatch (obj)`) + textOf(condition.of, level + 1)
    default:
      return line(level, `${path} $${condition.kind}`)
  }
}

function line(level: number, text: string): string {
  return `${' '.repeat(4 * level)}${text}\n`
}
