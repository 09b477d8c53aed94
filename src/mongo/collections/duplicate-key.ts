/** The error E11000: it names the index and the duplicate values. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, nullValue, type Value } from '../../document/bson/value.ts'
import { printValue } from '../../mql/errors/print.ts'
import { CommandError } from '../answers/command-error.ts'
import type { IndexSpec } from '../index-specs/index-spec.ts'
import type { Collection } from './collections.ts'

export function duplicateKeyError(
  collection: Pick<Collection, 'name'>,
  { name, key, parts }: Pick<IndexSpec, 'name' | 'key' | 'parts'>,
  document: Uint8Array,
): CommandError {
  const values = parts.map(({ path }): [string, Value] => [path, valueAtPath(BsonDocument.view(document), path)])
  const shown = values.map(([path, value]) => `${path}: ${printValue(value)}`).join(', ')
  return new CommandError(
    'DuplicateKey',
    `E11000 duplicate key error collection: ${collection.name} index: ${name} dup key: { ${shown} }`,
    { fields: { keyPattern: key, keyValue: BsonDocument.of(values) } },
  )
}

/** For a document whose `_id` is taken. */
export function takenIdError(collection: Collection, document: Uint8Array): CommandError {
  return duplicateKeyError(collection, collection.indexes.find(({ name }) => name === '_id_')!, document)
}

function valueAtPath(document: BsonDocument, path: string): Value {
  let value: Value | undefined = document
  for (const name of path.split('.')) value = value?.type === bsonType.document ? value.get(name) : undefined
  return value ?? nullValue
}
