/** `$rename`: moves a value to another name. It replaces the field of that name, or becomes a new field. */

import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { MongoError } from '../errors/mongo-error.ts'
import {
  fieldAt,
  type Modifier,
  printIdField,
  printOperandField,
  printRawField,
  type RawValue,
  type Rename,
  removed,
  valueUnder,
} from './modifier.ts'
import { arrayIndex, isDynamic, updatePathParts } from './update-path.ts'

export function parseRename(from: string, operand: Value): Rename {
  const fromParts = updatePathParts(from)
  if (operand.type !== bsonType.string) {
    throw new MongoError(2, `The 'to' field for $rename must be a string: ${printOperandField(from, operand)}`)
  }
  const to = operand.value
  if (to.includes('\0')) {
    throw new MongoError(2, "The 'to' field for $rename cannot contain an embedded null byte")
  }
  const toParts = updatePathParts(to)
  if (from === to) {
    throw new MongoError(2, `The source and target field for $rename must differ: ${printOperandField(from, operand)}`)
  }
  if (`${from}.`.startsWith(`${to}.`) || `${to}.`.startsWith(`${from}.`)) {
    throw new MongoError(
      2,
      `The source and target field for $rename must not be on the same path: ${printOperandField(from, operand)}`,
    )
  }
  if (fromParts.some(isDynamic)) {
    throw new MongoError(2, `The source field for $rename may not be dynamic: ${from}`)
  }
  if (toParts.some(isDynamic)) {
    throw new MongoError(2, `The destination field for $rename may not be dynamic: ${to}`)
  }
  return { from: fromParts, to: toParts }
}

/** The modifier at the old name. */
export function renameSource(rename: Rename): Modifier {
  return {
    whenMissing: 'ignore',
    change: (_current, site) => (site.moved(rename) === undefined ? undefined : removed),
    create: () => undefined,
  }
}

/** The modifier at the new name. */
export function renameTarget(rename: Rename): Modifier {
  return {
    whenMissing: 'create',
    change: (_current, site) => site.moved(rename),
    create: site => site.moved(rename),
  }
}

/** Finds the value to move, if there is one. No other modifier can touch it: that would be a conflict. */
export function locateRename(rename: Rename, document: Uint8Array): RawValue | undefined {
  const source = follow(rename.from, document)
  if (source.obstacle !== undefined) {
    const { name, value, part } = source.obstacle
    const path = rename.from.join('.')
    throw new MongoError(
      28,
      `cannot use the part (${part} of ${path}) to traverse the element ({${printRawField(name, value)}})`,
    )
  }
  if (source.value === undefined) return undefined
  if (source.array !== undefined) throw throughArray('source', rename.from, document, source.array)
  const target = follow(rename.to, document)
  if (target.array !== undefined) throw throughArray('destination', rename.to, document, target.array)
  return source.value
}

interface Followed {
  /** The value at the end of the path. */
  readonly value?: RawValue
  /** The name of an array on the path. */
  readonly array?: string | undefined
  /** A value in which the path cannot continue. */
  readonly obstacle?: { readonly name: string; readonly value: RawValue; readonly part: string }
}

function follow(parts: readonly string[], document: Uint8Array): Followed {
  let current: RawValue = { type: bsonType.document, bytes: document, start: 0, end: document.length }
  let array: string | undefined
  for (const [at, part] of parts.entries()) {
    let next: RawValue | undefined
    if (current.type === bsonType.document) {
      next = fieldAt(document, current.start, Buffer.from(part))
    } else {
      const name = parts[at - 1]!
      const isArray = current.type === bsonType.array
      if (isArray) array ??= name
      if (!isArray || arrayIndex(part) === -1) return { array, obstacle: { name, value: current, part } }
      next = elementAt(current, arrayIndex(part))
    }
    if (next === undefined) return { array }
    current = next
  }
  return { value: current, array }
}

function elementAt({ bytes, start }: RawValue, index: number): RawValue | undefined {
  const cursor = new ElementCursor(bytes, start)
  for (let left = index; cursor.next(); left -= 1) if (left === 0) return valueUnder(cursor)
  return undefined
}

function throughArray(which: string, parts: readonly string[], document: Uint8Array, array: string): MongoError {
  const path = parts.join('.')
  const message = `The ${which} field cannot be an array element, '${path}' in doc with ${printIdField(document)}`
  return new MongoError(2, `${message} has an array field called '${array}'`)
}
