/** Queries of items and of definitions: the query language is loaded with the first of them. */

import { lazily } from '../../base/lazily.ts'

const load = () => import('./query.ts')

export const planQuery = lazily(load, queries => queries.planQuery)
export const queryItems = lazily(load, queries => queries.queryItems)
export const queryDefinitions = lazily(load, queries => queries.queryDefinitions)
