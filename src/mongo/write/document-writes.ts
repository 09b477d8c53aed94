/**
 * Writes a batch of documents, all or none: to the store, or to the transaction of the command.
 *
 * Each write decides from the document that is there at the moment of writing, not from what a search found
 * earlier.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { Body } from '../../document/body.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { bsonBytesMax } from '../../document/bson/writer.ts'
import { bsonIndexKeys } from '../../engine/index-keys.ts'
import type { Validator } from '../../mql/validation/validator.ts'
import type { ItemKey, StoredItem } from '../../store/item.ts'
import type { ItemChange, Step, TransactAnswer } from '../../store/writing.ts'
import { deleteRu, writeRu } from '../../units/cost.ts'
import { CommandError } from '../answers/command-error.ts'
import { type Collection, collectionOf } from '../collections/collections.ts'
import { lifeOf } from '../collections/document-life.ts'
import { takenIdError } from '../collections/duplicate-key.ts'
import { isPlanned } from '../collections/planned-collection.ts'
import { invalidDocument, type Validation } from '../collections/validation.ts'
import { ChangeTraces } from '../service/change-origins.ts'
import type { CommandCall } from '../service/command.ts'
import { computed, computeElsewhere, TooLongHere } from '../service/elsewhere.ts'
import { constantsOf } from '../service/query-language.ts'
import { requireOverlay } from '../service/statement.ts'
import type { TransactionOverlay } from '../session/overlay.ts'
import type { WatchedWrite } from '../session/past-documents.ts'
import type { RetryRecord, StatementResult } from '../session/retry-record.ts'
import { AlreadyDone, recordStep } from '../session/retry-record.ts'
import { writeConflict } from '../session/write-intents.ts'
import { conflictError, conflictInTransaction } from './unique-conflict.ts'

export type DocumentChange =
  | { readonly kind: 'put'; readonly document: Uint8Array; readonly isReplacement?: boolean }
  | { readonly kind: 'delete' }

/** What a stored document's life is judged by. */
export type LifeStamps = Pick<StoredItem, 'ts' | 'deadline'>

export interface DocumentWrite {
  readonly key: ItemKey
  /** The expected size, for the charge. */
  readonly bytes: number
  /**
   * Undefined: leave the document unchanged. May be called several times. In a transaction `life` is
   * unknown.
   */
  decide(found: Uint8Array | undefined, moment: EpochSeconds, life: LifeStamps | undefined): DocumentChange | undefined
  /** Only for new documents: the store inserts without reading first, and refuses if the `_id` is taken. */
  readonly isBlind?: boolean
  /** The rules that the new document is known to keep. */
  readonly keeps?: Validation | undefined
}

/** The results to store in the session's record with the writes. Called after the writes were decided. */
export type ResultsOf = () => ReadonlyMap<number, StatementResult>

/** The write that was refused. Then nothing was written. */
export interface Refusal {
  readonly index: number
  readonly error: RequestError
}

export async function writeDocuments(
  call: CommandCall,
  collection: Collection,
  writes: readonly DocumentWrite[],
  results?: ResultsOf,
): Promise<Refusal | undefined> {
  if (writes.length === 0 && results === undefined) return undefined
  // The collection may have changed since the command began.
  const { database, id, number } = collection.container
  const found = await call.service.engine.catalog.findContainer(database.id, id)
  const current = found?.number === number ? collectionOf(found) : collection
  for (;;) {
    const refusal = await (call.isInTransaction
      ? writeToTransaction(call, current, writes)
      : writeToStore(call, current, writes, results))
    if (!(refusal?.error instanceof TooLongHere)) return refusal
    await computeElsewhere(call, refusal.error)
  }
}

