/** All expression operators, by family. */

import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { accumulationOperators } from './accumulation.ts'
import { arithmeticOperators } from './arithmetic.ts'
import { arrayOperators } from './array.ts'
import { conversionOperators } from './convert.ts'
import { datePartOperators, timestampOperators } from './date-parts.ts'
import { dateTextOperators } from './date-text.ts'
import { dateUnitOperators } from './date-units.ts'
import { iterationOperators } from './iteration.ts'
import { booleanOperators, comparisonOperators, conditionalOperators } from './logic.ts'
import { objectOperators } from './object.ts'
import { regexOperators } from './regex.ts'
import { setOperators } from './set.ts'
import { stringOperators } from './string.ts'
import { stringSearchOperators } from './string-search.ts'
import { bitwiseOperators, trigonometricOperators } from './trigonometry.ts'
import { dataSizeOperators, otherOperators, unsupportedOperators, variableOperators } from './variables.ts'

export const operatorFamilies: Readonly<Record<string, OperatorFamily>> = {
  arithmetic: arithmeticOperators,
  array: { ...arrayOperators, ...iterationOperators },
  bitwise: bitwiseOperators,
  boolean: booleanOperators,
  comparison: comparisonOperators,
  conditional: conditionalOperators,
  'data size': dataSizeOperators,
  date: { ...datePartOperators, ...dateTextOperators, ...dateUnitOperators },
  object: objectOperators,
  set: setOperators,
  string: { ...stringOperators, ...stringSearchOperators, ...regexOperators },
  timestamp: timestampOperators,
  trigonometric: trigonometricOperators,
  type: conversionOperators,
  'accumulators as expressions': accumulationOperators,
  variable: variableOperators,
  other: otherOperators,
  'not supported': unsupportedOperators,
}

const operators = new Map<string, CompileOperator>(
  Object.values(operatorFamilies).flatMap(family => Object.entries(family)),
)

export function findOperator(name: string): CompileOperator | undefined {
  return operators.get(name)
}
