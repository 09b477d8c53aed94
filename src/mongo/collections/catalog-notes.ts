/**
 * Notes about collections and databases in the journal: they become events of change streams, in the order of
 * the writes around them.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { CatalogNote, ContainerRecord, Epitaph } from '../../store/catalog.ts'
import { encodeFields, type Fields } from '../answers/fields.ts'
import { storedDefinition } from './collection-definition.ts'

/** How long changes are remembered. A stream that was away longer must start again. */
export const mongoChangeLogSeconds = 24 * 3600

/** `replaced`: no event of its own, because the event that follows says so. */
type NoteType =
  | 'create'
  | 'drop'
  | 'rename'
  | 'replaced'
  | 'dropDatabase'
  | 'createIndexes'
  | 'dropIndexes'
  | 'modify'
  | 'shardCollection'

/** A note as it was stored. */
export interface StoredNote {
  readonly type: NoteType
  readonly namespace: Namespace
  /** Sixteen bytes in hexadecimal; a database has none. */
  readonly uuid: string | undefined
  readonly shardKey: readonly string[] | undefined
  /** The new name of a renamed collection. */
  readonly to: string | undefined
  /** What streams show that asked for expanded events. */
  readonly description: BsonDocument | undefined
  readonly stateBeforeChange: BsonDocument | undefined
}

interface NoteDetails {
  readonly to?: string
  readonly description?: Fields | BsonDocument | undefined
  readonly stateBeforeChange?: Fields | undefined
}

export function collectionNote(
  type: Exclude<NoteType, 'dropDatabase'>,
  container: Pick<ContainerRecord, 'database' | 'id' | 'definition'>,
  { to, description, stateBeforeChange }: NoteDetails = {},
): CatalogNote {
  const { uuid, shardKey } = storedDefinition(container.definition)
  const db = container.database.id
  const body = encodeFields({ type, db, coll: container.id, uuid, shardKey, to, description, stateBeforeChange })
  return { body, endsName: type === 'drop' || type === 'rename' || type === 'replaced' }
}

export function epitaphOf(type: 'drop' | 'replaced', container: ContainerRecord): Epitaph {
  return { ...collectionNote(type, container), keptSeconds: mongoChangeLogSeconds }
}

export function dropDatabaseNote(database: string): Epitaph {
  return { body: encodeFields({ type: 'dropDatabase', db: database, coll: '' }), keptSeconds: mongoChangeLogSeconds }
}

export function parseNote(body: Uint8Array): StoredNote {
  const fields = BsonDocument.view(body)
  const text = (name: string) => {
    const value = fields.get(name)
    return value?.type === bsonType.string ? value.value : undefined
  }
  const document = (name: string) => {
    const value = fields.get(name)
    return value?.type === bsonType.document ? value : undefined
  }
  const shardKey = fields.get('shardKey')
  return {
    type: text('type') as NoteType,
    namespace: { database: text('db')!, collection: text('coll')! },
    uuid: text('uuid'),
    shardKey:
      shardKey?.type === bsonType.array
        ? shardKey.elements.flatMap(path => (path.type === bsonType.string ? [path.value] : []))
        : undefined,
    to: text('to'),
    description: document('description'),
    stateBeforeChange: document('stateBeforeChange'),
  }
}
