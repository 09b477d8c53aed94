/** The form of a case of the update language. Cases do not depend on Mayfly: a driver can run them. */

import type { Document } from 'bson'

export interface UpdateCase {
  readonly name: string
  /** The existing document; `_id: 1` is added if it has none. Without `before` the update is an upsert. */
  readonly before?: Document
  /** Finds the document. Without it, all documents match. */
  readonly filter?: Document
  readonly update: Document | readonly Document[]
  readonly arrayFilters?: readonly Document[]
  /** The document afterwards, to the last byte. `_id: 1` is added if it has none. */
  readonly after?: Document
  /** Nothing changes. */
  readonly isUnchanged?: true
  /** The code of the error, and a part of its message. */
  readonly error?: readonly [code: number, message: string]
}

/** The time of all cases. */
export const caseMs = 1_700_000_000_000

/** The `_id` of an upsert when none is given. */
export const caseObjectId = '65537f5c0000000000000001'
