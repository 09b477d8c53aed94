/**
 * Turns a message into the answer of its command: checks permission and fields, runs the command, answers
 * failures.
 */

import { MayflyError } from '../base/error.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { holding } from '../base/memory-account.ts'
import { bsonType } from '../document/bson/types.ts'
import { type Access, authorize } from './access/authorize.ts'
import { CommandError } from './answers/command-error.ts'
import { errorCodes } from './answers/error-codes.ts'
import { asMongoError, type ErrorContext, errorAnswer } from './answers/error-map.ts'
import { type Fields, one } from './answers/fields.ts'
import { isChangeStream } from './change-streams/options.ts'
import { documentCommands, findCommand } from './commands.ts'
import { Arguments } from './requests/arguments.ts'
import { checkStableApi } from './requests/stable-api.ts'
import { writeConcernErrorOf } from './requests/write-concern.ts'
import { type Command, type CommandCall, genericFields } from './service/command.ts'
import { TooLongHere, withElsewhere } from './service/elsewhere.ts'
import { CutConnection } from './service/fail-points.ts'
import { mongoFilterBytesAtOnce } from './service/query-language.ts'
import type { MongoService } from './service/service.ts'
import { endsTransaction, enterTransaction, readTransactionFields } from './service/statement.ts'
import { waitsForStreams } from './service/streams.ts'
import type { Client } from './session/client.ts'
import type { DocumentSequence } from './wire/op-msg.ts'

export interface Request {
  readonly body: Uint8Array
  readonly sequences: readonly DocumentSequence[]
  /** Given by the old handshake, which names the database outside of the command. */
  readonly database?: string
  /** The body is known to be valid BSON. */
  readonly isChecked?: boolean
}

/** Always answers, unless a fail point cuts the connection. */
export function dispatch(service: MongoService, client: Client, request: Request): MaybePromise<Fields> {
  let call: CommandCall | undefined
  let args: Arguments | undefined
  const fail = (error: unknown): Fields => {
    if (error instanceof CutConnection) {
      if (call !== undefined) service.operations.end(call.operation)
      throw error
    }
    const shown = asMongoError(error)
    if (shown.code === errorCodes.InternalError) {
      service.log.error({ error, command: call?.command.name }, 'a command failed in a way it should not')
    }
    if (call !== undefined) {
      if (error instanceof MayflyError) call.chargeRu += error.chargeRu
      end(call, shown.code)
    }
    const answer = errorAnswer(shown, errorContextOf(args, call))
    const writeConcernError = call?.writeConcernError
    return writeConcernError === undefined ? answer : { writeConcernError, ...answer }
  }
  const succeed = (answer: Fields): Fields => {
    end(call!, 0)
    const { writeConcernError } = call!
    if (writeConcernError !== undefined) return { writeConcernError, ...answer, ok: answer.ok ?? one }
    return answer.ok === undefined ? { ...answer, ok: one } : answer
  }
  try {
    args = readArguments(request)
    // A key that was taken away ends the rights of those who logged in with it.
    if (service.keys.all !== client.keysSeen) checkKey(service, client)
    const admitted = admit(service, client, request, args)
    let answer: MaybePromise<Fields>
    if (client.named === undefined) {
      // The account has no roles to check, nor has a client without a login.
      call = begin(service, client, admitted, undefined)
      answer = start(call)
    } else {
      answer = andThen(checkAccess(service, client, admitted), access => {
        call = begin(service, client, admitted, access)
        return start(call)
      })
    }
    return answer instanceof Promise ? answer.then(succeed, fail) : succeed(answer)
  } catch (error) {
    return fail(error)
  }
}

/** Commands that continue, end or show what has begun. They run also when there is no room for new work. */
const goesOnWithOldWork: ReadonlySet<string> = new Set([
  'getMore',
  'killCursors',
  'commitTransaction',
  'abortTransaction',
  'endSessions',
  'killSessions',
  'killAllSessions',
  'killOp',
  'currentOp',
  'serverStatus',
])

/**
 * Commands that read documents page by page. Commands that open cursors are not among them: they count on
 * the lease of the cursor.
 */
const searches: ReadonlySet<string> = new Set([
  'count',
  'distinct',
  'update',
  'delete',
  'findAndModify',
  'findandmodify',
  'explain',
])

function start(call: CommandCall): MaybePromise<Fields> {
  return call.service.failPoints.isAnyOn ? runWithFailPoints(call) : run(call)
}

function run(call: CommandCall): MaybePromise<Fields> {
  const { opened } = call.service.streams
  if (opened !== undefined && waitsForStreams.has(call.command.name)) return opened.then(() => runNow(call))
  return runNow(call)
}

