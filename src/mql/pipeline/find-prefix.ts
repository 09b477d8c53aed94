/** The beginning of a pipeline that a find can answer, so that indexes serve it. */

import type { BsonDocument } from '../../document/bson/value.ts'
import { geoNearFilter } from '../stages/geo-near.ts'
import { allOf } from '../stages/join-filter.ts'
import { limitOf, skipOf } from '../stages/limit.ts'
import { filterOf } from '../stages/match.ts'
import { sortSpecOf } from '../stages/sort.ts'
import type { Lead } from '../stages/stage.ts'
import type { StageSpec } from './stage-list.ts'

export interface Split {
  readonly lead: Lead
  /** How many stages the lead stands for. */
  readonly count: number
}

/**
 * Filters may follow an order, since neither changes the other; what counts documents ends the search for
 * them.
 */
export function splitLead(specs: readonly StageSpec[]): Split {
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
