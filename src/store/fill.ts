/** Makes a body from a draft, once its stamps are known. */

import { assert } from '../base/error.ts'
import type { Body } from '../document/body.ts'
import type { Draft, Stamp } from './item.ts'

/** About how many bytes the body will have. */
export function draftLength(draft: Draft): number {
  if (draft instanceof Uint8Array) return draft.length
  let length = 0
  for (const text of draft.texts) length += text.length
  return length
}

export function fill(draft: Draft, stamp: Stamp): Body {
  if (draft instanceof Uint8Array) return draft
  const { texts, stamps } = draft
  assert(texts.length === stamps.length + 1, 'a draft has one text more than stamps')
  let body = texts[0]!
  let printed = ''
  for (let index = 0; index < stamps.length; index++) {
    const gap = stamps[index]!
    // The same stamp often comes twice in a row; print it once.
    if (gap !== stamps[index - 1]) printed = gap.print(stamp[gap.name])
    body += printed + texts[index + 1]
  }
  return body
}
