/** Columns of PostgreSQL that are read and written in several places: bodies, and those of an index. */

import type { Body } from '../../../document/body.ts'
import type { IndexDraft } from '../../../store/catalog.ts'
import { fromIndex, type IndexRow } from '../../catalog-rows.ts'

/** The columns components, is_declared, uniqueness and options. */
export function fromIndexDraft(draft: IndexDraft): unknown[] {
  const { components, options } = fromIndex(draft)
  return [components, draft.isDeclared, draft.uniqueness ?? 'none', options]
}

/** Two states of an index have the same text when they differ only in how far it is built. */
export function indexText(row: IndexRow): string {
  const { number, components, is_declared, is_ready, has_cut_keys, has_gaps, has_several_keys } = row
  return JSON.stringify([number, components, is_declared, is_ready, has_cut_keys, has_gaps, has_several_keys])
}

/** A body is text, or bytes where the container's items are BSON. */
export interface BodyColumns {
  body: string | null
  bytes: Buffer | null
}

export function bodyOf({ body, bytes }: BodyColumns): Body {
  return body ?? bytes!
}
