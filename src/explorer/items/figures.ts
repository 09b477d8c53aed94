/**
 * The figures of a container that the page shows all the time. None needs a walk over the items: the census
 * has the rows, the earliest times tell whether an item is dead, and counts are cached by their cost.
 */

import { toEpochSeconds } from '../../base/clock.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { CountCache } from '../service/count-cache.ts'
import { printKey } from '../service/tokens.ts'
import { documentId } from './rows.ts'

export interface Figures {
  readonly living: number
  readonly dead: number
  readonly oldest: number | null
  readonly lagSeconds: number
  readonly next: { readonly id: string; readonly key: string; readonly deadline: number } | null
  readonly isAbout: boolean
}

interface Parts {
  readonly engine: Engine
  readonly counts: CountCache
}

export async function figuresOf(parts: Parts, container: ContainerRecord): Promise<Figures> {
  const [{ rows, hasDead }, next] = await Promise.all([
    parts.engine.reports.glance(container),
    nextToDie(parts.engine, container),
  ])
  if (!hasDead) return { living: rows, dead: 0, oldest: null, lagSeconds: 0, next, isAbout: false }
  const { value, isAbout } = await deadOf(parts, container)
  const { backlog, oldestDeadline, lagSeconds } = value
  return { living: Math.max(0, rows - backlog), dead: backlog, oldest: oldestDeadline, lagSeconds, next, isAbout }
}

export function deadOf({ engine, counts }: Parts, container: ContainerRecord) {
  return counts.get(
    `dead ${container.number}`,
    () => engine.reports.ttlStatus(container),
    ({ backlog }) => backlog,
  )
}

/** How many living items die within so many seconds. */
export function dyingWithin({ engine, counts }: Parts, container: ContainerRecord, seconds: number) {
  return counts.get(
    `within ${container.number} ${seconds}`,
    async () => engine.reports.dyingUntil(container, toEpochSeconds((await engine.moment()) + seconds)),
    count => count,
  )
}

async function nextToDie(engine: Engine, container: ContainerRecord): Promise<Figures['next']> {
  if (container.policy.defaultTtl === null) return null
  const item = await engine.reports.nextToDie(container)
  if (item === undefined || item.dies === null) return null
  const { key, body } = item
  const id = typeof body === 'string' ? key.id : documentId(BsonDocument.view(body))
  return { id: id.slice(0, 200), key: printKey(key), deadline: item.dies }
}