function runNow(call: CommandCall): MaybePromise<Fields> {
  // The values of `let` are computed first, and a large filter is parsed, perhaps in another thread. Then
  // the command begins again. Commands of several statements parse the filter of each.
  const { args, command } = call
  const isLarge = args.bytes.length >= mongoFilterBytesAtOnce && withOneFilter.has(command.name)
  if (isLarge || args.has('let')) return withElsewhere(call, () => runOnce(call))
  return runOnce(call)
}

const withOneFilter: ReadonlySet<string> = new Set([
  'find',
  'count',
  'distinct',
  'explain',
  'findAndModify',
  'findandmodify',
])

function runOnce(call: CommandCall): MaybePromise<Fields> {
  if (call.isInTransaction) {
    enterTransaction(call)
    return runStatement(call)
  }
  return runCounted(call)
}

function runCounted(call: CommandCall): MaybePromise<Fields> {
  return searches.has(call.command.name) ? runOnLease(call) : call.command.run(call)
}

async function runOnLease(call: CommandCall): Promise<Fields> {
  using lease = call.client.share.hold('work')
  return await holding(lease, () => call.command.run(call))
}

/** A statement that fails ends its transaction. */
async function runStatement(call: CommandCall): Promise<Fields> {
  try {
    return await runCounted(call)
  } catch (error) {
    if (!endsTransaction(call) && !(error instanceof TooLongHere)) call.session?.transaction?.abort()
    throw error
  }
}

/** A command that a fail point stops has neither begun nor ended a transaction. */
function runWithFailPoints(call: CommandCall): MaybePromise<Fields> {
  const { failPoints } = call.service
  const delayed = failPoints.beforeCommand(call)
  const answer = delayed === undefined ? run(call) : delayed.then(() => run(call))
  return andThen(answer, each => failPoints.afterCommand(call, each))
}

/** What kind of command failed. The command itself may be malformed, so this never throws. */
function errorContextOf(args: Arguments | undefined, call: CommandCall | undefined): ErrorContext {
  const isInTransaction = args?.has('autocommit') ?? false
  return {
    isInTransaction,
    isRetryableWrite: !isInTransaction && (args?.has('txnNumber') ?? false),
    endsTransaction: args?.name === 'commitTransaction' || args?.name === 'abortTransaction',
    isOnStream: call?.operation.isOnStream === true || (args !== undefined && opensStream(args)),
  }
}

/** Whether a command that may not have run opens a change stream. */
function opensStream(args: Arguments): boolean {
  if (args.name !== 'aggregate') return false
  const stages = args.value('pipeline')
  return stages?.type === bsonType.array && isChangeStream(stages)
}

interface Admitted {
  readonly command: Command
  readonly args: Arguments
  readonly sequences: readonly DocumentSequence[]
  readonly database: string
  readonly readConcern: string | undefined
}

function admit(service: MongoService, client: Client, request: Request, args: Arguments): Admitted {
  const command = findCommand(args.name)
  if (command === undefined) {
    throw new CommandError('CommandNotFound', `no such command: '${args.name}'`)
  }
  const database = request.database ?? args.string('$db')
  if (database === undefined) throw new CommandError(40571, 'OP_MSG requests require a $db argument')
  if (!client.isLoggedIn && command.isPublic !== true) {
    throw requiresLogin(args)
  }
  if (command.isForAdmin === true && database !== 'admin') {
    throw new CommandError('Unauthorized', `${args.name} may only be run against the admin database.`)
  }
  if (client.isLoggedIn && command.isPublic !== true && !goesOnWithOldWork.has(args.name)) service.memory.checkRoom()
  checkFields(command, args, request.sequences)
  const readConcern = readConcernOf(args)
  checkStableApi(command, args)
  return { command, args, sequences: request.sequences, database, readConcern }
}

function checkKey({ keys, logins }: MongoService, client: Client): void {
  client.keysSeen = keys.all
  if (client.accountKey !== undefined && !logins.isValid(client.accountKey)) client.logOut()
}

/** A user who was removed meanwhile is logged out. */
function checkAccess(service: MongoService, client: Client, admitted: Admitted): MaybePromise<Access | undefined> {
  const { command, args } = admitted
  if (command.isPublic === true || command.isRefused === true) return undefined
  return andThen(authorize(service.users, client.named!, { ...admitted, command: command.name }), access => {
    if (access === undefined) {
      client.logOut()
      throw requiresLogin(args)
    }
    if (client.hasGone) throw new CommandError('Interrupted', 'the client has gone')
    return access
  })
}

function requiresLogin(args: Arguments): CommandError {
  return new CommandError('Unauthorized', `Command ${args.name} requires authentication`)
}

