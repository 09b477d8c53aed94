/**
 * Regular expressions of users, run by RE2.
 *
 * A user's pattern never reaches the JavaScript engine. RE2 takes time linear in the text for every pattern,
 * but has no backreferences and no look-around.
 */

import { type Matcher, RE2JS } from 're2js'
import { spend } from '../base/work.ts'

/** People do not write longer patterns, and RE2's program grows with the pattern. */
export const patternCharsMax = 4096

const flags: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  x: 0,
}

export type Pattern = RE2JS

/** The pattern is not valid, or a letter is not one of `imsx`. */
export class InvalidPattern extends Error {
  override readonly name = 'InvalidPattern'
}

/** Compiling a short pattern takes about 20 microseconds. */
const compileSteps = 1000

export function compilePattern(pattern: string, letters: string): Pattern {
  spend(compileSteps)
  if (pattern.length > patternCharsMax) throw new InvalidPattern('regular expression is too large')
  let combined = 0
  for (const letter of letters) {
    const flag = Object.hasOwn(flags, letter) ? flags[letter] : undefined
    if (flag === undefined) throw new InvalidPattern(`invalid flag: ${letter}`)
    combined |= flag
  }
  try {
    return RE2JS.compile(letters.includes('x') ? withoutBlanks(pattern) : pattern, combined)
  } catch (cause) {
    throw new InvalidPattern(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** A search in a shorter text cannot take long, with any pattern. */
const countedCharsMin = 256

/**
 * A matcher for a text. In a long text, each look at a character is counted as work, so that a long search
 * can be aborted.
 */
export function matcherOf(pattern: Pattern, text: string): Matcher {
  const steps = 1 + pattern.programSize() / 16
  if (text.length < countedCharsMin) {
    spend(16 + text.length)
    return pattern.matcher(text)
  }
  return pattern.matcher(new CountedText(text, steps) as unknown as string)
}

/** A text for RE2JS, which calls these members and no others. It recognizes a string by its tag. */
class CountedText {
  readonly [Symbol.toStringTag] = 'String'
  readonly length: number
  readonly #text: string
  readonly #steps: number

  constructor(text: string, steps: number) {
    this.length = text.length
    this.#text = text
    this.#steps = steps
  }

  charCodeAt(at: number): number {
    spend(this.#steps)
    return this.#text.charCodeAt(at)
  }

  indexOf(searched: string, from: number): number {
    const found = this.#text.indexOf(searched, from)
    spend(((found === -1 ? this.length : found) - from) / 16)
    return found
  }

  substring(start: number, end: number): string {
    return this.#text.substring(start, end)
  }

  toString(): string {
    return this.#text
  }
}

/**
 * Cost of a match. It is linear in the text, but each character may be tried with each instruction of the
 * pattern; about four such tries are one step.
 */
export function patternSteps(pattern: Pattern, text: string): number {
  return (text.length * pattern.programSize()) / 4
}

/** Implements the x modifier, which RE2 lacks: blanks and # comments count only when escaped or in a set. */
function withoutBlanks(pattern: string): string {
  let kept = ''
  let isInSet = false
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at)
    if (character === '\\') {
      kept += pattern.slice(at, at + 2)
      at += 1
    } else if (!isInSet && character === '#') {
      const lineEnd = pattern.indexOf('\n', at)
      at = lineEnd === -1 ? pattern.length : lineEnd
    } else if (isInSet || character.trim() !== '') {
      if (character === '[') isInSet = true
      if (character === ']') isInSet = false
      kept += character
    }
  }
  return kept
}
