/**
 * The definition of an index: its components, each a path into the item and a direction.
 *
 * Paths are stored as text, `/address/"street name"/?` or `/tags/[]/?`. A name with characters other than
 * letters, digits and `_` is written as a JSON string. So every name is read back unchanged, also one with a
 * slash, a quote or a lone surrogate. (Quoted names in users' policies have no escapes; that syntax is parsed
 * at the edge.)
 */

import { InvariantError } from '../base/error.ts'

/** Most entries of one item in an index of array elements: 10 ms, at about 10 us for an entry. */
export const indexEntriesPerItemMax = 1000

/** The step to every element of an array. As a symbol it cannot equal a property name. */
export const anyElement: unique symbol = Symbol('[]')

export type IndexPath = readonly (string | typeof anyElement)[]

export interface IndexComponent {
  readonly path: IndexPath
  readonly isDescending: boolean
}

export interface IndexDefinition {
  /** Identifies the index within its container. */
  readonly number: number
  /** One component, or several without `anyElement`. */
  readonly components: readonly IndexComponent[]
  /** Within a partition key (`partition`) or the container, no two living items may have the same key. */
  readonly uniqueness: Uniqueness
  /** Further options of its API (sparse, partial), as JSON. Only the maker of its keys reads them. */
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

/** Parses what `printIndexPath` wrote. The store holds no other text. */
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
