/**
 * The collections that a pipeline reads and writes besides its own: `$lookup`, `$unionWith`, `$out`,
 * `$merge`.
 */

import { randomUUID } from 'node:crypto'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Field, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { madeDocument } from '../../mql/evaluation.ts'
import { compileFilter } from '../../mql/filter/match.ts'
import { prepareLeadingFind } from '../../mql/prepare.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { ByteStream, Collections, FindRequest, MergeRequest } from '../../mql/stages/stage.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument } from '../answers/fields.ts'
import { fromBase64 } from '../collections/collection-definition.ts'
import {
  type Collection,
  type CollectionIndex,
  createCollection,
  deleteCollection,
  findCollection,
  findOrCreateCollection,
  moveCollection,
  systemNamespace,
} from '../collections/collections.ts'
import { duplicateKeyError, takenIdError } from '../collections/duplicate-key.ts'
import { newDocument } from '../collections/new-document.ts'
import { documentStream } from '../find/document-stream.ts'
import { mongoPageDocumentsMax } from '../find/documents.ts'
import type { LivesOfCursor } from '../find/lives-of-cursor.ts'
import { createIndex, isIdIndex } from '../indexes/create-index.ts'
import { checkedNamespace, isSystemCollection, nameOf } from '../requests/namespace.ts'
import type { CommandCall } from '../service/command.ts'
import { computed } from '../service/elsewhere.ts'
import { variablesOf } from '../service/query-language.ts'
import { mongoWriteStepsMax, mutateOne } from '../write/document-updates.ts'
import { type DocumentWrite, writeDocuments } from '../write/document-writes.ts'

export function pipelineCollections(
  call: CommandCall,
  lives: LivesOfCursor,
  collation: Collation | undefined,
): Collections {
  return {
    find: (namespace: Namespace, request: FindRequest) => {
      const appetite = { by: call, documents: mongoPageDocumentsMax }
      return documentStream(call, namespace, prepareLeadingFind(request), { appetite, lives })
    },
    living: batch => lives.living(batch),
    replace: (target, documents) => replace(call, checkedTarget(target), documents),
    merge: (request, documents) => merge(call, request, documents, collation),
  }
}

function checkedTarget({ database, collection }: Namespace): Namespace {
  const namespace = checkedNamespace(database, collection)
  if (isSystemCollection(collection)) throw systemNamespace(namespace)
  return namespace
}

/** Another collection is filled and takes the name of the old one, with its indexes and options. */
async function replace(call: CommandCall, target: Namespace, documents: ByteStream): Promise<void> {
  const { engine, cursors } = call.service
  const present = await findCollection(engine, target)
  if (present?.shardKey !== undefined) {
    throw new CommandError('IllegalOperation', `namespace '${nameOf(target)}' is sharded so it can't be used for $out`)
  }
  const name = { database: target.database, collection: `tmp.agg_out.${randomUUID()}` }
  const options = present === undefined ? emptyDocument : fromBase64(present.definition.options)
  let filled = await createCollection(engine, name, { options })
  try {
    for (const index of present?.indexes ?? []) filled = await createIndex(call, filled, index)
    for await (const batch of documents) await insertAll(call, filled, batch)
    if (present !== undefined) cursors.closeOfContainer(present.container.number)
    await moveCollection(engine, filled, target.collection, present)
  } catch (error) {
    await deleteCollection(engine, filled)
    throw error
  }
}

async function insertAll(call: CommandCall, collection: Collection, documents: readonly Uint8Array[]): Promise<void> {
  for (let at = 0; at < documents.length; at += mongoWriteStepsMax) {
    const writes = documents.slice(at, at + mongoWriteStepsMax).map((given): DocumentWrite => {
      const { bytes: document, id } = newDocument(given)
      return {
        key: collection.keyOf(id, document),
        bytes: document.length,
        decide: found => {
          if (found !== undefined) throw takenIdError(collection, document)
          return { kind: 'put', document }
        },
      }
    })
    const refusal = await writeDocuments(call, collection, writes)
    if (refusal !== undefined) throw refusal.error
  }
}

