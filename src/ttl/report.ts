/** Reports on expiry in a container: status, forecast, preview of a change, why an item is alive or dead. */

import type { EpochSeconds } from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import { timeText } from '../base/time-words.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey, StoredItem } from '../store/item.ts'
import { type Living, neverDeadline, type TtlPolicy } from '../store/policy.ts'
import type { Store } from '../store/port.ts'
import type { Cohort } from '../store/reading.ts'
import { hasDeadOf } from './any-dead.ts'
import type { DeathRecord } from './death-record.ts'
import { changeDefault, invalidTtlText, isTtl } from './lifespan.ts'
import { isAlive, livingAt } from './living.ts'
import type { Explanation, Forecast, Preview, TtlStatus } from './report-shapes.ts'

/** Most buckets of an expiry forecast. */
const forecastBucketsMax = 1000

export async function ttlStatus(store: Store, container: ContainerRecord): Promise<TtlStatus> {
  const moment = await store.moment()
  const { policy } = container
  const living = livingAt(policy, moment)
  const census = await store.census(container)
  const backlog = await countDead(store, container, living)
  const deadlines: number[] = []
  if (hasDeadOf('inherited', census, living)) {
    deadlines.push(Math.min(moment, census.earliestInherited! + inheritedLifespan(policy)))
  }
  if (hasDeadOf('own', census, living)) deadlines.push(census.earliestOwn!)
  const oldestDeadline = deadlines.length > 0 ? Math.min(...deadlines) : null
  return {
    defaultTtl: policy.defaultTtl,
    living: census.rows - backlog,
    backlog,
    oldestDeadline,
    lagSeconds: oldestDeadline === null ? 0 : moment - oldestDeadline,
  }
}

async function countDead(store: Store, container: ContainerRecord, living: Living): Promise<number> {
  const count = (lifespan: Cohort['lifespan'], upTo: number) =>
    store.count(container, { lifespan, after: beforeAll, upTo })
  return (await count('inherited', living.inheritedAfter)) + (await count('own', living.ownAfter))
}

/**
 * The default that inheriting dead items died under. If it is gone, the distance between the two marks gives
 * it: the change that ended it set both.
 */
function inheritedLifespan({ defaultTtl, inheritedDeadAt, ownDeadAt }: TtlPolicy): number {
  return defaultTtl !== null && defaultTtl > 0 ? defaultTtl : ownDeadAt - inheritedDeadAt
}

export async function forecast(
  store: Store,
  container: ContainerRecord,
  { windowSeconds, bucketCount }: { windowSeconds: number; bucketCount: number },
): Promise<Forecast> {
  if (!Number.isInteger(bucketCount) || bucketCount < 1 || bucketCount > forecastBucketsMax) {
    throw new RequestError('malformed', `"buckets" is a whole number from 1 to ${forecastBucketsMax}.`)
  }
  if (windowSeconds < bucketCount) {
    throw new RequestError('malformed', 'The window must have at least a second for each bucket.')
  }
  const moment = await store.moment()
  const edges = Array.from({ length: bucketCount }, (_, index) =>
    Math.round(moment + (windowSeconds * (index + 1)) / bucketCount),
  )
  const { spans, later, never } = await deaths(store, container, container.policy, moment, edges)
  return {
    buckets: edges.map((end, index) => ({ start: edges[index - 1] ?? moment, end, ...spans[index + 1]! })),
    later,
    never,
  }
}

/** How many items would die, and when, if the default were changed now. The spans do not overlap. */
export async function preview(store: Store, container: ContainerRecord, defaultTtl: number | null): Promise<Preview> {
  if (defaultTtl !== null && !isTtl(defaultTtl)) throw new RequestError('malformed', invalidTtlText(defaultTtl))
  const moment = await store.moment()
  const changed = changeDefault(container.policy, defaultTtl, moment)
  const { spans, later, never } = await deaths(store, container, changed, moment, [moment + hourS, moment + dayS])
  const [now, within1h, within24h] = spans.map(({ inherited, own }) => inherited + own)
  return { now: now!, within1h: within1h!, within24h: within24h!, later, never }
}

