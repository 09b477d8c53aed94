/**
 * How stamps are printed, in a form that PostgreSQL can follow: it fills the gaps of a body when it knows the stamps.
 *
 * A draft prints by functions. What such a function does is recognised by what it prints for a few numbers, once for each
 * function. A body with a stamp of any other form is filled by the gateway, which costs one more round trip.
 *
 *   d        decimal digits
 *   x        twelve hexadecimal digits, or as many as it takes
 *   bHHHH    base64 of the two bytes HHHH and the number as eight bytes, little endian, with `-` for `/`
 */

import { assert } from '../../base/error.ts'
import type { Body } from '../../document/body.ts'
import type { Draft, Stamp, StampName, TextDraft } from '../port.ts'

/** What stands before the number is always the same. */
export interface Form {
  readonly before: string
  readonly code: string
}

type Print = TextDraft['stamps'][number]['print']

const samples = [0, 1, 9, 10, 64, 255, 256, 65_535, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 12_345, 2 ** 53 - 1]
const hexDigits = 12
const idBytes = 16
const idBytesBefore = 6
const idCharsBefore = 8

/** In the order in which they are tried. Each guesses from what stands for zero. */
const guesses: readonly ((zero: string) => Form | undefined)[] = [
  zero => (zero.endsWith('0') ? { before: zero.slice(0, -1), code: 'd' } : undefined),
  zero => (zero.endsWith('0'.repeat(hexDigits)) ? { before: zero.slice(0, -hexDigits), code: 'x' } : undefined),
  zero => {
    const bytes = Buffer.from(zero.replaceAll('-', '/'), 'base64')
    if (bytes.length !== idBytes) return undefined
    return { before: zero.slice(0, idCharsBefore), code: `b${bytes.toString('hex', idBytesBefore, idBytesBefore + 2)}` }
  },
]

const known = new WeakMap<Print, Form | 'none'>()

export function formOf(print: Print): Form | undefined {
  let form = known.get(print)
  if (form === undefined) {
    form = recognise(print) ?? 'none'
    known.set(print, form)
  }
  return form === 'none' ? undefined : form
}

function recognise(print: Print): Form | undefined {
  const zero = print(0)
  for (const guess of guesses) {
    const form = guess(zero)
    if (form !== undefined && samples.every(value => print(value) === printed(form, value))) return form
  }
  return undefined
}

/** As `mayfly.print` does it. */
function printed({ before, code }: Form, value: number): string {
  if (code === 'd') return before + String(value)
  if (code === 'x') return before + value.toString(16).padStart(hexDigits, '0')
  const bytes = Buffer.alloc(10)
  bytes.write(code.slice(1), 'hex')
  bytes.writeBigUInt64LE(BigInt(value), 2)
  return before + bytes.toString('base64').replaceAll('/', '-')
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
  for (const [index, { name, print }] of draft.stamps.entries()) {
    const form = formOf(print)
    if (form === undefined) return undefined
    pieces[index] += form.before
    forms.push(letters[name] + form.code)
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
