/**
 * Fail points: make commands fail on purpose, for the test suites of drivers. They work only if the server
 * was started with `--enable-test-commands`.
 *
 * Names, fields and texts are MongoDB's (`util/fail_point.cpp` and `commands.cpp` of mongodb/mongo). A fail
 * point that is not met costs a command one look at `isAnyOn`.
 */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { CommandError, type ErrorLabel } from '../answers/command-error.ts'
import { isRetryableCode } from '../answers/error-map.ts'
import type { Fields } from '../answers/fields.ts'
import { type Arguments, numberOf } from '../requests/arguments.ts'

/** Cut the connection instead of answering. */
export class CutConnection extends Error {
  override readonly name = 'CutConnection'
}

/** What a fail point looks at in a command. */
interface WatchedCall {
  readonly command: { readonly name: string }
  readonly args: Arguments
  readonly database: string
  readonly client: { readonly applicationName: string | undefined }
  readonly operation: { readonly signal: AbortSignal }
  readonly session: { readonly key: string } | undefined
  readonly txnNumber: bigint | undefined
  readonly isInTransaction: boolean
}

const names = [
  'failCommand',
  'failGetMoreAfterCursorCheckout',
  'maxTimeAlwaysTimeOut',
  'onPrimaryTransactionalWrite',
] as const
type FailPointName = (typeof names)[number]

/** Commands whose answers can have a `writeConcernError`. */
const commandsWithWriteConcern: ReadonlySet<string> = new Set([
  'abortTransaction',
  'aggregate',
  'collMod',
  'commitTransaction',
  'create',
  'createIndexes',
  'delete',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'findAndModify',
  'findandmodify',
  'insert',
  'renameCollection',
  'update',
])

interface Mode {
  /** How many times it still fails a command. */
  times: number
  /** How many commands pass before it starts. */
  skip: number
  readonly probability: number
}

const off: Mode = { times: 0, skip: 0, probability: 0 }

class FailPoint {
  mode = off
  data: Arguments | undefined
  timesEntered = 0

  /** Whether it fails this command. Only commands that it applies to use up its mode. */
  enter(applies: (data: Arguments | undefined) => boolean): boolean {
    const { mode } = this
    if (mode.times <= 0 || !applies(this.data)) return false
    if (mode.skip > 0) {
      mode.skip--
      return false
    }
    if (mode.probability < 1 && Math.random() >= mode.probability) return false
    mode.times--
    this.timesEntered++
    return true
  }
}

export class FailPoints {
  readonly #points = new Map(names.map(name => [name, new FailPoint()]))
  /** The operations whose answer gets lost. */
  readonly #cut = new WeakSet<object>()
  #isAnyOn = false

  get isAnyOn(): boolean {
    return this.#isAnyOn
  }

  /** Answers how often the fail point has struck so far. */
  configure(args: Arguments): number {
    const name = args.requiredString('configureFailPoint')
    const point = this.#points.get(name as FailPointName)
    if (point === undefined) throw new CommandError('FailPointSetFailed', `${name} not found`)
    const mode = readMode(args.value('mode'))
    const data = args.within('data')
    if (name === 'failCommand' && data?.flag('blockConnection') === true) readBlockMs(data)
    point.mode = mode
    point.data = data
    this.#isAnyOn = [...this.#points.values()].some(each => each.mode.times > 0)
    return point.timesEntered
  }

  /** Called before a command runs. */
  beforeCommand(call: WatchedCall): Promise<void> | undefined {
    const point = this.#point('failCommand')
    const isStruck = point.enter(
      data =>
        data !== undefined &&
        isAbout(data, call) &&
        (data.flag('closeConnection') || data.flag('blockConnection') || data.number('errorCode') !== undefined),
    )
    if (isStruck) {
      const data = point.data!
      if (!data.flag('blockConnection')) failCommand(data)
      else return blocked(call, readBlockMs(data)).then(() => failCommand(data))
    }
    if ((call.args.count('maxTimeMS') ?? 0) > 0 && call.command.name !== 'getMore') this.#timeOut()
    return undefined
  }

