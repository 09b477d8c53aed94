/** The RU that requests and the purger use, second by second; and pausing, resuming and purging. */

import type { ContainerRecord } from '../../store/catalog.ts'
import { usageSecondsMax } from '../../units/usage.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { optionalFlag, optionalText, wholeParameter } from '../http/fields.ts'
import { deadOf } from '../items/figures.ts'
import type { ExplorerService } from '../service/service.ts'
import { findContainer, requireContainer, requireDatabase } from './containers.ts'

export async function showLoad(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = call.names.length === 0 ? undefined : await requireContainer(service, call)
  const seconds = wholeParameter(call.query, 'seconds', { min: 1, max: usageSecondsMax, otherwise: 120 })
  const { engine, backlogs } = service
  const { usage } = engine
  // The present second is not over.
  const endSecond = usage.second - 1
  const series = {
    requests: [] as number[],
    requestRu: [] as number[],
    purgeRu: [] as number[],
    throttled: [] as number[],
    removed: [] as number[],
    dead: [] as (number | null)[],
    lagSeconds: [] as (number | null)[],
  }
  for (let second = endSecond - seconds + 1; second <= endSecond; second++) {
    const used = usage.at(container?.number, second)
    series.requests.push(used.requests)
    series.requestRu.push(hundredths(used.requestRu))
    series.purgeRu.push(hundredths(used.purgeRu))
    series.throttled.push(used.throttled)
    series.removed.push(used.removed)
    const seen = backlogs.at(container?.number, second)
    series.dead.push(seen?.dead ?? null)
    series.lagSeconds.push(seen?.lagSeconds ?? null)
  }
  const containers = container === undefined ? await everyContainer(service) : [container]
  return {
    json: {
      endSecond,
      stepSeconds: 1,
      provisionedRu: container === undefined ? null : engine.rateOf(container),
      isEnforced: engine.isRateLimited,
      ...series,
      now: await presentBacklog(service, containers),
    },
  }
}

async function presentBacklog(service: ExplorerService, containers: readonly ContainerRecord[]) {
  let dead = 0
  let lagSeconds = 0
  let oldest: number | null = null
  for (const each of containers) {
    const { value } = await deadOf(service, each)
    dead += value.backlog
    lagSeconds = Math.max(lagSeconds, value.lagSeconds)
    if (value.oldestDeadline !== null) oldest = Math.min(oldest ?? value.oldestDeadline, value.oldestDeadline)
  }
  return { dead, lagSeconds, oldest, isPaused: service.engine.purger.isPaused }
}

export function hundredths(ru: number): number {
  return Math.round(ru * 100) / 100
}

export async function everyContainer({ engine }: ExplorerService): Promise<ContainerRecord[]> {
  const databases = await engine.catalog.databases()
  return (await Promise.all(databases.map(database => engine.catalog.containers(database)))).flat()
}

export async function purge(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const { purger } = service.engine
  const body = await call.body()
  const pause = optionalFlag(body, 'pause')
  if (pause !== undefined) {
    purger.isPaused = pause
    return { json: { paused: pause } }
  }
  const database = optionalText(body, 'database')
  const container = optionalText(body, 'container')
  if (container !== undefined && database === undefined) {
    throw new FieldError('database', 'Name the database of the container as well.')
  }
  const containers =
    database === undefined
      ? await everyContainer(service)
      : container === undefined
        ? await service.engine.catalog.containers(await requireDatabase(service, database))
        : [await findContainer(service, database, container)]
  const removed = await purger.purgeNow(containers)
  service.counts.forget()
  const { dead } = await presentBacklog(service, containers)
  return { json: { removed, remaining: dead } }
}
