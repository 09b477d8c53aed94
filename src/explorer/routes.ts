/** The calls of the API as one table. A star stands for one name in the path. */

import { RequestError } from '../base/error.ts'
import {
  createContainer,
  createDatabase,
  deleteContainer,
  deleteDatabase,
  showOne,
  showOverview,
  showTree,
} from './calls/catalog.ts'
import { complete } from './calls/completion.ts'
import { createDemo } from './calls/demo.ts'
import { forecastDeaths, moveClock, showBehind, showClock, showClockImpact } from './calls/expiry.ts'
import { exportItems } from './calls/export.ts'
import { showFeed } from './calls/feed.ts'
import { importFile } from './calls/import.ts'
import { deleteMany, postItem, putItem, removeOne, setLife } from './calls/item-writes.ts'
import { countItems, explainItem, listItems, readItem } from './calls/items.ts'
import { endJob, listJobs, showJob, showRefused } from './calls/jobs.ts'
import { purge, showLoad } from './calls/load.ts'
import { previewTtl } from './calls/previews.ts'
import { cancelQuery, planQuery, runQuery } from './calls/query.ts'
import { createScript, deleteScript, listScripts, readScript, runProcedure, saveScript } from './calls/scripts.ts'
import {
  changeIndex,
  changeSettings,
  changeSwitches,
  createIndex,
  dropIndex,
  showSettings,
  showSwitches,
} from './calls/settings.ts'
import type { ApiHandler } from './http/call.ts'

interface Route {
  readonly handler: ApiHandler
  /** Whether the call changes nothing, even if it is not a GET. */
  readonly isRead?: boolean
}

const reading = (handler: ApiHandler): Route => ({ handler, isRead: true })
const writing = (handler: ApiHandler): Route => ({ handler })

type Methods = Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'DELETE', Route>>>

const C = 'databases/*/containers/*'

const routes: Readonly<Record<string, Methods>> = {
  tree: { GET: reading(showTree) },
  overview: { GET: reading(showOverview) },
  databases: { POST: writing(createDatabase) },
  'databases/*': { DELETE: writing(deleteDatabase) },
  'databases/*/containers': { POST: writing(createContainer) },
  [C]: { GET: reading(showOne), DELETE: writing(deleteContainer) },
  demo: { POST: writing(createDemo) },
  [`${C}/items`]: { GET: reading(listItems), POST: writing(postItem) },
  [`${C}/items/counts`]: { GET: reading(countItems) },
  [`${C}/items/delete`]: { POST: writing(deleteMany) },
  [`${C}/item`]: { GET: reading(readItem), PUT: writing(putItem), DELETE: writing(removeOne) },
  [`${C}/item/life`]: { POST: writing(setLife) },
  [`${C}/item/explain`]: { GET: reading(explainItem) },
  [`${C}/query`]: { POST: reading(runQuery) },
  [`${C}/query/plan`]: { POST: reading(planQuery) },
  'queries/*': { DELETE: reading(cancelQuery) },
  [`${C}/completion`]: { GET: reading(complete) },
  [`${C}/settings`]: { GET: reading(showSettings), PUT: writing(changeSettings) },
  [`${C}/ttl/preview`]: { POST: reading(previewTtl) },
  [`${C}/indexes`]: { POST: writing(createIndex) },
  [`${C}/indexes/*`]: { PUT: writing(changeIndex), DELETE: writing(dropIndex) },
  mongo: { GET: reading(showSwitches), POST: writing(changeSwitches) },
  [`${C}/forecast`]: { GET: reading(forecastDeaths) },
  [`${C}/behind`]: { GET: reading(showBehind) },
  load: { GET: reading(showLoad) },
  [`${C}/load`]: { GET: reading(showLoad) },
  purge: { POST: writing(purge) },
  clock: { GET: reading(showClock), POST: writing(moveClock) },
  'clock/impact': { GET: reading(showClockImpact) },
  [`${C}/feed`]: { GET: reading(showFeed) },
  [`${C}/scripts`]: { GET: reading(listScripts) },
  [`${C}/scripts/*`]: { POST: writing(createScript) },
  [`${C}/scripts/*/*`]: { GET: reading(readScript), PUT: writing(saveScript), DELETE: writing(deleteScript) },
  [`${C}/scripts/*/*/run`]: { POST: writing(runProcedure) },
  [`${C}/import`]: { POST: writing(importFile) },
  [`${C}/export`]: { GET: reading(exportItems) },
  jobs: { GET: reading(listJobs) },
  'jobs/*': { GET: reading(showJob), DELETE: writing(endJob) },
  'jobs/*/refused': { GET: reading(showRefused) },
}

const patterns = Object.entries(routes).map(([pattern, methods]) => ({ parts: pattern.split('/'), methods }))

export interface FoundRoute extends Route {
  readonly names: readonly string[]
}

/** `path` is decoded, behind `/_explorer/api/`. */
export function findRoute(method: string, path: readonly string[]): FoundRoute {
  const asked = method === 'HEAD' ? 'GET' : method
  for (const { parts, methods } of patterns) {
    if (parts.length !== path.length || !parts.every((part, at) => part === '*' || part === path[at])) continue
    const route = methods[asked as keyof Methods]
    if (route === undefined) throw new MethodRefused(method, Object.keys(methods))
    return { ...route, names: path.filter((_, at) => parts[at] === '*') }
  }
  throw new RequestError('not_found', `The explorer has no call ${method} ${path.join('/').slice(0, 200)}.`)
}

export class MethodRefused extends RequestError {
  readonly allowed: readonly string[]

  constructor(method: string, allowed: readonly string[]) {
    super('method_not_allowed', `The call takes ${allowed.join(', ')}, not ${method}.`)
    this.allowed = allowed
  }
}
