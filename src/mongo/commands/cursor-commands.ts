/** getMore and killCursors: fetch the next batch of a cursor, and close cursors. */

import { holding } from '../../base/memory-account.ts'
import { bsonType } from '../../document/bson/types.ts'
import { notAuthorized } from '../access/authorize.ts'
import { cluster } from '../access/privilege.ts'
import { CommandError } from '../answers/command-error.ts'
import { Documents, type Fields } from '../answers/fields.ts'
import { requireSameApi } from '../requests/stable-api.ts'
import type { Command, CommandCall } from '../service/command.ts'
import type { Cursor } from '../service/cursors.ts'
import { mongoBatchBytesMax } from '../service/cursors.ts'

async function getMore(call: CommandCall): Promise<Fields> {
  const { service, args, client, operation } = call
  const batchSize = args.count('batchSize')
  if (batchSize === 0) throw new CommandError('BadValue', 'Batch size for getMore must be positive, but received: 0')
  const cursor = requireCursor(call)
  if (cursor.operation !== undefined) {
    throw new CommandError(12051, `cursor id ${cursor.id} is already in use`)
  }
  cursor.operation = operation
  cursor.client = client
  operation.isOnStream = cursor.source.isChangeStream === true
  try {
    if (service.failPoints.isAnyOn) service.failPoints.onGetMore(call, cursor.isTimeLimited)
    const request = {
      documentsMax: batchSize ?? Number.POSITIVE_INFINITY,
      bytesMax: mongoBatchBytesMax,
      by: call,
      waitMs: args.count('maxTimeMS'),
    }
    const { documents, pieces, isEnd, resumeToken } = await holding(cursor.lease, () => cursor.source.next(request))
    operation.check()
    if (isEnd || operation.isAbandoned) service.cursors.close(cursor)
    const isOpen = service.cursors.find(cursor.id) !== undefined
    return {
      cursor: {
        nextBatch: new Documents(documents, pieces),
        postBatchResumeToken: resumeToken,
        id: isOpen ? cursor.id : 0n,
        ns: cursor.settings.namespace,
      },
    }
  } catch (error) {
    // After a failure the position of the source is unknown, so the cursor is closed.
    service.cursors.close(cursor)
    throw error
  } finally {
    cursor.operation = undefined
    service.cursors.touch(cursor)
  }
}

function requireCursor({ service, args, database, session, access, txnNumber }: CommandCall): Cursor {
  const id = args.value('getMore')
  if (id?.type !== bsonType.int64) {
    throw new CommandError('TypeMismatch', "BSON field 'getMore.getMore' is the wrong type, expected type 'long'")
  }
  const namespace = `${database}.${args.requiredString('collection')}`
  const cursor = service.cursors.find(id.value)
  if (cursor === undefined) throw new CommandError('CursorNotFound', `cursor id ${id.value} not found`)
  if (cursor.settings.namespace !== namespace) {
    throw new CommandError(
      'Unauthorized',
      `Requested getMore on namespace '${namespace}', but cursor belongs to a different namespace ` +
        `${cursor.settings.namespace}`,
    )
  }
  if (cursor.access?.key !== access?.key) {
    throw new CommandError('Unauthorized', `cursor id ${id.value} was not created by the authenticated user`)
  }
  if (access?.rights.allowsAll(cursor.access!.needed) === false) {
    throw new CommandError('Unauthorized', `not authorized for getMore with cursor id ${id.value}`)
  }
  if (cursor.settings.session !== session?.key) {
    throw new CommandError(
      50737,
      `Cannot run getMore on cursor ${id.value}, which was not created in the session that asks for it`,
    )
  }
  requireSameApi(args, cursor.api, 'cursor-creating command')
  checkTransaction(cursor, txnNumber)
  return cursor
}

/** A cursor of a transaction ends with it. */
function checkTransaction({ id, txnNumber: opener }: Cursor, asker: bigint | undefined): void {
  if (opener === asker) return
  if (opener === undefined) {
    throw new CommandError(
      50739,
      `Cannot run getMore on cursor ${id}, which was not created in a transaction, in transaction ${asker}`,
    )
  }
  throw asker === undefined
    ? new CommandError(
        50740,
        `Cannot run getMore on cursor ${id}, which was created in transaction ${opener}, without a txnNumber`,
      )
    : new CommandError(
        50741,
        `Cannot run getMore on cursor ${id}, which was created in transaction ${opener}, in transaction ${asker}`,
      )
}

function killCursors(call: CommandCall): Fields {
  const { service, args, database } = call
  const namespace = `${database}.${args.requiredString('killCursors')}`
  const cursorsKilled: bigint[] = []
  const cursorsNotFound: bigint[] = []
  for (const id of args.requiredArray('cursors').elements) {
    if (id.type !== bsonType.int64) {
      throw new CommandError('TypeMismatch', "Field 'cursors' contains an element that is not of type long")
    }
    const cursor = service.cursors.find(id.value)
    const isOurs = cursor !== undefined && cursor.settings.namespace === namespace
    if (isOurs) checkMayKill(call, cursor)
    if (isOurs && service.cursors.close(cursor)) cursorsKilled.push(id.value)
    else cursorsNotFound.push(id.value)
  }
  return { cursorsKilled, cursorsNotFound, cursorsAlive: [], cursorsUnknown: [] }
}

/** A user may end its own cursors, and others' with a privilege. */
function checkMayKill(call: CommandCall, cursor: Cursor): void {
  const { access } = call
  if (access === undefined || access.key === cursor.access?.key) return
  if (!access.rights.allows('killAnyCursor', cluster)) throw notAuthorized(call)
}

export const cursorCommands: readonly Command[] = [
  {
    name: 'getMore',
    isTransactional: true,
    fields: ['collection', 'batchSize', 'term', 'lastKnownCommittedOpTime'],
    run: getMore,
  },
  { name: 'killCursors', isTransactional: true, fields: ['cursors'], run: killCursors },
]
