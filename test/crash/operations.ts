/** What the actors do next: it depends on the seed alone, never on the server's answers. */

import type { Attempt } from './item-model.ts'
import type { Random } from './random.ts'

export const containers = ['short', 'long'] as const

/** Everything whose default the governor changes: also those of groups.ts. */
export const governed = [...containers, 'batches', 'ledger', 'journal'] as const

export const actorCount = 8
const idsPerActor = 10

/** Every actor has its own items in every container. */
export function idsOf(actor: number): string[] {
  return Array.from({ length: idsPerActor }, (_, index) => `a${actor}-${index}`)
}

export function allIds(): string[] {
  return Array.from({ length: actorCount }, (_, actor) => idsOf(actor)).flat()
}

/** Few partition keys, so that the items of each key belong to several actors. */
export function partitionKeyOf(id: string): string {
  return `p${id.at(-1)}`
}

export interface ItemOperation {
  readonly container: (typeof containers)[number]
  readonly attempt: Attempt
  /** Send the version that was acknowledged last, if there is one. */
  readonly isConditional: boolean
}

export function drawItemOperation(random: Random, actor: number, serial: string): ItemOperation {
  const kind = random.weighted({ create: 22, upsert: 30, replace: 18, delete: 8, read: 22 })
  const id = random.pick(idsOf(actor))
  const ttl = drawTtl(random)
  const padding = 'x'.repeat(random.chance(0.05) ? random.between(5_000, 20_000) : random.between(0, 900))
  const text = JSON.stringify({ id, pk: partitionKeyOf(id), serial, ttl, padding })
  const isWrite = kind !== 'delete' && kind !== 'read'
  return {
    container: random.pick(containers),
    attempt: { kind, id, text: isWrite ? text : '', ttl: isWrite ? ttl : undefined },
    isConditional: random.chance(0.3),
  }
}

export function drawTtl(random: Random): number | undefined {
  switch (random.weighted({ absent: 40, never: 15, short: 20, long: 25 })) {
    case 'absent':
      return undefined
    case 'never':
      return -1
    case 'short':
      return random.between(1, 4)
    case 'long':
      return random.between(30, 600)
  }
}

export type GovernorOperation =
  | { readonly kind: 'advance'; readonly seconds: number }
  | { readonly kind: 'default'; readonly container: string; readonly defaultTtl: number | null }
  | { readonly kind: 'purge'; readonly container: string }
  | { readonly kind: 'status' }

export function drawGovernorOperation(random: Random): GovernorOperation {
  const kind = random.weighted({ advance: 45, default: 25, purge: 20, status: 10 })
  const container = random.pick(governed)
  switch (kind) {
    case 'advance':
      return { kind, seconds: random.chance(0.02) ? 3600 : random.between(1, 4) }
    case 'default':
      return { kind, container, defaultTtl: drawDefault(random) }
    case 'purge':
      return { kind, container }
    case 'status':
      return { kind }
  }
}

export function drawDefault(random: Random): number | null {
  switch (random.weighted({ off: 15, none: 25, short: 10, medium: 20, long: 30 })) {
    case 'off':
      return null
    case 'none':
      return -1
    case 'short':
      return random.between(1, 5)
    case 'medium':
      return random.between(20, 60)
    case 'long':
      return random.between(1_000, 10_000)
  }
}
