/** Checks an item's text without the server: whether it is JSON, and whether its ttl is valid. */

import type { Api } from '../../../api/shapes.ts'
import { ttlSecondsMax } from '../../../containers/input-rules.ts'
import { jsonMistake } from './json-scan.ts'

export interface TextProblem {
  from: number
  to: number
  message: string
  severity: 'error' | 'warning'
}

/** The number of a ttl; Mongo's may be written with its type. */
function ttlNumber(ttl: unknown): unknown {
  if (typeof ttl !== 'object' || ttl === null) return ttl
  const [type, value] = Object.entries(ttl)[0] ?? []
  const isNumber = type === '$numberInt' || type === '$numberLong' || type === '$numberDouble'
  return isNumber ? Number(value) : ttl
}

/** The own ttl of a text; undefined: it has none; NaN: its value is no ttl; null: the text is not JSON. */
export function ownTtl(text: string): number | null | undefined {
  try {
    const value = JSON.parse(text) as Record<string, unknown>
    // Null counts as none; a strict server refuses it.
    if (!('ttl' in value) || value.ttl === null) return undefined
    const ttl = ttlNumber(value.ttl)
    const isValid =
      typeof ttl === 'number' && Number.isInteger(ttl) && (ttl === -1 || (ttl >= 1 && ttl <= ttlSecondsMax))
    return isValid ? ttl : Number.NaN
  } catch {
    return null
  }
}

function findName(text: string, name: string): { from: number; to: number } {
  const from = text.indexOf(`"${name}"`)
  return from === -1 ? { from: 0, to: 1 } : { from, to: from + name.length + 2 }
}

export function checkItemText(text: string, api: Api): TextProblem[] {
  const mistake = jsonMistake(text)
  if (mistake) {
    const at = Math.max(0, Math.min(mistake.at, text.length - 1))
    return [{ from: at, to: at + 1, message: `Not JSON: ${mistake.message}.`, severity: 'error' }]
  }
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ from: 0, to: text.length, message: 'An item is an object: { … }.', severity: 'error' }]
  }
  const problems: TextProblem[] = []
  if (Number.isNaN(ownTtl(text))) {
    const ttl = JSON.stringify((value as Record<string, unknown>).ttl)
    // Mongo keeps any value and ignores what is no ttl; NoSQL refuses it.
    const [severity, end] =
      api === 'mongo' ? (['warning', ' Others are only data.'] as const) : (['error', ''] as const)
    problems.push({
      ...findName(text, 'ttl'),
      message: `ttl is ${ttl}: use a whole number of seconds, 1 to ${ttlSecondsMax}, or -1 for never.${end}`,
      severity,
    })
  }
  if (api === 'nosql' && (typeof (value as { id?: unknown }).id !== 'string' || (value as { id: string }).id === '')) {
    problems.push({
      ...findName(text, 'id'),
      message: 'An item has an id: a text that is not empty.',
      severity: 'error',
    })
  }
  return problems
}

/** The first text of a new item: its id and its partition key, to be filled in. */
export function newItemText(api: Api, partitionKey: readonly string[]): string {
  if (api === 'mongo') return '{\n  \n}'
  const item: Record<string, unknown> = { id: '' }
  for (const path of partitionKey) {
    let place = item
    const names = path.split('/').filter(Boolean)
    for (const name of names.slice(0, -1)) {
      place[name] = typeof place[name] === 'object' ? place[name] : {}
      place = place[name] as Record<string, unknown>
    }
    const last = names.at(-1)
    if (last !== undefined) place[last] ??= ''
  }
  return JSON.stringify(item, null, 2)
}