  /** Called with the answer of a command that succeeded. */
  afterCommand(call: WatchedCall, answer: Fields): Fields {
    if (this.#cut.has(call.operation)) {
      throw new CutConnection("the fail point 'onPrimaryTransactionalWrite' cut the connection")
    }
    const point = this.#point('failCommand')
    const isStruck = point.enter(
      data =>
        data?.document('writeConcernError') !== undefined &&
        commandsWithWriteConcern.has(call.command.name) &&
        isAbout(data, call),
    )
    if (!isStruck) return answer
    const data = point.data!
    const isRetryable =
      isRetryableCommand(call) && isRetryableCode(data.within('writeConcernError')?.number('code') ?? 0)
    const labels = labelsOf(data) ?? (isRetryable ? ['RetryableWriteError'] : [])
    return {
      ...answer,
      writeConcernError: data.document('writeConcernError'),
      errorLabels: labels.length === 0 ? undefined : labels,
    }
  }

  /** Called when getMore has found its cursor. */
  onGetMore(call: WatchedCall, isTimeLimited: boolean): void {
    const point = this.#point('failGetMoreAfterCursorCheckout')
    if (point.enter(data => data === undefined || isFrom(data, call))) {
      throw new CommandError(
        point.data?.number('errorCode') ?? 0,
        "Hit the 'failGetMoreAfterCursorCheckout' failpoint",
        {
          labels: point.data && labelsOf(point.data),
        },
      )
    }
    if (isTimeLimited) this.#timeOut()
  }

  /** Called before a retryable write is stored. Returns what must be done when it is stored. */
  onRetryableWrite({ operation, session, txnNumber }: WatchedCall): (() => void) | undefined {
    const point = this.#point('onPrimaryTransactionalWrite')
    if (!point.enter(() => true)) return undefined
    const isCut = point.data?.boolean('closeConnection') ?? true
    const code = point.data?.number('failBeforeCommitExceptionCode')
    // The command goes on with its other documents: only its answer gets lost.
    if (code === undefined) return isCut ? () => this.#cut.add(operation) : undefined
    if (isCut) throw new CutConnection("the fail point 'onPrimaryTransactionalWrite' cut the connection")
    throw new CommandError(
      code,
      `Failing write for ${session?.key}:${txnNumber} due to failpoint. The write must not be reflected.`,
    )
  }

  #timeOut(): void {
    if (this.#point('maxTimeAlwaysTimeOut').enter(() => true)) {
      throw new CommandError('MaxTimeMSExpired', 'operation exceeded time limit')
    }
  }

  #point(name: FailPointName): FailPoint {
    return this.#points.get(name)!
  }
}

/** Drivers repeat retryable writes, and the end of a transaction. */
function isRetryableCommand({ command, txnNumber, isInTransaction }: WatchedCall): boolean {
  if (isInTransaction) return command.name === 'commitTransaction' || command.name === 'abortTransaction'
  return txnNumber !== undefined
}

/** Whether `failCommand` is about this command of this client. */
function isAbout(data: Arguments, call: WatchedCall): boolean {
  // Otherwise nobody could switch it off again.
  if (call.command.name === 'configureFailPoint' || !isFrom(data, call)) return false
  if (data.has('failAllCommands')) return true
  // Other names of a command differ in upper case only: ismaster, findandmodify.
  const name = call.command.name.toLowerCase()
  return data.array('failCommands')?.elements.some(each => textOf(each)?.toLowerCase() === name) ?? false
}

/** `failInternalCommands` and `failLocalClients` are about other members of a cluster. There are none. */
function isFrom(data: Arguments, { args, client, command, database }: WatchedCall): boolean {
  const appName = data.string('appName')
  // The greeting names the application, and may be meant itself.
  if (appName !== undefined && appName !== (client.applicationName ?? applicationNameOf(args))) return false
  const namespace = data.string('namespace')
  const collection = args.value(command.name === 'getMore' ? 'collection' : args.name)
  return namespace === undefined || namespace === `${database}.${collection && textOf(collection)}`
}

