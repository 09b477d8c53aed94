/**
 * The errors of the statements of one command. Each is encoded when it comes: there may be 100,000, and as
 * objects they would take long to encode, all at the end.
 */

import { MayflyError } from '../../base/error.ts'
import { stepsInHeavyTurns } from '../../base/heavy-turns.ts'
import { MiB } from '../../base/limits.ts'
import type { Steps } from '../../base/steps.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray } from '../../document/bson/value.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import { CommandError } from '../answers/command-error.ts'
import { asMongoError, isInterruption } from '../answers/error-map.ts'
import { type Fields, writeDocument } from '../answers/fields.ts'
import type { CommandCall } from '../service/command.ts'
import { TooLongHere } from '../service/elsewhere.ts'
import { AlreadyDone } from '../session/retry-record.ts'

/**
 * As in MongoDB: when the texts of two errors or more are longer than this together, further texts are left
 * empty.
 */
const mongoErrorTextsBytesMax = 1 * MiB

/** Errors that are copied in one step. */
const errorsPerStep = 1000

/** Whether the error belongs to one statement and not to the whole command. */
export function isStatementError(error: unknown): error is MayflyError {
  if (error instanceof MongoError && isInterruption(error.code)) return false
  if (error instanceof AlreadyDone || error instanceof TooLongHere) return false
  return error instanceof MayflyError && error.kind !== 'internal'
}

export class StatementErrors {
  readonly #call: CommandCall
  readonly #writer = new BsonWriter()
  /** By the order in which they came: the number of the statement, and where the error begins and ends. */
  readonly #places: { readonly index: number; readonly start: number; readonly end: number }[] = []
  #textBytes = 0
  #first: unknown
  /** It fails the whole command. */
  #unexpected: unknown

  constructor(call: CommandCall) {
    this.#call = call
  }

  get isEmpty(): boolean {
    return this.#places.length === 0
  }

  add(index: number, error: unknown): void {
    if (!isStatementError(error)) this.#unexpected ??= error
    if (this.isEmpty) this.#first = error
    const shown = asMongoError(error)
    const isTextLeftOut = this.#places.length >= 2 && this.#textBytes > mongoErrorTextsBytesMax
    this.#textBytes += shown.message.length
    const start = this.#writer.length
    writeDocument(this.#writer, {
      index,
      code: shown.code,
      errmsg: isTextLeftOut ? '' : shown.message,
      ...(shown instanceof CommandError ? shown.fields : {}),
    })
    this.#places.push({ index, start, end: this.#writer.length })
  }

  /** `writeErrors`, or nothing. In a transaction an error ends the command and the transaction. */
  async fields(): Promise<Fields> {
    if (this.isEmpty) return {}
    if (this.#call.isInTransaction) {
      this.#call.session?.transaction?.abort()
      throw this.#first
    }
    if (this.#unexpected !== undefined) throw this.#unexpected
    return { writeErrors: await stepsInHeavyTurns(this.#inOrder(), this.#call.client.share) }
  }

  *#inOrder(): Steps<BsonArray> {
    const bytes = this.#writer.bytes()
    const writer = new BsonWriter(bytes.length + 16 * this.#places.length)
    const array = writer.open()
    for (const [at, { start, end }] of this.#places.sort((a, b) => a.index - b.index).entries()) {
      writer.name(bsonType.document, String(at))
      writer.raw(bytes, start, end)
      if (at % errorsPerStep === errorsPerStep - 1) yield
    }
    writer.close(array)
    return BsonArray.view(writer.bytes(), 0)
  }
}