/**
 * Counts, of the items alive now, how many die at once under a policy and how many up to each edge.
 *
 * Under one policy the thresholds only rise, so items that die between two edges lie between the thresholds
 * of the two. Of the others not all are counted: the census knows how many items there are, so the cost is
 * that of those that die, and of one kind of those that stay.
 */
async function deaths(
  store: Store,
  container: ContainerRecord,
  policy: TtlPolicy,
  moment: EpochSeconds,
  edges: readonly number[],
): Promise<{ spans: { inherited: number; own: number }[]; later: number; never: number }> {
  const count = (lifespan: Cohort['lifespan'], after: number, upTo: number) =>
    upTo > after ? store.count(container, { lifespan, after, upTo }) : Promise.resolve(0)
  const spans: { inherited: number; own: number }[] = []
  let before: Living = livingAt(container.policy, moment)
  const { rows } = await store.census(container)
  let left = rows - (await countDead(store, container, before))
  for (const edge of [moment, ...edges]) {
    const { inheritedAfter, ownAfter } = livingAt(policy, edge as EpochSeconds)
    const inherited = await count('inherited', before.inheritedAfter, inheritedAfter)
    const own = await count('own', before.ownAfter, ownAfter)
    spans.push({ inherited, own })
    left -= inherited + own
    before = {
      inheritedAfter: Math.max(before.inheritedAfter, inheritedAfter),
      ownAfter: Math.max(before.ownAfter, ownAfter),
    }
  }
  // Items may be written or removed between two counts.
  left = Math.max(0, left)
  const { defaultTtl } = policy
  if (defaultTtl === null) return { spans, never: left, later: 0 }
  if (defaultTtl > 0) {
    const never = Math.min(left, await count('own', neverDeadline - 1, neverDeadline))
    return { spans, never, later: left - never }
  }
  const later = Math.min(left, await count('own', before.ownAfter, neverDeadline - 1))
  return { spans, never: left - later, later }
}

export interface Behind {
  readonly buckets: readonly { start: number; end: number; removed: number; waiting: number }[]
  /** Dead before the first bucket, and still there. */
  readonly waitingLonger: number
}

/** What died in the time before now: what was removed since the process started, and what waits. */
export async function behind(
  store: Store,
  container: ContainerRecord,
  deaths: DeathRecord,
  { windowSeconds, bucketCount }: { readonly windowSeconds: number; readonly bucketCount: number },
): Promise<Behind> {
  const moment = await store.moment()
  const { policy } = container
  const now = livingAt(policy, moment)
  const count = (lifespan: Cohort['lifespan'], after: number, upTo: number) =>
    upTo > after ? store.count(container, { lifespan, after, upTo }) : 0
  // Buckets begin with whole minutes, because deaths are remembered by the minute.
  const bucketS = Math.max(minuteS, Math.round(windowSeconds / bucketCount / minuteS) * minuteS)
  const end = moment - (moment % minuteS) + minuteS
  const start = end - bucketS * bucketCount
  const buckets: { start: number; end: number; removed: number; waiting: number }[] = []
  // What dies at a second died in the minute that ends with it.
  let before = livingAt(policy, start as EpochSeconds)
  const waitingLonger =
    (await count('inherited', beforeAll, Math.min(before.inheritedAfter, now.inheritedAfter))) +
    (await count('own', beforeAll, Math.min(before.ownAfter, now.ownAfter)))
  for (let at = start; at < end; at += bucketS) {
    const after = livingAt(policy, Math.min(at + bucketS, moment) as EpochSeconds)
    const waiting =
      (await count('inherited', before.inheritedAfter, after.inheritedAfter)) +
      (await count('own', before.ownAfter, after.ownAfter))
    const removed = Math.max(0, deaths.between(container, at, at + bucketS) - waiting)
    buckets.push({ start: at, end: at + bucketS, removed, waiting })
    before = after
  }
  return { buckets, waitingLonger }
}

