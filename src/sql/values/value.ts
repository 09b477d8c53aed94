/**
 * The values of the query language: JSON and undefined.
 *
 * Objects come from JSON.parse and may have any name, including `__proto__` and `constructor`. Read them with
 * `ownProperty` and write them with `setOwn`, never by plain indexing.
 */

import { RequestError } from '../../base/error.ts'
import { nestingDepthMax, queryRowBytesMax } from '../../base/limits.ts'
import { spend } from '../../base/work.ts'

export type SqlValue = undefined | null | boolean | number | string | readonly SqlValue[] | ObjectValue

export interface ObjectValue {
  readonly [name: string]: SqlValue
}

export function isArray(value: SqlValue): value is readonly SqlValue[] {
  return Array.isArray(value)
}

export function isObject(value: SqlValue): value is ObjectValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isPrimitive(value: SqlValue): value is null | boolean | number | string {
  return value !== undefined && (value === null || typeof value !== 'object')
}

export function ownProperty(value: SqlValue, name: string): SqlValue {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

export function elementAt(value: SqlValue, index: number): SqlValue {
  return isArray(value) && Number.isInteger(index) ? value[index] : undefined
}

/** Assigning `__proto__` would change the object's prototype; every other name is safe. */
export function setOwn(object: Record<string, SqlValue>, name: string, value: SqlValue): void {
  if (name === '__proto__') {
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  } else {
    object[name] = value
  }
}

/** The number if JSON can hold it; otherwise undefined, as after a division by zero. */
export function finiteOrUndefined(value: number): SqlValue {
  return Number.isFinite(value) ? value : undefined
}

/**
 * The approximate size of the value as JSON. Counting stops at `bytesMax`.
 *
 * The early stop matters more than the number: a query can build values from shared parts (`[x, x]` of `[y,
 * y]` of …) that are small in memory but astronomical when written out.
 */
export function approximateBytes(value: SqlValue, bytesMax: number): number {
  let bytes = 0
  const open: SqlValue[] = [value]
  while (open.length > 0 && bytes <= bytesMax) {
    const next = open.pop()
    spend(1)
    if (typeof next === 'string') bytes += next.length + 3
    else if (typeof next !== 'object' || next === null) bytes += 8
    else if (isArray(next)) {
      bytes += 2 + next.length
      spend(next.length)
      if (bytes <= bytesMax) for (const element of next) open.push(element)
    } else {
      for (const name of Object.keys(next)) {
        bytes += name.length + 4
        open.push((next as ObjectValue)[name])
      }
      bytes += 2
    }
  }
  return bytes
}

/**
 * Refuses values that are larger, when written out, than an answer may be. Every value that a query builds is
 * checked here before it is used again, so sharing can double it only a few times.
 */
export function checkSize(value: SqlValue): void {
  if (typeof value !== 'object' || value === null) return
  if (approximateBytes(value, queryRowBytesMax) > queryRowBytesMax) {
    throw new RequestError('malformed', `The query makes a value larger than ${queryRowBytesMax} bytes.`)
  }
}

/** Refuses values that recursive functions could not walk. Items are checked on write, parameters here. */
export function checkNesting(value: SqlValue, what: string): void {
  let level: readonly SqlValue[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > nestingDepthMax) {
      throw new RequestError('malformed', `${what} is nested deeper than ${nestingDepthMax} levels.`)
    }
    const below: SqlValue[] = []
    spend(level.length)
    for (const node of level) {
      if (typeof node !== 'object' || node === null) continue
      for (const child of Object.values(node)) if (typeof child === 'object') below.push(child)
    }
    level = below
  }
}
