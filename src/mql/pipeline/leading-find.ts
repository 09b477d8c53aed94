/** Finds the first stages of a pipeline that a find can do, so that indexes can serve them. */

import type { BsonDocument } from '../../document/bson/value.ts'
import { geoNearFilter } from '../stages/geo-near.ts'
import { allOf } from '../stages/join-filter.ts'
import { limitOf, skipOf } from '../stages/limit.ts'
import { filterOf } from '../stages/match.ts'
import { sortSpecOf } from '../stages/sort.ts'
import type { LeadingFind } from '../stages/stage.ts'
import type { StageSpec } from './stage-list.ts'

export interface LeadingStages {
  readonly lead: LeadingFind
  /** The number of stages that the find replaces. */
  readonly count: number
}

/**
 * A `$match` may follow a `$sort`, since neither affects the other. After `$skip` or `$limit` neither may
 * follow.
 */
export function splitLeadingFind(specs: readonly StageSpec[]): LeadingStages {
  const [first] = specs
  if (first?.name === '$geoNear') {
    return { lead: { filter: geoNearFilter(first.spec), sort: undefined, skip: 0, limit: undefined }, count: 0 }
  }
  const filters: BsonDocument[] = []
  let sort: BsonDocument | undefined
  let skip = 0
  let limit: number | undefined
  let count = 0
  for (const { name, spec } of specs) {
    const isCounted = skip > 0 || limit !== undefined
    if (name === '$match' && !isCounted) {
      filters.push(filterOf(spec))
    } else if (name === '$sort' && !isCounted && sort === undefined) {
      sort = sortSpecOf(spec)
    } else if (name === '$skip') {
      const passed = skipOf(spec)
      if (limit !== undefined && limit <= passed) break
      skip += passed
      if (limit !== undefined) limit -= passed
    } else if (name === '$limit') {
      limit = Math.min(limit ?? Number.POSITIVE_INFINITY, limitOf(spec))
    } else {
      break
    }
    count += 1
  }
  return { lead: { filter: allOf(filters), sort, skip, limit }, count }
}