/** The name in the greeting: `client: {application: {name: …}}`. */
export function applicationNameOf(greeting: Arguments): string | undefined {
  return greeting.within('client')?.within('application')?.string('name')
}

function failCommand(data: Arguments): undefined {
  if (data.flag('closeConnection')) throw new CutConnection('a fail point cut the connection')
  const code = data.number('errorCode')
  if (code === undefined) return undefined
  throw new CommandError(code, "Failing command via 'failCommand' failpoint", { onlyLabels: labelsOf(data) })
}

/** `maxTimeMS`, `killOp` and a client that goes away end the wait. */
function blocked({ operation }: WatchedCall, ms: number): Promise<void> {
  const { signal } = operation
  return new Promise((resolve, reject) => {
    const stop = () => {
      machine.clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = machine.setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    timer.unref()
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

function readBlockMs(data: Arguments): number {
  const ms = data.number('blockTimeMS')
  if (ms === undefined) {
    throw new CommandError('InvalidOptions', "must specify 'blockTimeMS' when 'blockConnection' is true")
  }
  if (!(ms >= 0)) throw new CommandError('InvalidOptions', "'blockTimeMS' must be non-negative")
  return Math.min(ms, timesMax)
}

/** The labels that the answer has instead of MongoDB's own. An empty list means none at all. */
function labelsOf(data: Arguments): ErrorLabel[] | undefined {
  return data.array('errorLabels')?.elements.flatMap(each => textOf(each) ?? []) as ErrorLabel[] | undefined
}

const timesMax = 2 ** 31 - 1

function readMode(mode: Value | undefined): Mode {
  const always = Number.POSITIVE_INFINITY
  if (mode === undefined) {
    throw new CommandError('IllegalOperation', "When setting a failpoint, you must supply a 'mode'")
  }
  if (mode.type === bsonType.string) {
    if (mode.value === 'off') return off
    if (mode.value === 'alwaysOn') return { times: always, skip: 0, probability: 1 }
    throw new CommandError('BadValue', `unknown mode: ${mode.value}`)
  }
  if (mode.type !== bsonType.document) {
    throw new CommandError('TypeMismatch', "'mode' must be a string or JSON object")
  }
  const [times, skip] = [mode.get('times'), mode.get('skip')]
  // MongoDB counts down before it looks, so 0 times is once.
  if (times !== undefined) return { times: Math.max(1, countOf('times', times)), skip: 0, probability: 1 }
  if (skip !== undefined) return { times: always, skip: countOf('skip', skip), probability: 1 }
  const chance = mode.get('activationProbability')
  if (chance === undefined) {
    throw new CommandError(
      'BadValue',
      "'mode' must be one of 'off', 'alwaysOn', '{times:n}', '{skip:n}' or '{activationProbability:p}'",
    )
  }
  const probability = numberOf(chance)
  if (probability === undefined) {
    throw new CommandError(
      'TypeMismatch',
      "the 'activationProbability' option to 'mode' must be a double between 0 and 1",
    )
  }
  if (!(probability >= 0 && probability <= 1)) {
    throw new CommandError('BadValue', `activationProbability must be between 0.0 and 1.0; found ${probability}`)
  }
  return { times: always, skip: 0, probability }
}

function countOf(name: string, value: Value): number {
  const count = numberOf(value)
  if (count === undefined || !Number.isInteger(count)) {
    throw new CommandError('TypeMismatch', `"${name}" had the wrong type. Expected integer`)
  }
  if (count < 0) throw new CommandError('BadValue', `'${name}' option to 'mode' must be positive`)
  if (count > timesMax) throw new CommandError('BadValue', `'${name}' option to 'mode' is too large`)
  return count
}

function textOf(value: Value): string | undefined {
  return value.type === bsonType.string ? value.value : undefined
}
