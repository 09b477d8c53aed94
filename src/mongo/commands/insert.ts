/** insert: stores new documents, many in one transaction of the store. */

import { heavyTurnFor } from '../../base/heavy-turns.ts'
import { bsonStepsBytesMin } from '../../document/bson/validate.ts'
import { CommandError } from '../answers/command-error.ts'
import { errorCodes } from '../answers/error-codes.ts'
import type { Fields } from '../answers/fields.ts'
import type { Collection } from '../collections/collections.ts'
import { takenIdError } from '../collections/duplicate-key.ts'
import { largeNewDocument, type NewDocument, newDocument } from '../collections/new-document.ts'
import type { DocumentList } from '../requests/document-list.ts'
import { namespaceOf } from '../requests/namespace.ts'
import { findOrCreateCallCollection } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { TooLongHere, withElsewhere } from '../service/elsewhere.ts'
import type { RetryRecord, StatementResult } from '../session/retry-record.ts'
import { mongoWriteBytesMax, mongoWriteStepsMax } from '../write/document-updates.ts'
import {
  type DocumentWrite,
  type Refusal,
  type ResultsOf,
  validationRefusal,
  writeDocuments,
} from '../write/document-writes.ts'
import { isStatementError, StatementErrors } from '../write/statement-errors.ts'
import { inTurn, retryRecord, statementDocuments, statementNumbers } from '../write/write-command.ts'

interface Insertion extends DocumentWrite {
  readonly index: number
  readonly document: Uint8Array
  /** The `_id` is taken. Known after the write was decided. */
  isTaken: boolean
}

/** Documents that are refused in one turn of the event loop: a few milliseconds. */
const refusedInTurnMax = 200

async function insert(call: CommandCall): Promise<Fields> {
  const namespace = namespaceOf(call)
  const documents = statementDocuments(call, 'documents')
  const numberOf = statementNumbers(call, documents.length)
  return inTurn(call, async () => {
    let collection: Collection
    try {
      collection = await findOrCreateCallCollection(call, namespace)
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== errorCodes.CommandNotSupportedOnView) throw error
      return refusedByView(call, documents, error)
    }
    const record = await retryRecord(call)
    return new Insertions(call, collection, record, numberOf).run(documents)
  })
}

/** As in MongoDB this is an error of the statements, not of the command. */
async function refusedByView(call: CommandCall, documents: DocumentList, error: CommandError): Promise<Fields> {
  const isOrdered = call.args.boolean('ordered') ?? true
  const errors = new StatementErrors(call)
  for (let index = 0; index < (isOrdered ? 1 : documents.length); index++) errors.add(index, error)
  return { n: 0, ...(await errors.fields()) }
}

class Insertions {
  readonly #call: CommandCall
  readonly #collection: Collection
  readonly #record: RetryRecord | undefined
  readonly #numberOf: (index: number) => number
  readonly #isOrdered: boolean
  readonly #errors: StatementErrors
  readonly #retried: number[] = []
  #inserted = 0

  constructor(
    call: CommandCall,
    collection: Collection,
    record: RetryRecord | undefined,
    numberOf: (index: number) => number,
  ) {
    this.#call = call
    this.#errors = new StatementErrors(call)
    this.#collection = collection
    this.#record = record
    this.#numberOf = numberOf
    this.#isOrdered = call.args.boolean('ordered') ?? true
  }

