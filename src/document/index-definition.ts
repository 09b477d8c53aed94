/**
 * What an index is about: its components, each a path into the item and a direction.
 *
 * Paths are stored as text, `/address/"street name"/?` or `/tags/[]/?`. A name that is not made of letters,
 * digits and `_` is written as a JSON string, so that every name, also one with a slash, a quote or a lone
 * surrogate, comes back as it was. (Quoted names in the policies of users have no escapes; that syntax stays
 * at the edge.)
 */

import { InvariantError } from '../base/error.ts'

/**
 * Entries one item may have in an index of array elements. An entry costs about 10 us, so these hold a write
 * for 10 ms.
 */
export const indexEntriesPerItemMax = 1000

/** The step to each element of the array that stands there; no property name can equal it. */
export const anyElement: unique symbol = Symbol('[]')

export type IndexPath = readonly (string | typeof anyElement)[]

export interface IndexComponent {
  readonly path: IndexPath
  readonly isDescending: boolean
}

export interface IndexDefinition {
  /** Distinguishes the index from the others of its container. */
  readonly number: number
  /** One, or several without any `anyElement`. */
  readonly components: readonly IndexComponent[]
  /** No two living items of a partition key, or of the whole container, may have the same key. */
  readonly uniqueness: Uniqueness
  /** What its API says beyond that (sparse, partial), as JSON. Only the maker of its keys reads it. */
  readonly options?: unknown
}

export type Uniqueness = 'none' | 'partition' | 'container'

export function printIndexPath(path: IndexPath): string {
  const steps = path.map(step => {
    if (step === anyElement) return '[]'
    return isPlainName(step) ? step : JSON.stringify(step)
  })
  return `/${[...steps, '?'].join('/')}`
}

/** Reads what `printIndexPath` wrote. Other text never got into the store. */
export function parseIndexPath(text: string): IndexPath {
  const path: (string | typeof anyElement)[] = []
  let at = 0
  while (!(text.startsWith('/?', at) && at + 2 === text.length)) {
    if (text[at] !== '/') refuse(text)
    const start = at + 1
    at = text[start] === '"' ? endOfQuoted(text, start) : endOfPlain(text, start)
    const step = text.slice(start, at)
    if (step === '[]') path.push(anyElement)
    else if (isPlainName(step)) path.push(step)
    else path.push(unquoted(step, text))
  }
  if (path.length === 0) refuse(text)
  return path
}

function isPlainName(name: string): boolean {
  for (let at = 0; at < name.length; at += 1) if (!isPlainUnit(name.charCodeAt(at))) return false
  return name !== ''
}

function isPlainUnit(unit: number): boolean {
  if (unit >= 0x30 && unit <= 0x39) return true // 0-9
  if (unit >= 0x41 && unit <= 0x5a) return true // A-Z
  if (unit >= 0x61 && unit <= 0x7a) return true // a-z
  return unit === 0x5f // _
}

function endOfPlain(text: string, start: number): number {
  const end = text.indexOf('/', start)
  return end === -1 ? text.length : end
}

function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at + 1
  }
  return text.length
}

function unquoted(step: string, text: string): string {
  try {
    const name: unknown = JSON.parse(step)
    if (typeof name === 'string') return name
  } catch (cause) {
    refuse(text, { cause })
  }
  refuse(text)
}

function refuse(text: string, options?: ErrorOptions): never {
  throw new InvariantError(`the text of an index path is valid: ${text}`, options)
}
