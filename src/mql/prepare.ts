/**
 * The door of the folder for queries: from the words of a command to what runs over documents, and from a
 * statement, which carries the same words as plain data, to a program.
 */

import { BsonDocument, int32 } from '../document/bson/value.ts'
import { encodeDocument } from '../document/bson/writer.ts'
import type { Program } from '../query/program.ts'
import type { MqlFilter, MqlStatement, MqlVariables } from '../query/statement.ts'
import type { CommandVariables } from './expressions/core/scope.ts'
import { expressionTest, expressionValue } from './expressions/expression.ts'
import { compileFilter, type FilterWords, type Matcher } from './filter/match.ts'
import { compileSort, type Sort, type SortComponent } from './paths/sort-order.ts'
import { commandScope } from './pipeline/pipeline.ts'
import { countProgram, distinctProgram, type FindQuery, findProgram } from './program.ts'
import { compileProjection, type Projection } from './projection/projection.ts'

export function prepareFilter(words: FilterWords): Matcher {
  const expression = expressionTest(commandScope(words.variables))
  const { filter, allowsNear } = words
  return { ...compileFilter(filter, { expression }, { isWholeDocument: true, allowsNear }), words }
}

export function prepareProjection(spec: BsonDocument, variables: CommandVariables): Projection {
  const scope = commandScope(variables)
  return compileProjection(spec, { expression: expressionTest(scope), compute: expressionValue(scope) })
}

type MakeStatement = (() => MqlStatement) | undefined

/** Makes the statement when it is wanted; undefined where the filter has no words. */
export function findStatement(query: FindQuery): MakeStatement {
  const { matcher, sort, skip = 0, limit = Number.POSITIVE_INFINITY, projection, isTieReversed, idOrder } = query
  const words = matcher.words
  if (words === undefined) return undefined
  return () =>
    statementOf(words, {
      kind: 'find',
      ...filterBytes(words),
      ...{ sort: sort?.components, skip, limit, isTieReversed, idOrder },
      projection: projection && bytesOf(projection.spec),
    })
}

export function countStatement({ words }: Matcher): MakeStatement {
  return words && (() => statementOf(words, { kind: 'count', ...filterBytes(words) }))
}

export function distinctStatement({ words }: Matcher, path: string): MakeStatement {
  return words && (() => statementOf(words, { kind: 'distinct', path, ...filterBytes(words) }))
}

function statementOf({ variables }: FilterWords, query: MqlStatement['query']): MqlStatement {
  return { language: 'mql', variables: plainVariables(variables), query }
}

function plainVariables({ constants: { now, clusterTime }, let: variables }: CommandVariables): MqlVariables {
  return { now, clusterTime, let: variables && bytesOf(variables) }
}

function filterBytes({ filter, allowsNear }: FilterWords): MqlFilter {
  return { filter: bytesOf(filter), allowsNear }
}

/** A copy: a message that carries a part of some bytes carries all of them. */
function bytesOf(document: BsonDocument): Uint8Array {
  return new Uint8Array(encodeDocument(document))
}

export function prepareStatement({ query, variables }: MqlStatement): Program {
  const known = variablesOf(variables)
  const matcher = prepareFilter({
    filter: BsonDocument.view(query.filter),
    allowsNear: query.allowsNear,
    variables: known,
  })
  switch (query.kind) {
    case 'count':
      return countProgram({ matcher })
    case 'distinct':
      return distinctProgram({ matcher, path: query.path })
    case 'find': {
      const { sort, projection, ...plain } = query
      return findProgram({
        ...plain,
        matcher,
        sort: sort && sortOf(sort),
        projection: projection && prepareProjection(BsonDocument.view(projection), known),
      })
    }
  }
}

function variablesOf({ now, clusterTime, let: variables }: MqlVariables): CommandVariables {
  return {
    constants: { now, ...(clusterTime !== undefined && { clusterTime }), random: Math.random },
    let: variables && BsonDocument.view(variables),
  }
}

function sortOf(components: readonly SortComponent[]): Sort {
  return compileSort(BsonDocument.of(components.map(({ path, isDescending }) => [path, int32(isDescending ? -1 : 1)])))
}
