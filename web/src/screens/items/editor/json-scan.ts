/**
 * Where a text stops being JSON, and what should stand there. Browsers say it each in their own way, and V8
 * does not say where in a long text.
 */

export interface JsonMistake {
  at: number
  message: string
}

/** Deeper texts are left to the server: the scanner calls itself. */
const depthMax = 500

class Mistake extends Error {
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

const spaces = /[ \t\n\r]*/y
const numbers = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in texts.
const texts = /"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const words = /true|false|null/y

/** The end of what the pattern matches at this place; undefined if it does not. */
function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

const skip = (text: string, at: number) => endOf(spaces, text, at)!

function scanText(text: string, at: number): number {
  const end = endOf(texts, text, at)
  if (end === undefined) throw new Mistake(at, 'this text does not end, or has a character that must be escaped')
  return end
}

function scanValue(text: string, at: number, depth: number): number {
  if (depth > depthMax) throw new Mistake(at, `more than ${depthMax} levels`)
  const first = text[at]
  if (first === '{') return scanList(text, at, depth, { close: '}', scan: scanProperty })
  if (first === '[') return scanList(text, at, depth, { close: ']', scan: scanValue })
  if (first === '"') return scanText(text, at)
  const end = endOf(words, text, at) ?? endOf(numbers, text, at)
  if (end === undefined) throw new Mistake(at, first === undefined ? 'the text ends too early' : 'expected a value')
  return end
}

function scanProperty(text: string, at: number, depth: number): number {
  if (text[at] !== '"') throw new Mistake(at, 'expected a name in double quotes')
  const colon = skip(text, scanText(text, at))
  if (text[colon] !== ':') throw new Mistake(colon, 'expected a colon after the name')
  return scanValue(text, skip(text, colon + 1), depth)
}

interface ListKind {
  close: string
  scan: (text: string, at: number, depth: number) => number
}

function scanList(text: string, open: number, depth: number, { close, scan }: ListKind): number {
  let at = skip(text, open + 1)
  if (text[at] === close) return at + 1
  for (;;) {
    at = skip(text, scan(text, at, depth + 1))
    if (text[at] === close) return at + 1
    if (text[at] !== ',') {
      throw new Mistake(at, at < text.length ? `expected a comma or ${close}` : `${close} is missing at the end`)
    }
    const comma = at
    at = skip(text, at + 1)
    if (text[at] === close) throw new Mistake(comma, 'remove this comma: nothing follows it')
  }
}

/** The first mistake; undefined if the text is JSON. */
export function jsonMistake(text: string): JsonMistake | undefined {
  try {
    const end = skip(text, scanValue(text, skip(text, 0), 0))
    return end === text.length ? undefined : { at: end, message: 'something follows the end of the value' }
  } catch (error) {
    if (!(error instanceof Mistake)) throw error
    return { at: error.at, message: error.message }
  }
}
