/** Builds the events of change streams. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, binary, date, type Field, int64, nullValue, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { JournalEntry, LogEntry } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields } from '../answers/fields.ts'
import type { StoredNote } from '../collections/catalog-notes.ts'
import type { ChangeOrigin } from '../service/change-origins.ts'
import { timestampOf } from '../service/cluster-time.ts'
import type { StreamOptions } from './options.ts'
import { updateDescription } from './update-description.ts'

/** Marks the delete of an expired document. MongoDB has no such field; drivers ignore it. */
const expiryField = 'mayflyExpired'

/** A collection as it was at the time of an event. */
export interface EventCollection {
  readonly namespace: Namespace
  readonly uuid: string
  readonly shardKey: readonly string[] | undefined
}

export interface EventContext {
  readonly collection: EventCollection
  readonly options: StreamOptions
  /** How the change was asked for, if that is known. */
  readonly origin: ChangeOrigin | undefined
  /** Reads the present document, for `updateLookup`. */
  readonly lookUp: () => Promise<Uint8Array | undefined>
}

export type LoggedChange = Omit<LogEntry, 'position'>

/** When something happened. */
export type EventTime = Pick<JournalEntry, 'tick' | 'ts' | 'ms'>

export async function changeEvent(
  change: LoggedChange,
  time: EventTime,
  token: BsonDocument,
  context: EventContext,
): Promise<Uint8Array> {
  const { collection, options } = context
  const type = operationType(change, context)
  const known = (change.body ?? change.previous?.body) as Uint8Array | undefined
  const fields = [
    ...head(type, time, token),
    ...transactionFields(context.origin),
    ...uuidField(collection.uuid, options),
  ]
  if (type === 'insert' || type === 'replace') fields.push(['fullDocument', viewOf(change.body)])
  if (type === 'update') {
    const full = await updatedDocument(change, context)
    if (full !== undefined) fields.push(['fullDocument', full])
  }
  fields.push(['ns', namespaceDocument(collection.namespace)])
  if (known !== undefined) fields.push(['documentKey', documentKey(collection, BsonDocument.view(known))])
  if (type === 'update') {
    const [before, after] = [viewOf(change.previous?.body), viewOf(change.body)]
    fields.push(['updateDescription', updateDescription(before, after, { isExpanded: options.isExpanded })])
  }
  if (type !== 'insert' && options.fullDocumentBeforeChange !== 'off') {
    fields.push(['fullDocumentBeforeChange', imageOf(change.previous?.body, options.fullDocumentBeforeChange)])
  }
  if (change.kind === 'expire') fields.push([expiryField, { type: bsonType.bool, value: true }])
  return encodeDocument(fields)
}

function head(type: string, { ts, tick, ms }: EventTime, token: BsonDocument): Field[] {
  return [
    ['_id', token],
    ['operationType', { type: bsonType.string, value: type }],
    ['clusterTime', timestampOf(ts, tick)],
    ['wallTime', date(BigInt(ts * 1000 + ms))],
  ]
}

/** MongoDB names a user by a hash. */
function transactionFields(origin: ChangeOrigin | undefined): Field[] {
  const transaction = origin?.transaction
  if (transaction === undefined) return []
  const { number, session, user } = transaction
  return [
    ['txnNumber', int64(number)],
    ['lsid', BsonDocument.view(encodeFields({ id: binary(session, 4), uid: binary(user) }))],
  ]
}

function uuidField(uuid: string | undefined, { isExpanded }: StreamOptions): Field[] {
  return isExpanded && uuid !== undefined ? [['collectionUUID', binary(Buffer.from(uuid, 'hex'), 4)]] : []
}

function operationType({ kind, previous }: LoggedChange, { origin }: EventContext): string {
  switch (kind) {
    case 'create':
      return 'insert'
    case 'replace':
      return origin?.isReplacement === true || previous === undefined ? 'replace' : 'update'
    default:
      return 'delete'
  }
}

async function updatedDocument({ body }: LoggedChange, { options, lookUp }: EventContext): Promise<Value | undefined> {
  switch (options.fullDocument) {
    case 'default':
      return undefined
    case 'updateLookup': {
      const current = await lookUp()
      return current === undefined ? nullValue : BsonDocument.view(current)
    }
    default:
      return imageOf(body, options.fullDocument)
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

function documentKey({ shardKey = [] }: EventCollection, document: BsonDocument): BsonDocument {
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
export function noteEvent(note: StoredNote, time: EventTime, token: BsonDocument, options: StreamOptions): Uint8Array {
  const { type, namespace, uuid, to, description, stateBeforeChange } = note
  const fields = [...head(type, time, token), ...uuidField(uuid, options)]
  fields.push(['ns', namespaceDocument(namespace)])
  if (to !== undefined) fields.push(['to', namespaceDocument({ database: namespace.database, collection: to })])
  if (options.isExpanded && description !== undefined) fields.push(['operationDescription', description])
  if (options.isExpanded && stateBeforeChange !== undefined) fields.push(['stateBeforeChange', stateBeforeChange])
  return encodeDocument(fields)
}

export function invalidateEvent(time: EventTime, token: BsonDocument): Uint8Array {
  return encodeDocument(head('invalidate', time, token))
}
