/** Builds the events of change streams. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, date, type Field, nullValue, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { LogEntry } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields, type Fields } from '../answers/fields.ts'
import type { Collection } from '../collections/collections.ts'
import { timestampOf } from '../service/cluster-time.ts'
import type { StreamOptions } from './options.ts'
import { updateDescription } from './update-description.ts'

/** Marks the delete of an expired document. MongoDB has no such field; drivers ignore it. */
export const expiryField = 'mayflyExpired'

export interface EventContext {
  readonly collection: Collection
  readonly options: StreamOptions
  /** Whether the change replaced the whole document instead of updating it. */
  readonly isReplacement: boolean
  /** Reads the present document, for `updateLookup`. */
  readonly lookUp: (entry: LogEntry) => Promise<Uint8Array | undefined>
}

export async function changeEvent(entry: LogEntry, token: BsonDocument, context: EventContext): Promise<Uint8Array> {
  const { collection, options } = context
  const { container } = collection
  const type = operationType(entry, context)
  const known = (entry.body ?? entry.previous?.body) as Uint8Array | undefined
  const fields: Field[] = [
    ['_id', token],
    ['operationType', { type: bsonType.string, value: type }],
    ['clusterTime', timestampOf(entry.ts)],
    ['wallTime', date(BigInt(entry.ts) * 1000n)],
  ]
  if (type === 'insert' || type === 'replace') fields.push(['fullDocument', viewOf(entry.body)])
  if (type === 'update') {
    const full = await updatedDocument(entry, context)
    if (full !== undefined) fields.push(['fullDocument', full])
  }
  fields.push(['ns', namespaceDocument({ database: container.database.id, collection: container.id })])
  if (known !== undefined) fields.push(['documentKey', documentKey(collection, BsonDocument.view(known))])
  if (type === 'update') {
    fields.push(['updateDescription', updateDescription(viewOf(entry.previous?.body), viewOf(entry.body))])
  }
  if (type !== 'insert' && options.fullDocumentBeforeChange !== 'off') {
    fields.push(['fullDocumentBeforeChange', imageOf(entry.previous?.body, options.fullDocumentBeforeChange)])
  }
  if (entry.kind === 'expire') fields.push([expiryField, { type: bsonType.bool, value: true }])
  return encodeDocument(fields)
}

function operationType({ kind, previous }: LogEntry, { isReplacement }: EventContext): string {
  switch (kind) {
    case 'create':
      return 'insert'
    case 'replace':
      return isReplacement || previous === undefined ? 'replace' : 'update'
    default:
      return 'delete'
  }
}

async function updatedDocument(entry: LogEntry, { options, lookUp }: EventContext): Promise<Value | undefined> {
  switch (options.fullDocument) {
    case 'default':
      return undefined
    case 'updateLookup': {
      const current = await lookUp(entry)
      return current === undefined ? nullValue : BsonDocument.view(current)
    }
    default:
      return imageOf(entry.body, options.fullDocument)
  }
}

function imageOf(body: LogEntry['body'], wish: 'whenAvailable' | 'required'): Value {
  if (body !== undefined) return viewOf(body)
  if (wish === 'required') {
    throw new CommandError('NoMatchingDocument', 'The image of a document before or after its change is not there.')
  }
  return nullValue
}

function viewOf(body: LogEntry['body']): BsonDocument {
  return body === undefined ? BsonDocument.of([]) : BsonDocument.view(body as Uint8Array)
}

function documentKey({ shardKey = [] }: Collection, document: BsonDocument): BsonDocument {
  const shard = shardKey.flatMap((path): Field[] => {
    const value = document.get(path)
    return value === undefined || path === '_id' ? [] : [[path, value]]
  })
  return BsonDocument.of([...shard, ['_id', document.get('_id') ?? nullValue]])
}

function namespaceDocument({ database, collection }: Namespace): BsonDocument {
  return BsonDocument.view(encodeFields({ db: database, coll: collection === '' ? undefined : collection }))
}

/** An event about a whole collection or database. */
export function catalogEvent(
  operationType: 'drop' | 'rename' | 'dropDatabase' | 'invalidate',
  { token, seconds, namespace, to }: { token: BsonDocument; seconds: number; namespace?: Namespace; to?: Namespace },
): Uint8Array {
  const fields: Fields = {
    _id: token,
    operationType,
    clusterTime: timestampOf(seconds),
    wallTime: date(BigInt(seconds) * 1000n),
    ns: namespace && namespaceDocument(namespace),
    to: to && namespaceDocument(to),
  }
  return encodeFields(fields)
}
