/** commitTransaction and abortTransaction: store the writes of a transaction, or give them up. */

import { hash } from 'node:crypto'
import type { EpochSeconds } from '../../base/clock.ts'
import type { StoredItem } from '../../store/item.ts'
import type { ItemChange, Step, TransactAnswer } from '../../store/writing.ts'
import { deleteRu, writeRu } from '../../units/cost.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import { type Collection, createCollection, deleteCollection, findEntry } from '../collections/collections.ts'
import { lifeOf } from '../collections/document-life.ts'
import type { PlannedCollection } from '../collections/planned-collection.ts'
import { createIndex } from '../indexes/create-index.ts'
import { type ChangeOrigin, ChangeTraces } from '../service/change-origins.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { noSuchTransaction } from '../service/statement.ts'
import type { Pending, TransactionOverlay } from '../session/overlay.ts'
import type { WatchedWrite } from '../session/past-documents.ts'
import { RetryRecord, readRecord, recordStep } from '../session/retry-record.ts'
import type { ClientSession } from '../session/sessions.ts'
import type { Transaction } from '../session/transaction.ts'
import { writeConflict } from '../session/write-intents.ts'
import { conflictError } from '../write/unique-conflict.ts'

async function commitTransaction(call: CommandCall): Promise<Fields> {
  const { session, txnNumber } = call
  if (session === undefined || txnNumber === undefined) {
    throw new CommandError('InvalidOptions', 'commitTransaction must be run within a transaction')
  }
  return session.exclusively(() => commit(call, session, txnNumber))
}

async function commit(call: CommandCall, session: ClientSession, txnNumber: bigint): Promise<Fields> {
  const { engine } = call.service
  const { transaction } = session
  if (transaction?.number !== txnNumber || !transaction.isActive) {
    if (transaction?.number === txnNumber && transaction.isCommitted) return {}
    // A client repeats a commit whose answer was lost. The server may have restarted since, so look at the
    // stored record.
    const record = await readRecord(engine, session.key)
    if (record?.txnNumber === txnNumber && record.isCommitted) return {}
    transaction?.abort()
    throw noSuchTransaction(txnNumber)
  }
  const overlays = transaction.overlays.filter(overlay => overlay.pending().length > 0)
  if (overlays.length === 0 && transaction.planned.size === 0) {
    transaction.commit()
    return {}
  }
  transaction.beginCommit()
  const created = new Map<string, Collection>()
  try {
    for (const plan of transaction.planned.values()) await create(call, plan, created)
    await store(call, session, transaction, overlays, created)
  } catch (error) {
    for (const collection of created.values()) await deleteCollection(engine, collection).catch(() => {})
    transaction.abort()
    throw error
  }
  transaction.commit()
  return {}
}

/** Creates a collection of the transaction, just before its documents are stored. */
async function create(
  call: CommandCall,
  { namespace, draft, specs }: PlannedCollection,
  created: Map<string, Collection>,
): Promise<void> {
  const { engine } = call.service
  // Somebody else created it meanwhile.
  if ((await findEntry(engine, namespace)) !== undefined) throw writeConflict()
  let collection = await createCollection(engine, namespace, draft)
  created.set(collection.name, collection)
  for (const spec of specs) collection = await createIndex(call, collection, spec)
  created.set(collection.name, collection)
}

async function store(
  call: CommandCall,
  session: ClientSession,
  transaction: Transaction,
  overlays: readonly TransactionOverlay[],
  created: ReadonlyMap<string, Collection>,
): Promise<void> {
  const { engine, past, origins } = call.service
  if (!session.isLoaded) {
    session.stored = await readRecord(engine, session.key)
    session.isLoaded = true
  }
  const record = new RetryRecord(transaction.number)
  record.isCommitted = true
  const writes = overlays.flatMap(overlay => {
    const collection = created.get(overlay.collection.name) ?? overlay.collection
    return overlay.pending().map(pending => ({ collection, pending }))
  })
  const stepOfRecord = await recordStep(engine, session, () => record)
  const chargeRu = writes.reduce(
    (sum, { pending: { document } }) => sum + (document === undefined ? deleteRu : writeRu(document.length)),
    0,
  )
  const origin = originOf(call, session, transaction)
  const traces = new ChangeTraces(origins)
  const watched = past.begin()
  let answer: TransactAnswer | undefined
  try {
    const steps = writes.map(({ collection, pending }) =>
      commitStep(call, collection, pending, origin, { watched, traces }),
    )
    const payer = writes[0]?.collection.container ?? stepOfRecord.container
    answer = await engine.transact(payer, [...steps, stepOfRecord], chargeRu)
  } finally {
    // After an error the writes may be stored nevertheless.
    past.end(watched, answer?.refusal === undefined)
    if (answer?.refusal !== undefined) traces.forget()
  }
  call.chargeRu += chargeRu
  if (answer.refusal === undefined) {
    session.stored = record
    return
  }
  if (answer.refusal.error !== undefined) throw answer.refusal.error
  const refused = writes[answer.steps.length - 1]
  if (refused === undefined) throw writeConflict()
  throw await conflictError(engine, refused.collection, refused.pending.document)
}

function originOf(
  { client }: CommandCall,
  session: ClientSession,
  { number }: Transaction,
): ChangeOrigin['transaction'] {
  const { user = '', db = '' } = client.user ?? {}
  return { number, session: session.id, user: hash('sha256', `${user}@${db}`, 'buffer') }
}

function commitStep(
  { service }: CommandCall,
  collection: Collection,
  { key, document, baseVersion, isReplacement }: Pending,
  origin: ChangeOrigin['transaction'],
  { watched, traces }: { readonly watched: WatchedWrite | undefined; readonly traces: ChangeTraces },
): Step {
  return {
    container: collection.container,
    key,
    decide: (found: StoredItem | undefined, moment: EpochSeconds): ItemChange | undefined => {
      if (found?.version !== baseVersion) throw writeConflict()
      watched?.note(collection.container.number, key, found)
      const change = { key, ts: moment, previous: found }
      traces.note(collection.container.number, change, { isReplacement, transaction: origin })
      if (document === undefined) return found === undefined ? undefined : { kind: 'delete' }
      const life = lifeOf(collection, document, service.settings)
      return { kind: found === undefined ? 'create' : 'replace', draft: document, ...life }
    },
  }
}

async function abortTransaction({ session, txnNumber }: CommandCall): Promise<Fields> {
  const transaction = session?.transaction
  if (transaction === undefined || transaction.number !== txnNumber) throw noSuchTransaction(txnNumber ?? -1n)
  if (transaction.isCommitted) {
    throw new CommandError('TransactionCommitted', `Transaction ${txnNumber} has been committed.`)
  }
  if (!transaction.isActive) throw noSuchTransaction(txnNumber)
  transaction.abort()
  return {}
}

export const transactionCommands: readonly Command[] = [
  {
    name: 'commitTransaction',
    isForAdmin: true,
    isTransactional: true,
    fields: ['recoveryToken'],
    run: commitTransaction,
  },
  {
    name: 'abortTransaction',
    isForAdmin: true,
    isTransactional: true,
    fields: ['recoveryToken'],
    run: abortTransaction,
  },
]
