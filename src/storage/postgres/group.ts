/**
 * What a group of writes does to the rows it finds: judged here, in the order of asking, and stored in one statement.
 *
 * Nothing in here waits or knows PostgreSQL. A later write of the group sees what an earlier one has left.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { assert } from '../../base/error.ts'
import { indexKeys } from '../../document/index-keys.ts'
import { ownDeadline } from '../../ttl/lifespan.ts'
import { isAlive, livingAt } from '../../ttl/living.ts'
import type { Draft, IndexRecord, ItemKey, ItemWrite, Stamp, StoredItem, TtlPolicy, WriteAnswer } from '../port.ts'
import type { IndexFindings } from './changes.ts'
import { versionOf } from './keys.ts'

export type PresentRow = Omit<StoredItem, 'body'>

/** What is there when the group has the bucket's lock. */
export interface BucketState {
  readonly bucket: number
  /** The number of the last write. */
  readonly lsn: number
  readonly moment: EpochSeconds
  readonly policy: TtlPolicy
  readonly indexes: readonly IndexRecord[]
  /** For each write the row of its key, alive or dead. */
  readonly present: readonly (PresentRow | undefined)[]
}

export interface StoredChange {
  readonly key: ItemKey
  readonly item: StoredItem
  readonly entries: readonly { readonly number: number; readonly key: Uint8Array }[]
}

export interface GroupOutcome {
  readonly answers: readonly WriteAnswer[]
  readonly lsn: number
  /** How many rows there are more than before. */
  readonly rowsMore: number
  readonly stored: readonly StoredChange[]
  readonly removed: readonly ItemKey[]
  /** Sequences of rows that had been there and whose entries may have to go. */
  readonly touched: readonly number[]
  readonly findings: IndexFindings
}

interface Slot {
  readonly key: ItemKey
  readonly before: PresentRow | undefined
  now: PresentRow | undefined
  written: StoredItem | undefined
  isChanged: boolean
}

export function judgeGroup(state: BucketState, writes: readonly ItemWrite[]): GroupOutcome {
  const slots = new Map<string, Slot>()
  const answers: WriteAnswer[] = []
  let { lsn } = state
  for (const [index, write] of writes.entries()) {
    const name = nameOf(write.key)
    let slot = slots.get(name)
    if (slot === undefined) {
      const before = state.present[index]
      slot = { key: write.key, before, now: before, written: undefined, isChanged: false }
      slots.set(name, slot)
    }
    const answer = judge(state, slot, write, lsn)
    if (answer.outcome === 'created' || answer.outcome === 'replaced' || answer.outcome === 'deleted') lsn++
    answers.push(answer)
  }
  return {
    answers,
    lsn,
    ...changes(
      state,
      [...slots.values()].filter(({ isChanged }) => isChanged),
    ),
  }
}

function judge(state: BucketState, slot: Slot, write: ItemWrite, lsn: number): WriteAnswer {
  const { bucket, moment, policy } = state
  const { now } = slot
  const alive = now !== undefined && isAlive(livingAt(policy, moment), now) ? now : undefined
  const answer = { moment, policy, version: lsn === 0 ? 0 : versionOf(lsn, bucket) }

  if (alive === undefined && (write.kind === 'replace' || write.kind === 'delete'))
    return { ...answer, outcome: 'missing' }
  if (alive !== undefined && write.kind === 'create') return { ...answer, outcome: 'exists' }
  if (alive !== undefined && write.ifVersion !== undefined && alive.version !== write.ifVersion) {
    return { ...answer, outcome: 'changed' }
  }

  const version = versionOf(lsn + 1, bucket)
  slot.isChanged = true
  if (write.kind === 'delete') {
    slot.now = undefined
    slot.written = undefined
    return { ...answer, version, outcome: 'deleted' }
  }
  const stamp = { sequence: alive?.sequence ?? version, version, ts: moment }
  const item = { ...stamp, deadline: ownDeadline(write.ttl, moment), body: fill(write.draft, stamp) }
  slot.now = item
  slot.written = item
  return { ...answer, version, outcome: alive === undefined ? 'created' : 'replaced', item }
}

function changes({ indexes }: BucketState, slots: readonly Slot[]): Omit<GroupOutcome, 'answers' | 'lsn'> {
  const findings: IndexFindings = { cut: new Set(), gaps: new Set() }
  const stored: StoredChange[] = []
  const removed: ItemKey[] = []
  const touched: number[] = []
  let rowsMore = 0
  for (const { key, before, written } of slots) {
    if (before !== undefined && indexes.length > 0) touched.push(before.sequence)
    if (written !== undefined) {
      const entries = indexes.length === 0 ? [] : entriesOf(indexes, JSON.parse(written.body), findings)
      stored.push({ key, item: written, entries })
      if (before === undefined) rowsMore++
    } else if (before !== undefined) {
      removed.push(key)
      rowsMore--
    }
  }
  return { stored, removed, touched, rowsMore, findings }
}

/** The entries of an item in all indexes; notes what nobody knew before about them. */
export function entriesOf(
  indexes: readonly IndexRecord[],
  content: unknown,
  findings: IndexFindings,
): StoredChange['entries'] {
  const entries: { number: number; key: Uint8Array }[] = []
  for (const { definition, hasCutKeys, hasGaps } of indexes) {
    const { number } = definition
    const { keys, isCut, isComplete } = indexKeys(definition, content)
    if (isCut && !hasCutKeys) findings.cut.add(number)
    if (!isComplete && !hasGaps) findings.gaps.add(number)
    for (const key of keys) entries.push({ number, key })
  }
  return entries
}

/** Lone surrogates are stored as U+FFFD, so keys that differ only in those are one key. */
function nameOf({ epk, pk, id }: ItemKey): string {
  return `${epk.length} ${pk.length} ${epk}${pk}${id}`.toWellFormed()
}

export function fill({ texts, stamps }: Draft, stamp: Stamp): string {
  assert(texts.length === stamps.length + 1, 'a draft has one text more than stamps')
  let body = texts[0]!
  for (const [index, { name, print }] of stamps.entries()) body += print(stamp[name]) + texts[index + 1]!
  return body
}
