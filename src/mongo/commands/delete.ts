/** delete: removes one or all documents that match a filter. */

import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import { findCollection } from '../collections/collections.ts'
import { withHint } from '../collections/hint.ts'
import { Arguments } from '../requests/arguments.ts'
import { collationOfCall } from '../requests/collation.ts'
import { namespaceOf } from '../requests/namespace.ts'
import { catalogOf } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { compileStatementFilter } from '../service/query-language.ts'
import type { RetryRecord, StatementResult } from '../session/retry-record.ts'
import { deletion, type Mutation, mutateAll, mutateOne } from '../write/document-updates.ts'
import { isStatementError, StatementErrors } from '../write/statement-errors.ts'
import { checkStatements, inTurn, retryRecord, statementDocuments, statementNumbers } from '../write/write-command.ts'

const statementFields: ReadonlySet<string> = new Set(['q', 'limit', 'collation', 'hint', 'sampleId'])

async function remove(call: CommandCall): Promise<Fields> {
  const namespace = namespaceOf(call)
  const statements = statementDocuments(call, 'deletes')
  const numberOf = statementNumbers(call, statements.length)
  const isOrdered = call.args.boolean('ordered') ?? true
  await checkStatements(call, statements, readStatement)
  return inTurn(call, async () => {
    const record = await retryRecord(call)
    const errors = new StatementErrors(call)
    const retried: number[] = []
    let n = 0
    for (const [index, bytes] of statements.entries()) {
      if (index > 0) call.operation.check()
      const number = numberOf(index)
      const known = record?.find(number)
      if (known !== undefined) {
        retried.push(number)
        n += known.n
        continue
      }
      try {
        n += await removeMatching(call, namespace, bytes, record, number)
      } catch (error) {
        if (!isStatementError(error)) throw error
        errors.add(index, error)
        if (isOrdered || call.isInTransaction) break
      }
    }
    return { n, ...(await errors.fields()), retriedStmtIds: retried.length > 0 ? retried : undefined }
  })
}

async function removeMatching(
  call: CommandCall,
  namespace: Namespace,
  bytes: Uint8Array,
  record: RetryRecord | undefined,
  number: number,
): Promise<number> {
  const { filter, limit, args } = readStatement(bytes)
  if (limit === 0 && record !== undefined) {
    throw new CommandError('InvalidOptions', 'Cannot use (or request) retryable writes with limit=0')
  }
  const collection = await findCollection(catalogOf(call), namespace)
  const matcher = await compileStatementFilter(call, filter, await collationOfCall(args, collection))
  const mutation: Mutation = withHint(args, collection, { matcher, change: () => deletion })
  if (collection === undefined) return 0
  if (limit === 1) {
    const remember = () => new Map<number, StatementResult>([[number, { n: 1 }]])
    const removed = await mutateOne(
      call,
      collection,
      mutation,
      record && (one => (one === undefined ? new Map() : remember())),
    )
    return removed === undefined ? 0 : 1
  }
  const { matched, error } = await mutateAll(call, collection, mutation)
  if (error !== undefined) throw error
  return matched
}

/** The fields of a statement, with their types checked. */
function readStatement(bytes: Uint8Array) {
  const args = new Arguments(bytes, 0, 'delete.deletes')
  args.refuseUnknown(statementFields)
  const filter = args.requiredDocument('q')
  const limit = args.number('limit')
  if (limit === undefined) {
    throw new CommandError(40414, "BSON field 'delete.deletes.limit' is missing but a required field")
  }
  if (limit !== 0 && limit !== 1) {
    throw new CommandError('FailedToParse', `The limit field in delete objects must be 0 or 1. Got ${limit}`)
  }
  args.document('collation')
  return { filter, limit, args }
}

export const deleteCommands: readonly Command[] = [
  { name: 'delete', fields: ['deletes', 'ordered', 'let'], isTransactional: true, isRetryable: true, run: remove },
]
