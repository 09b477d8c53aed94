/** The body of an item as it is stored: JSON text or BSON bytes, as its API sends it. */

import { assert } from '../base/error.ts'
import { spend } from '../base/work.ts'

/** JSON text or BSON bytes. */
export type Body = string | Uint8Array

export type Encoding = 'json' | 'bson'

/** The text of a body that is known to be JSON. */
export function textOf(body: Body): string {
  assert(typeof body === 'string', 'a JSON body is text')
  return body
}

/** JSON takes up to 10 nanoseconds for a character. */
const charsPerStep = 2

/** The form that query languages read: parsed JSON, or BSON bytes as they are. */
export function documentOf(body: Body): unknown {
  if (typeof body !== 'string') return body
  spend(body.length / charsPerStep)
  return JSON.parse(body)
}
