/**
 * Splits JSON text one level at a time, so that untouched parts stay as written.
 *
 * Parsing and printing again would reorder integer-like names and lose digits that a double cannot hold. All
 * texts here must be valid JSON: the caller has parsed them.
 */

export interface JsonMember {
  readonly name: string
  /** The whole member as written, with white space. */
  readonly text: string
  /** The offset of its value. */
  readonly valueStart: number
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** The offset after the string at `start`. Its closing quote follows an even number of backslashes. */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

/** The nesting depth of the text. Counting stops as soon as it exceeds `depthMax`. */
export function depthOf(text: string, depthMax: number): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length && deepest <= depthMax; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) at = endOfString(text, at) - 1
    else if (unit === openBrace || unit === openBracket) deepest = Math.max(deepest, ++depth)
    else if (unit === closeBrace || unit === closeBracket) depth--
  }
  return deepest
}

/** The parts between the commas of an object or array. */
export function splitAtCommas(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = text.search(/[[{]/) + 1
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) at = endOfString(text, at) - 1
    else if (unit === openBrace || unit === openBracket) depth++
    else if (unit === comma && depth === 0) {
      parts.push(text.slice(start, at))
      start = at + 1
    } else if (unit === closeBrace || unit === closeBracket) {
      if (depth-- > 0) continue
      const last = text.slice(start, at)
      if (parts.length > 0 || last.trim() !== '') parts.push(last)
      break
    }
  }
  return parts
}

/** The members of an object, in order. Duplicate names are listed twice; the last one counts. */
export function membersOf(text: string): JsonMember[] {
  return splitAtCommas(text).map(part => {
    const start = part.indexOf('"')
    const end = endOfString(part, start)
    return { name: JSON.parse(part.slice(start, end)), text: part, valueStart: part.indexOf(':', end) + 1 }
  })
}
