/**
 * The entries that an item has in an index.
 *
 *   one path                       one key, or none when the item has no value there
 *   one path through an array      one key for each different value among the elements
 *   several paths                  one key, unless the item has no value at any of them
 *
 * In a unique index a missing value counts as null, as in the service, so every item has a key. A long key of
 * a unique index ends in a hash of the whole key, so that different values keep different keys. Long keys of
 * other indexes are cut.
 *
 * Only own properties of objects count. Only `anyElement` enters an array: arrays have no property `length`
 * or `0`.
 */

import { assert } from '../base/error.ts'
import { type Body, textOf } from './body.ts'
import { anyElement, type IndexDefinition, type IndexPath, indexEntriesPerItemMax } from './index-definition.ts'
import { withHashTail } from './key-writer.ts'
import { encodeFullKey, encodeKey, type KeyComponent } from './ordered-key.ts'

export interface IndexKeys {
  /** All different. */
  readonly keys: readonly Uint8Array[]
  /** A key is cut: equal keys may belong to different values. */
  readonly isCut: boolean
  /**
   * False when the item would have more than `indexEntriesPerItemMax` entries. Then it has none: with only
   * some of them, a reader would still have to look at the item itself.
   */
  readonly isComplete: boolean
}

/** Makes the keys of one item for several indexes, in their order. */
export type KeyMaker = (definitions: readonly IndexDefinition[], body: Body) => readonly IndexKeys[]

export const jsonIndexKeys: KeyMaker = (definitions, body) => {
  const document = JSON.parse(textOf(body))
  return definitions.map(definition => indexKeys(definition, document))
}

const noKeys: IndexKeys = { keys: [], isCut: false, isComplete: true }

export function indexKeys(definition: IndexDefinition, document: unknown): IndexKeys {
  if (definition.uniqueness !== 'none') return uniqueKeys(definition, document)
  const [first, second] = definition.components
  assert(first !== undefined, 'an index has a component')
  if (second === undefined && first.path.includes(anyElement)) {
    return elementKeys(document, first.path, first.isDescending)
  }
  let hasValue = false
  const components: KeyComponent[] = []
  for (const { path, isDescending } of definition.components) {
    const value = indexedValueAt(document, path)
    if (value !== undefined) hasValue = true
    components.push({ value, isDescending })
  }
  if (!hasValue) return noKeys
  const { key, isCut } = encodeKey(components)
  return { keys: [key], isCut, isComplete: true }
}

function uniqueKeys({ components }: IndexDefinition, document: unknown): IndexKeys {
  const values = components.map(({ path, isDescending }) => {
    return { value: indexedValueAt(document, path) ?? null, isDescending }
  })
  const { key, isCut } = withHashTail(encodeFullKey(values))
  return { keys: [key], isCut, isComplete: true }
}

/** The value at a path that does not go through arrays. */
export function indexedValueAt(document: unknown, path: IndexPath): unknown {
  let value = document
  for (const step of path) {
    assert(step !== anyElement, 'a path through an array leads to many values')
    value = property(value, step)
  }
  return value
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

function elementKeys(document: unknown, path: IndexPath, isDescending: boolean): IndexKeys {
  const found = new Map<string, Uint8Array>()
  let hasCut = false
  for (const value of valuesAt(document, path, 0)) {
    const { key, isCut } = encodeKey([{ value, isDescending }])
    found.set(Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1'), key)
    if (found.size > indexEntriesPerItemMax) return { keys: [], isCut: false, isComplete: false }
    if (isCut) hasCut = true
  }
  return { keys: [...found.values()], isCut: hasCut, isComplete: true }
}

/** Recursion depth: the number of arrays on the path. */
function* valuesAt(document: unknown, path: IndexPath, from: number): Generator<unknown> {
  let value = document
  for (let at = from; at < path.length; at += 1) {
    const step = path[at]!
    if (step === anyElement) {
      if (Array.isArray(value)) for (const element of value) yield* valuesAt(element, path, at + 1)
      return
    }
    value = property(value, step)
  }
  if (value !== undefined) yield value
}
