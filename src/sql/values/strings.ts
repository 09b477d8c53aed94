/** Makes strings within bounds: a short query must not be able to fill the memory. */

import { RequestError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'
import { split } from '../../base/text-search.ts'
import { spend } from '../../base/work.ts'

/** Longest string that a query makes (CONCAT, ||, REPLACE, STRINGJOIN, TOSTRING): the size of an item. */
export const queryStringCharsMax = 2 * MiB

export function joinStrings(parts: readonly string[], separator = ''): string {
  let length = separator.length * Math.max(0, parts.length - 1)
  for (const part of parts) length += part.length
  checkLength(length)
  spend(parts.length + length / 16)
  return parts.join(separator)
}

export function replaceAll(text: string, searched: string, replacement: string): string {
  const parts = split(text, searched)
  checkLength(text.length + (parts.length - 1) * (replacement.length - searched.length))
  return parts.join(replacement)
}

export function checkLength(length: number): void {
  if (length > queryStringCharsMax) {
    throw new RequestError('malformed', `The query makes a string longer than ${queryStringCharsMax} characters.`)
  }
}
