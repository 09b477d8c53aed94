/**
 * What an update changed, found by comparing the document before and after.
 *
 * Nested documents are compared field by field. Of an array that only grew, the new elements are named, and
 * of one that only lost its end, its new size. Where other elements changed, they are named if that is
 * shorter than the whole array, as MongoDB does. Any other changed value is shown whole.
 */

import { equalValues } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Field, int32, string, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'

/** Names of fields, and places in arrays. */
type Path = readonly (string | number)[]

interface Changes {
  readonly updated: { readonly path: Path; readonly value: Value }[]
  readonly removed: Path[]
  readonly truncated: { readonly path: Path; readonly size: number }[]
}

export function updateDescription(
  before: BsonDocument,
  after: BsonDocument,
  { isExpanded }: { readonly isExpanded: boolean },
): BsonDocument {
  const changes = noChanges()
  compareDocuments(before, after, [], changes)
  const { updated, removed, truncated } = changes
  const paths = [...updated.map(({ path }) => path), ...removed, ...truncated.map(({ path }) => path)]
  const description: Field[] = [
    ['updatedFields', BsonDocument.of(updated.map(({ path, value }): Field => [path.join('.'), value]))],
    ['removedFields', BsonArray.of(removed.map(path => string(path.join('.'))))],
    [
      'truncatedArrays',
      BsonArray.of(
        truncated.map(({ path, size }) =>
          BsonDocument.of([
            ['field', string(path.join('.'))],
            ['newSize', int32(size)],
          ]),
        ),
      ),
    ],
  ]
  if (isExpanded) description.push(['disambiguatedPaths', disambiguated(paths)])
  return BsonDocument.of(description)
}

function noChanges(): Changes {
  return { updated: [], removed: [], truncated: [] }
}

/** Recursion is bounded by the depth of stored documents. */
function compareDocuments(before: BsonDocument, after: BsonDocument, path: Path, changes: Changes): void {
  for (const [name] of before.fields) if (after.get(name) === undefined) changes.removed.push([...path, name])
  for (const [name, value] of after.fields) compareValues(before.get(name), value, [...path, name], changes)
}

function compareValues(old: Value | undefined, value: Value, path: Path, changes: Changes): void {
  if (old?.type === bsonType.document && value.type === bsonType.document) {
    compareDocuments(old, value, path, changes)
  } else if (old?.type === bsonType.array && value.type === bsonType.array) {
    compareArrays(old, value, path, changes)
  } else if (old === undefined || !isSame(old, value)) {
    changes.updated.push({ path, value })
  }
}

function isSame(old: Value, value: Value): boolean {
  return old.type === value.type && equalValues(old, value)
}

function compareArrays(old: BsonArray, array: BsonArray, path: Path, changes: Changes): void {
  const own = noChanges()
  const { elements } = array
  const common = Math.min(old.elements.length, elements.length)
  for (let at = 0; at < common; at++) compareValues(old.elements[at], elements[at]!, [...path, at], own)
  const isChangedWithin = own.updated.length + own.removed.length + own.truncated.length > 0
  for (let at = common; at < elements.length; at++) own.updated.push({ path: [...path, at], value: elements[at]! })
  if (elements.length < old.elements.length) own.truncated.push({ path, size: elements.length })
  if (isChangedWithin && sizeOf(own) > encodeDocument([['', array]]).length) {
    changes.updated.push({ path, value: array })
    return
  }
  changes.updated.push(...own.updated)
  changes.removed.push(...own.removed)
  changes.truncated.push(...own.truncated)
}

/** About what MongoDB stores for the changes: the last name of each path, and the value. */
function sizeOf({ updated, removed, truncated }: Changes): number {
  const fields = updated.map(({ path, value }): Field => [`u${path.at(-1)}`, value])
  const truncatedBytes = 7
  const removedBytes = removed.reduce((sum, path) => sum + String(path.at(-1)).length + 4, 0)
  return encodeDocument(fields).length + truncated.length * truncatedBytes + removedBytes
}

/** The paths whose text says too little: names that look like places in arrays, or contain dots. */
function disambiguated(paths: readonly Path[]): BsonDocument {
  const isAmbiguous = (part: string | number) => typeof part === 'string' && /^\d+$|\./.test(part)
  return BsonDocument.of(
    paths
      .filter(path => path.some(isAmbiguous))
      .map((path): Field => {
        const parts = path.map(part => (typeof part === 'number' ? int32(part) : string(part)))
        return [path.join('.'), BsonArray.of(parts)]
      }),
  )
}