export async function explain(store: Store, container: ContainerRecord, key: ItemKey): Promise<Explanation> {
  const moment = await store.moment()
  const { policy } = container
  const { defaultTtl } = policy
  const item = await store.inspect(container, key)
  if (item === undefined) {
    return {
      ...{ state: 'unknown', rule: null, ts: null, defaultTtl, ttl: null, effectiveTtl: null, expiresAt: null },
      secondsLeft: null,
      explanation: 'There is no such item: it was never written, was deleted, or has died and been removed.',
    }
  }
  const { ts } = item
  const { state, rule, ttl, effectiveTtl, expiresAt } = judge(policy, moment, item)
  return {
    ...{ state, rule, ts, defaultTtl, ttl, effectiveTtl, expiresAt },
    secondsLeft: state === 'alive' && expiresAt !== null ? expiresAt - moment : null,
    explanation: sentence({ state, rule, effectiveTtl, expiresAt, moment }),
  }
}

/** What a policy and a moment mean for one row. */
export function judge(policy: TtlPolicy, moment: EpochSeconds, item: Pick<StoredItem, 'ts' | 'deadline'>) {
  const { defaultTtl } = policy
  const { ts, deadline } = item
  const ttl = deadline === null ? null : deadline === neverDeadline ? -1 : deadline - ts
  const effectiveTtl = defaultTtl === null ? null : (ttl ?? defaultTtl)
  const isDead = !isAlive(livingAt(policy, moment), item)
  const state: 'alive' | 'dead' = isDead ? 'dead' : 'alive'
  const rule = ruleOf(policy, moment, item)
  // The deadline under an earlier setting is no longer known.
  const expiresAt = rule === 'inherited' ? ts + defaultTtl! : rule === 'own' ? deadline : null
  return { state, rule, ttl, effectiveTtl, expiresAt }
}

function ruleOf(
  policy: TtlPolicy,
  moment: EpochSeconds,
  item: Pick<StoredItem, 'ts' | 'deadline'>,
): NonNullable<Explanation['rule']> {
  const withoutMarks = { ...policy, inheritedDeadAt: beforeAll, ownDeadAt: beforeAll }
  const isDead = !isAlive(livingAt(policy, moment), item)
  if (isDead && isAlive(livingAt(withoutMarks, moment), item)) return 'final'
  if (policy.defaultTtl === null) return 'off'
  if (item.deadline === neverDeadline) return 'never'
  if (item.deadline !== null) return 'own'
  return policy.defaultTtl === -1 ? 'never' : 'inherited'
}

function sentence(facts: {
  state: 'alive' | 'dead'
  rule: NonNullable<Explanation['rule']>
  effectiveTtl: number | null
  expiresAt: number | null
  moment: number
}): string {
  const { state, rule, effectiveTtl, expiresAt, moment } = facts
  switch (rule) {
    case 'off':
      return 'Expiry is off for this container, so the item lives for ever; a ttl of its own is only data.'
    case 'never':
      return 'The item never expires: its own ttl is -1, or it has none and the container has no default.'
    case 'final':
      return (
        'The item died under an earlier setting of the container. Death is final: a later setting does not revive ' +
        'it.'
      )
    case 'own':
    case 'inherited': {
      const source =
        rule === 'own' ? `its own ttl of ${effectiveTtl} s` : `the container's default of ${effectiveTtl} s`
      const when = timeText(expiresAt!, moment)
      const since = 'counted from its last write'
      return state === 'dead'
        ? `The item died at ${when}, by ${source}, ${since}. It waits to be removed; nobody sees it.`
        : `The item lives until ${when}, by ${source}, ${since}.`
    }
  }
}

/** Earlier than every `_ts` and deadline of an item. */
const beforeAll = -1
const minuteS = 60
const hourS = 3600
const dayS = 24 * hourS
