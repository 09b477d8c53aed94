/** String functions. Positions and lengths count UTF-16 units, as in the service's own offline engine. */

import { indexOf, lastIndexOf, split } from '../../base/text-search.ts'
import { joinStrings, replaceAll } from '../values/strings.ts'
import type { SqlValue } from '../values/value.ts'
import { areStrings, type BuiltIn, define, defineOpen, type FunctionFamily, onString, onTwoStrings } from './define.ts'

/** The service's documented limit for the result of REPLICATE. */
const replicateCharsMax = 10_000

/** A comparison of two strings; an optional third argument ignores case. */
function comparison(holds: (text: string, other: string) => boolean): BuiltIn {
  return define(2, 3, ([text, other, ignoresCase = false]) => {
    if (typeof text !== 'string' || typeof other !== 'string' || typeof ignoresCase !== 'boolean') return undefined
    return ignoresCase ? holds(text.toLowerCase(), other.toLowerCase()) : holds(text, other)
  })
}

/** CONTAINS_ALL_CS and the three similar functions: one text and any number of parts. */
function containsParts(options: { needsAll: boolean; ignoresCase: boolean }): BuiltIn {
  const fold = (text: string) => (options.ignoresCase ? text.toLowerCase() : text)
  return defineOpen(2, values => {
    if (!areStrings(values)) return undefined
    const [text, ...parts] = values.map(fold) as [string, ...string[]]
    const isIn = (part: string) => indexOf(text, part) !== -1
    return options.needsAll ? parts.every(isIn) : parts.some(isIn)
  })
}

type Trim = (text: string, isTrimmed: (character: string) => boolean) => string

/** Trims white space, or the characters of the second argument. */
function trim(cut: Trim): BuiltIn {
  return define(1, 2, ([text, characters]) => {
    if (typeof text !== 'string') return undefined
    if (characters === undefined) return cut(text, character => character.trim() === '')
    if (typeof characters !== 'string') return undefined
    const units = new Set(characters.split(''))
    return cut(text, character => units.has(character))
  })
}

const trimStart: Trim = (text, isTrimmed) => {
  let start = 0
  while (start < text.length && isTrimmed(text.charAt(start))) start += 1
  return text.slice(start)
}

const trimEnd: Trim = (text, isTrimmed) => {
  let end = text.length
  while (end > 0 && isTrimmed(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

function isInteger(value: SqlValue): value is number {
  return typeof value === 'number' && Number.isInteger(value)
}

/** A part of a string. Positions outside the string are cut off; a negative length counts as 0. */
function slice(text: SqlValue, start: SqlValue, length: SqlValue): SqlValue {
  if (typeof text !== 'string' || !isInteger(start) || !isInteger(length)) return undefined
  const from = Math.max(0, start)
  return text.slice(from, from + Math.max(0, length))
}

/** The text before or after a mark; undefined if the mark is missing. */
function around(options: { takes: 'before' | 'after'; last: boolean }): BuiltIn {
  return onTwoStrings((text, mark) => {
    const at = options.last ? lastIndexOf(text, mark) : indexOf(text, mark)
    if (at === -1) return undefined
    return options.takes === 'before' ? text.slice(0, at) : text.slice(at + mark.length)
  })
}

export const stringFunctions: FunctionFamily = {
  CONCAT: defineOpen(2, values => (areStrings(values) ? joinStrings(values) : undefined)),
  CONTAINS: comparison((text, part) => indexOf(text, part) !== -1),
  'CONTAINS_ALL_CI CONTAINSALLCI': containsParts({ needsAll: true, ignoresCase: true }),
  'CONTAINS_ALL_CS CONTAINSALLCS': containsParts({ needsAll: true, ignoresCase: false }),
  'CONTAINS_ANY_CI CONTAINSANYCI': containsParts({ needsAll: false, ignoresCase: true }),
  'CONTAINS_ANY_CS CONTAINSANYCS': containsParts({ needsAll: false, ignoresCase: false }),
  'ENDSWITH ENDS_WITH': comparison((text, suffix) => text.endsWith(suffix)),
  'INDEX_OF INDEXOF': define(2, 3, ([text, part, start = 0]) =>
    typeof text === 'string' && typeof part === 'string' && isInteger(start) ? indexOf(text, part, start) : undefined,
  ),
  'LASTINDEXOF LAST_INDEX_OF': define(2, 3, ([text, part, start = Number.MAX_SAFE_INTEGER]) =>
    typeof text === 'string' && typeof part === 'string' && isInteger(start)
      ? lastIndexOf(text, part, start)
      : undefined,
  ),
  'LASTSUBSTRINGAFTER LAST_SUBSTRING_AFTER': around({ takes: 'after', last: true }),
  'LASTSUBSTRINGBEFORE LAST_SUBSTRING_BEFORE': around({ takes: 'before', last: true }),
  LEFT: define(2, 2, ([text, length]) => slice(text, 0, length)),
  LENGTH: onString(text => text.length),
  LOWER: onString(text => text.toLowerCase()),
  LTRIM: trim(trimStart),
  REPLACE: define(3, 3, values => {
    if (!areStrings(values)) return undefined
    const [text, searched, replacement] = values as readonly [string, string, string]
    return searched === '' ? undefined : replaceAll(text, searched, replacement)
  }),
  REPLICATE: define(2, 2, ([text, count]) => {
    if (typeof text !== 'string' || typeof count !== 'number' || count < 0) return undefined
    const times = Math.trunc(count)
    return text.length * times > replicateCharsMax ? undefined : text.repeat(text === '' ? 0 : times)
  }),
  // By code point, so that no surrogate pair is split.
  REVERSE: onString(text => Array.from(text).reverse().join('')),
  RIGHT: define(2, 2, ([text, length]) =>
    typeof text === 'string' && isInteger(length)
      ? slice(text, text.length - Math.max(0, length), Math.max(0, Math.min(length, text.length)))
      : undefined,
  ),
  RTRIM: trim(trimEnd),
  'STARTSWITH STARTS_WITH': comparison((text, prefix) => text.startsWith(prefix)),
  'STRINGEQUALS STRING_EQUALS': comparison((text, other) => text === other),
  'STRINGJOIN STRING_JOIN': define(2, 2, ([array, separator]) =>
    Array.isArray(array) && areStrings(array) && typeof separator === 'string'
      ? joinStrings(array, separator)
      : undefined,
  ),
  'STRINGSPLIT STRING_SPLIT': onTwoStrings((text, separator) => (separator === '' ? [text] : split(text, separator))),
  SUBSTRING: define(3, 3, ([text, start, length]) => slice(text, start, length)),
  'SUBSTRINGAFTER SUBSTRING_AFTER': around({ takes: 'after', last: false }),
  'SUBSTRINGBEFORE SUBSTRING_BEFORE': around({ takes: 'before', last: false }),
  TRIM: trim((text, isTrimmed) => trimEnd(trimStart(text, isTrimmed), isTrimmed)),
  UPPER: onString(text => text.toUpperCase()),
}
