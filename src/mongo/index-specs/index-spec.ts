/** Index specifications: checks what users ask for, and brings it into one normal form. */

import type { BsonIndexOptions } from '../../document/bson/index-keys.ts'
import { bsonType, isNumberType, typeName } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { printDocument } from '../../mql/errors/print.ts'
import { ttlSecondsMax } from '../../ttl/lifespan.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields, type FieldValue } from '../answers/fields.ts'
import { numberOf } from '../requests/arguments.ts'
import { parseCollation, shownCollation, storedCollation } from '../requests/collation.ts'
import { checkPartialFilter } from './partial-filter.ts'
import { checkWildcardProjection } from './wildcard-projection.ts'

export type IndexKind = 'ordered' | 'hashed' | '2dsphere' | 'wildcard'

export interface IndexKeyPart {
  /** A dotted path. Of a wildcard index: the part before `$**`. */
  readonly path: string
  readonly isDescending: boolean
}

export interface IndexSpec {
  readonly name: string
  readonly kind: IndexKind
  readonly parts: readonly IndexKeyPart[]
  readonly key: BsonDocument
  readonly isUnique: boolean
  readonly isSparse: boolean
  readonly isHidden: boolean
  readonly expireAfterSeconds: number | undefined
  readonly partialFilter: BsonDocument | undefined
  /** Undefined: strings compare byte by byte. */
  readonly collation: Collation | undefined
  /** As `listIndexes` shows it. */
  readonly document: BsonDocument
}

/** The field that Cosmos uses for the time of the last write. No document contains it. */
export const modifiedField = '_ts'

const known = new Set([
  'v',
  'key',
  'name',
  'ns',
  'unique',
  'sparse',
  'background',
  'dropDups',
  'hidden',
  'expireAfterSeconds',
  'partialFilterExpression',
  'collation',
  'storageEngine',
  'wildcardProjection',
  '2dsphereIndexVersion',
  'bits',
  'min',
  'max',
  'bucketSize',
  'weights',
  'default_language',
  'language_override',
  'textIndexVersion',
  'clustered',
  'prepareUnique',
])

/** Reads a specification that a user sent. Without a collation the index has that of its collection. */
export function parseIndexSpec(given: BsonDocument, inherited?: Collation | undefined): IndexSpec {
  for (const [name] of given.fields) {
    if (!known.has(name)) {
      throw new CommandError(
        'InvalidIndexSpecificationOption',
        `The field '${name}' is not valid for an index specification.`,
      )
    }
  }
  const key = given.get('key')
  if (key === undefined)
    throw new CommandError('FailedToParse', "The 'key' field is a required property of an index specification")
  if (key.type !== bsonType.document) {
    throw new CommandError('TypeMismatch', `The field 'key' must be an object, but got ${typeName(key.type)}`)
  }
  const name = given.get('name')
  if (name === undefined)
    throw new CommandError('FailedToParse', "The 'name' field is a required property of an index specification")
  if (name.type !== bsonType.string) {
    throw new CommandError('TypeMismatch', `The field 'name' must be a string, but got ${typeName(name.type)}`)
  }
  if (name.value === '' || name.value === '*') {
    throw new CommandError('CannotCreateIndex', `The index name '${name.value}' is not valid.`)
  }
  // Reports have the names of indexes as field names.
  if (name.value.includes('\0')) throw new CommandError('CannotCreateIndex', 'index name cannot contain NUL bytes')
  const asked = documentOption(given, 'collation')
  const collation = asked === undefined ? inherited : parseCollation(asked).collation
  const { kind, parts } = parseKey(key)
  const expireAfterSeconds = parseExpireAfterSeconds(given.get('expireAfterSeconds'), key, kind)
  const partialFilter = documentOption(given, 'partialFilterExpression')
  if (partialFilter !== undefined) checkPartialFilter(partialFilter)
  const isUnique = flagOption(given, 'unique')
  const isSparse = flagOption(given, 'sparse')
  const isHidden = flagOption(given, 'hidden')
  if (isSparse && partialFilter !== undefined) {
    throw new CommandError('CannotCreateIndex', 'cannot mix "partialFilterExpression" and "sparse" options')
  }
  if (isUnique && kind !== 'ordered') {
    throw new CommandError('CannotCreateIndex', `An index of type ${kind} cannot be unique.`)
  }
  checkOptions(given, kind)
  const shown = encodeFields({
    v: 2,
    key,
    name: name.value,
    unique: isUnique || undefined,
    sparse: isSparse || undefined,
    hidden: isHidden || undefined,
    expireAfterSeconds,
    partialFilterExpression: partialFilter,
    ...passedOn(given),
    collation: collation && (asked === undefined ? shownCollation(collation) : parseCollation(asked).document),
  })
  return {
    name: name.value,
    kind,
    parts,
    key,
    isUnique,
    isSparse,
    isHidden,
    expireAfterSeconds,
    partialFilter,
    collation,
    document: BsonDocument.view(shown),
  }
}

