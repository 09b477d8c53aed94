/** Functions without a family, and those that are known by name but not supported. */

import { ownProperty } from '../values/value.ts'
import { define, defineOpen, type FunctionFamily } from './define.ts'

export const otherFunctions: FunctionFamily = {
  IIF: define(3, 3, ([condition, whenTrue, otherwise]) => (condition === true ? whenTrue : otherwise)),
  // The service returns its internal number of the document; `_rid` is the same in another notation.
  'DOCUMENTID DOCUMENT_ID': define(1, 1, ([document]) => ownProperty(document, '_rid')),
}

const refusedNames = [
  'FULLTEXTCONTAINS FULLTEXT_CONTAINS',
  'FULLTEXTCONTAINSALL FULLTEXT_CONTAINS_ALL',
  'FULLTEXTCONTAINSANY FULLTEXT_CONTAINS_ANY',
  'FULLTEXTSCORE FULLTEXT_SCORE',
  'VECTORDISTANCE VECTOR_DISTANCE',
  'RRF',
  'HASH',
  'AGO',
]

export const refusedFunctions: FunctionFamily = Object.fromEntries(
  refusedNames.map(names => [names, { ...defineOpen(0, () => undefined), isRefused: true }]),
)
