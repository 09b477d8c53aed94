/** Reads the fields of bodies and the parameters of queries, and refuses wrong ones by their name. */

import { type PartitionKeyComponent, parsePartitionKeyHeader } from '../../document/partition-key.ts'
import { isTtl, ttlSecondsMax } from '../../ttl/lifespan.ts'
import { FieldError } from './error-map.ts'

type Body = Readonly<Record<string, unknown>>

export function textField(body: Body, name: string): string {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  if (typeof value !== 'string') throw new FieldError(name, `"${name}" must be a text.`)
  return value
}

export function optionalText(body: Body, name: string): string | undefined {
  return Object.hasOwn(body, name) && body[name] !== undefined && body[name] !== null
    ? textField(body, name)
    : undefined
}

export function optionalFlag(body: Body, name: string): boolean | undefined {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  if (value === undefined || typeof value === 'boolean') return value
  throw new FieldError(name, `"${name}" must be true or false.`)
}

export function wholeField(body: Body, name: string, min: number, max: number): number {
  const value = Object.hasOwn(body, name) ? body[name] : undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
    throw new FieldError(name, `"${name}" must be a whole number from ${min} to ${max}.`)
  }
  return value
}

/** undefined: not given. null: off. */
export function defaultTtlField(body: Body): number | null | undefined {
  if (!Object.hasOwn(body, 'defaultTtl')) return undefined
  const { defaultTtl } = body
  if (defaultTtl === null || isTtl(defaultTtl)) return defaultTtl
  throw new FieldError('defaultTtl', `Use 1 second to ${ttlSecondsMax} seconds, -1 for no default, or null for off.`)
}

/** A partition key as an array of values, as a header would carry it. */
export function partitionKeyField(value: unknown, name = 'partitionKey'): PartitionKeyComponent[] {
  if (!Array.isArray(value)) throw new FieldError(name, `"${name}" must be an array with a value for each level.`)
  try {
    return parsePartitionKeyHeader(JSON.stringify(value))
  } catch (error) {
    throw new FieldError(name, error instanceof Error ? error.message : String(error))
  }
}

export function wholeParameter(
  query: URLSearchParams,
  name: string,
  { min, max, otherwise }: { min: number; max: number; otherwise: number },
): number {
  const text = query.get(name)
  if (text === null || text === '') return otherwise
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new FieldError(name, `"${name}" must be a whole number from ${min} to ${max}.`)
  return value
}

export function optionalWhole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  return text === null || text === ''
    ? undefined
    : wholeParameter(query, name, { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 })
}

export function choiceOf<Choice extends string>(
  value: unknown,
  name: string,
  choices: readonly Choice[],
  otherwise?: Choice,
): Choice {
  if ((value === null || value === undefined || value === '') && otherwise !== undefined) return otherwise
  const found = choices.find(choice => choice === value)
  if (found === undefined) throw new FieldError(name, `"${name}" must be one of ${choices.join(', ')}.`)
  return found
}
