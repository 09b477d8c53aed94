/**
 * One operation on one item, as patches (patch-operation.ts), batches and bulk requests ask for it, and its
 * result.
 *
 * An operation decides inside the store's transaction, from the item as it is then.
 */

import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, StoredItem } from '../../store/item.ts'
import type { ItemChange, Step, StepAnswer } from '../../store/writing.ts'
import { deleteRu, readRu, writeRu } from '../../units/cost.ts'
import type { ContainerView } from '../http/container-view.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { type ItemBody, itemDraft } from './item-body.ts'

export interface ItemOperation {
  readonly kind: 'create' | 'upsert' | 'replace' | 'delete' | 'read' | 'patch'
  readonly key: ItemKey
  /** The minimum charge, known before it is done. */
  readonly chargeRu: number
  readonly decide: Step['decide']
  readonly isBlind?: boolean
  readonly bytes?: number
  /** Deletes the item that this one replaces, if it had another id. Done first. */
  readonly former?: ItemOperation
}

export function writeOperation(
  view: ContainerView,
  kind: 'create' | 'upsert' | 'replace',
  key: ItemKey,
  body: ItemBody,
  ifVersion: number | undefined,
): ItemOperation {
  const change: ItemChange = { kind, ifVersion, draft: itemDraft(view, body), ttl: body.ttl }
  return { kind, key, chargeRu: writeRu(body.bytes), decide: () => change, isBlind: true, bytes: body.bytes }
}

/**
 * A replace that gives the item another id, within its partition key. Then the item has a new `_rid`; in the
 * service it keeps the old one (INFERRED). A store gives each life of an item a sequence of its own: with
 * PostgreSQL it is the version of the first write, by which the row is found.
 */
export function renameOperation(
  view: ContainerView,
  { from, to }: { from: ItemKey; to: ItemKey },
  body: ItemBody,
  ifVersion: number | undefined,
): ItemOperation {
  const created = writeOperation(view, 'create', to, body, undefined)
  return { ...created, kind: 'replace', former: deleteOperation(from, ifVersion) }
}

export function deleteOperation(key: ItemKey, ifVersion: number | undefined): ItemOperation {
  const change: ItemChange = { kind: 'delete', ifVersion }
  return { kind: 'delete', key, chargeRu: deleteRu, decide: () => change, isBlind: true }
}

export function readOperation(key: ItemKey): ItemOperation {
  const decide = (found: StoredItem | undefined) => {
    if (found === undefined) throw outcomeError('missing')
    return undefined
  }
  return { kind: 'read', key, chargeRu: readRu(0), decide }
}

/** The last step is that of the operation itself. */
export function stepsOf(container: ContainerRecord, operation: ItemOperation): Step[] {
  const { key, decide, isBlind = false, bytes = 0, former } = operation
  const step = { container, key, decide, isBlind, bytes }
  return former === undefined ? [step] : [...stepsOf(container, former), step]
}

/** The status of a successful operation. */
export function statusOf({ kind }: ItemOperation, { outcome }: StepAnswer): number {
  if (kind === 'delete') return 204
  return outcome === 'created' && kind !== 'replace' ? 201 : 200
}
