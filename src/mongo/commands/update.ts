/** update: changes one or all documents that match a filter, or inserts one. */

import type { RequestError } from '../../base/error.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { CompiledUpdate } from '../../mql/update/update.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields, FieldValue } from '../answers/fields.ts'
import { fromBase64 } from '../collections/collection-definition.ts'
import { type Collection, findCollection } from '../collections/collections.ts'
import { withHint } from '../collections/hint.ts'
import { Arguments } from '../requests/arguments.ts'
import { collationOfCall } from '../requests/collation.ts'
import type { DocumentList } from '../requests/document-list.ts'
import { namespaceOf } from '../requests/namespace.ts'
import { catalogOf, findOrCreateCallCollection } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { withElsewhere } from '../service/elsewhere.ts'
import { compileCallUpdate, compileStatementFilter } from '../service/query-language.ts'
import type { RetryRecord, StatementResult } from '../session/retry-record.ts'
import { mutateAll, mutateOne, updateMutation } from '../write/document-updates.ts'
import { isStatementError, StatementErrors } from '../write/statement-errors.ts'
import { insertUpserted } from '../write/upsert.ts'
import {
  checkStatements,
  inTurn,
  mongoRacesMax,
  retryRecord,
  statementDocuments,
  statementNumbers,
} from '../write/write-command.ts'

const statementFields: ReadonlySet<string> = new Set([
  'q',
  'u',
  'c',
  'multi',
  'upsert',
  'arrayFilters',
  'hint',
  'collation',
  'sampleId',
  'upsertSupplied',
])

interface UpdateStatement {
  readonly filter: BsonDocument
  readonly update: CompiledUpdate
  readonly isMulti: boolean
  readonly isUpsert: boolean
  readonly args: Arguments
  readonly collation: Collation | undefined
}

async function update(call: CommandCall): Promise<Fields> {
  const namespace = namespaceOf(call)
  const statements = statementDocuments(call, 'updates')
  const numberOf = statementNumbers(call, statements.length)
  await checkStatements(call, statements, readStatement)
  return inTurn(call, async () => {
    const record = await retryRecord(call)
    return new Updates(call, namespace, record, numberOf).run(statements)
  })
}

class Updates {
  readonly #call: CommandCall
  readonly #namespace: Namespace
  readonly #record: RetryRecord | undefined
  readonly #numberOf: (index: number) => number
  readonly #errors: StatementErrors
  readonly #upserted: FieldValue[] = []
  readonly #retried: number[] = []
  #matched = 0
  #modified = 0

  constructor(
    call: CommandCall,
    namespace: Namespace,
    record: RetryRecord | undefined,
    numberOf: (index: number) => number,
  ) {
    this.#call = call
    this.#errors = new StatementErrors(call)
    this.#namespace = namespace
    this.#record = record
    this.#numberOf = numberOf
  }

