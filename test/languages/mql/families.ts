/** All cases of updates, expressions and stages, by family. `../mql-driver.test.ts` runs them as well. */

import { accumulatorCases } from './accumulators.ts'
import type { ExpressionCases, StageCases } from './aggregate-case.ts'
import { arithmeticCases, bitwiseCases, timestampCases, trigonometricCases } from './expressions-arithmetic.ts'
import { arrayCases, objectCases, setCases } from './expressions-array.ts'
import { conversionCases, dateCases, unsupportedCases } from './expressions-date.ts'
import { accumulationCases, logicCases, otherCases, pathCases, variableCases } from './expressions-logic.ts'
import { regexCases, stringCases } from './expressions-string.ts'
import { collectionStageCases } from './stages-collections.ts'
import { documentStageCases } from './stages-documents.ts'
import { groupStageCases } from './stages-groups.ts'
import { windowFunctionCases, windowStageCases } from './stages-windows.ts'
import { arrayCases as arrayUpdateCases } from './update-arrays.ts'
import type { UpdateCase } from './update-case.ts'
import { fieldCases } from './update-fields.ts'
import { pathCases as pathUpdateCases } from './update-paths.ts'
import { pipelineCases } from './update-pipelines.ts'
import { upsertCases } from './update-upserts.ts'

export const updateFamilies: Readonly<Record<string, readonly UpdateCase[]>> = {
  fields: fieldCases,
  arrays: arrayUpdateCases,
  paths: pathUpdateCases,
  upserts: upsertCases,
  pipelines: pipelineCases,
}

export const expressionFamilies: Readonly<Record<string, ExpressionCases>> = {
  'paths and literals': pathCases,
  logic: logicCases,
  variables: variableCases,
  arithmetic: arithmeticCases,
  trigonometry: trigonometricCases,
  bits: bitwiseCases,
  timestamps: timestampCases,
  strings: stringCases,
  'regular expressions': regexCases,
  arrays: arrayCases,
  sets: setCases,
  objects: objectCases,
  dates: dateCases,
  conversions: conversionCases,
  accumulators: accumulationCases,
  other: otherCases,
  'not supported': unsupportedCases,
}

export const stageFamilies: Readonly<Record<string, StageCases>> = {
  'stages of single documents': documentStageCases,
  'stages of all documents': groupStageCases,
  'stages of other collections': collectionStageCases,
  'stages of windows': windowStageCases,
  accumulators: accumulatorCases,
  'window functions': windowFunctionCases,
}
