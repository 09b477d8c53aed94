/**
 * What a case of the update language is. Cases name nothing of ours, so that a driver can run them as well.
 */

import type { Document } from 'bson'

export interface UpdateCase {
  readonly name: string
  /**
   * The document that is there, to which `_id: 1` is added in front when it has none. Without it the update
   * is an upsert.
   */
  readonly before?: Document
  /** Finds the document; without it, all. */
  readonly filter?: Document
  readonly update: Document | readonly Document[]
  readonly arrayFilters?: readonly Document[]
  /** The document afterwards, to the last byte; again `_id: 1` is added when it has none. */
  readonly after?: Document
  /** Nothing changes. */
  readonly isUnchanged?: true
  /** The code of the refusal, and a part of its message. */
  readonly error?: readonly [code: number, message: string]
}

/** When all cases happen. */
export const caseMs = 1_700_000_000_000

/** The `_id` that an upsert gets when it is told none. */
export const caseObjectId = '65537f5c0000000000000001'
