/**
 * Search of texts and bytes in linear time.
 *
 * The search of the JavaScript engine is fast for ordinary text and quadratic in the worst case: searching
 * for half a million a, one b and half a million a among two million a takes minutes (measured: 349 s). If
 * the lengths allow such a case, the Knuth-Morris-Pratt algorithm is used instead.
 */

import { spend } from './work.ts'

/** Text length times part length up to which the JavaScript engine searches: 10 ms at worst. */
export const searchProductMax = 2 ** 26

/** Work is looked at after so many characters of a search that is long. */
const charsPerLook = 4096

export function indexOf(text: string, part: string, from = 0): number {
  return finderIn(text, part)(from)
}

/** For many searches of one part in one text: finds the next occurrence from a position on. */
export function finderIn(text: string, part: string): (from: number) => number {
  if (isCheap(text, part)) return from => text.indexOf(part, from)
  const searcher = new Searcher(unitsOf(part))
  const units = unitsOf(text)
  return from => searcher.find(units, Math.max(0, from))
}

export function indexOfBytes(bytes: Buffer, part: Buffer, from = 0): number {
  return isCheap(bytes, part) ? bytes.indexOf(part, from) : new Searcher(part).find(bytes, Math.max(0, from))
}

/** The last occurrence that starts at or before `from`. */
export function lastIndexOf(text: string, part: string, from = Number.MAX_SAFE_INTEGER): number {
  if (isCheap(text, part)) return text.lastIndexOf(part, from)
  const searched = unitsOf(text.slice(0, Math.max(0, from) + part.length)).reverse()
  const at = new Searcher(unitsOf(part).reverse()).find(searched, 0)
  return at === -1 ? -1 : searched.length - at - part.length
}

/** Makes no more than `partsMax` parts. */
export function split(text: string, separator: string, partsMax = 2 ** 32 - 1): string[] {
  if (isCheap(text, separator)) return text.split(separator, partsMax)
  const next = finderIn(text, separator)
  const parts: string[] = []
  let start = 0
  for (let at = next(0); at !== -1 && parts.length < partsMax; at = next(start)) {
    parts.push(text.slice(start, at))
    start = at + separator.length
  }
  if (parts.length < partsMax) parts.push(text.slice(start))
  return parts
}

function isCheap(text: { readonly length: number }, part: { readonly length: number }): boolean {
  spend(1 + text.length / 16)
  return part.length > text.length || text.length * part.length <= searchProductMax
}

/** UTF-16 units, or bytes. */
type Units = Uint16Array | Uint8Array

function unitsOf(text: string): Uint16Array {
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at)
  return units
}

class Searcher {
  readonly #part: Units
  /** For each prefix of the part: the length of its longest proper suffix that is also a prefix. */
  readonly #borders: Int32Array

  constructor(part: Units) {
    this.#part = part
    this.#borders = new Int32Array(part.length + 1)
    for (let at = 1, length = 0; at < part.length; at += 1) {
      if (at % charsPerLook === 0) spend(charsPerLook)
      while (length > 0 && part[at] !== part[length]) length = this.#borders[length]!
      if (part[at] === part[length]) length += 1
      this.#borders[at + 1] = length
    }
  }

  find(text: Units, from: number): number {
    const part = this.#part
    let length = 0
    for (let at = from; at < text.length; at += 1) {
      if (at % charsPerLook === 0) spend(charsPerLook)
      while (length > 0 && text[at] !== part[length]) length = this.#borders[length]!
      if (text[at] === part[length]) length += 1
      if (length === part.length) return at - length + 1
    }
    return -1
  }
}
