/** The rows that an item has in the table of index entries. */

import type { Body } from '../../../document/body.ts'
import type { Uniqueness } from '../../../document/index-definition.ts'
import type { KeyMaker } from '../../../document/index-keys.ts'
import type { IndexRecord } from '../../../store/catalog.ts'
import { fill } from '../../../store/fill.ts'
import type { Draft, Stamp } from '../../../store/item.ts'
import { dropKnown, type IndexFindings, learn } from '../../index-findings.ts'
import { itemIndexKeys } from '../../item-index-keys.ts'

export interface Entry {
  readonly number: number
  readonly key: Buffer
  readonly uniqueness: Uniqueness
}

/** Makes the entries of a body, and adds to `findings` what the index records do not say yet. */
export function entriesOf(
  keysOf: KeyMaker,
  indexes: readonly IndexRecord[],
  item: { readonly pk: string; readonly body: Body },
  findings: IndexFindings,
): Entry[] {
  if (indexes.length === 0) return []
  const entries: Entry[] = []
  const definitions = indexes.map(({ definition }) => definition)
  for (const [at, made] of itemIndexKeys(keysOf, definitions, item).entries()) {
    const { number, uniqueness } = definitions[at]!
    learn(findings, number, made)
    for (const key of made.keys) entries.push({ number, key: Buffer.from(key), uniqueness })
  }
  dropKnown(findings, indexes)
  return entries
}

const someStamp = { sequence: 0, version: 0, ts: 0 } as Stamp
const otherStamp = { sequence: 1, version: 1, ts: 1 } as Stamp

/**
 * The entries of a body whose stamps are not known yet; undefined when an index key contains a stamp. To
 * find that out, the keys are made with two different stamps.
 */
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
