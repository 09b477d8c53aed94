/** Accumulators as expressions: over one array, or over all arguments. */

import { spend } from '../../../base/work.ts'
import { bsonType } from '../../../document/bson/types.ts'
import type { Collation } from '../../../document/collation/collation.ts'
import type { Accumulator } from '../../accumulators/accumulator.ts'
import { Average, Extreme, StandardDeviation, Sum } from '../../accumulators/basic.ts'
import { checkedCount } from '../../accumulators/keep-n.ts'
import { Percentile, percentileArguments } from '../../accumulators/percentile.ts'
import { keepNAccumulators, keepNArguments } from '../../accumulators/statement.ts'
import { anyOperands, collationOf, refuse } from '../core/define-operator.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'

function overAll(make: (collation: Collation | undefined) => Accumulator): CompileOperator {
  return anyOperands((operands, _, collation) => context => {
    const accumulator = make(collation)
    for (const operand of operands) {
      const value = operand(context)
      if (operands.length === 1 && value?.type === bsonType.array) {
        spend(value.elements.length)
        for (const element of value.elements) accumulator.take(element)
      } else {
        accumulator.take(value)
      }
    }
    return accumulator.result()
  })
}

const keepN: CompileOperator = (argument, compiler, name) => {
  const { code, make } = keepNAccumulators[name]!
  const { count, input } = keepNArguments(argument, compiler, code)
  return context => {
    const accumulator = make(checkedCount(count(context)), collationOf(compiler))
    const list = input(context)
    if (list?.type !== bsonType.array) return refuse(5788200, 'Input must be an array')
    spend(list.elements.length)
    for (const element of list.elements) accumulator.take(element)
    return accumulator.result()
  }
}

/** Over an array, or a single number. */
const percentile: CompileOperator = (argument, compiler, name) => {
  const asked = percentileArguments(argument, compiler, name)
  return context => {
    const accumulator = new Percentile(asked)
    const value = asked.input(context)
    if (value?.type !== bsonType.array) {
      accumulator.take(value)
    } else {
      spend(value.elements.length)
      for (const element of value.elements) accumulator.take(element)
    }
    return accumulator.result()
  }
}

export const accumulationOperators: OperatorFamily = {
  $avg: overAll(() => new Average()),
  $firstN: keepN,
  $lastN: keepN,
  $max: overAll(collation => new Extreme(-1, collation)),
  $maxN: keepN,
  $median: percentile,
  $min: overAll(collation => new Extreme(1, collation)),
  $minN: keepN,
  $percentile: percentile,
  $stdDevPop: overAll(() => new StandardDeviation(false)),
  $stdDevSamp: overAll(() => new StandardDeviation(true)),
  $sum: overAll(() => new Sum()),
}
