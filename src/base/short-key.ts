/** Keys of maps and sets for texts of any length, which clients choose. */

import { hash } from 'node:crypto'
import { spend } from './work.ts'

/** V8 gives all longer texts of one length the same hash, so a map compares each with all others. */
const keyCharsMax = 16_000

/** The text itself, or a digest of one that is long. */
export function shortKey(text: string): string {
  if (text.length <= keyCharsMax) return text
  spend(text.length >> 4)
  return `sha256 ${text.length} ${hash('sha256', text)}`
}
