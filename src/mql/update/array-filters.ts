/** The array filters that `$[name]` in a path refers to. */

import { bsonType, typeName } from '../../document/bson/types.ts'
import type { BsonArray } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { MongoError } from '../errors/mongo-error.ts'
import type { Filter } from '../filter/filter.ts'
import { compileElementFilter } from '../filter/match.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import type { ElementFilter } from './modifier-tree.ts'

export function compileArrayFilters(
  filters: BsonArray,
  collation: Collation | undefined,
): ReadonlyMap<string, ElementFilter> {
  const compiled = new Map<string, ElementFilter>()
  for (const [index, filter] of filters.elements.entries()) {
    if (filter.type !== bsonType.document) {
      const type = typeName(filter.type)
      throw new MongoError(
        14,
        `BSON field 'update.updates.arrayFilters.${index}' is the wrong type '${type}', expected type 'object'`,
      )
    }
    const name = explained(() => nameOf(parseFilter(filter)))
    if (name === undefined) {
      throw new MongoError(9, 'Cannot use an expression without a top-level field name in arrayFilters')
    }
    if (compiled.has(name)) {
      throw new MongoError(9, `Found multiple array filters with the same top-level field name ${name}`)
    }
    const test = explained(() => compileElementFilter(filter, name, { collation }))
    compiled.set(name, ({ bytes, type, start }) => test(bytes, type, start))
  }
  return compiled
}

function explained<Result>(parse: () => Result): Result {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    throw new MongoError(error.code, `Error parsing array filter :: caused by :: ${error.message}`)
  }
}

/** The name that all paths of a filter must begin with. Recurses as deep as the filter nests. */
function nameOf(filter: Filter): string | undefined {
  if (filter.kind === 'field') return checkedName(filter.path.split('.', 1)[0]!)
  if (filter.kind === 'expression') throw new MongoError(224, '$expr is not allowed in this context')
  if (filter.kind === 'schema') throw new MongoError(224, '$jsonSchema is not allowed in this context')
  if (filter.kind === 'always' || filter.kind === 'later') return undefined
  let name: string | undefined
  for (const part of filter.of) {
    const found = nameOf(part)
    name ??= found
    if (found !== undefined && found !== name) {
      throw new MongoError(9, `Expected a single top-level field name, found '${name}' and '${found}'`)
    }
  }
  return name
}

function checkedName(name: string): string {
  if (/^[a-z][a-zA-Z0-9]*$/.test(name)) return name
  throw new MongoError(
    2,
    `The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '${name}'`,
  )
}
