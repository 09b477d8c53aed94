/** The body of an item as it is stored: JSON text or BSON bytes, as its API sends it. */

import { assert } from '../base/error.ts'

/** JSON text or BSON bytes. */
export type Body = string | Uint8Array

export type Encoding = 'json' | 'bson'

/** The text of a body that is known to be JSON. */
export function textOf(body: Body): string {
  assert(typeof body === 'string', 'a JSON body is text')
  return body
}

/** The form that query languages read: parsed JSON, or BSON bytes as they are. */
export function documentOf(body: Body): unknown {
  return typeof body === 'string' ? JSON.parse(body) : body
}
