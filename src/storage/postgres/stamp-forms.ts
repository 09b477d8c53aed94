/**
 * Bodies whose gaps PostgreSQL fills when it knows the stamps, in the letters that `mayfly.print` understands:
 *
 *   d        decimal digits
 *   x        twelve hexadecimal digits, or as many as it takes
 *   bHHHH    base64 of the two bytes HHHH and the number as eight bytes, little endian, with `-` for `/`
 *
 * A body with a stamp of any other form is filled by the gateway, which costs one more round trip.
 */

import { assert } from '../../base/error.ts'
import type { Body } from '../../document/body.ts'
import type { Draft, Stamp, StampForm, StampName } from '../port.ts'

function code({ number, bytesBefore = '' }: StampForm): string {
  return { decimal: 'd', hexadecimal: 'x', base64: `b${bytesBefore}` }[number]
}

const letters: Record<StampName, string> = { sequence: 's', version: 'v', ts: 't' }

/** A body for PostgreSQL to fill: texts with the form of a stamp between two of them; or bytes. */
export interface OpenBody {
  readonly pieces: readonly (string | null)[]
  readonly forms: readonly string[]
  readonly bytes: Buffer | null
}

export const noBody: OpenBody = { pieces: [null], forms: [], bytes: null }

/** undefined: a stamp is printed in a way of its own. */
export function openBody(draft: Draft): OpenBody | undefined {
  if (draft instanceof Uint8Array) return closedBody(draft)
  const pieces = [...draft.texts]
  const forms: string[] = []
  for (const [index, { name, form }] of draft.stamps.entries()) {
    if (form === undefined) return undefined
    pieces[index] += form.before
    forms.push(letters[name] + code(form))
  }
  return { pieces, forms, bytes: null }
}

/** A body without gaps. */
export function closedBody(body: Body): OpenBody {
  if (typeof body === 'string') return { pieces: [body], forms: [], bytes: null }
  return { pieces: [null], forms: [], bytes: Buffer.from(body.buffer, body.byteOffset, body.byteLength) }
}

export function fill(draft: Draft, stamp: Stamp): Body {
  if (draft instanceof Uint8Array) return draft
  const { texts, stamps } = draft
  assert(texts.length === stamps.length + 1, 'a draft has one text more than stamps')
  let body = texts[0]!
  for (const [index, { name, print }] of stamps.entries()) body += print(stamp[name]) + texts[index + 1]!
  return body
}
