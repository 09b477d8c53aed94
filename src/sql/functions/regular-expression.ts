/**
 * REGEXMATCH and similar functions. An invalid pattern or modifier gives undefined, as documented. A valid
 * pattern that RE2 cannot run is refused: undefined would look like "no match".
 */

import type { Matcher } from 're2js'
import { RequestError } from '../../base/error.ts'
import {
  compilePattern,
  InvalidPattern,
  matcherOf as matcherOfPattern,
  type Pattern,
  patternCharsMax,
  patternSteps,
} from '../../document/pattern.ts'
import type { RunContext } from '../values/run-context.ts'
import type { SqlValue } from '../values/value.ts'
import { define, type FunctionFamily } from './define.ts'

export const regularExpressionFunctions: FunctionFamily = {
  'REGEXMATCH REGEX_MATCH': define(2, 3, ([text, pattern, modifiers], context) => {
    const expression = patternOf(pattern, modifiers, context)
    return expression === undefined || typeof text !== 'string'
      ? undefined
      : matcherOf(expression, text, context).find()
  }),
  'REGEXEXTRACT REGEX_EXTRACT': define(2, 4, ([text, pattern, modifiers, group = 0], context) => {
    const expression = patternOf(pattern, modifiers, context)
    if (expression === undefined || typeof text !== 'string' || !isGroup(group, expression)) return undefined
    const matcher = matcherOf(expression, text, context)
    return matcher.find() ? (matcher.group(group) ?? undefined) : undefined
  }),
  'REGEXEXTRACTALL REGEX_EXTRACT_ALL': define(2, 4, ([text, pattern, modifiers, groups = [0]], context) => {
    const expression = patternOf(pattern, modifiers, context)
    if (expression === undefined || typeof text !== 'string') return undefined
    if (!Array.isArray(groups) || !groups.every(group => isGroup(group, expression))) return undefined
    const matcher = matcherOf(expression, text, context)
    const matches: SqlValue[] = []
    while (matcher.find()) {
      // Every match may have read the whole rest of the text.
      context.budget.checkTime()
      matches.push(groups.map(group => matcher.group(group as number)).filter(found => found !== null))
    }
    return matches
  }),
}

function matcherOf(expression: Pattern, text: string, { budget }: RunContext): Matcher {
  budget.chargeSteps(patternSteps(expression, text))
  return matcherOfPattern(expression, text)
}

function isGroup(group: SqlValue, expression: Pattern): group is number {
  return typeof group === 'number' && Number.isInteger(group) && group >= 0 && group <= expression.groupCount()
}

function patternOf(pattern: SqlValue, modifiers: SqlValue, context: RunContext): Pattern | undefined {
  if (typeof pattern !== 'string') return undefined
  if (modifiers !== undefined && typeof modifiers !== 'string') return undefined
  const letters = modifiers ?? ''
  return context.cached(`REGEX ${letters} ${pattern}`, () => ({ expression: valid(pattern, letters) })).expression
}

function valid(pattern: string, letters: string): Pattern | undefined {
  try {
    return compilePattern(pattern, letters)
  } catch (error) {
    if (!(error instanceof InvalidPattern)) throw error
    if (!isBeyondRe2(pattern)) return undefined
    const shown = pattern.length > 100 ? `${pattern.slice(0, 100)}…` : pattern
    throw new RequestError(
      'malformed',
      `The regular expression '${shown}' cannot be run here: it is too long, or it has a backreference, a ` +
        'look-around, an atomic group or a possessive quantifier. Rewrite it without them.',
    )
  }
}

const lookAround = /\(\?(?:<?[=!]|>|\()/
const backreference = /\\(?:[1-9]|k[<{'])/
const possessive = /[*+?}]\+/

function isBeyondRe2(pattern: string): boolean {
  return pattern.length > patternCharsMax || [lookAround, backreference, possessive].some(part => part.test(pattern))
}
