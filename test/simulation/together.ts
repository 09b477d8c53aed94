/** Finds the order of operations that were sent together, from their answers. */

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
 * Writes of one effective partition key are ordered by the versions that they made or found. Writes and
 * policy changes are ordered by moment, and within one moment by the policy that judged the write; each write
 * takes the earliest position that is possible. If that is ambiguous, the order makes no difference.
 */
export function inOrder(before: TtlPolicy, happened: readonly Happened[]): Happened[] {
  const changes = happened.filter(each => 'record' in each).sort((a, b) => a.record.version - b.record.version)
  const policies = [before, ...changes.map(({ record }) => record.policy)]
  const reached = new Map<string, number>()
  const policyIndexes = new Map<Happened, number>()
  for (const each of happened.filter(each => 'answer' in each).sort(byVersion)) {
    const { epk } = each.write.key
    const from = reached.get(epk) ?? 0
    const policyIndex = policies.findIndex(
      (policy, index) => index >= from && isDeepStrictEqual(policy, each.answer.policy),
    )
    assert.notEqual(policyIndex, -1, 'a write is judged by a policy that was in force')
    reached.set(epk, policyIndex)
    policyIndexes.set(each, policyIndex)
  }
  // After every write that the old policy judged, and before every write that the new one judged.
  for (const [index, change] of changes.entries()) policyIndexes.set(change, index + 0.5)
  return [...happened].sort(
    (a, b) =>
      momentOf(a) - momentOf(b) ||
      policyIndexes.get(a)! - policyIndexes.get(b)! ||
      ('answer' in a && 'answer' in b ? byVersion(a, b) : 0),
  )
}

/** A refused write found the version that the last write before it made. */
function byVersion({ answer: a }: Written, { answer: b }: Written): number {
  return a.moment - b.moment || a.version - b.version || Number(isRefused(a)) - Number(isRefused(b))
}

function isRefused({ outcome }: WriteAnswer): boolean {
  return outcome === 'exists' || outcome === 'missing' || outcome === 'changed'
}
