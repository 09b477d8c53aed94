/** findAndModify: changes one document and returns it, as it was before or after the change. */

import type { EpochSeconds } from '../../base/clock.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import type { Sort } from '../../mql/paths/sort-order.ts'
import { prepareSort } from '../../mql/prepare.ts'
import type { Projection } from '../../mql/projection/projection.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { CompiledUpdate } from '../../mql/update/update.ts'
import { ownDeadline } from '../../ttl/lifespan.ts'
import { isAlive, livingAt } from '../../ttl/living.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, type Fields } from '../answers/fields.ts'
import { fromBase64 } from '../collections/collection-definition.ts'
import { type Collection, findCollection } from '../collections/collections.ts'
import { lifeOf } from '../collections/document-life.ts'
import { withHint } from '../collections/hint.ts'
import { collationOfCall } from '../requests/collation.ts'
import { nameOf, namespaceOf } from '../requests/namespace.ts'
import { catalogOf, findOrCreateCallCollection } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { withElsewhere } from '../service/elsewhere.ts'
import { compileCallFilter, compileCallProjection, compileCallUpdate } from '../service/query-language.ts'
import type { StatementResult } from '../session/retry-record.ts'
import { deletion, type Mutated, type Mutation, mutateOne, updateMutation } from '../write/document-updates.ts'
import type { LifeStamps } from '../write/document-writes.ts'
import { type Inserted, insertUpserted } from '../write/upsert.ts'
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
  const collation = await collationOfCall(call.args, await findCollection(call.service.engine, namespace))
  const modification = parse(call, collation)
  const number = statementNumbers(call, 1)(0)
  return inTurn(call, async () => {
    const record = await retryRecord(call)
    const known = record?.find(number)
    if (known !== undefined) {
      const shown = await knownResult(call, namespace, modification, known)
      const answer = await withElsewhere(call, () => answerOf(shown, modification))
      return { ...answer, retriedStmtId: number }
    }
    const remember = record === undefined ? undefined : (result: StatementResult) => new Map([[number, result]])
    try {
      const result = await modify(call, namespace, modification, remember)
      return await withElsewhere(call, () => answerOf(result, modification))
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
    const collection = await findCollection(catalogOf(call), namespace)
    if (collection !== undefined) {
      const plain: Mutation =
        update === undefined
          ? { matcher, sort, change: () => deletion }
          : { ...updateMutation(call, collection, matcher, update), sort }
      const mutation = withHint(call.args, collection, plain)
      const result = (mutated: Mutated) => resultOf(call, collection, modification, mutated)
      const rememberOne = (mutated: Mutated | undefined) =>
        mutated === undefined ? new Map() : remember!(result(mutated))
      const mutated = await mutateOne(call, collection, mutation, remember && rememberOne)
      if (mutated !== undefined) return result(mutated)
    }
    if (!isUpsert || update === undefined) return { n: 0 }
    const made = await findOrCreateCallCollection(call, namespace)
    const result = ({ id, document, moment }: Inserted): StatementResult => ({
      n: 1,
      upserted: toBase64(encodeDocument([['_id', id]])),
      modified: {
        kind: 'insert',
        namespace: made.name,
        container: made.container.number,
        ...(modification.isNewWanted && returned(document, newLife(call, made, document, moment))),
      },
    })
    const statement = { filter, update, collation: matcher.collation }
    const inserted = await insertUpserted(call, made, statement, remember && (each => remember(result(each))))
    if (inserted !== undefined) return result(inserted)
  }
  throw new CommandError('WriteConflict', 'The document keeps coming and going.')
}

function resultOf(
  call: CommandCall,
  collection: Collection,
  { isNewWanted, update }: Modification,
  { before, after, moment, life }: Mutated,
): StatementResult {
  const isAfter = isNewWanted && update !== undefined
  const shown = isAfter ? after! : before
  const isNew = shown !== before
  return {
    n: 1,
    modified: {
      kind: update === undefined ? 'delete' : 'update',
      namespace: collection.name,
      container: collection.container.number,
      ...returned(shown, isNew ? newLife(call, collection, shown, moment) : life),
      ...(isAfter && { isAfter }),
    },
  }
}

function newLife(
  { service }: CommandCall,
  collection: Collection,
  document: Uint8Array,
  moment: EpochSeconds,
): LifeStamps {
  const { ttl, until } = lifeOf(collection, document, service.settings)
  return { ts: moment, deadline: ownDeadline(ttl, moment, until) }
}

function returned(document: Uint8Array, life: LifeStamps | undefined) {
  return { value: toBase64(document), ...(life !== undefined && { ts: life.ts, deadline: life.deadline }) }
}

/**
 * The recorded result, for a driver that repeats the statement. Another statement under the same number is
 * refused, with MongoDB's codes. A document that has died meanwhile is not shown to anybody: the answer has
 * null in its place.
 */
async function knownResult(
  call: CommandCall,
  namespace: Namespace,
  modification: Modification,
  known: StatementResult,
): Promise<StatementResult> {
  const { modified } = known
  const { engine } = call.service
  if (modified === undefined) throw incompatible(40609, 'another command')
  if (modified.namespace !== nameOf(namespace)) throw incompatible(40609, `${modified.kind} in another collection`)
  const { kind, value, isAfter, ts, deadline, container } = modified
  const { update, isUpsert, isNewWanted } = modification
  if (kind === 'delete' && update !== undefined) throw incompatible(40606, kind)
  if (kind === 'insert' && !isUpsert) throw incompatible(40608, kind)
  if (kind === 'update') {
    if (update === undefined) throw incompatible(40609, kind)
    if (isNewWanted !== (isAfter ?? false)) {
      const [wanted, stored] = isNewWanted ? ['after', 'before'] : ['before', 'after']
      throw new CommandError(
        isNewWanted ? 40611 : 40612,
        `findAndModify retry request wants the document ${wanted} update returned, but only ${stored} update ` +
          'document is stored',
      )
    }
  }
  if (value === undefined || ts === undefined) return known
  const collection = await findCollection(engine, namespace)
  if (collection?.container.number === container) {
    using view = await engine.view(collection.container)
    if (isAlive(livingAt(view.policy, view.moment), { ts, deadline: deadline ?? null })) return known
  }
  const { value: _dead, ...rest } = modified
  return { ...known, modified: rest }
}

function incompatible(code: number, kind: string): CommandError {
  return new CommandError(
    code,
    `findAndModify retry request is not compatible with previous write in the transaction of type: ${kind}`,
  )
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
}

function answerOf({ n, upserted, modified }: StatementResult, { update, project }: Modification): Fields {
  const value = modified?.value
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

function parse(call: CommandCall, collation: Collation | undefined): Modification {
  const { args } = call
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
  const matcher = compileCallFilter(call, filter, collation)
  return {
    filter,
    matcher,
    sort: prepareSort(args.document('sort'), collation),
    update:
      update === undefined
        ? undefined
        : compileCallUpdate(call, { update, arrayFilters: args.array('arrayFilters'), collation }),
    isUpsert,
    isNewWanted,
    project: shownBy(compileCallProjection(call, args.document('fields'), collation), matcher),
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