async function writeToStore(
  call: CommandCall,
  collection: Collection,
  writes: readonly DocumentWrite[],
  results: ResultsOf | undefined,
): Promise<Refusal | undefined> {
  const { service, session } = call
  const { engine } = service
  if (!service.intents.isEmpty) await waitForTransactions(call, collection, writes)
  let recorded: RetryRecord | undefined
  let record: Step | undefined
  let whenStored: (() => void) | undefined
  if (results !== undefined && session !== undefined) {
    const before = session.record!
    const makeRecord = () => {
      recorded = before.with(results())
      return recorded
    }
    const step = recordStep(engine, session, makeRecord)
    record = step instanceof Promise ? await step : step
    if (service.failPoints.isAnyOn) whenStored = service.failPoints.onRetryableWrite(call)
  }
  const chargeRu = writes.reduce((sum, { bytes }) => sum + (bytes === 0 ? deleteRu : writeRu(bytes)), 0)
  /** The last decision of each write. */
  const offers: (Put | undefined)[] = []
  const traces = new ChangeTraces(service.origins)
  const watched = service.past.begin()
  let answer: TransactAnswer | undefined
  try {
    const steps: Step[] = writes.map((write, index) =>
      stepOf(call, collection, write, { watched, traces, offer: put => (offers[index] = put) }),
    )
    if (record !== undefined) steps.push(record)
    answer = await engine.transact(collection.container, steps, chargeRu)
  } finally {
    // After an error the writes may be stored nevertheless.
    service.past.end(watched, answer?.refusal === undefined)
    if (answer?.refusal !== undefined) traces.forget()
  }
  call.chargeRu += chargeRu
  if (answer.refusal === undefined) {
    if (recorded !== undefined) {
      session!.record = recorded
      session!.stored = recorded
    }
    whenStored?.()
    return undefined
  }
  const { error } = answer.refusal
  if (error instanceof AlreadyDone) throw error
  // A step that threw has no answer. A step that the store refused has one.
  if (error !== undefined) return { index: answer.steps.length, error }
  const index = answer.steps.length - 1
  const document = offers[index]?.document
  return answer.steps[index]!.outcome === 'exists'
    ? { index, error: takenIdError(collection, document!) }
    : { index, error: await conflictError(engine, collection, document) }
}

const replacement = { isReplacement: true }

/** What is told of the decision of a step. */
interface Observers {
  readonly watched: WatchedWrite | undefined
  readonly traces: ChangeTraces
  readonly offer: (put: Put) => void
}

type Put = Extract<DocumentChange, { kind: 'put' }>

function stepOf(
  call: CommandCall,
  collection: Collection,
  write: DocumentWrite,
  { watched, traces, offer }: Observers,
): Step {
  return {
    container: collection.container,
    key: write.key,
    // A note of the earlier state needs a read.
    isBlind: write.isBlind === true && watched === undefined,
    bytes: write.bytes,
    decide: (looked, moment) => {
      // A store may pass the found document to a blind write too.
      const found = write.isBlind === true ? undefined : looked
      const change = write.decide(found?.body as Uint8Array | undefined, moment, found)
      if (change?.kind === 'put') offer(change)
      if (collection.validation !== undefined) refuseInvalid(call, collection, write, change, found?.body)
      if (change !== undefined) watched?.note(collection.container.number, write.key, looked)
      if (change?.kind === 'put' && change.isReplacement === true) {
        const traced = { key: write.key, ts: moment, previous: looked }
        traces.note(collection.container.number, traced, replacement)
      }
      return change === undefined ? undefined : itemChange(collection, change, found, call.service.settings)
    },
  }
}

function itemChange(
  collection: Collection,
  change: DocumentChange,
  found: StoredItem | undefined,
  settings: { readonly isDocumentTtlOn: boolean },
): ItemChange {
  if (change.kind === 'delete') return { kind: 'delete' }
  const { document } = change
  refuseSize(document)
  // An index key cannot contain two arrays. Refuse that here, where the document is known.
  if (collection.compoundIndexes.length > 0) bsonIndexKeys(collection.compoundIndexes, document)
  return {
    kind: found === undefined ? 'create' : 'replace',
    draft: document,
    ...lifeOf(collection, document, settings),
  }
}

function refuseSize({ length }: Uint8Array): void {
  if (length > bsonBytesMax) {
    throw new CommandError(
      'BSONObjectTooLarge',
      `Resulting document after update is larger than ${bsonBytesMax}: ${length} bytes`,
    )
  }
}

/** Checks what a write makes of a document against the rules of the collection. */
function refuseInvalid(
  call: CommandCall,
  collection: Collection,
  write: DocumentWrite,
  change: DocumentChange | undefined,
  before: Body | undefined,
): void {
  if (change?.kind !== 'put' || write.keeps === collection.validation) return
  const refusal = validationRefusal(call, collection, change.document, before as Uint8Array | undefined)
  if (refusal !== undefined) throw refusal
}

