/**
 * Reads untrusted JSON field by field. Known fields are checked. Others are ignored, but a container
 * definition refuses unknown ones at its top level.
 *
 * Only own properties count, so `__proto__` and `constructor` in a body are ordinary names. A null field
 * counts as absent, because several SDKs write null for a field that their user left out.
 */

import { RequestError } from '../../base/error.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/** The service's text whenever a value has the wrong JSON type. */
export const invalidInputText = 'One of the specified inputs is invalid'

export function malformed(text: string): never {
  throw new RequestError('malformed', text)
}

/** The service's text, followed by a detail that the service does not give. */
export function invalidInput(detail: string): never {
  malformed(`${invalidInputText}: ${detail}.`)
}

export function fieldOf(object: JsonObject, name: string): unknown {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return value === null ? undefined : value
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readObject(value: unknown, where: string): JsonObject {
  if (!isJsonObject(value)) invalidInput(`'${where}' must be an object`)
  return value
}

export function readArray(value: unknown, where: string, lengthMax: number): readonly unknown[] {
  if (!Array.isArray(value)) invalidInput(`'${where}' must be an array`)
  if (value.length > lengthMax) {
    malformed(`The number of elements in '${where}' is ${value.length}, which exceeds the maximum of ${lengthMax}.`)
  }
  return value
}

export function readString(value: unknown, where: string): string {
  if (typeof value !== 'string') invalidInput(`'${where}' must be a string`)
  return value
}

/** Returns the service's spelling of a word; clients may change its case. */
export function readWord<Word extends string>(value: unknown, where: string, words: readonly Word[]): Word {
  const text = readString(value, where).toLowerCase()
  const word = words.find(candidate => candidate.toLowerCase() === text)
  if (word === undefined) invalidInput(`'${where}' must be one of ${words.map(each => `'${each}'`).join(', ')}`)
  return word
}

const shownCharsMax = 100

/**
 * Formats a value for an error text. It looks as in the JSON, as far as that is still known: 1e400 has
 * become Infinity.
 *
 * The content of objects and arrays is left out. It could be long, and printing it could recurse as deep as
 * the body.
 */
export function showValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : '[...]'
  if (isJsonObject(value)) return Object.keys(value).length === 0 ? '{}' : '{...}'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length <= shownCharsMax ? text : `${text.slice(0, shownCharsMax)}...`
}
