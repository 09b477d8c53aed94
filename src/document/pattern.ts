/**
 * Regular expressions of users, run by RE2.
 *
 * A user's pattern never reaches the JavaScript engine. RE2 takes time linear in the text for every pattern,
 * but has no backreferences and no look-around.
 */

import { RE2JS } from 're2js'

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
