/** Accumulators as expressions: over one array, or over all arguments. */

import { bsonType } from '../../../document/bson/types.ts'
import type { Accumulator } from '../../accumulators/accumulator.ts'
import { Average, Extreme, StandardDeviation, Sum } from '../../accumulators/basic.ts'
import { checkedCount } from '../../accumulators/several.ts'
import { severalAccumulators, severalArguments } from '../../accumulators/statement.ts'
import { any, refuse } from '../frame/define.ts'
import type { CompileOperator, OperatorFamily } from '../frame/scope.ts'

function overAll(make: () => Accumulator): CompileOperator {
  return any(operands => context => {
    const accumulator = make()
    for (const operand of operands) {
      const value = operand(context)
      if (operands.length === 1 && value?.type === bsonType.array) {
        context.spend(value.elements.length)
        for (const element of value.elements) accumulator.take(element)
      } else {
        accumulator.take(value)
      }
    }
    return accumulator.result()
  })
}

const several: CompileOperator = (argument, compiler, name) => {
  const { code, make } = severalAccumulators[name]!
  const { count, input } = severalArguments(argument, compiler, code)
  return context => {
    const accumulator = make(checkedCount(count(context)))
    const list = input(context)
    if (list?.type !== bsonType.array) return refuse(5788200, 'Input must be an array')
    context.spend(list.elements.length)
    for (const element of list.elements) accumulator.take(element)
    return accumulator.result()
  }
}

export const accumulationOperators: OperatorFamily = {
  $avg: overAll(() => new Average()),
  $firstN: several,
  $lastN: several,
  $max: overAll(() => new Extreme(-1)),
  $maxN: several,
  $min: overAll(() => new Extreme(1)),
  $minN: several,
  $stdDevPop: overAll(() => new StandardDeviation(false)),
  $stdDevSamp: overAll(() => new StandardDeviation(true)),
  $sum: overAll(() => new Sum()),
}
