/**
 * The results of a session's retryable writes, stored together with the writes.
 *
 * A driver that lost its connection repeats a write with the same number. The record tells what was done
 * under that number, so the write is answered and not done twice. The record is stored in the transaction of
 * the documents, so a crash cannot separate them. Each session has one record; a new number replaces the old
 * one. A record lives as long as its session.
 */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Engine } from '../../engine/engine.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { ItemChange, Step } from '../../store/writing.ts'
import { CommandError } from '../answers/command-error.ts'

/** How long an unused session lives. `hello` tells it to drivers. */
export const mongoSessionMinutes = 30

/** The result of one statement. Documents are BSON in base64. */
export interface StatementResult {
  readonly n: number
  readonly nModified?: number
  /** `{_id: …}` of the document that an upsert inserted. */
  readonly upserted?: string
  /** What a findAndModify did, and the document that it returned. */
  readonly modified?: ModifiedDocument
}

/** The answer of a findAndModify beside the counts. */
export interface ModifiedDocument {
  readonly kind: 'insert' | 'update' | 'delete'
  readonly namespace: string
  /** The number of the container. Its name may be given to another one. */
  readonly container: number
  /** Absent: it returned none, as an upsert that is asked for the document before. */
  readonly value?: string
  readonly isAfter?: boolean
  /** The life of the returned document: a dead one is not returned again. */
  readonly ts?: number
  readonly deadline?: number | null
}

/** The stored form. */
interface StoredRecord {
  readonly txnNumber: string
  /** The transaction with this number is committed. */
  readonly isCommitted?: boolean
  /** Ranges of statements, both ends included, whose result is just `n: 1`. */
  readonly simple: readonly (readonly [from: number, to: number])[]
  readonly others?: Readonly<Record<string, StatementResult>>
}

export class RetryRecord {
  readonly txnNumber: bigint
  isCommitted = false
  readonly #simple: [from: number, to: number][] = []
  readonly #others = new Map<number, StatementResult>()
  #text: string | undefined

  constructor(txnNumber: bigint) {
    this.txnNumber = txnNumber
  }

  find(statement: number): StatementResult | undefined {
    const isSimple = this.#simple.some(([from, to]) => from <= statement && statement <= to)
    return isSimple ? { n: 1 } : this.#others.get(statement)
  }

  /** The record with these results added. */
  with(results: ReadonlyMap<number, StatementResult>): RetryRecord {
    const made = this.copy()
    for (const [statement, result] of results) made.#add(statement, result)
    return made
  }

  copy(): RetryRecord {
    const made = new RetryRecord(this.txnNumber)
    made.isCommitted = this.isCommitted
    for (const [from, to] of this.#simple) made.#simple.push([from, to])
    for (const [statement, result] of this.#others) made.#others.set(statement, result)
    return made
  }

  #add(statement: number, result: StatementResult): void {
    const isSimple = result.n === 1 && Object.keys(result).length === 1
    const last = this.#simple.at(-1)
    if (!isSimple) this.#others.set(statement, result)
    else if (last !== undefined && last[1] === statement - 1) last[1] = statement
    else this.#simple.push([statement, statement])
  }

  /** The stored form. A record that is stored does not change any more. */
  get text(): string {
    this.#text ??= JSON.stringify({
      txnNumber: String(this.txnNumber),
      ...(this.isCommitted && { isCommitted: true }),
      simple: this.#simple,
      ...(this.#others.size > 0 && { others: Object.fromEntries(this.#others) }),
    } satisfies StoredRecord)
    return this.#text
  }

  static of(text: string): RetryRecord {
    const { txnNumber, isCommitted, simple, others = {} }: StoredRecord = JSON.parse(text)
    const record = new RetryRecord(BigInt(txnNumber))
    record.isCommitted = isCommitted === true
    for (const [from, to] of simple) record.#simple.push([from, to])
    for (const [statement, result] of Object.entries(others)) record.#others.set(Number(statement), result)
    record.#text = text
    return record
  }
}

function recordContainer(engine: Engine): MaybePromise<ContainerRecord> {
  return engine.systemItems.container('mongo-sessions', mongoSessionMinutes * 60)
}

/** The key is short: the fewer pages the records of all sessions take, the less a commit has to write. */
function recordKey(container: ContainerRecord, session: string): ItemKey {
  return itemKey(container, [session], 'record')
}

/** Reads the stored record of a session, if there is one. */
export async function readRecord(engine: Engine, session: string): Promise<RetryRecord | undefined> {
  const container = await recordContainer(engine)
  const item = await engine.systemItems.find(container, recordKey(container, session))
  return item === undefined ? undefined : RetryRecord.of(item.body as string)
}

/** Another server has already done this write under the same number. */
export class AlreadyDone extends CommandError {
  constructor() {
    super('WriteConflict', 'The statement was carried out elsewhere meanwhile')
  }
}

/** A session, as far as its record is concerned. */
interface Recorded {
  readonly key: string
  /** The record that is expected to be stored. */
  readonly stored: RetryRecord | undefined
  /** Where it is stored. Kept because every retryable write wants to know. */
  recordKey: ItemKey | undefined
}

/** The step that stores a record together with its writes. */
export function recordStep(engine: Engine, session: Recorded, record: () => RetryRecord): MaybePromise<Step> {
  return andThen(recordContainer(engine), container => {
    session.recordKey ??= recordKey(container, session.key)
    const { recordKey: key, stored } = session
    return {
      container,
      key,
      decide: (found): ItemChange => {
        if (found !== undefined && found.body !== stored?.text) throw new AlreadyDone()
        return { kind: 'upsert', draft: { texts: [record().text], stamps: [] }, ttl: undefined }
      },
    }
  })
}
