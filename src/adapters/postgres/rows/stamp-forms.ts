/**
 * Bodies into which PostgreSQL fills the stamps. In each gap there is a mark: a control character, which JSON
 * never has unescaped. What the marks mean is sent once for all bodies of a call, as short codes that the SQL
 * function knows (`sql/write-rows.ts`):
 *
 *   d        decimal digits
 *   x        hexadecimal digits, at least twelve
 *   bHH…     base64 of the bytes HH… and the number as eight bytes, little endian, with `-` for `/`
 *
 * A body with a stamp of any other form, or with such control characters of its own, is filled by the
 * gateway. That costs one more round trip.
 */

import type { Body } from '../../../document/body.ts'
import type { Draft, NumberForm, StampName } from '../../../store/item.ts'

/** undefined: PostgreSQL cannot print this form. */
function codeOf(form: NumberForm): string | undefined {
  if (form === 'decimal') return 'd'
  if (form.kind === 'hexadecimal') return form.digitsMin === 12 ? 'x' : undefined
  return form.slash === '-' ? `b${form.bytesBefore}` : undefined
}

const letters: Record<StampName, string> = { sequence: 's', version: 'v', ts: 't' }

/**
 * A body for PostgreSQL to fill: pieces of text with a stamp between each two of them, or bytes. `forms` has
 * the stamps: the letter of a name, then a code.
 */
export interface OpenBody {
  readonly pieces: readonly (string | null)[]
  readonly forms: readonly string[]
  readonly bytes: Buffer | null
}

export const noBody: OpenBody = { pieces: [null], forms: [], bytes: null }

/** The characters 2 to 8. The next is the tab, which JSON may have between its values. */
const marksMax = 7
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are.
const mark = /[\x01-\x08]/

/** undefined: PostgreSQL cannot print a stamp, or the text contains a character that would be a mark. */
export function openBody(draft: Draft): OpenBody | undefined {
  if (draft instanceof Uint8Array) return closedBody(draft)
  if (draft.texts.some(text => mark.test(text))) return undefined
  const pieces = [...draft.texts]
  const forms: string[] = []
  for (const [index, { name, form }] of draft.stamps.entries()) {
    const code = form && codeOf(form.number)
    if (code === undefined) return undefined
    pieces[index] += form!.before
    forms.push(letters[name] + code)
  }
  return { pieces, forms, bytes: null }
}

/** Whether there are enough marks for all gaps: one for sequences, seven for the rest. */
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
