/**
 * REGEXMATCH and its relatives, on RE2.
 *
 * A user's pattern never reaches the JavaScript engine: RE2 takes time linear in the text for every pattern, at the price
 * of backreferences and look-around. A pattern or modifier that is not valid makes the result undefined, as documented.
 */

import { type Matcher, RE2JS } from 're2js'
import type { RunContext } from '../context.ts'
import type { Value } from '../value.ts'
import { define, type FunctionFamily } from './define.ts'

/** Longer patterns are not written by people, and RE2's program grows with them. */
const patternCharsMax = 4096

const flags: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  x: 0,
}

export const regularExpressionFunctions: FunctionFamily = {
  'REGEXMATCH REGEX_MATCH': define(2, 3, ([text, pattern, modifiers], context) => {
    const expression = compilePattern(pattern, modifiers, context)
    return expression === undefined || typeof text !== 'string'
      ? undefined
      : matcherOf(expression, text, context).find()
  }),
  'REGEXEXTRACT REGEX_EXTRACT': define(2, 4, ([text, pattern, modifiers, group = 0], context) => {
    const expression = compilePattern(pattern, modifiers, context)
    if (expression === undefined || typeof text !== 'string' || !isGroup(group, expression)) return undefined
    const matcher = matcherOf(expression, text, context)
    return matcher.find() ? (matcher.group(group) ?? undefined) : undefined
  }),
  'REGEXEXTRACTALL REGEX_EXTRACT_ALL': define(2, 4, ([text, pattern, modifiers, groups = [0]], context) => {
    const expression = compilePattern(pattern, modifiers, context)
    if (expression === undefined || typeof text !== 'string') return undefined
    if (!Array.isArray(groups) || !groups.every(group => isGroup(group, expression))) return undefined
    const matcher = matcherOf(expression, text, context)
    const matches: Value[] = []
    while (matcher.find()) {
      // Every match may have looked at the whole rest of the text.
      context.budget.checkTime()
      matches.push(groups.map(group => matcher.group(group as number)).filter(found => found !== null))
    }
    return matches
  }),
}

/** Linear in the text, but every character may be tried with every instruction of the pattern: some 4 of these are a step. */
function matcherOf(expression: RE2JS, text: string, { budget }: RunContext): Matcher {
  budget.chargeSteps((text.length * expression.programSize()) / 4)
  return expression.matcher(text)
}

function isGroup(group: Value, expression: RE2JS): group is number {
  return typeof group === 'number' && Number.isInteger(group) && group >= 0 && group <= expression.groupCount()
}

function compilePattern(pattern: Value, modifiers: Value, context: RunContext): RE2JS | undefined {
  if (typeof pattern !== 'string' || pattern.length > patternCharsMax) return undefined
  if (modifiers !== undefined && typeof modifiers !== 'string') return undefined
  const letters = modifiers ?? ''
  const key = `REGEX ${letters} ${pattern}`
  return context.remembered(key, () => ({ expression: compileWith(pattern, letters) })).expression
}

function compileWith(pattern: string, letters: string): RE2JS | undefined {
  let combined = 0
  for (const letter of letters) {
    const flag = Object.hasOwn(flags, letter) ? flags[letter] : undefined
    if (flag === undefined) return undefined
    combined |= flag
  }
  try {
    return RE2JS.compile(letters.includes('x') ? withoutBlanks(pattern) : pattern, combined)
  } catch {
    // The package throws its own syntax errors; for the language an invalid pattern is simply undefined.
    return undefined
  }
}

/** What the x modifier means, which RE2 does not know: blanks and # comments count only when escaped or in a set. */
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