/** The error for a document that breaks the rules of the collection, unless it is only to be noted. */
export function validationRefusal(
  call: CommandCall,
  { validation, name, collation }: Collection,
  document: Uint8Array,
  before: Uint8Array | undefined,
): CommandError | undefined {
  if (validation === undefined || call.args.flag('bypassDocumentValidation')) return undefined
  const report = validation.reportOn(document, before, (judged, validator) => judge(call, collation, judged, validator))
  if (report === undefined) return undefined
  if (!validation.isOnlyWarning) return invalidDocument(report)
  call.service.log.warn({ collection: name }, 'a document breaks the rules of its collection')
  return undefined
}

/** What a validator says of a document; undefined: it keeps the rules. */
function judge(
  call: CommandCall,
  collation: Collection['collation'],
  document: Uint8Array,
  validator: Validator,
): BsonDocument | undefined {
  const constants = () => constantsOf(call, collation)
  return computed(call, {
    ...{ of: 'rules', inputs: { validator: validator.filter }, document },
    variables: () => ({ constants: constants() }),
    here: () => (validator.matches(document, constants) ? undefined : validator.report(document, constants)),
    read: result => result.get('report') as BsonDocument | undefined,
  })
}

/** Waits until no running transaction has written any of the documents. */
function waitForTransactions(
  { service, operation }: CommandCall,
  { container }: Collection,
  writes: readonly DocumentWrite[],
): Promise<void> {
  return service.intents.free(
    container.number,
    writes.map(({ key }) => key),
    () => operation.signal,
  )
}

async function writeToTransaction(
  call: CommandCall,
  collection: Collection,
  writes: readonly DocumentWrite[],
): Promise<Refusal | undefined> {
  const overlay = await requireOverlay(call, collection)
  const undo = overlay.savepoint(writes.map(({ key }) => key))
  const refusal = await putInto(overlay, call, collection, writes)
  if (refusal !== undefined) undo()
  return refusal
}

/** Writes into the overlay of a transaction. Stops at the first refused write. */
async function putInto(
  overlay: TransactionOverlay,
  call: CommandCall,
  collection: Collection,
  writes: readonly DocumentWrite[],
): Promise<Refusal | undefined> {
  const { engine } = call.service
  const transaction = call.session!.transaction!
  const moment = await engine.moment()
  for (const [index, write] of writes.entries()) {
    const pending = overlay.find(write.key)
    const isNew = pending !== undefined || isPlanned(collection)
    const stored = isNew ? undefined : (await engine.uncharged.read(collection.container, write.key)).item
    // Check even if nothing would change: the transaction may have read an older version.
    if (pending === undefined && isChangedSince(overlay, write.key, stored)) throw writeConflict()
    const found = pending === undefined ? (stored?.body as Uint8Array | undefined) : pending.document
    const isTaken = write.isBlind === true && found !== undefined
    let change: DocumentChange | undefined
    try {
      change = write.decide(isTaken ? undefined : found, moment, undefined)
      if (change?.kind === 'put') refuseSize(change.document)
      if (collection.validation !== undefined) refuseInvalid(call, collection, write, change, found)
    } catch (error) {
      if (error instanceof RequestError) return { index, error }
      throw error
    }
    if (change === undefined) continue
    const document = change.kind === 'put' ? change.document : undefined
    if (isTaken) return { index, error: takenIdError(collection, document!) }
    if (!call.service.intents.take(transaction, collection.container.number, write.key)) throw writeConflict()
    const error = document && (await conflictInTransaction(call, overlay, write.key, document))
    if (error !== undefined) return { index, error }
    const baseVersion = pending === undefined ? stored?.version : pending.baseVersion
    // Later writes of the same batch see this one.
    const isReplacement = change.kind === 'put' && change.isReplacement === true
    overlay.put({ key: write.key, document, baseVersion, isReplacement })
  }
  return undefined
}

/** Whether another client has written the document since the snapshot. */
function isChangedSince(overlay: TransactionOverlay, key: ItemKey, stored: StoredItem | undefined): boolean {
  const past = overlay.past(key)
  if (past !== undefined) return past.item?.version !== stored?.version
  return stored !== undefined && stored.version > overlay.snapshotVersion
}
