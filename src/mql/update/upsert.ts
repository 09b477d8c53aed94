/** The document that an upsert inserts: the equalities of the filter, then the changes of the update. */

import { compareValues } from '../../document/bson/compare.ts'
import { BsonDocument, type Field, string, type Value } from '../../document/bson/value.ts'
import { bsonWriteDepthMax, encodeDocument } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'
import type { Condition, Filter } from '../filter/filter.ts'
import { parseFilter } from '../filter/parse-filter.ts'
import { decoded, rawValue, type UpdateContext } from './modifier.ts'
import { checkDocumentDepth, checkId, idOf, withId } from './replacement.ts'
import type { CompiledUpdate } from './update.ts'

export interface Upserted {
  readonly document: Uint8Array
  readonly id: Value
}

/** `newId` makes the `_id` when neither the filter nor the update has one. `_id` comes first. */
export function upsertDocument(
  filter: BsonDocument,
  update: CompiledUpdate,
  now: UpdateContext['now'],
  newId: () => Value,
): Upserted {
  const beginning = encodeDocument(equalityDocument(filter, update.kind === 'replacement'))
  const { document } = update.apply(beginning, { isInsert: true, now })
  const id = idOf(document) ?? rawValue(newId())
  checkId(id)
  // A filter may nest as deep as a command, which is deeper than a document may.
  checkDocumentDepth(document)
  return { document: withId(document, id), id: decoded(id) }
}

/** The fields that the filter compares with `=`. For a replacement only `_id` is taken. */
function equalityDocument(filter: BsonDocument, isReplacement: boolean): BsonDocument {
  const equalities: Field[] = []
  collect(parseFilter(filter, { isWholeDocument: true, allowsNear: true }), equalities)
  const wanted = isReplacement ? equalities.filter(([path]) => path.split('.', 1)[0] === '_id') : equalities
  const sorted = wanted.toSorted(([left], [right]) => compareValues(string(left), string(right)))
  const root: Branch = new Map()
  for (const [path, value] of sorted) {
    if (isReplacement && path !== '_id') {
      throw new MongoError(111, `field at '_id' must be exactly specified, field at sub-path '${path}'found`)
    }
    addAtPath(root, path, value)
  }
  return grown(root)
}

/** Recurses as deep as the filter nests. As in MongoDB, conditions that simplify to an equality count too. */
function collect(filter: Filter, equalities: Field[]): void {
  switch (filter.kind) {
    case 'expression':
      throw new MongoError(224, '$expr is not allowed in the query predicate for an upsert')
    case 'field':
      collectConditions(filter.path, filter.condition, equalities)
      return
    case 'and':
      for (const each of filter.of) collect(each, equalities)
      return
    case 'or':
      if (filter.of.length === 1) collect(filter.of[0]!, equalities)
      return
    default:
  }
}

function collectConditions(path: string, condition: Condition, equalities: Field[]): void {
  if (condition.kind === 'compare' && condition.operator === 'eq') equalities.push([path, condition.value])
  if (condition.kind === 'in' && condition.values.length === 1 && condition.patterns.length === 0) {
    equalities.push([path, condition.values[0]!])
  }
  if (condition.kind === 'all') for (const each of condition.of) collectConditions(path, each, equalities)
}

type Branch = Map<string, Branch | Value>

/** Paths are sorted, so a parent comes before its children. */
function addAtPath(root: Branch, path: string, value: Value): void {
  const parts = path.split('.')
  if (parts.length > bsonWriteDepthMax) throw new MongoError(15, 'A path of the query is too long.')
  let branch = root
  for (const [at, part] of parts.entries()) {
    const found = branch.get(part)
    const isLast = at === parts.length - 1
    if (found !== undefined && !(found instanceof Map)) {
      throw new MongoError(54, `cannot infer query fields to set, ${clash(parts, at)}`)
    }
    if (isLast) {
      branch.set(part, value)
    } else if (found instanceof Map) {
      branch = found
    } else {
      const created: Branch = new Map()
      branch.set(part, created)
      branch = created
    }
  }
}

function clash(parts: readonly string[], at: number): string {
  const path = parts.join('.')
  const prefix = parts.slice(0, at + 1).join('.')
  return prefix === path ? `path '${path}' is matched twice` : `both paths '${path}' and '${prefix}' are matched`
}

function grown(branch: Branch): BsonDocument {
  return BsonDocument.of([...branch].map(([name, part]) => [name, part instanceof Map ? grown(part) : part]))
}