/** What the index on `_id` may say of itself. */
const idOptions: ReadonlySet<string> = new Set(['key', 'name', 'ns', 'v', 'collation', '_id'])

/** Refuses options that would have no effect although they ask for one. */
function checkOptions(given: BsonDocument, kind: IndexKind): void {
  const { fields } = given.get('key') as BsonDocument
  const isOnId = fields.length === 1 && fields[0]![0] === '_id' && kind === 'ordered' && numberOf(fields[0]![1])! > 0
  const foreign = isOnId ? given.fields.find(([name]) => !idOptions.has(name)) : undefined
  if (foreign !== undefined) {
    throw new CommandError(
      'InvalidIndexSpecificationOption',
      `The field '${foreign[0]}' is not valid for an _id index specification. Specification: ${printDocument(given)}`,
    )
  }
  const version = given.get('v')
  const number = version === undefined ? 2 : numberOf(version)
  if (number === undefined) {
    throw new CommandError('TypeMismatch', `The field 'v' must be a number, but got ${typeName(version!.type)}`)
  }
  if (number !== 1 && number !== 2) {
    throw new CommandError(
      'CannotCreateIndex',
      `Invalid index specification ${printDocument(given)}; cannot create an index with v=${number}`,
    )
  }
  const projection = documentOption(given, 'wildcardProjection')
  if (projection !== undefined) {
    if (kind !== 'wildcard') {
      throw new CommandError('BadValue', "The field 'wildcardProjection' is only allowed in 'wildcard' indexes")
    }
    if (fields[0]![0] !== '$**') {
      throw new CommandError(
        'FailedToParse',
        `The field 'wildcardProjection' is only allowed when 'key' is {"$**": ±1} or {"$**": "columnstore"}`,
      )
    }
    checkWildcardProjection(projection)
  }
  documentOption(given, 'storageEngine')
  if (given.get('weights') !== undefined) {
    throw new CommandError(
      'CannotCreateIndex',
      `Invalid index specification ${printDocument(given)}; the field 'weights' can only be specified ` +
        'with text indexes',
    )
  }
  for (const name of ['clustered', 'prepareUnique']) {
    if (flagOption(given, name))
      throw new CommandError('NotImplemented', `The index option '${name}' is not supported.`)
  }
  if (given.get('partialFilterExpression') !== undefined && fields[0]![0] === modifiedField) {
    throw new CommandError('CannotCreateIndex', `A TTL index on '${modifiedField}' cannot be a partial index.`)
  }
}

/** Reads a stored specification. It was checked before it was stored. */
export function storedIndexSpec(document: BsonDocument): IndexSpec {
  const key = document.get('key') as BsonDocument
  const { kind, parts } = parseKey(key)
  const name = document.get('name')
  const expires = document.get('expireAfterSeconds')
  return {
    name: name?.type === bsonType.string ? name.value : '',
    kind,
    parts,
    key,
    isUnique: flagOption(document, 'unique'),
    isSparse: flagOption(document, 'sparse'),
    isHidden: flagOption(document, 'hidden'),
    expireAfterSeconds: expires === undefined ? undefined : numberOf(expires),
    partialFilter: documentOption(document, 'partialFilterExpression'),
    collation: storedCollation(documentOption(document, 'collation')),
    document,
  }
}

/** The same index with some of its options changed. */
export function withOptions(
  spec: IndexSpec,
  changes: { readonly expireAfterSeconds?: number; readonly isHidden?: boolean },
): IndexSpec {
  const { expireAfterSeconds = spec.expireAfterSeconds, isHidden = spec.isHidden } = changes
  const shown = encodeFields({
    v: 2,
    key: spec.key,
    name: spec.name,
    unique: spec.isUnique || undefined,
    sparse: spec.isSparse || undefined,
    hidden: isHidden || undefined,
    expireAfterSeconds,
    partialFilterExpression: spec.partialFilter,
    ...passedOn(spec.document),
    collation: spec.document.get('collation'),
  })
  return { ...spec, expireAfterSeconds, isHidden, document: BsonDocument.view(shown) }
}

/** Options without effect here. They are stored and shown unchanged. */
function passedOn(given: BsonDocument): Record<string, FieldValue> {
  const names = ['background', '2dsphereIndexVersion', 'wildcardProjection', 'storageEngine', 'bits', 'min', 'max']
  return Object.fromEntries(names.flatMap(name => (given.get(name) === undefined ? [] : [[name, given.get(name)]])))
}