  async run(documents: DocumentList): Promise<Fields> {
    let group: Insertion[] = []
    let bytes = 0
    let refused = 0
    for (const [index, given] of documents.entries()) {
      if (this.#isOver) break
      const large = given.length < bsonStepsBytesMin ? undefined : await this.#checkLarge(index, given)
      const insertion =
        this.#collection.validation === undefined
          ? this.#prepare(index, given, large)
          : await withElsewhere(this.#call, () => this.#prepare(index, given, large))
      if (insertion === undefined) {
        if (this.#isOver) break
        refused++
        // Nothing is written meanwhile, so others would not have a turn.
        if (refused % refusedInTurnMax === 0) {
          await heavyTurnFor(() => undefined, this.#call.client.share)
          this.#call.operation.check()
        }
        continue
      }
      group.push(insertion)
      bytes += insertion.bytes
      if (group.length >= mongoWriteStepsMax || bytes >= mongoWriteBytesMax) {
        await this.#write(group)
        this.#call.operation.check()
        group = []
        bytes = 0
      }
    }
    // Documents before the error of an ordered command must still be written.
    await this.#write(group)
    return {
      n: this.#inserted,
      ...(await this.#errors.fields()),
      retriedStmtIds: this.#retried.length > 0 ? this.#retried : undefined,
    }
  }

  get #isOver(): boolean {
    return this.#isOrdered && !this.#errors.isEmpty
  }

  /** Undefined: the document is wrong, or was inserted before. `#prepare` finds that out again. */
  async #checkLarge(index: number, given: Uint8Array): Promise<NewDocument | undefined> {
    if (this.#record?.find(this.#numberOf(index)) !== undefined) return undefined
    try {
      return await largeNewDocument(given, this.#call.client.share)
    } catch (error) {
      if (!isStatementError(error)) throw error
      return undefined
    }
  }

  /** Undefined: nothing to do, because it was done before or cannot be done. */
  #prepare(index: number, given: Uint8Array, checked: NewDocument | undefined): Insertion | undefined {
    const number = this.#numberOf(index)
    if (this.#record?.find(number) !== undefined) {
      this.#retried.push(number)
      this.#inserted++
      return undefined
    }
    try {
      const { bytes: document, id } = checked ?? newDocument(given)
      // Known at once, so that a refused document does not take others of its group with it.
      const refusal = validationRefusal(this.#call, this.#collection, document, undefined)
      if (refusal !== undefined) throw refusal
      const insertion: Insertion = {
        index,
        document,
        key: this.#collection.keyOf(id, document),
        bytes: document.length,
        isTaken: false,
        // An `_id` is hardly ever taken, and an ordered insert stops there. An unordered one must know all
        // taken ids at once.
        isBlind: this.#isOrdered,
        keeps: this.#collection.validation,
        decide: found => {
          insertion.isTaken = found !== undefined
          return found === undefined ? { kind: 'put', document } : undefined
        },
      }
      return insertion
    } catch (error) {
      if (error instanceof TooLongHere) throw error
      this.#errors.add(index, error)
      return undefined
    }
  }

  /**
   * Writes a group in one transaction. If a document is refused, the documents before it are written first.
   */
  async #write(group: readonly Insertion[]): Promise<void> {
    if (group.length === 0) return
    const results = this.#record === undefined ? undefined : () => this.#resultsOf(group)
    const refusal = await this.#attempt(group, results)
    if (refusal === 'failed') return
    if (refusal !== undefined) {
      await this.#write(group.slice(0, refusal.index))
      if (this.#isOver) return
      this.#errors.add(group[refusal.index]!.index, refusal.error)
      if (!this.#isOrdered) await this.#write(group.slice(refusal.index + 1))
      return
    }
    for (const { index, isTaken, document } of group) {
      if (isTaken) this.#errors.add(index, takenIdError(this.#collection, document))
      else this.#inserted++
    }
  }

  /** If there is no capacity for a group, the other groups are still tried. */
  async #attempt(group: readonly Insertion[], results: ResultsOf | undefined): Promise<Refusal | undefined | 'failed'> {
    try {
      return await writeDocuments(this.#call, this.#collection, group, results)
    } catch (error) {
      if (!isStatementError(error)) throw error
      const concerned = this.#isOrdered ? group.slice(0, 1) : group
      for (const { index } of concerned) this.#errors.add(index, error)
      return 'failed'
    }
  }

  #resultsOf(group: readonly Insertion[]): ReadonlyMap<number, StatementResult> {
    const results = new Map<number, StatementResult>()
    for (const { index, isTaken } of group) {
      if (!isTaken) results.set(this.#numberOf(index), inserted)
    }
    return results
  }
}

const inserted: StatementResult = { n: 1 }

export const insertCommands: readonly Command[] = [
  {
    name: 'insert',
    fields: ['documents', 'ordered', 'bypassDocumentValidation', 'maxTimeMS'],
    isTransactional: true,
    isRetryable: true,
    run: insert,
  },
]
