/** Expiry: the forecast, past deaths, a preview of another default ttl, and the clock. */

import { type ManualClock, machine, toEpochSeconds } from '../../base/clock.ts'
import { parseDuration } from '../../base/duration.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { ConflictError, FieldError } from '../http/error-map.ts'
import { optionalWhole, wholeParameter } from '../http/fields.ts'
import { shownDoubt } from '../items/doubt.ts'
import { deadOf } from '../items/figures.ts'
import type { ExplorerService } from '../service/service.ts'
import { requireContainer } from './containers.ts'

const bucketsMax = 1000

export async function forecastDeaths(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const bucketCount = wholeParameter(call.query, 'buckets', { min: 1, max: bucketsMax, otherwise: 60 })
  const asked = call.query.get('window') ?? '1h'
  const windowSeconds = Math.max(
    bucketCount,
    asked === 'all' ? await secondsToLast(service, container) : durationOf('window', asked),
  )
  const { value, isAbout } = await service.counts.get(
    `forecast ${container.number} ${container.policy.defaultTtl} ${windowSeconds} ${bucketCount}`,
    () => service.engine.reports.forecast(container, { windowSeconds, bucketCount }),
    ({ buckets }) => buckets.reduce((sum, { inherited, own }) => sum + inherited + own, 0),
  )
  return { json: { ...value, isAbout } }
}

/** The seconds until the last deadline of a living item that dies at all; at least a minute. */
async function secondsToLast({ engine }: ExplorerService, container: ContainerRecord): Promise<number> {
  const moment = await engine.moment()
  return Math.max(60, (await engine.reports.lastDeadline(container)) - moment)
}

function durationOf(field: string, text: string): number {
  try {
    return parseDuration(text)
  } catch (error) {
    throw new FieldError(field, error instanceof Error ? error.message : String(error))
  }
}

const dayS = 24 * 3600

export async function showBehind(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const bucketCount = wholeParameter(call.query, 'buckets', { min: 1, max: bucketsMax, otherwise: 15 })
  const windowSeconds = durationOf('window', call.query.get('window') ?? '15m')
  if (windowSeconds > dayS || windowSeconds < 60 * bucketCount || windowSeconds % (60 * bucketCount) !== 0) {
    throw new FieldError('window', 'The window is at most 24 h, with whole minutes for each bucket.')
  }
  const { value, isAbout } = await service.counts.get(
    `behind ${container.number} ${windowSeconds} ${bucketCount}`,
    () => service.engine.reports.behind(container, { windowSeconds, bucketCount }),
    ({ buckets, waitingLonger }) => buckets.reduce((sum, { waiting }) => sum + waiting, waitingLonger),
  )
  const { oldestDeadline } = (await deadOf(service, container)).value
  return { json: { ...value, oldest: oldestDeadline, isAbout } }
}

export async function showClock({ engine, clock }: ExplorerService): Promise<ApiAnswer> {
  return { json: await clockState(engine, clock) }
}

async function clockState(engine: ExplorerService['engine'], clock: ExplorerService['clock']) {
  const time = await engine.time()
  const doubt = shownDoubt(time, clock)
  return {
    now: time.moment,
    nowMs: clock.nowMs(),
    machineMs: machine.epochMs(),
    mode: clock.mode,
    ...(doubt && { doubt }),
  }
}

export async function moveClock(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const { engine, clock } = service
  const body = await call.body()
  const { advance, set, trust } = body
  if (trust !== undefined) {
    if (trust !== true) throw new FieldError('trust', 'Say {"trust":true}.')
    await engine.trustTime()
    return { json: await clockState(engine, clock) }
  }
  if ((advance === undefined) === (set === undefined)) {
    throw new FieldError('advance', 'Say either {"advance":"1h"} or {"set":epochSeconds}.')
  }
  if (clock.mode !== 'manual') {
    throw new ConflictError('The clock is the system’s; start with --clock manual to move it.')
  }
  const manual = clock as ManualClock
  const from = await engine.moment()
  const to = advance === undefined ? set : from + durationOf('advance', String(advance))
  if (typeof to !== 'number' || !Number.isSafeInteger(to))
    throw new FieldError('set', '"set" is in whole seconds since 1970.')
  if (to < from) throw new FieldError('set', 'The clock only goes forward.')
  const died = await dyingUntil(service, to)
  manual.set(to)
  service.counts.forget()
  return { json: { ...(await clockState(engine, clock)), died } }
}

export async function showClockImpact(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const now = await service.engine.moment()
  const advance = call.query.get('advance')
  const to = advance === null ? optionalWhole(call.query, 'to') : now + durationOf('advance', advance)
  if (to === undefined) throw new FieldError('advance', 'Say ?advance=1h or ?to=epochSeconds.')
  if (to < now) throw new FieldError('to', 'The clock only goes forward.')
  const { value, isAbout } = await service.counts.get(
    `impact ${now} ${to}`,
    () => dyingUntil(service, to),
    ({ total }) => total,
  )
  return { json: { to, ...value, isAbout } }
}

async function dyingUntil({ engine }: ExplorerService, to: number) {
  const containers: { database: string; container: string; count: number }[] = []
  let total = 0
  for (const database of await engine.catalog.databases()) {
    for (const container of await engine.catalog.containers(database)) {
      const count = await engine.reports.dyingUntil(container, toEpochSeconds(to))
      total += count
      if (count > 0) containers.push({ database: database.id, container: container.id, count })
    }
  }
  return { total, containers: containers.sort((a, b) => b.count - a.count) }
}