function parseKey(key: BsonDocument): { kind: IndexKind; parts: IndexKeyPart[] } {
  if (key.isEmpty) throw new CommandError('CannotCreateIndex', 'Index keys cannot be an empty object.')
  let kind = 'ordered' as IndexKind
  const parts = key.fields.map(([path, direction]): IndexKeyPart => {
    if (path === '$**' || path.endsWith('.$**')) {
      kind = 'wildcard'
      return { path: path === '$**' ? '' : path.slice(0, -'.$**'.length), isDescending: false }
    }
    checkPath(path)
    if (direction.type === bsonType.string) {
      if (direction.value !== 'hashed' && direction.value !== '2dsphere') {
        const isKnown = ['text', '2d', 'geoHaystack'].includes(direction.value)
        throw new CommandError(
          'CannotCreateIndex',
          isKnown
            ? `Indexes of type '${direction.value}' are not supported.`
            : `Unknown index plugin '${direction.value}'`,
        )
      }
      kind = direction.value
      return { path, isDescending: false }
    }
    const number = isNumberType(direction.type) ? numberOf(direction) : undefined
    if (number === undefined) {
      throw new CommandError(
        'CannotCreateIndex',
        `Values in v:2 index key pattern cannot be of type ${typeName(direction.type)}. Only numbers > 0, ` +
          'numbers < 0, and strings are allowed.',
      )
    }
    if (number === 0 || Number.isNaN(number)) {
      throw new CommandError('CannotCreateIndex', 'Values in the index key pattern cannot be 0.')
    }
    return { path, isDescending: number < 0 }
  })
  if (kind === 'wildcard' && parts.length > 1) {
    throw new CommandError('CannotCreateIndex', 'wildcard indexes of several fields are not supported')
  }
  if (new Set(parts.map(({ path }) => path)).size < parts.length) {
    throw new CommandError('BadValue', 'The index key pattern names a field twice.')
  }
  return { kind, parts }
}

function checkPath(path: string): void {
  const steps = path.split('.')
  if (path === '' || steps.includes('')) {
    throw new CommandError('CannotCreateIndex', 'Index keys cannot contain an empty field.')
  }
  if (steps.some(step => step.startsWith('$') && !['$id', '$ref', '$db'].includes(step))) {
    throw new CommandError('CannotCreateIndex', `Index key contains an illegal field name: field name starts with '$'.`)
  }
}

const acceptableRange =
  "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different value."

/**
 * On `_ts`: -1 (on, no default) or 1 to 2147483647, as in Cosmos. On other fields: 0 to 2147483647, as in
 * MongoDB. Fractions are refused.
 */
function parseExpireAfterSeconds(value: Value | undefined, key: BsonDocument, kind: IndexKind): number | undefined {
  if (value === undefined) return undefined
  const [first, second] = key.fields
  const field = first![0]
  if (field === '_id' && second === undefined) {
    throw new CommandError(
      'InvalidIndexSpecificationOption',
      "The field 'expireAfterSeconds' is not valid for an _id index specification.",
    )
  }
  if (second !== undefined) {
    throw new CommandError(
      'CannotCreateIndex',
      'TTL indexes are single-field indexes, compound indexes do not support TTL.',
    )
  }
  if (kind !== 'ordered') {
    throw new CommandError(
      'CannotCreateIndex',
      `TTL indexes are ordered indexes; one of type ${kind} does not support TTL.`,
    )
  }
  return checkedExpireAfterSeconds(value, field, 'CannotCreateIndex')
}

export function checkedExpireAfterSeconds(
  value: Value,
  field: string,
  code: 'CannotCreateIndex' | 'InvalidOptions',
): number {
  const number = numberOf(value)
  if (number === undefined) {
    throw new CommandError(
      'TypeMismatch',
      `TTL index 'expireAfterSeconds' option must be numeric, but received a type of ${typeName(value.type)}.`,
    )
  }
  if (!Number.isInteger(number) || number > ttlSecondsMax) throw new CommandError(code, acceptableRange)
  const seconds = number
  if (field === modifiedField) {
    if (seconds === -1 || seconds >= 1) return seconds
    throw new CommandError(
      code,
      `TTL index 'expireAfterSeconds' option on '${modifiedField}' must be -1 or between 1 and ` +
        `${ttlSecondsMax}, but received ${seconds}.`,
    )
  }
  if (number < 0) throw new CommandError(code, "TTL index 'expireAfterSeconds' option cannot be less than 0.")
  return seconds
}

function flagOption(given: BsonDocument, name: string): boolean {
  const value = given.get(name)
  if (value === undefined) return false
  if (value.type === bsonType.bool) return value.value
  const number = numberOf(value)
  if (number !== undefined) return number !== 0
  throw new CommandError('TypeMismatch', `The field '${name}' has value that is not convertible to bool`)
}

function documentOption(given: BsonDocument, name: string): BsonDocument | undefined {
  const value = given.get(name)
  if (value === undefined || value.type === bsonType.document) return value
  throw new CommandError('TypeMismatch', `The field '${name}' must be an object, but got ${typeName(value.type)}`)
}

export function encodeSpec({ document }: IndexSpec): string {
  return Buffer.from(encodeDocument(document)).toString('base64')
}

/** The options that the store's index needs. */
export function storeOptions({ isSparse, partialFilter, collation }: IndexSpec): BsonIndexOptions {
  return {
    isSparse,
    ...(collation !== undefined && { collation: collation.options }),
    ...(partialFilter !== undefined && { partialFilter: encodeDocument(partialFilter).toString('base64') }),
  }
}
