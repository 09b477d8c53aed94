/** Keys of maps and sets whose length is in the hands of a caller. */

import { hash } from 'node:crypto'
import { spend } from './work.ts'

/** To V8, all longer texts of one length have the same hash: it compares each with all of them. */
const keyCharsMax = 16_000

/** The text itself, or a digest of one that is long. */
export function shortKey(text: string): string {
  if (text.length <= keyCharsMax) return text
  spend(text.length >> 4)
  return `sha256 ${text.length} ${hash('sha256', text)}`
}
