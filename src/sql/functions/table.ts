/** All built-in functions by name. */

import { aggregateNames } from '../values/aggregate.ts'
import { arrayFunctions } from './array.ts'
import { conversionFunctions } from './conversion.ts'
import { dateTimeFunctions } from './date-time.ts'
import { type BuiltIn, define, type FunctionFamily } from './define.ts'
import { integerFunctions } from './integer.ts'
import { mathFunctions } from './math.ts'
import { otherFunctions, refusedFunctions } from './other.ts'
import { regularExpressionFunctions } from './regular-expression.ts'
import { spatialFunctions } from './spatial.ts'
import { stringFunctions } from './string.ts'
import { typeFunctions } from './type.ts'

/** Listed for their names and arity. evaluate.ts turns aggregates into slots, so they are never called. */
const aggregateFunctions: FunctionFamily = Object.fromEntries(
  aggregateNames.map(name => [name, define(1, 1, () => undefined)]),
)

export const functionFamilies: Readonly<Record<string, FunctionFamily>> = {
  aggregate: aggregateFunctions,
  type: typeFunctions,
  string: stringFunctions,
  'regular expression': regularExpressionFunctions,
  array: arrayFunctions,
  math: mathFunctions,
  integer: integerFunctions,
  'date and time': dateTimeFunctions,
  conversion: conversionFunctions,
  spatial: spatialFunctions,
  other: otherFunctions,
  'not supported': refusedFunctions,
}

const functionsByName = new Map<string, BuiltIn>()
for (const family of Object.values(functionFamilies)) {
  for (const [names, builtIn] of Object.entries(family)) {
    for (const name of names.split(' ')) functionsByName.set(name, builtIn)
  }
}

export function findFunction(name: string): BuiltIn | undefined {
  return functionsByName.get(name.toUpperCase())
}