function begin(
  service: MongoService,
  client: Client,
  { command, args, sequences, database, readConcern }: Admitted,
  access: Access | undefined,
): CommandCall {
  const lsid = client.isLoggedIn ? args.document('lsid') : undefined
  const session = lsid === undefined ? undefined : service.sessions.use(lsid, client.owner)
  const { txnNumber, isInTransaction } = readTransactionFields(command, args, session)
  const snapshot = takesSnapshot(args, readConcern) && !isInTransaction ? service.snapshots.take(args) : undefined
  const writeConcernError = writeConcernErrorOf(command, args)
  const maxTimeMs = args.name === 'getMore' ? undefined : args.count('maxTimeMS')
  const operation = service.operations.begin({ args, database, client, lsid })
  operation.limit(maxTimeMs, readingCommands.has(args.name) && !writes(args))
  return {
    service,
    client,
    command,
    args,
    sequences,
    database,
    operation,
    session,
    access,
    txnNumber,
    isInTransaction,
    snapshot,
    writeConcernError,
    chargeRu: 0,
    documentsRead: 0,
  }
}

/** Commands whose work is ended after a minute if the client has set no limit of its own. */
const readingCommands: ReadonlySet<string> = new Set(['aggregate', 'count', 'distinct', 'explain', 'find', 'getMore'])

/** Whether it is a pipeline that writes. */
function writes(args: Arguments): boolean {
  const stages = args.name === 'aggregate' ? args.value('pipeline') : undefined
  const last = stages?.type === bsonType.array ? stages.elements.at(-1) : undefined
  const name = last?.type === bsonType.document ? last.fields[0]?.[0] : undefined
  return name === '$out' || name === '$merge'
}

/** Old drivers wrap their greeting: `{$query: {ismaster: 1}, $readPreference: …}`. */
function readArguments({ body, isChecked = false }: Request): Arguments {
  const args = Arguments.ofMessage(body, isChecked)
  if (args.name !== '$query' && args.name !== 'query') return args
  const { raw } = args.requiredDocument(args.name)
  return new Arguments(raw!.bytes, raw!.start)
}

const readConcerns: ReadonlySet<string> = new Set(['local', 'available', 'majority', 'linearizable', 'snapshot'])

/** There is one copy of the data, so all read concerns but `snapshot` mean the same. */
function readConcernOf(args: Arguments): string | undefined {
  const level = args.within('readConcern')?.string('level')
  if (level !== undefined && !readConcerns.has(level)) {
    throw new CommandError(
      'BadValue',
      `Enumeration value '${level}' for field 'readConcern.level' is not a valid value.`,
    )
  }
  return level
}

/** Some drivers repeat the read concern in getMore. A cursor goes on with its own. */
function takesSnapshot(args: Arguments, readConcern: string | undefined): boolean {
  return readConcern === 'snapshot' && args.name !== 'getMore'
}

const knownFields = new Map<Command, ReadonlySet<string>>()

function checkFields(command: Command, args: Arguments, sequences: readonly DocumentSequence[]): void {
  for (const { name } of sequences) {
    if (args.has(name)) throw new CommandError(40433, `Duplicate field between body and document sequence ${name}`)
  }
  if (command.fields === undefined) return
  let known = knownFields.get(command)
  if (known === undefined) {
    known = new Set([command.name, ...command.fields, ...genericFields])
    knownFields.set(command, known)
  }
  // The first field is the command itself, under any of its names.
  args.refuseUnknown(known, 1)
  for (const { name } of sequences) {
    if (!known.has(name)) throw new CommandError(40415, `BSON field '${args.name}.${name}' is an unknown field.`)
  }
}

function end(call: CommandCall, code: number): void {
  const { service, client, session, command, operation, chargeRu } = call
  service.operations.end(operation)
  const { elapsedMs: ms } = operation
  service.onAnswer({ protocol: 'mongo', operation: command.name, status: code, chargeRu, ms, target: call.database })
  // A free command of a driver must not hide the user's last one.
  if (chargeRu === 0 && !isOnDocuments(call)) return
  const last = { command: command.name, number: operation.id, chargeRu, elapsedMs: operation.elapsedMs }
  client.last = last
  if (session !== undefined) session.last = last
}

/**
 * Whether `getLastRequestStatistics` should report this command. Drivers and shells send commands of their
 * own: they end cursors and sessions, list names, and mongosh looks up a collection of `admin` while its
 * user types. These must not hide the cost of the user's last command.
 */
function isOnDocuments({ command, database }: CommandCall): boolean {
  return database !== 'admin' && documentCommands.has(command)
}
