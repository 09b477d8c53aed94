/**
 * Partition keys: how they are declared, read from a header or an item, compared and written.
 *
 * A key is a list of components, one for each path of the definition. If an item has no value at a path, the
 * component is `undefinedComponent`: a value different from null, written `{}` on the wire.
 *
 * Negative zero becomes zero on input. The two are equal as keys but hash differently, and one key must not
 * have two positions in the hash space.
 */

import { assert, RequestError } from '../base/error.ts'

/** The service's limit for a partition key value, in bytes of UTF-8. */
export const partitionKeyBytesMax = 2048

/** A hierarchical partition key has at most three levels. */
export const partitionKeyLevelsMax = 3

/** The component when the item has no value there; the SDKs call it None. */
export const undefinedComponent: unique symbol = Symbol('undefined partition key component')

export type PartitionKeyComponent = string | number | boolean | null | typeof undefinedComponent

export interface PartitionKeyDefinition {
  paths: readonly string[]
  kind: 'Hash' | 'MultiHash' | 'Range'
  version: 1 | 2
  systemKey?: boolean
}

const quote = 0x22
const backslash = 0x5c

/**
 * The property names of a path such as `/a/b` or `/"quoted name"/x`.
 *
 * A quoted name ends at the first quote without a backslash before it, and keeps its backslashes, because the
 * SDKs read it so and look for a property of that name. The service does not document which characters an
 * unquoted name may have; letters, digits, non-ASCII characters and `_ - . : $` are accepted here.
 */
export function parsePartitionKeyPath(path: string): string[] {
  const names: string[] = []
  let at = 0
  do {
    if (path[at] !== '/') refusePath(path, at)
    at++
    const start = at
    if (path[at] === '"' || path[at] === "'") {
      const delimiter = path[at]!
      do {
        at = path.indexOf(delimiter, at + 1)
        if (at === -1) refusePath(path, start)
      } while (path.charCodeAt(at - 1) === backslash)
      names.push(path.slice(start + 1, at))
      at++
    } else {
      while (at < path.length && path[at] !== '/') {
        if (!isNameCharacter(path.charCodeAt(at))) refusePath(path, at)
        at++
      }
      if (at === start) refusePath(path, at)
      names.push(path.slice(start, at))
    }
  } while (at < path.length)
  return names
}

function isNameCharacter(code: number): boolean {
  if (code >= 0x80) return true
  if (code >= 0x30 && code <= 0x3a) return true // 0-9 :
  if (code >= 0x41 && code <= 0x5a) return true // A-Z
  if (code >= 0x61 && code <= 0x7a) return true // a-z
  return code === 0x5f || code === 0x2d || code === 0x2e || code === 0x24 // _ - . $
}

/** The message is that of the service. */
function refusePath(path: string, at: number): never {
  throw new RequestError(
    'malformed',
    `The partition key component definition path '${path}' could not be accepted, failed near position '${at}'. ` +
      'Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character.',
  )
}

/** Room for every character of every level as `\uXXXX`. Longer texts are not parsed. */
const headerCharsMax = 2 + partitionKeyLevelsMax * (6 * partitionKeyBytesMax + 3)

/** Reads the x-ms-documentdb-partitionkey header, or the same text in an operation of a bulk request. */
export function parsePartitionKeyHeader(text: string): PartitionKeyComponent[] {
  const plain = plainStringIn(text)
  if (plain !== undefined) return [plain]
  if (text.length > headerCharsMax) refuseSize()

  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw new RequestError('malformed', 'The partition key is not valid JSON.', { cause })
  }
  if (!Array.isArray(parsed)) throw new RequestError('malformed', 'The partition key must be a JSON array.')
  if (parsed.length > partitionKeyLevelsMax) {
    throw new RequestError('malformed', `A partition key has at most ${partitionKeyLevelsMax} components.`)
  }
  const components: PartitionKeyComponent[] = []
  for (const value of parsed as unknown[]) {
    if (typeof value === 'object' && value !== null) {
      if (Array.isArray(value) || Object.keys(value).length > 0) {
        throw new RequestError(
          'malformed',
          'A partition key component must be a string, a number, true, false, null or {}.',
        )
      }
      components.push(undefinedComponent)
    } else {
      components.push(toComponent(value))
    }
  }
  return components
}

/**
 * The string in `["..."]` if it is short ASCII without escapes, as nearly all keys are; otherwise undefined.
 * It takes a third of the time of JSON.parse, and every item request needs it.
 */
function plainStringIn(text: string): string | undefined {
  const end = text.length - 2
  if (end < 2 || end > partitionKeyBytesMax || !text.startsWith('["') || !text.endsWith('"]')) return undefined
  for (let at = 2; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || code > 0x7e || code === quote || code === backslash) return undefined
  }
  return text.slice(2, end)
}

/**
 * The key of an item. A missing property, an object or an array counts as undefined, as in the Java and
 * Python SDKs. A path leads through objects only. Inherited properties such as `constructor` are missing.
 */
export function extractPartitionKey(
  item: Record<string, unknown>,
  parsedPaths: readonly (readonly string[])[],
): PartitionKeyComponent[] {
  const components: PartitionKeyComponent[] = []
  for (const names of parsedPaths) {
    let value: unknown = item
    for (const name of names) {
      const isInside =
        typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
      value = isInside ? (value as Record<string, unknown>)[name] : undefined
    }
    components.push(toComponent(value))
  }
  return components
}

function toComponent(value: unknown): PartitionKeyComponent {
  switch (typeof value) {
    case 'string':
      // UTF-8 has at most three bytes for a UTF-16 unit, so short strings need no counting.
      if (value.length * 3 > partitionKeyBytesMax && Buffer.byteLength(value) > partitionKeyBytesMax) refuseSize()
      return value
    case 'number':
      // JSON has no infinity, but 1e999 parses to one.
      if (!Number.isFinite(value)) throw new RequestError('malformed', 'A partition key number is out of range.')
      return value === 0 ? 0 : value
    case 'boolean':
      return value
    default:
      return value === null ? null : undefinedComponent
  }
}

function refuseSize(): never {
  throw new RequestError('malformed', `A partition key value has at most ${partitionKeyBytesMax} bytes.`)
}

/**
 * The canonical text of a key, for storing and comparing: equal for equal keys, different for different ones.
 *
 * It is valid JSON in which undefined is `{}`. JSON.stringify escapes lone surrogates, so they survive an
 * encoding to UTF-8 and stay distinct.
 */
export function canonicalPartitionKey(components: readonly PartitionKeyComponent[]): string {
  if (components.length === 1 && typeof components[0] === 'string') return JSON.stringify(components)
  return JSON.stringify(components.map(toJson))
}

function toJson(component: PartitionKeyComponent): string | number | boolean | null | object {
  if (component === undefinedComponent) return {}
  // JSON.stringify writes -0 as 0, and infinities as null, which would be another key.
  assert(typeof component !== 'number' || Number.isFinite(component), 'a partition key number is finite')
  return component
}

export function partitionKeysEqual(a: readonly PartitionKeyComponent[], b: readonly PartitionKeyComponent[]): boolean {
  if (a.length !== b.length) return false
  for (let level = 0; level < a.length; level++) if (a[level] !== b[level]) return false
  return true
}
