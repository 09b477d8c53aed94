/**
 * LIKE patterns: `%` matches any text, `_` one character, `[a-f]` and `[^a-f]` a set and its negation; plus
 * an escape character.
 *
 * Matching needs two positions and no recursion. After a mismatch only the last `%` is extended by one
 * character; this is enough, because everything before it has matched as early as possible. The cost is the
 * length of the text times the longest part between two `%`. Both can be millions, so the caller is told the
 * steps and may stop the match.
 */

import { spend } from '../../base/work.ts'

type PatternPart =
  | { readonly kind: 'text'; readonly character: string }
  | { readonly kind: 'any' }
  | { readonly kind: 'one' }
  | { readonly kind: 'set'; readonly negated: boolean; readonly ranges: readonly (readonly [number, number])[] }

export type LikeMatcher = (text: string, chargeSteps?: (steps: number) => void) => boolean

export function compileLike(pattern: string, escapeCharacter: string | undefined): LikeMatcher {
  const parts = parsePattern(pattern, escapeCharacter)
  return (text, chargeSteps) => matches(text, parts, chargeSteps)
}

function parsePattern(pattern: string, escapeCharacter: string | undefined): PatternPart[] {
  const characters = Array.from(pattern)
  const lastClose = characters.lastIndexOf(']')
  const parts: PatternPart[] = []
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] as string
    if (character === escapeCharacter && at + 1 < characters.length) {
      at += 1
      parts.push({ kind: 'text', character: characters[at] as string })
    } else if (character === '%') {
      if (parts.at(-1)?.kind !== 'any') parts.push({ kind: 'any' })
    } else if (character === '_') {
      parts.push({ kind: 'one' })
    } else {
      const close = character === '[' && at < lastClose ? characters.indexOf(']', at + 1) : -1
      if (close === -1) {
        parts.push({ kind: 'text', character })
      } else {
        parts.push(parseSet(characters.slice(at + 1, close)))
        at = close
      }
    }
  }
  return parts
}

function parseSet(members: readonly string[]): PatternPart {
  const negated = members[0] === '^'
  const ranges: [number, number][] = []
  for (let at = negated ? 1 : 0; at < members.length; at += 1) {
    const low = codePoint(members[at])
    if (members[at + 1] === '-' && at + 2 < members.length) {
      ranges.push([low, codePoint(members[at + 2])])
      at += 2
    } else {
      ranges.push([low, low])
    }
  }
  return { kind: 'set', negated, ranges }
}

function codePoint(character: string | undefined): number {
  return character?.codePointAt(0) ?? 0
}

function matches(
  text: string,
  parts: readonly PatternPart[],
  chargeSteps: ((steps: number) => void) | undefined,
): boolean {
  let at = 0
  let part = 0
  let starPart = -1
  let starAt = 0
  while (at < text.length) {
    spend(1)
    const current = parts[part]
    const character = String.fromCodePoint(text.codePointAt(at) as number)
    if (current?.kind === 'any') {
      starPart = part
      starAt = at
      part += 1
    } else if (current !== undefined && matchesOne(current, character)) {
      at += character.length
      part += 1
    } else if (starPart !== -1) {
      chargeSteps?.(at - starAt + 1)
      starAt += (text.codePointAt(starAt) as number) > 0xffff ? 2 : 1
      at = starAt
      part = starPart + 1
    } else {
      return false
    }
  }
  while (parts[part]?.kind === 'any') part += 1
  return part === parts.length
}

function matchesOne(part: PatternPart, character: string): boolean {
  if (part.kind === 'text') return part.character === character
  if (part.kind !== 'set') return true
  const point = codePoint(character)
  spend(part.ranges.length)
  return part.ranges.some(([low, high]) => point >= low && point <= high) !== part.negated
}
