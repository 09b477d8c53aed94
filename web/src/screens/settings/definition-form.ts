/** Reads the JSON of a form: the value, or its mistake with the place. */

import { ttlSecondsMax } from '../../containers/input-rules.ts'

type JsonObject = Record<string, unknown>

export function readJson(text: string): { value?: JsonObject; problem?: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problem: `This is not JSON${placeOf(error, text)}.` }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: 'Write one JSON object: {…}.' }
  return { value: value as JsonObject }
}

/** The default ttl of a changed definition; undefined: it is the same, or none that the server takes. */
export function newDefaultTtl(before: JsonObject, after: JsonObject): number | null | undefined {
  const wanted = after.defaultTtl ?? null
  if (wanted === (before.defaultTtl ?? null)) return undefined
  if (wanted === null) return null
  const isTtl = typeof wanted === 'number' && Number.isInteger(wanted) && wanted >= -1 && wanted !== 0
  return isTtl && wanted <= ttlSecondsMax ? wanted : undefined
}

/** Browsers tell the place of a mistake in different words. */
function placeOf(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : ''
  const line = /line (\d+)/.exec(message)?.[1]
  const position = /position (\d+)/.exec(message)?.[1]
  if (line) return `: look at line ${line}`
  if (position) return `: look at line ${text.slice(0, Number(position)).split('\n').length}`
  return /end/i.test(message) ? ': it ends too early' : ''
}
