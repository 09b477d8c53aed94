/**
 * What a command computes from single documents, in another thread if it takes long.
 *
 * The thread of the requests tries first. If a filter, a projection, an update or a rule takes more than a
 * few milliseconds for a document, it is aborted with `TooLongHere`; a caller that can wait lets the query
 * threads compute the result, notes it for this command, and begins again. So a write that decides inside of
 * a transaction of the store decides at once, and finds the noted result if the document is still the same.
 */

import { hash } from 'node:crypto'
import { RequestError } from '../../base/error.ts'
import { HoldWatch, isWatched, WorkTooLong, watched } from '../../base/work.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { type EvaluationInputs, type EvaluationKind, encodeInputs } from '../../mql/evaluation.ts'
import type { CommandVariables } from '../../mql/expressions/core/scope.ts'
import { evaluationStatement } from '../../mql/prepare.ts'
import type { MqlStatement } from '../../query/statement.ts'
import { namespaceOf } from '../requests/namespace.ts'
import type { CommandCall } from './command.ts'
import type { Operation } from './operations.ts'

/** How long one computation may hold the thread of the requests. */
const holdMsMax = 4

/** How often a command begins again because another document needs another thread. */
const documentsMax = 100_000

interface Job {
  readonly key: string
  readonly statement: MqlStatement
  readonly document: Uint8Array
}

/** A computation must be done in another thread. It is never sent to a client. */
export class TooLongHere extends RequestError {
  readonly job: Job

  constructor(job: Job) {
    super('unsupported', 'A computation takes too long here.')
    this.job = job
  }
}

/** By operation: parts of a command may have a call of their own. */
const noted = new WeakMap<Operation, Map<string, BsonDocument>>()

export interface Computation<Result> {
  readonly of: EvaluationKind
  readonly inputs: EvaluationInputs
  readonly variables: () => CommandVariables
  readonly document: Uint8Array
  /** What the result depends on within this command. By default, the inputs and the document. */
  readonly key?: string
  readonly here: () => Result
  /** The result that another thread has sent. */
  readonly read: (result: BsonDocument) => Result
}

/** Computes it here, or takes the result that was noted. Throws `TooLongHere`. */
export function computed<Result>(call: CommandCall, computation: Computation<Result>): Result {
  const { here } = computation
  // Part of larger work, which can be moved as a whole.
  if (isWatched()) return here()
  const known = noted.get(call.operation)
  const result = known?.get(keyOf(computation))
  if (result !== undefined) return computation.read(result)
  try {
    return watched(new HoldWatch(holdMsMax), here)
  } catch (error) {
    if (error instanceof WorkTooLong) throw new TooLongHere(jobOf(call, computation))
    throw error
  }
}

function keyOf({ of, inputs, document, key }: Computation<unknown>): string {
  if (key !== undefined) return key
  // The moment of an update that is done elsewhere is that of its first attempt.
  const { now: _, ...lasting } = inputs
  return [of, hash('sha256', encodeInputs(lasting)), hash('sha256', document)].join(' ')
}

function jobOf(call: CommandCall, computation: Computation<unknown>): Job {
  const { of, inputs, variables, document } = computation
  return {
    key: keyOf(computation),
    document,
    statement: evaluationStatement({ of, inputs: encodeInputs(inputs), namespace: namespaceOf(call) }, variables()),
  }
}

/** Does work that may throw `TooLongHere`, and begins again when the missing result is there. */
export async function withElsewhere<T>(call: CommandCall, work: () => T | Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof TooLongHere) || attempt === documentsMax) throw error
      await computeElsewhere(call, error)
    }
  }
}

/** Notes the result that is missing. */
export async function computeElsewhere(call: CommandCall, { job }: TooLongHere): Promise<void> {
  const { key, statement, document } = job
  const { engine } = call.service
  const [row] = await call.operation.part(signal => engine.evaluate(statement, [document], signal))
  call.operation.check()
  const known = noted.get(call.operation) ?? new Map<string, BsonDocument>()
  noted.set(call.operation, known.set(key, BsonDocument.view(row as Uint8Array)))
}
