/**
 * Regular expressions of users, on RE2.
 *
 * A user's pattern never reaches the JavaScript engine: RE2 takes time linear in the text for every pattern,
 * at the price of backreferences and look-around.
 */

import { RE2JS } from 're2js'

/** Longer patterns are not written by people, and RE2's program grows with them. */
const patternCharsMax = 4096

const flags: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  x: 0,
}

export type Pattern = RE2JS

/** A pattern that is not valid, or a letter that is none of `imsx`. */
export class InvalidPattern extends Error {
  override readonly name = 'InvalidPattern'
}

export function compilePattern(pattern: string, letters: string): Pattern {
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

/**
 * Linear in the text, but every character may be tried with every instruction of the pattern: some 4 of these
 * are a step.
 */
export function patternSteps(pattern: Pattern, text: string): number {
  return (text.length * pattern.programSize()) / 4
}

/**
 * What the x modifier means, which RE2 does not know: blanks and # comments count only when escaped or in a
 * set.
 */
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
