/** `$match`: passes on the documents that match a filter. */

import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Field, type Value } from '../../document/bson/value.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import type { VariableScope } from '../expressions/core/scope.ts'
import { expressionTest } from '../expressions/expression.ts'
import { compileFilter, type Matcher } from '../filter/match.ts'
import { type CompileStage, documentBytes, type Run } from './stage.ts'

/** The filter of the stage. `$sampleRate` is rewritten as a comparison with a random number. */
export function filterOf(spec: Value): BsonDocument {
  if (spec.type !== bsonType.document) return refuse(15959, 'the match filter must be an expression in an object')
  const rate = spec.get('$sampleRate')
  if (rate === undefined) return spec
  if (!isNumeric(rate)) return refuse(2, 'argument to $sampleRate must be a numeric type')
  const share = toDouble(rate)
  if (!(share >= 0 && share <= 1)) refuse(2, 'numeric argument to $sampleRate must be in [0, 1]')
  const comparison = BsonArray.of([BsonDocument.of([['$rand', BsonDocument.of([])]]), rate])
  const chance: Field = ['$expr', BsonDocument.of([['$lt', comparison]])]
  const others = spec.fields.filter(([name]) => name !== '$sampleRate')
  const conditions = [BsonDocument.of(others), BsonDocument.of([chance])]
  return BsonDocument.of([['$and', BsonArray.of(conditions)]])
}

export function matcherOf(filter: BsonDocument, scope: VariableScope, slots: Run['slots']): Matcher {
  return compileFilter(filter, { expression: expressionTest(scope, slots), collation: scope.constants.collation })
}

export const matchStage: CompileStage = (spec, { scope }, name) => {
  const filter = filterOf(spec)
  // Throws on an invalid filter before anything runs.
  matcherOf(filter, scope, [])
  return {
    name,
    each: () => {
      const { matches } = matcherOf(filter, scope, [])
      return (document, emit) => !matches(documentBytes(document)) || emit(document)
    },
    async *run(input, { slots, slice }) {
      const matcher = matcherOf(filter, scope, slots)
      for await (const batch of input) {
        const kept: BsonDocument[] = []
        for (const document of batch) {
          if (matcher.matches(documentBytes(document))) kept.push(document)
          if (slice.isOver) await slice.turn()
        }
        if (kept.length > 0) yield kept
      }
    },
  }
}
