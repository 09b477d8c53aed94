/** Makes a clause of a query from the filter of a list, as a user types it: with or without WHERE. */

import { FieldError } from '../http/error-map.ts'

/** Words that begin a clause. Some are refused later, with a better message than a condition would get. */
const clauseWord = /^\s*((WHERE|AS|JOIN|ORDER|GROUP|OFFSET)\b|--|\/\*)/i

const wholeQuery = /^\s*SELECT\b/i
const oneWord = /^\s*("[^"]*"|'[^']*'|[\p{L}\p{N}_$-]+)\s*$/u

const conditionStart = 'WHERE '

/** `added`: the length of the words that were put before the text. */
export function filterClause(text: string): { readonly clause: string; readonly added: number } {
  if (wholeQuery.test(text)) {
    throw new FieldError('query', 'Write only the condition, without SELECT … FROM c: WHERE c.id = "k1".')
  }
  const word = oneWord.exec(text)?.[1]
  if (word !== undefined && !clauseWord.test(`${word} `)) {
    const value = /^["']/.test(word) ? word : `"${word}"`
    throw new FieldError('query', `${word} is one word, and no condition. To look for an id: c.id = ${value}.`)
  }
  if (clauseWord.test(text)) return { clause: text, added: 0 }
  return { clause: conditionStart + text, added: conditionStart.length }
}
