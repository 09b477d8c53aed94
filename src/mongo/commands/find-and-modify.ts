/** findAndModify: changes one document and returns it, as it was before or after the change. */

import { bsonType, typeName } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import type { Sort } from '../../mql/paths/sort-order.ts'
import { prepareSort } from '../../mql/prepare.ts'
import type { Projection } from '../../mql/projection/projection.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { type CompiledUpdate, compileUpdate } from '../../mql/update/update.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, type Fields } from '../answers/fields.ts'
import { fromBase64 } from '../collections/collection-definition.ts'
import { findCollection, findOrCreateCollection } from '../collections/collections.ts'
import { checkHint } from '../collections/hint.ts'
import { namespaceOf } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { compileCallFilter, compileCallProjection, pipelineUpdate, refuseCollation } from '../service/query-language.ts'
import type { StatementResult } from '../session/retry-record.ts'
import { deletion, type Mutated, type Mutation, mutateOne, updateMutation } from '../write/document-updates.ts'
import { insertUpserted } from '../write/upsert.ts'
import { inTurn, mongoRacesMax, retryRecord, statementNumbers } from '../write/write-command.ts'

interface Modification {
  readonly filter: BsonDocument
  readonly matcher: Matcher
  readonly sort: Sort | undefined
  /** Undefined: remove the document. */
  readonly update: CompiledUpdate | undefined
  readonly isUpsert: boolean
  readonly isNewWanted: boolean
  readonly project: ((document: Uint8Array) => Uint8Array) | undefined
}

async function findAndModify(call: CommandCall): Promise<Fields> {
  const namespace = namespaceOf(call)
  const modification = parse(call)
  const number = statementNumbers(call, 1)(0)
  return inTurn(call, async () => {
    const record = await retryRecord(call)
    const known = record?.find(number)
    if (known !== undefined) return { ...answerOf(known, modification), retriedStmtId: number }
    const remember = record === undefined ? undefined : (result: StatementResult) => new Map([[number, result]])
    try {
      return answerOf(await modify(call, namespace, modification, remember), modification)
    } catch (error) {
      if (call.isInTransaction) call.session?.transaction?.abort()
      throw error
    }
  })
}

type Remember = (result: StatementResult) => ReadonlyMap<number, StatementResult>

async function modify(
  call: CommandCall,
  namespace: Namespace,
  modification: Modification,
  remember: Remember | undefined,
): Promise<StatementResult> {
  const { filter, matcher, sort, update, isUpsert } = modification
  for (let attempt = 0; attempt < mongoRacesMax; attempt++) {
    const collection = await findCollection(call.service.engine, namespace)
    checkHint(call.args, collection)
    if (collection !== undefined) {
      const mutation: Mutation =
        update === undefined
          ? { matcher, sort, change: () => deletion }
          : { ...updateMutation(call, collection, matcher, update), sort }
      const rememberOne = (mutated: Mutated | undefined) =>
        mutated === undefined ? new Map() : remember!(resultOf(mutated, modification))
      const mutated = await mutateOne(call, collection, mutation, remember && rememberOne)
      if (mutated !== undefined) return resultOf(mutated, modification)
    }
    if (!isUpsert || update === undefined) return { n: 0 }
    const made = await findOrCreateCollection(call.service.engine, namespace)
    const result = (id: Value, document: Uint8Array): StatementResult => ({
      n: 1,
      upserted: toBase64(encodeDocument([['_id', id]])),
      ...(modification.isNewWanted && { value: toBase64(document) }),
    })
    const inserted = await insertUpserted(
      call,
      made,
      { filter, update },
      remember && (({ id, document }) => remember(result(id, document))),
    )
    if (inserted !== undefined) return result(inserted.id, inserted.document)
  }
  throw new CommandError('WriteConflict', 'The document keeps coming and going.')
}

/** `nModified: 0` marks a result that needs a full record. */
function resultOf({ before, after }: Mutated, { isNewWanted, update }: Modification): StatementResult {
  const shown = isNewWanted && update !== undefined ? after! : before
  return { n: 1, nModified: before === after ? 0 : 1, value: toBase64(shown) }
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
}

function answerOf({ n, upserted, value }: StatementResult, { update, project }: Modification): Fields {
  const document = value === undefined ? undefined : Buffer.from(value, 'base64')
  const shown = document === undefined ? null : BsonDocument.view(project === undefined ? document : project(document))
  return {
    lastErrorObject: {
      n,
      ...(update !== undefined && { updatedExisting: n === 1 && upserted === undefined }),
      ...(upserted !== undefined && { upserted: fromBase64(upserted).get('_id') }),
    },
    value: shown,
  }
}

function parse(call: CommandCall): Modification {
  const { args } = call
  refuseCollation(args)
  const filter = args.document('query') ?? emptyDocument
  const isRemoval = args.flag('remove')
  const isUpsert = args.flag('upsert')
  const isNewWanted = args.flag('new')
  const update = args.present('update')
  if (isRemoval && update !== undefined) {
    throw new CommandError('FailedToParse', 'Cannot specify both an update and remove=true')
  }
  if (isRemoval && isUpsert) throw new CommandError('FailedToParse', 'Cannot specify both upsert=true and remove=true ')
  if (isRemoval && isNewWanted) {
    throw new CommandError(
      'FailedToParse',
      "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
    )
  }
  if (!isRemoval && update === undefined) {
    throw new CommandError('FailedToParse', 'Either an update or remove=true must be specified')
  }
  if (update !== undefined && update.type !== bsonType.document && update.type !== bsonType.array) {
    throw new CommandError(
      'FailedToParse',
      `Update argument must be either an object or an array, not ${typeName(update.type)}`,
    )
  }
  const matcher = compileCallFilter(call, filter)
  return {
    filter,
    matcher,
    sort: prepareSort(args.document('sort')),
    update:
      update === undefined
        ? undefined
        : compileUpdate(update, {
            arrayFilters: args.array('arrayFilters'),
            pipeline: pipelineUpdate(call, undefined),
          }),
    isUpsert,
    isNewWanted,
    project: shownBy(compileCallProjection(call, args.document('fields')), matcher),
  }
}

function shownBy(projection: Projection | undefined, matcher: Matcher): Modification['project'] {
  if (projection === undefined) return undefined
  const { project, isPositional } = projection
  return isPositional ? document => project(document, matcher.position(document)) : project
}

const fields = [
  'query',
  'sort',
  'remove',
  'update',
  'new',
  'fields',
  'upsert',
  'bypassDocumentValidation',
  'collation',
  'arrayFilters',
  'hint',
  'let',
]

export const findAndModifyCommands: readonly Command[] = [
  { name: 'findAndModify', fields, isTransactional: true, isRetryable: true, run: findAndModify },
  { name: 'findandmodify', fields, isTransactional: true, isRetryable: true, run: findAndModify },
]
