/**
 * Bodies whose gaps PostgreSQL fills when it knows the stamps. In a gap stands a mark, a control character,
 * which no JSON has unescaped. What each mark stands for is told once for all bodies of a call, in letters:
 *
 *   d        decimal digits
 *   x        twelve hexadecimal digits, or as many as it takes
 *   bHHHH    base64 of the two bytes HHHH and the number as eight bytes, little endian, with `-` for `/`
 *
 * A body with a stamp of any other form, or with marks of its own, is filled by the gateway, which costs one
 * more round trip.
 */

import type { Body } from '../../../document/body.ts'
import type { Draft, StampForm, StampName } from '../../../store/item.ts'

function code({ number, bytesBefore = '' }: StampForm): string {
  return { decimal: 'd', hexadecimal: 'x', base64: `b${bytesBefore}` }[number]
}

const letters: Record<StampName, string> = { sequence: 's', version: 'v', ts: 't' }

/**
 * A body for PostgreSQL to fill: texts with a stamp between two of them, named by its letter and its form; or
 * bytes.
 */
export interface OpenBody {
  readonly pieces: readonly (string | null)[]
  readonly forms: readonly string[]
  readonly bytes: Buffer | null
}

export const noBody: OpenBody = { pieces: [null], forms: [], bytes: null }

/** Before the tabulator, which JSON may have between its values. */
const marksMax = 7
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are.
const mark = /[\x01-\x08]/

/** undefined: a stamp is printed in a way of its own, or what would be a mark is in the text. */
export function openBody(draft: Draft): OpenBody | undefined {
  if (draft instanceof Uint8Array) return closedBody(draft)
  if (draft.texts.some(text => mark.test(text))) return undefined
  const pieces = [...draft.texts]
  const forms: string[] = []
  for (const [index, { name, form }] of draft.stamps.entries()) {
    if (form === undefined) return undefined
    pieces[index] += form.before
    forms.push(letters[name] + code(form))
  }
  return { pieces, forms, bytes: null }
}

/** Whether marks can be given to all gaps: there is one for sequences. */
export function canBeMarked(bodies: readonly OpenBody[]): boolean {
  const forms = new Set(bodies.flatMap(body => body.forms))
  return forms.size <= marksMax && [...forms].filter(isOfSequence).length <= 1
}

function isOfSequence(form: string): boolean {
  return form[0] === letters.sequence
}

/** The texts of a call. The character 1 marks the sequence, the character n + 2 what `forms[n]` says. */
export function withMarks(bodies: readonly OpenBody[]): {
  readonly texts: readonly (string | null)[]
  readonly sequenceForm: string | null
  readonly forms: readonly string[]
} {
  let sequenceForm: string | null = null
  const others: string[] = []
  const markOf = (form: string): string => {
    if (isOfSequence(form)) {
      sequenceForm = form.slice(1)
      return '\x01'
    }
    if (!others.includes(form)) others.push(form)
    return String.fromCharCode(others.indexOf(form) + 2)
  }
  const texts = bodies.map(({ pieces, forms }) => {
    let text = pieces[0]!
    for (const [index, form] of forms.entries()) text += markOf(form) + pieces[index + 1]
    return text
  })
  return { texts, sequenceForm, forms: others }
}

/** A body without gaps. */
export function closedBody(body: Body): OpenBody {
  if (typeof body === 'string') return { pieces: [body], forms: [], bytes: null }
  return { pieces: [null], forms: [], bytes: Buffer.from(body.buffer, body.byteOffset, body.byteLength) }
}
