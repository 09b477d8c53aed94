/** What can be said about an item's text without asking the server: is it JSON, and is its ttl one. */

import type { Api } from '../../api/shapes.ts'
import { ttlSecondsMax } from '../../app/new-container-rules.ts'

export interface TextProblem {
  from: number
  to: number
  message: string
  severity: 'error' | 'warning'
}

/** Where a parser stopped: browsers say it as a position, or as line and column. */
function positionOf(text: string, message: string): number {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  const place = /line (\d+) column (\d+)/.exec(message)
  if (!place) return text.length
  const lines = text.split('\n').slice(0, Number(place[1]) - 1)
  return lines.reduce((sum, line) => sum + line.length + 1, 0) + Number(place[2]) - 1
}

/** The message without the position, which the editor shows by its place. */
function plainMessage(message: string): string {
  const short = message
    .replace(/^JSON\.parse: /, '')
    .replace(/ in JSON at position.*$/s, '')
    .replace(/ \(line.*$/s, '')
    .replace(/, \.\.\..*$/s, '')
  return `Not JSON: ${short.charAt(0).toLowerCase()}${short.slice(1)}.`.replace('..', '.')
}

/** The number of a ttl; Mongo's may be written with its type. */
function ttlNumber(ttl: unknown): unknown {
  if (typeof ttl !== 'object' || ttl === null) return ttl
  const [type, value] = Object.entries(ttl)[0] ?? []
  const isNumber = type === '$numberInt' || type === '$numberLong' || type === '$numberDouble'
  return isNumber ? Number(value) : ttl
}

/** The own ttl of a text; undefined if it has none, NaN if it is no time to live. */
export function ownTtl(text: string): number | undefined {
  try {
    const value = JSON.parse(text) as Record<string, unknown>
    if (!('ttl' in value)) return undefined
    const ttl = ttlNumber(value.ttl)
    const isValid =
      typeof ttl === 'number' && Number.isInteger(ttl) && (ttl === -1 || (ttl >= 1 && ttl <= ttlSecondsMax))
    return isValid ? ttl : Number.NaN
  } catch {
    return Number.NaN
  }
}

function findName(text: string, name: string): { from: number; to: number } {
  const from = text.indexOf(`"${name}"`)
  return from === -1 ? { from: 0, to: 1 } : { from, to: from + name.length + 2 }
}

export function checkItemText(text: string, api: Api): TextProblem[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const at = Math.min(text.length, positionOf(text, message))
    return [
      {
        from: Math.max(0, at - (at === text.length ? 1 : 0)),
        to: at + 1,
        message: plainMessage(message),
        severity: 'error',
      },
    ]
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [{ from: 0, to: text.length, message: 'An item is an object: { … }.', severity: 'error' }]
  }
  const problems: TextProblem[] = []
  if (Number.isNaN(ownTtl(text))) {
    const ttl = JSON.stringify((value as Record<string, unknown>).ttl)
    // Mongo keeps any value and ignores what is no time to live; NoSQL refuses it.
    const [severity, end] =
      api === 'mongo' ? (['warning', ' Others are only data.'] as const) : (['error', ''] as const)
    problems.push({
      ...findName(text, 'ttl'),
      message: `ttl is ${ttl}: use -1 or 1 to ${ttlSecondsMax}.${end}`,
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

/** How many properties the outermost object has, for the size of a first item. */
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
