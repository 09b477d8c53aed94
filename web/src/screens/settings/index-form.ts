/** What a form about an index of a collection holds, before the server checks it. */

import { ttlSecondsMax } from '../../containers/input-rules.ts'
import { parseSpan, spanText } from '../../time/time-text.ts'

/** Seconds after the date in a document; 0: at the date. */
export function readAfter(text: string): { seconds?: number; problem?: string } {
  const seconds = text.trim() === '' ? 0 : parseSpan(text)
  if (seconds === undefined || seconds < 0 || seconds > ttlSecondsMax) {
    return { problem: `Use 0 seconds to ${ttlSecondsMax} seconds, for instance 0, 15 m, 7 d.` }
  }
  return { seconds }
}

export function fieldProblem(field: string): string | undefined {
  if (field.trim() === '') return 'Name the field that holds the date, for instance closedAt.'
  if (field.startsWith('$')) return 'A field name cannot begin with $.'
  if (field === '_ts') return 'For _ts choose On above.'
  if (field === '_id') return 'An index on _id cannot end documents.'
  return undefined
}

/** `{ "closedAt": 1 }` */
export function indexKeyText(key: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(key).map(([name, order]) => `${JSON.stringify(name)}: ${JSON.stringify(order)}`)
  return `{ ${fields.join(', ')} }`
}

/** When a document ends by an index: `1 d after the date`. */
export function endText(kind: 'modification' | 'date', seconds: number): string {
  if (kind === 'modification') {
    return seconds < 0 ? 'by a ttl of its own only' : `${spanText(seconds)} after the last modification`
  }
  return seconds === 0 ? 'at the date' : `${spanText(seconds)} after the date`
}

/** The key of an index as a person types it: JSON, or one field name. */
export function readKey(text: string): { key?: Record<string, unknown>; problem?: string } {
  const trimmed = text.trim()
  if (/^[^${}[\]":,\s][^{}[\]":,\s]*$/.test(trimmed)) return { key: { [trimmed]: 1 } }
  try {
    const key: unknown = JSON.parse(trimmed)
    const isKey = typeof key === 'object' && key !== null && !Array.isArray(key) && Object.keys(key).length > 0
    if (isKey) return { key: key as Record<string, unknown> }
  } catch {
    // The message below says what to write.
  }
  return { problem: 'Write a field, or a key such as {"status": 1, "openedAt": -1}.' }
}
