/** What an item looks like inside a store: the text or the bytes that its API speaks. */

import { assert } from '../base/error.ts'

/** JSON text or BSON bytes. */
export type Body = string | Uint8Array

export type Encoding = 'json' | 'bson'

/** The text of a body that is known to be JSON. */
export function textOf(body: Body): string {
  assert(typeof body === 'string', 'a JSON body is text')
  return body
}

/** What a language looks into: parsed JSON, or BSON as it is, because its language walks the bytes. */
export function documentOf(body: Body): unknown {
  return typeof body === 'string' ? JSON.parse(body) : body
}
