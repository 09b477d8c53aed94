/** Sets and reads fields at paths without entering arrays, as `$unwind`, `$lookup` and `$graphLookup` do. */

import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, isTraced, type Value } from '../../document/bson/value.ts'
import { endOfName, endOfValue, findElement, int32At } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import { withField } from '../expressions/values/document-builder.ts'

const nothing = BsonDocument.of([])

/**
 * Sets the field at a path, or removes it without a value. Other values on the path become documents. The
 * document keeps its origin.
 */
export function withPath(document: BsonDocument, names: readonly string[], value: Value | undefined): BsonDocument {
  return withOrigin(set(document, names, value), document.origin)
}

function set(document: BsonDocument, names: readonly string[], value: Value | undefined): BsonDocument {
  const { raw } = document
  // Bytes cannot have origins inside.
  if (raw !== undefined && (value === undefined || !isTraced(value))) return spliced(raw, names, value)
  const [name, ...rest] = names as [string, ...string[]]
  if (rest.length === 0) return withField(document, name, value)
  const inner = document.get(name)
  return withField(document, name, withPath(inner?.type === bsonType.document ? inner : nothing, rest, value))
}

/** The same on encoded bytes; all other fields are copied. */
function spliced(
  { bytes, start, end }: { readonly bytes: Uint8Array; readonly start: number; readonly end: number },
  names: readonly string[],
  value: Value | undefined,
): BsonDocument {
  const writer = new BsonWriter(end - start + 64)

  function level(at: number, levelStart: number): void {
    const name = names[at]!
    const levelEnd = levelStart + int32At(bytes, levelStart) - 1
    const element = findElement(bytes, levelStart, Buffer.from(name))
    const opened = writer.open()
    const before = element === -1 ? levelEnd : element
    writer.raw(bytes, levelStart + 4, before)
    const valueStart = element === -1 ? 0 : endOfName(bytes, element + 1) + 1
    if (at === names.length - 1) {
      if (value !== undefined) writer.field(name, value)
    } else if (element !== -1 && bytes[element] === bsonType.document) {
      writer.name(bsonType.document, name)
      level(at + 1, valueStart)
    } else {
      writer.field(name, withPath(nothing, names.slice(at + 1), value))
    }
    if (element !== -1) writer.raw(bytes, endOfValue(bytes, bytes[element]!, valueStart), levelEnd)
    writer.close(opened)
  }

  level(0, start)
  return BsonDocument.view(writer.bytes())
}

/** The value at a path that leads only through documents. */
export function atPath(document: BsonDocument, names: readonly string[]): Value | undefined {
  let value: Value | undefined = document
  for (const name of names) value = value?.type === bsonType.document ? value.get(name) : undefined
  return value
}