async function merge(
  call: CommandCall,
  request: MergeRequest,
  documents: ByteStream,
  collation: Collation | undefined,
): Promise<void> {
  const target = checkedTarget(request.target)
  const collection = await findOrCreateCollection(call.service.engine, target)
  const isById = request.on.length === 1 && request.on[0] === '_id'
  const index = requireUnique(collection, request.on, collation)
  for await (const batch of documents) {
    for (const given of batch) {
      if (isById && collection.shardKey === undefined && collation === undefined)
        await mergeById(call, { collection, collation }, request, given)
      else await mergeByFields(call, { collection, index, collation }, request, given)
    }
  }
}

/** The index that keeps the fields of `on` unique. */
function requireUnique(
  { indexes }: Collection,
  on: readonly string[],
  collation: Collation | undefined,
): CollectionIndex {
  const found = indexes.find(
    index =>
      (index.isUnique || isIdIndex(index)) &&
      index.partialFilter === undefined &&
      index.collation?.name === collation?.name &&
      index.parts.length === on.length &&
      index.parts.every(({ path }) => on.includes(path)),
  )
  if (found !== undefined) return found
  throw new CommandError(51183, 'Cannot find index to verify that join fields will be unique')
}

async function mergeById(
  call: CommandCall,
  { collection, collation }: Omit<MergeTarget, 'index'>,
  request: MergeRequest,
  given: Uint8Array,
): Promise<void> {
  const { bytes: incoming, id } = newDocument(given)
  const write: DocumentWrite = {
    key: collection.keyOf(id, incoming),
    bytes: incoming.length,
    decide: found => {
      if (found === undefined) {
        refuseNotMatched(request)
        return request.whenNotMatched === 'insert' ? { kind: 'put', document: incoming } : undefined
      }
      if (request.whenMatched === 'fail') throw takenIdError(collection, incoming)
      return mergedDocument(call, request, { existing: found, incoming, collation })
    },
  }
  const refusal = await writeDocuments(call, collection, [write])
  if (refusal !== undefined) throw refusal.error
}

function mergedDocument(
  call: CommandCall,
  { whenMatched, update, spec }: MergeRequest,
  {
    existing,
    incoming,
    collation,
  }: {
    readonly existing: Uint8Array
    readonly incoming: Uint8Array
    readonly collation: Collation | undefined
  },
): { readonly kind: 'put'; readonly document: Uint8Array } | undefined {
  if (whenMatched === 'keepExisting') return undefined
  const made = computed(call, {
    ...{ of: 'merge', inputs: { merge: spec, incoming: BsonDocument.view(incoming) }, document: existing },
    variables: () => variablesOf(call, collation),
    here: () => update(existing, incoming),
    read: madeDocument,
  })
  const { bytes: document, id } = newDocument(made)
  if (id !== newDocument(existing).id) {
    throw new CommandError(
      'ImmutableField',
      '$merge failed to update the matching document, did you attempt to modify the _id?',
    )
  }
  return Buffer.compare(document, existing) === 0 ? undefined : { kind: 'put', document }
}

function refuseNotMatched({ whenNotMatched }: MergeRequest): void {
  if (whenNotMatched === 'fail') {
    throw new CommandError(
      13113,
      '$merge could not find a matching document in the target collection for at least one document in the ' +
        'source collection',
    )
  }
}

interface MergeTarget {
  readonly collection: Collection
  readonly index: CollectionIndex
  readonly collation: Collation | undefined
}

async function mergeByFields(
  call: CommandCall,
  { collection, index, collation }: MergeTarget,
  request: MergeRequest,
  given: Uint8Array,
): Promise<void> {
  const incoming = BsonDocument.view(given)
  const equalities = request.on.map((path): Field => [path, BsonDocument.of([['$eq', valueAtPath(incoming, path)]])])
  const matcher = compileFilter(BsonDocument.of(equalities), { collation })
  const mutated = await mutateOne(
    call,
    collection,
    {
      matcher,
      change: existing => {
        if (request.whenMatched === 'fail') throw duplicateKeyError(collection, index, given)
        return mergedDocument(call, request, { existing, incoming: given, collation })
      },
    },
    undefined,
  )
  if (mutated !== undefined) return
  refuseNotMatched(request)
  if (request.whenNotMatched === 'insert') await insertAll(call, collection, [given])
}

function valueAtPath(document: BsonDocument, path: string): Value {
  let value: Value | undefined = document
  for (const name of path.split('.')) value = value?.type === bsonType.document ? value.get(name) : undefined
  return value ?? nullValue
}
