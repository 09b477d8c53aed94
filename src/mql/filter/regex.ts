/** Tests of a stored value against a regular expression, and the prefix that an index can use. */

import { bsonType } from '../../document/bson/types.ts'
import { type RegexValue, valueAt } from '../../document/bson/value.ts'
import { int32At, textAt } from '../../document/bson/view.ts'
import { compilePattern, InvalidPattern, matcherOf, type Pattern } from '../../document/pattern.ts'
import { MongoError } from '../errors/mongo-error.ts'
import type { ElementTest } from '../paths/stored-path.ts'
import type { RegexCondition } from './filter.ts'

/**
 * Compiles the first patterns of a schema at once, so that an invalid one is reported. Each further pattern
 * is compiled when it is first needed, because thousands of them would hold the thread for too long.
 */
export class Patterns {
  #leftAtOnce = patternsAtOnceMax

  /** Whether a text has a match of the pattern. */
  finder(pattern: string, options: string): (text: string) => boolean {
    let compiled = this.#leftAtOnce-- > 0 ? compileRegex(pattern, options) : undefined
    return text => {
      compiled ??= compileRegex(pattern, options)
      return matcherOf(compiled, text).find()
    }
  }
}

/** These take a few milliseconds. */
const patternsAtOnceMax = 100

/** Text is always Unicode, so `u` changes nothing. */
function compileRegex(pattern: string, options: string): Pattern {
  for (const letter of options) {
    if (!'imsxu'.includes(letter)) throw new MongoError(51108, `invalid flag in regex options: ${letter}`)
  }
  try {
    return compilePattern(pattern, options.replaceAll('u', ''))
  } catch (error) {
    if (error instanceof InvalidPattern) throw new MongoError(51091, `Regular expression is invalid: ${error.message}`)
    throw error
  }
}

export function regexTest({ pattern, options }: RegexCondition, patterns = new Patterns()): ElementTest {
  const isFound = patterns.finder(pattern, options)
  const literal = literalOf({ pattern, options })
  const find = literal === undefined ? undefined : literalFinder(literal)
  return (bytes, type, start) => {
    if (type === bsonType.string || type === bsonType.symbol) {
      const textStart = start + 4
      const textEnd = start + 3 + int32At(bytes, start)
      return find === undefined ? isFound(textAt(bytes, textStart, textEnd)) : find(bytes, textStart, textEnd)
    }
    if (type !== bsonType.regex) return false
    const value = valueAt(bytes, type, start) as RegexValue
    return value.pattern === pattern && value.options === options
  }
}

type Finder = (bytes: Uint8Array, start: number, end: number) => boolean

/** Text without special characters is searched as bytes. */
function literalFinder({ text, isAnchored }: Literal): Finder {
  const wanted = Buffer.from(text)
  const { length } = wanted
  if (isAnchored) {
    return (bytes, start, end) => {
      if (end - start < length) return false
      for (let at = 0; at < length; at += 1) if (bytes[start + at] !== wanted[at]) return false
      return true
    }
  }
  return (bytes, start, end) => {
    const at = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).indexOf(wanted)
    return at !== -1
  }
}

interface Literal {
  readonly text: string
  readonly isAnchored: boolean
}

const special = '\\^$.|?*+()[]{}'

/** The text of a pattern that has no special characters except perhaps a leading `^`. */
function literalOf({ pattern, options }: Pick<RegexCondition, 'pattern' | 'options'>): Literal | undefined {
  // With `m`, `^` also matches at the start of each line.
  const isAnchored = pattern.startsWith('^')
  const text = isAnchored ? pattern.slice(1) : pattern
  if (options.includes('i') || options.includes('x') || (isAnchored && options.includes('m'))) return undefined
  return [...text].some(character => special.includes(character)) || !text.isWellFormed()
    ? undefined
    : { text, isAnchored }
}

/**
 * The prefix of every string that the pattern matches: the text between `^` and the first special character.
 * A character before `?`, `*` or `{`, or within alternatives, is optional and does not count.
 */
export function prefixOf({ pattern, options }: RegexCondition): string {
  if (!pattern.startsWith('^') || /[imx]/.test(options) || pattern.includes('|')) return ''
  let prefix = ''
  for (const character of pattern.slice(1)) {
    if ('?*{'.includes(character)) return [...prefix].slice(0, -1).join('')
    if (special.includes(character)) return prefix
    prefix += character
  }
  return prefix
}

/** Whether every string with the prefix matches the pattern. */
export function isPrefixOnly(condition: RegexCondition): boolean {
  const literal = literalOf(condition)
  return literal?.isAnchored === true
}
