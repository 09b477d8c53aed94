/** Makes items of imported rows: the checks of a create, in words for somebody who looks at the file. */

import { isUtf8 } from 'node:buffer'
import { RequestError } from '../../base/error.ts'
import { itemBytesMax, MiB } from '../../base/limits.ts'
import { JsonReader } from '../../document/json-reader.ts'
import { extractPartitionKey, undefinedComponent } from '../../document/partition-key.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ImportEdge, ImportItem } from '../../engine/import-writer.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { exportProperty, type KeepTtl, readNote, ttlToStore } from '../../transfer/keep-ttl.ts'
import { type ContainerView, viewOf } from '../http/container-view.ts'
import { FoundTexts, Names, scanObject } from '../json/json-bytes.ts'
import { itemDraft, readItemText, systemProperties, withoutMembers } from './item-body.ts'

/** Properties of a row that are not stored. */
const unstored: ReadonlySet<string> = new Set([...systemProperties, exportProperty])
const withTtl: ReadonlySet<string> = new Set([...unstored, 'ttl'])

export function importEdge(
  engine: Engine,
  container: ContainerRecord,
  options: { readonly keepTtl: KeepTtl; readonly strict: boolean },
): ImportEdge {
  const view = viewOf(container)
  const names = new Names(['id', 'ttl', ...unstored, ...view.keyPaths.map(([first]) => first!)])
  return {
    container,
    takenText: 'There is an item with this id and partition key already.',
    read: row => readRow(row, view, names, options),
    transact: (steps, chargeRu) => engine.transact(container, steps, chargeRu),
  }
}

function readRow(
  row: Buffer,
  view: ContainerView,
  names: Names,
  { keepTtl, strict }: { readonly keepTtl: KeepTtl; readonly strict: boolean },
): ImportItem {
  const { text, properties } = parsed(row, names)
  const note = readNote(properties[exportProperty])
  const hasUnstored = note !== undefined || hasSystemProperty(properties)
  const stored = hasUnstored ? withoutMembers(text, unstored) : text
  const bytes = hasUnstored ? Buffer.byteLength(stored) : row.length
  if (bytes > itemBytesMax) {
    refuse(`The item has ${(bytes / MiB).toFixed(2)} MB; the limit is ${itemBytesMax / MiB} MB.`, 'too_large')
  }
  const { _ts: ts } = properties
  if (hasUnstored) for (const name of unstored) delete properties[name]
  const { id, ttl } = readItemText(stored, properties, bytes, { strict })
  const components = extractPartitionKey(properties, view.keyPaths)
  const missing = components.indexOf(undefinedComponent)
  if (missing !== -1 && note?.hasNoKey !== true && view.record.partitionKey.systemKey !== true) {
    refuse(`The item has no value at the partition key ${view.record.partitionKey.paths[missing]}.`)
  }
  const key = itemKey(view.record, components, id)
  if (keepTtl === 'reset') {
    const change = { draft: itemDraft(view, { text: stored }), ttl }
    return { key, bytes, storedAt: () => change }
  }
  const life = { ttl, ts: typeof ts === 'number' ? ts : undefined, note }
  return {
    key,
    bytes,
    storedAt: moment => {
      const wanted = ttlToStore(keepTtl, life, moment)
      if (wanted === 'dead') return undefined
      if (wanted === 'kept') return { draft: itemDraft(view, { text: stored }), ttl }
      return { draft: itemDraft(view, { text: textWithTtl(stored, wanted) }), ttl: wanted }
    },
  }
}

function hasSystemProperty(properties: object): boolean {
  for (const name of systemProperties) if (name in properties) return true
  return false
}

function textWithTtl(text: string, ttl: number): string {
  const rest = withoutMembers(text, withTtl)
  return `${rest.slice(0, -1)},"ttl":${ttl}}`
}

/** The row as text, with the members that matter. */
function parsed(row: Buffer, names: Names): { text: string; properties: Record<string, unknown> } {
  try {
    const texts = new FoundTexts(row)
    const members = scanObject(row, names)
    return { text: texts.textOf({ start: 0, end: row.length }), properties: texts.objectOf(members) }
  } catch (error) {
    if (!(error instanceof RequestError) || /nested/.test(error.message)) throw error
    return refuse(whyNotAnObject(row))
  }
}

/** In a longer text it would take too long to find the place of a mistake. */
const placedCharsMax = 256 * 1024

/**
 * Says what is wrong with a row that is not a JSON object. If the row is not JSON at all, and not too long,
 * throws an error that names the place.
 */
function whyNotAnObject(row: Buffer): string {
  if (!isUtf8(row)) return 'The row is not UTF-8.'
  const text = row.toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    const kind = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
    return `The row is ${kind}, not a JSON object.`
  } catch (error) {
    if (text.length <= placedCharsMax) findMistake(text)
    return `The row is not valid JSON: ${(error as Error).message}.`
  }
}

/** Throws a `JsonTextError` with the place, which JSON.parse does not tell in numbers. */
function findMistake(text: string): void {
  const reader = new JsonReader(text)
  reader.skip()
  reader.end()
}

function refuse(message: string, kind: 'malformed' | 'too_large' = 'malformed'): never {
  throw new RequestError(kind, message)
}