  async run(statements: DocumentList): Promise<Fields> {
    const isOrdered = this.#call.args.boolean('ordered') ?? true
    for (const [index, bytes] of statements.entries()) {
      if (index > 0) this.#call.operation.check()
      try {
        await this.#runOne(index, bytes)
      } catch (error) {
        if (!isStatementError(error)) throw error
        this.#errors.add(index, error)
        if (isOrdered || this.#call.isInTransaction) break
      }
    }
    return {
      n: this.#matched,
      nModified: this.#modified,
      upserted: this.#upserted.length > 0 ? this.#upserted : undefined,
      ...(await this.#errors.fields()),
      retriedStmtIds: this.#retried.length > 0 ? this.#retried : undefined,
    }
  }

  async #runOne(index: number, bytes: Uint8Array): Promise<void> {
    const number = this.#numberOf(index)
    const known = this.#record?.find(number)
    if (known !== undefined) {
      this.#retried.push(number)
      this.#count(index, known)
      return
    }
    const collection = await findCollection(catalogOf(this.#call), this.#namespace)
    const statement = await parseStatement(this.#call, bytes, collection)
    if (statement.isMulti && this.#record !== undefined) {
      throw new CommandError('InvalidOptions', 'Cannot use (or request) retryable writes with multi=true')
    }
    const result = statement.isMulti
      ? await this.#updateAll(statement)
      : await this.#updateOne(statement, result => new Map([[number, result]]))
    this.#count(index, result)
    const { error } = result as { error?: RequestError }
    if (error !== undefined) throw error
  }

  #count(index: number, { n, nModified = 0, upserted }: StatementResult): void {
    this.#matched += n
    this.#modified += nModified
    if (upserted !== undefined) this.#upserted.push({ index, _id: fromBase64(upserted).get('_id') })
  }

  async #updateAll(statement: UpdateStatement): Promise<StatementResult & { error?: RequestError | undefined }> {
    const compiled = compileStatementFilter(this.#call, statement.filter, statement.collation)
    const matcher = compiled instanceof Promise ? await compiled : compiled
    for (let attempt = 0; attempt < mongoRacesMax; attempt++) {
      const collection = await findCollection(catalogOf(this.#call), this.#namespace)
      if (collection !== undefined) {
        const plain = updateMutation(this.#call, collection, matcher, statement.update)
        const mutation = withHint(statement.args, collection, plain)
        const { matched, changed, error } = await mutateAll(this.#call, collection, mutation)
        if (matched > 0 || error !== undefined) return { n: matched, nModified: changed, error }
      }
      if (!statement.isUpsert) return nothing
      const result = await this.#upsert(statement, undefined)
      if (result !== undefined) return result
    }
    throw comesAndGoes()
  }

  /** Another client may insert the document just before our upsert. Then we must update theirs. */
  async #updateOne(
    statement: UpdateStatement,
    remembered: (result: StatementResult) => ReadonlyMap<number, StatementResult>,
  ): Promise<StatementResult> {
    const remember = this.#record === undefined ? undefined : remembered
    const compiled = compileStatementFilter(this.#call, statement.filter, statement.collation)
    const matcher = compiled instanceof Promise ? await compiled : compiled
    for (let attempt = 0; attempt < mongoRacesMax; attempt++) {
      const collection = await findCollection(catalogOf(this.#call), this.#namespace)
      if (collection !== undefined) {
        const plain = updateMutation(this.#call, collection, matcher, statement.update)
        const mutated = await mutateOne(
          this.#call,
          collection,
          withHint(statement.args, collection, plain),
          remember && (changed => (changed === undefined ? new Map() : remember(updatedOne(changed)))),
        )
        if (mutated !== undefined) return updatedOne(mutated)
      }
      if (!statement.isUpsert) return nothing
      const result = await this.#upsert(statement, remember)
      if (result !== undefined) return result
    }
    throw comesAndGoes()
  }

  async #upsert(
    statement: UpdateStatement,
    remember: ((result: StatementResult) => ReadonlyMap<number, StatementResult>) | undefined,
  ): Promise<StatementResult | undefined> {
    const collection = await findOrCreateCallCollection(this.#call, this.#namespace)
    const inserted = await insertUpserted(
      this.#call,
      collection,
      statement,
      remember && (made => remember(upsertedOne(made.id))),
    )
    return inserted === undefined ? undefined : upsertedOne(inserted.id)
  }
}

function comesAndGoes(): CommandError {
  return new CommandError('WriteConflict', 'The document to be upserted keeps coming and going.')
}

const nothing: StatementResult = { n: 0, nModified: 0 }

function updatedOne({ before, after }: { before: Uint8Array; after: Uint8Array | undefined }): StatementResult {
  return { n: 1, nModified: before === after ? 0 : 1 }
}

function upsertedOne(id: Value): StatementResult {
  return { n: 1, nModified: 0, upserted: encodeDocument([['_id', id]]).toString('base64') }
}

/** The fields of a statement, with their types checked. */
function readStatement(bytes: Uint8Array) {
  const args = new Arguments(bytes, 0, 'update.updates')
  args.refuseUnknown(statementFields)
  const filter = args.requiredDocument('q')
  const u = args.required('u')
  if (u.type !== bsonType.document && u.type !== bsonType.array) {
    throw new CommandError(
      'FailedToParse',
      `Update argument must be either an object or an array, not ${typeName(u.type)}`,
    )
  }
  args.document('collation')
  return {
    filter,
    u,
    constants: args.document('c'),
    arrayFilters: args.array('arrayFilters'),
    isMulti: args.flag('multi'),
    isUpsert: args.flag('upsert'),
    args,
  }
}

async function parseStatement(
  call: CommandCall,
  bytes: Uint8Array,
  collection: Collection | undefined,
): Promise<UpdateStatement> {
  const { u, constants, arrayFilters, ...statement } = readStatement(bytes)
  const collation = await collationOfCall(statement.args, collection)
  const { isMulti } = statement
  const update = await withElsewhere(call, () =>
    compileCallUpdate(call, { update: u, arrayFilters, isMulti, constants, collation }),
  )
  return { ...statement, collation, update }
}

export const updateCommands: readonly Command[] = [
  {
    name: 'update',
    fields: ['updates', 'ordered', 'bypassDocumentValidation', 'let'],
    isTransactional: true,
    isRetryable: true,
    run: update,
  },
]
