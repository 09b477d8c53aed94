/** find: returns the documents that match a filter, as a cursor. */

import type { MaybePromise } from '../../base/maybe-promise.ts'
import { andThen } from '../../base/maybe-promise.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { onlyId } from '../../mql/named-ids.ts'
import { prepareSort } from '../../mql/prepare.ts'
import { CommandError } from '../answers/command-error.ts'
import { Documents, emptyDocument, type Fields } from '../answers/fields.ts'
import type { Collection } from '../collections/collections.ts'
import { unshardedPartition } from '../collections/document-key.ts'
import { withHint } from '../collections/hint.ts'
import { findReadable, ResolvedView } from '../collections/views.ts'
import { documentSource } from '../find/documents.ts'
import { findInView } from '../pipeline/view-reads.ts'
import { collationOfCall } from '../requests/collation.ts'
import { nameOf, namespaceOf, refuseOplog } from '../requests/namespace.ts'
import { catalogOf } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { type CursorSource, listSource, openCursor } from '../service/cursors.ts'
import { compileCallFilter, compileCallProjection } from '../service/query-language.ts'

function find(call: CommandCall): MaybePromise<Fields> {
  const namespace = namespaceOf(call)
  refuseOplog(namespace)
  return andThen(findReadable(catalogOf(call), namespace), collection => {
    if (collection instanceof ResolvedView) return findInView(call, namespace)
    const filter = call.args.document('filter') ?? emptyDocument
    const id = collection === undefined || !isPlain(call) ? undefined : pointId(collection, filter)
    if (id !== undefined) return readPoint(call, collection!, id)
    return andThen(collationOfCall(call.args, collection), collation => search(call, collection, filter, collation))
  })
}

/** With no other options a find by `_id` is a plain point read. */
const plainFields: ReadonlySet<string> = new Set([
  'find',
  'filter',
  'limit',
  'singleBatch',
  'batchSize',
  '$db',
  'lsid',
  '$clusterTime',
  '$readPreference',
  'readConcern',
  'comment',
  'maxTimeMS',
])

function isPlain({ args, isInTransaction, snapshot }: CommandCall): boolean {
  if (isInTransaction || snapshot !== undefined || (args.has('batchSize') && args.number('batchSize') === 0))
    return false
  for (const name of args.names) if (!plainFields.has(name)) return false
  return true
}

function pointId({ shardKey, collation }: Collection, filter: BsonDocument): string | undefined {
  return shardKey === undefined && collation === undefined ? onlyId(filter) : undefined
}

/** Sends the stored bytes unchanged. */
function readPoint(call: CommandCall, { container, name }: Collection, id: string): MaybePromise<Fields> {
  return andThen(call.service.engine.findItem(container, { ...unshardedPartition, id }), ({ item, chargeRu }) => {
    call.chargeRu += chargeRu
    const firstBatch = new Documents(item === undefined ? [] : [item.body as Uint8Array])
    return { cursor: { firstBatch, id: 0n, ns: name } }
  })
}

function search(
  call: CommandCall,
  collection: Collection | undefined,
  filter: BsonDocument,
  collation: Collation | undefined,
): MaybePromise<Fields> {
  const { args, service, session } = call
  if (args.flag('tailable') || args.flag('awaitData')) {
    throw new CommandError('BadValue', 'error processing query: tailable cursor requested on non capped collection')
  }
  for (const name of ['min', 'max'] as const) {
    if (args.document(name)?.isEmpty === false) throw new CommandError('NotImplemented', refusalOf(name))
  }
  for (const name of ['returnKey', 'showRecordId'] as const) {
    if (args.flag(name)) throw new CommandError('NotImplemented', refusalOf(name))
  }
  const asked = {
    matcher: compileCallFilter(call, filter, collation),
    sort: prepareSort(args.document('sort'), collation),
  }
  const { matcher, sort } = withHint(args, collection, asked)
  const projection = compileCallProjection(call, args.document('projection'), collation)
  const skip = args.count('skip') ?? 0
  const limit = args.count('limit') ?? 0
  const source: CursorSource =
    collection === undefined
      ? listSource([])
      : documentSource(call, collection, {
          matcher,
          sort,
          skip,
          limit: limit === 0 ? Number.POSITIVE_INFINITY : limit,
          projection,
        })
  return openCursor(service.cursors, source, {
    namespace: nameOf(namespaceOf(call)),
    session: session?.key,
    hasNoTimeout: args.flag('noCursorTimeout'),
    containers: collection === undefined ? [] : [collection.container.number],
    batchSize: args.count('batchSize'),
    isSingleBatch: args.flag('singleBatch'),
    by: call,
  })
}

function refusalOf(option: string): string {
  return `The option '${option}' of find is not supported.`
}

export const findCommands: readonly Command[] = [
  {
    name: 'find',
    fields: [
      'filter',
      'sort',
      'projection',
      'hint',
      'skip',
      'limit',
      'batchSize',
      'singleBatch',
      'max',
      'min',
      'returnKey',
      'showRecordId',
      'tailable',
      'awaitData',
      'oplogReplay',
      'noCursorTimeout',
      'allowPartialResults',
      'collation',
      'allowDiskUse',
      'let',
      'ntoreturn',
      'term',
    ],
    isTransactional: true,
    run: find,
  },
]
