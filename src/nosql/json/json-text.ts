/**
 * JSON text taken apart one level at a time, so that what nobody touches stays as it was written.
 *
 * Parsing and printing again would reorder integer-like names and lose what a double cannot hold. All texts
 * here are known to be valid JSON: whoever calls has parsed them.
 */

export interface JsonMember {
  readonly name: string
  /** The whole member as it was written, white space included. */
  readonly text: string
  /** Where in the text its value begins. */
  readonly valueStart: number
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Behind the string that begins at `start`: at a quote without a backslash before it, or with an even number
 * of them.
 */
export function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

/**
 * How many levels of objects and arrays the text has, counted no further than needed to know that they are
 * too many.
 */
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

/** What stands between the commas of an object or array. */
export function partsOf(text: string): string[] {
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

/** The members of an object, in order. A name that stands twice is there twice; the last one counts. */
export function membersOf(text: string): JsonMember[] {
  return partsOf(text).map(part => {
    const start = part.indexOf('"')
    const end = endOfString(part, start)
    return { name: JSON.parse(part.slice(start, end)), text: part, valueStart: part.indexOf(':', end) + 1 }
  })
}
