/** In which order the things happened that were asked for together, found out from their answers. */

import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { EpochSeconds } from '../../src/base/clock.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { TtlPolicy } from '../../src/store/policy.ts'
import type { ItemWrite, WriteAnswer } from '../../src/store/writing.ts'

type Written = { readonly write: ItemWrite; readonly answer: WriteAnswer }
type Changed = { readonly defaultTtl: number | null; readonly record: ContainerRecord }
export type Happened = Written | Changed

export function momentOf(happened: Happened): EpochSeconds {
  return 'answer' in happened ? happened.answer.moment : happened.record.ts
}

/**
 * Writes of one effective partition key follow on each other by the versions that they gave or found. Between
 * them and the changes of the policy the order is by moments, and within one by the policy that a write was
 * judged by: each takes the earliest it can have been. Where that is ambiguous, the order makes no difference
 * to anyone.
 */
export function inOrder(before: TtlPolicy, happened: readonly Happened[]): Happened[] {
  const changes = happened.filter(each => 'record' in each).sort((a, b) => a.record.version - b.record.version)
  const policies = [before, ...changes.map(({ record }) => record.policy)]
  const reached = new Map<string, number>()
  const places = new Map<Happened, number>()
  for (const each of happened.filter(each => 'answer' in each).sort(byVersion)) {
    const { epk } = each.write.key
    const from = reached.get(epk) ?? 0
    const place = policies.findIndex((policy, index) => index >= from && isDeepStrictEqual(policy, each.answer.policy))
    assert.notEqual(place, -1, 'a write is judged by a policy that was in force')
    reached.set(epk, place)
    places.set(each, place)
  }
  // Behind every write that was judged by the policy before, and before every one that was judged by the new
  // one.
  for (const [index, change] of changes.entries()) places.set(change, index + 0.5)
  return [...happened].sort(
    (a, b) =>
      momentOf(a) - momentOf(b) ||
      places.get(a)! - places.get(b)! ||
      ('answer' in a && 'answer' in b ? byVersion(a, b) : 0),
  )
}

/** A write that was refused found the version that the last one before it gave. */
function byVersion({ answer: a }: Written, { answer: b }: Written): number {
  return a.moment - b.moment || a.version - b.version || Number(isRefused(a)) - Number(isRefused(b))
}

function isRefused({ outcome }: WriteAnswer): boolean {
  return outcome === 'exists' || outcome === 'missing' || outcome === 'changed'
}
