/**
 * DATETIMEFORMAT patterns, as in .NET's custom formats: a run of one letter is a part of the date, text in
 * single quotes and other characters stand for themselves.
 */

import { checkLength } from '../values/strings.ts'
import { type DateTimeParts, pad } from './date-time-value.ts'

const monthNames = 'January February March April May June July August September October November December'.split(' ')

function twelve(hour: number): number {
  return hour % 12 === 0 ? 12 : hour % 12
}

const numeric: Readonly<Record<string, (parts: DateTimeParts) => number>> = {
  d: parts => parts.day,
  H: parts => parts.hour,
  h: parts => twelve(parts.hour),
  m: parts => parts.minute,
  s: parts => parts.second,
}

function formatRun(letter: string, width: number, parts: DateTimeParts): string {
  if (letter === 'y') return width <= 2 ? pad(parts.year % 100, width) : pad(parts.year, width)
  if (letter === 'f') return pad(parts.fraction, 7).slice(0, width)
  if (letter === 't') return (parts.hour < 12 ? 'AM' : 'PM').slice(0, width)
  if (letter === 'M') {
    const name = monthNames[parts.month - 1] as string
    return width <= 2 ? pad(parts.month, width) : width === 3 ? name.slice(0, 3) : name
  }
  const part = Object.hasOwn(numeric, letter) ? numeric[letter] : undefined
  return part === undefined ? letter.repeat(width) : pad(part(parts), Math.min(width, 2))
}

export function formatPattern(parts: DateTimeParts, pattern: string): string {
  // The longest result of a single letter is the name of a month.
  checkLength(pattern.length * 9)
  let formatted = ''
  for (let at = 0; at < pattern.length; ) {
    const letter = pattern.charAt(at)
    if (letter === "'") {
      const close = pattern.indexOf("'", at + 1)
      const end = close === -1 ? pattern.length : close
      formatted += pattern.slice(at + 1, end)
      at = end + 1
    } else {
      let end = at + 1
      while (pattern.charAt(end) === letter && end < pattern.length) end += 1
      formatted += formatRun(letter, end - at, parts)
      at = end
    }
  }
  return formatted
}
