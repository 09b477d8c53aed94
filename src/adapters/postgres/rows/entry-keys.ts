/**
 * The entries that an item has in the indexes of its container, and what making them teaches about the
 * indexes.
 */

import { createHash } from 'node:crypto'
import type { Body } from '../../../document/body.ts'
import type { IndexDefinition, Uniqueness } from '../../../document/index-definition.ts'
import type { IndexKeys, KeyMaker } from '../../../document/index-keys.ts'
import type { IndexRecord } from '../../../store/catalog.ts'
import { fill } from '../../../store/fill.ts'
import type { Draft, Stamp } from '../../../store/item.ts'

export interface Entry {
  readonly number: number
  readonly key: Buffer
  readonly uniqueness: Uniqueness
}

/** Indexes with cut keys, with items that have none of their keys, and with items that have several. */
export interface IndexFindings {
  readonly cut: Set<number>
  readonly gaps: Set<number>
  readonly several: Set<number>
}

export function noFindings(): IndexFindings {
  return { cut: new Set(), gaps: new Set(), several: new Set() }
}

export function isNothing({ cut, gaps, several }: IndexFindings): boolean {
  return cut.size + gaps.size + several.size === 0
}

/** The entries of a body; notes what the records do not say yet. */
export function entriesOf(
  keysOf: KeyMaker,
  indexes: readonly IndexRecord[],
  item: { readonly pk: string; readonly body: Body },
  findings: IndexFindings,
): Entry[] {
  if (indexes.length === 0) return []
  const entries: Entry[] = []
  for (const [at, made] of keysWithin(keysOf, indexes, item).entries()) {
    const { definition, hasCutKeys, hasGaps, hasSeveralKeys } = indexes[at]!
    const { number, uniqueness } = definition
    if (made.isCut && !hasCutKeys) findings.cut.add(number)
    if (!made.isComplete && !hasGaps) findings.gaps.add(number)
    if (made.keys.length > 1 && !hasSeveralKeys) findings.several.add(number)
    for (const key of made.keys) entries.push({ number, key: Buffer.from(key), uniqueness })
  }
  return entries
}

const someStamp = { sequence: 0, version: 0, ts: 0 } as Stamp
const otherStamp = { sequence: 1, version: 1, ts: 1 } as Stamp

/** The entries of a body whose stamps nobody knows yet; undefined when its keys depend on them. */
export function entriesOfDraft(
  keysOf: KeyMaker,
  indexes: readonly IndexRecord[],
  { pk, draft }: { readonly pk: string; readonly draft: Draft },
  findings: IndexFindings,
): Entry[] | undefined {
  if (indexes.length === 0) return []
  const entries = entriesOf(keysOf, indexes, { pk, body: fill(draft, someStamp) }, findings)
  if (draft instanceof Uint8Array) return entries
  const others = entriesOf(keysOf, indexes, { pk, body: fill(draft, otherStamp) }, findings)
  const isSame = (entry: Entry, at: number) => entry.number === others[at]?.number && entry.key.equals(others[at].key)
  return entries.length === others.length && entries.every(isSame) ? entries : undefined
}

function keysWithin(
  keysOf: KeyMaker,
  indexes: readonly IndexRecord[],
  { pk, body }: { readonly pk: string; readonly body: Body },
): readonly IndexKeys[] {
  const definitions = indexes.map(({ definition }) => definition)
  const made = keysOf(definitions, body)
  return made.map((keys, at) =>
    isWithinPartition(definitions[at]!) ? { ...keys, keys: prefixed(keys.keys, pk) } : keys,
  )
}

function isWithinPartition({ uniqueness }: IndexDefinition): boolean {
  return uniqueness === 'partition'
}

/** The same values under another partition key are another key. */
function prefixed(keys: readonly Uint8Array[], pk: string): Uint8Array[] {
  const prefix = createHash('sha256').update(pk).digest().subarray(0, 16)
  return keys.map(key => Buffer.concat([prefix, key]))
}
