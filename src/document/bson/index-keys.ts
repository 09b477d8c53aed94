/**
 * The entries that a BSON document has in an index.
 *
 *   plain       one for each tuple of its values (key-tuples.ts). An array has an entry for each element and
 *               one for the whole array, so that any comparison of a filter finds it.
 *   sparse      none when the document has no value at any path
 *   partial     none unless the document satisfies the index's filter
 *   collated    strings are replaced by their sort keys
 *
 * Missing values count as null. (document/index-keys.ts does the same for JSON.)
 */

import { assert, RequestError } from '../../base/error.ts'
import type { Body } from '../body.ts'
import { type Collation, type CollationOptions, collationOf } from '../collation/collation.ts'
import type { IndexDefinition } from '../index-definition.ts'
import { indexEntriesPerItemMax } from '../index-definition.ts'
import type { IndexKeys, KeyMaker } from '../index-keys.ts'
import { type OrderedKey, withHashTail } from '../key-writer.ts'
import { type PathPart, pathParts } from './dotted-path.ts'
import { type KeyTuple, keyTuples } from './key-tuples.ts'
import { encodeFullKey, encodeKey, type KeyPart } from './ordered-key.ts'
import { bsonType } from './types.ts'
import { ElementCursor, findElement } from './view.ts'

/** The options of an index of BSON documents, as JSON. */
export interface BsonIndexOptions {
  readonly isSparse?: boolean
  /** The filter of a partial index: a BSON document in base64. */
  readonly partialFilter?: string
  readonly collation?: CollationOptions
}

/** Whether a document satisfies the filter of a partial index. The query language provides this function. */
export type PartialFilter = (filter: string, collation?: Collation) => (document: Uint8Array) => boolean

const noKeys: IndexKeys = { keys: [], isCut: false, isComplete: true }
const tooManyKeys: IndexKeys = { keys: [], isCut: false, isComplete: false }

interface Prepared {
  readonly definition: IndexDefinition
  readonly options: BsonIndexOptions
  readonly paths: readonly (readonly PathPart[])[]
  readonly isIncluded: (document: Uint8Array) => boolean
  readonly collation: Collation | undefined
}

/** Definitions are few and live long, so what is prepared for each is cached. */
export function bsonKeyMaker(partialFilter: PartialFilter): KeyMaker {
  const known = new WeakMap<IndexDefinition, Prepared>()
  const prepare = (definition: IndexDefinition): Prepared => {
    const options = (definition.options ?? {}) as BsonIndexOptions
    const collation = options.collation && collationOf(options.collation)
    const prepared = {
      definition,
      options,
      paths: definition.components.map(({ path }) => pathParts(path as readonly string[])),
      isIncluded: options.partialFilter === undefined ? () => true : partialFilter(options.partialFilter, collation),
      collation,
    }
    known.set(definition, prepared)
    return prepared
  }
  return (definitions, body) =>
    definitions.map(definition => keysOf(known.get(definition) ?? prepare(definition), body))
}

function keysOf(prepared: Prepared, body: Body): IndexKeys {
  assert(typeof body !== 'string', 'a BSON body is bytes')
  if (!prepared.isIncluded(body)) return noKeys
  const { definition, paths, options, collation } = prepared
  if (options.isSparse === true && !paths.some(path => hasValueAt(body, 0, bsonType.document, path, 0))) return noKeys
  const tuples = keyTuples(body, paths, { includesArrays: true, tuplesMax: indexEntriesPerItemMax })
  const isUnique = definition.uniqueness !== 'none'
  if (tuples.length > indexEntriesPerItemMax) {
    if (isUnique) throw new RequestError('too_large', 'A document has too many keys for a unique index.')
    return tooManyKeys
  }
  const found = new KeySet()
  for (const tuple of tuples) {
    const parts = partsOf(body, tuple, definition)
    found.add(isUnique ? withHashTail(encodeFullKey(parts, collation)) : encodeKey(parts, collation))
  }
  return found.answer()
}

function partsOf(bytes: Uint8Array, tuple: KeyTuple, { components }: IndexDefinition): KeyPart[] {
  return tuple.map(({ type, start }, index) => {
    return { bytes, type, start, isDescending: components[index]!.isDescending }
  })
}

/** Keys without duplicates. Most documents have one key, which needs no set. */
class KeySet {
  readonly #keys: Uint8Array[] = []
  #seen: Set<string> | undefined
  #isCut = false

  add({ key, isCut }: OrderedKey): void {
    if (isCut) this.#isCut = true
    if (this.#keys.length > 0) {
      this.#seen ??= new Set(this.#keys.map(textOf))
      const text = textOf(key)
      if (this.#seen.has(text)) return
      this.#seen.add(text)
    }
    this.#keys.push(key)
  }

  answer(): IndexKeys {
    return { keys: this.#keys, isCut: this.#isCut, isComplete: true }
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')
}

/** Whether there is a value at the path, through any arrays. */
function hasValueAt(bytes: Uint8Array, start: number, type: number, path: readonly PathPart[], at: number): boolean {
  if (at === path.length) return true
  if (type !== bsonType.document && type !== bsonType.array) return false
  const { name } = path[at]!
  const element = findElement(bytes, start, name)
  if (element !== -1 && hasValueAt(bytes, element + name.length + 2, bytes[element]!, path, at + 1)) return true
  if (type === bsonType.document) return false
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) {
    const isDocument = cursor.type === bsonType.document
    if (isDocument && hasValueAt(bytes, cursor.valueStart, cursor.type, path, at)) return true
  }
  return false
}
