/**
 * Writes to groups of items: batches of NoSQL, transactions and retryable writes of Mongo. After a crash some
 * of those that got no answer are sent again, as a driver does it: nothing may happen twice.
 */

import type { Document } from 'bson'
import type { Client } from './client.ts'
import { Group, type GroupWrite, type Member, type Sent } from './group-model.ts'
import { drawTtl } from './operations.ts'
import type { Random } from './random.ts'
import type { Timeline } from './timeline.ts'
import { check } from './violation.ts'
import type { WireClient } from './wire-client.ts'

export const batchContainer = 'batches'
export const collections = ['ledger', 'journal'] as const

export type GroupKind = 'batch' | 'transaction' | 'writes'
const kinds: readonly GroupKind[] = ['batch', 'transaction', 'writes']
const groupsOfKind = 4

/** The session of a write is forgotten after 30 minutes. */
const repeatSecondsMax = 1_700

interface OpenGroup {
  readonly kind: GroupKind
  readonly group: Group
  /** What a driver would send again. */
  repeat: Document | undefined
}

type Found = ReadonlyMap<string, string>

export class Groups {
  readonly #timeline: Timeline
  readonly #open: readonly OpenGroup[]

  constructor(timeline: Timeline) {
    this.#timeline = timeline
    this.#open = kinds.flatMap(kind =>
      Array.from({ length: groupsOfKind }, (_, at) => {
        return { kind, group: new Group(timeline, membersOf(kind, at)), repeat: undefined }
      }),
    )
  }

  async batch(client: Client, random: Random, serial: string): Promise<void> {
    const { group } = this.#pick('batch', random)
    await batch(client, group, drawWrite(random, serial, true))
  }

  async transaction(wire: WireClient, random: Random, serial: string): Promise<void> {
    await transact(wire, this.#pick('transaction', random), drawWrite(random, serial, true))
  }

  async writes(wire: WireClient, random: Random, serial: string): Promise<void> {
    await writeEach(wire, this.#pick('writes', random), drawWrite(random, serial, false))
  }

  #pick(kind: GroupKind, random: Random): OpenGroup {
    return random.pick(this.#open.filter(each => each.kind === kind))
  }

  /** After a restart, before the clock moves again. */
  async settle(
    client: Client,
    wire: WireClient,
    random: Random,
  ): Promise<Record<'open' | 'happened' | 'repeated', number>> {
    const counts = { open: 0, happened: 0, repeated: 0 }
    const found = await readAll(client, wire)
    for (const open of this.#open) {
      const { sent } = open.group
      const hasHappened = open.group.settle(serialsOf(open.group, found))
      counts.open += Number(sent !== undefined)
      counts.happened += Number(hasHappened)
      const isFresh = sent !== undefined && this.#timeline.now - sent.from < repeatSecondsMax
      if (open.repeat !== undefined && isFresh && sent.mayHappen && random.chance(0.5)) {
        counts.repeated++
        if (open.kind === 'transaction') await commitAgain(wire, open, sent, hasHappened)
        else await writeAgain(wire, open, sent)
      }
      open.repeat = undefined
    }
    await this.look(client, wire)
    return counts
  }

  /** The counts and an index show what point reads and feeds show. */
  async look(client: Client, wire: WireClient): Promise<void> {
    const found = await readAll(client, wire)
    for (const { group } of this.#open) group.settle(serialsOf(group, found))
    for (const collection of collections) {
      const living = [...found.keys()].filter(key => key.startsWith(collection)).length
      const { n } = await wire.run({ count: collection })
      check(n === living, `count says ${n} in ${collection}; find shows ${living}`)
      const { cursor } = await wire.run({ find: collection, sort: { serial: 1 }, hint: 'serial_1', batchSize: 1000 })
      const indexed = cursor.firstBatch.length
      check(indexed === living, `the index of ${collection} shows ${indexed}; find shows ${living}`)
    }
  }
}

/** Members of one batch share a partition. Transactions write to two collections. */
function membersOf(kind: GroupKind, group: number): Member[] {
  const containerOf = {
    batch: () => batchContainer,
    transaction: (at: number) => collections[at % 2]!,
    writes: () => 'ledger',
  }
  return [0, 1, 2].map(at => ({ container: containerOf[kind](at), id: `${kind}-${group}-${at}` }))
}

function drawWrite(random: Random, serial: string, isAtomic: boolean): GroupWrite {
  const isDelete = random.chance(0.2)
  return {
    serial: isDelete ? undefined : serial,
    ttl: isDelete ? undefined : drawTtl(random),
    isAtomic,
    mayHappen: !isAtomic || random.chance(0.8),
  }
}

function serialsOf({ members }: Group, found: Found): (string | undefined)[] {
  return members.map(({ container, id }) => found.get(`${container}/${id}`))
}

/** The serials of everything that is visible. Fails if a write was done twice to a document. */
async function readAll(client: Client, wire: WireClient): Promise<Found> {
  const found = new Map<string, string>()
  const headers = { 'x-ms-max-item-count': '1000' }
  const { Documents } = await client.json('GET', `/dbs/crash/colls/${batchContainer}/docs`, { headers })
  for (const { id, serial } of Documents as { id: string; serial: string }[]) {
    found.set(`${batchContainer}/${id}`, serial)
  }
  for (const collection of collections) {
    const { cursor } = await wire.run({ find: collection, batchSize: 1000 })
    for (const { _id, serial, done } of cursor.firstBatch as Document[]) {
      check(new Set(done).size === done.length, `a write was done twice to ${_id}: ${done.join(', ')}`)
      found.set(`${collection}/${_id}`, serial)
    }
  }
  return found
}

async function batch(client: Client, group: Group, write: GroupWrite): Promise<void> {
  const pk = group.members[0]!.id
  const { serial, ttl, mayHappen } = write
  const operations: object[] = group.members.map(({ id }) =>
    serial === undefined
      ? { operationType: 'Delete', id }
      : { operationType: 'Upsert', resourceBody: { id, pk, serial, ttl } },
  )
  if (!mayHappen) operations.push({ operationType: 'Replace', id: 'never', resourceBody: { id: 'never', pk } })
  const headers = {
    'x-ms-documentdb-partitionkey': JSON.stringify([pk]),
    'x-ms-cosmos-is-batch-request': 'True',
    'x-ms-cosmos-batch-atomic': 'True',
  }
  group.begin(write)
  const body = JSON.stringify(operations)
  const { status, text } = await client.send('POST', `/dbs/crash/colls/${batchContainer}/docs`, { headers, body })
  const mayFail = !mayHappen || (serial === undefined && group.mayMiss)
  check(status === 200 || (status === 207 && mayFail), `a batch was answered with ${status} ${text}`)
  check(status !== 200 || mayHappen, 'a batch with an impossible operation was accepted')
  group.finish(status === 200)
}

/** `done` has the last writes of a document. */
function changeOf(id: string, { serial, ttl }: GroupWrite): Document {
  const fields = ttl === undefined ? { $set: { serial }, $unset: { ttl: 1 } } : { $set: { serial, ttl } }
  return { q: { _id: id }, u: { ...fields, $push: { done: { $each: [serial], $slice: -3 } } }, upsert: true }
}

function commandOf(members: readonly Member[], write: GroupWrite): Document {
  const { container } = members[0]!
  if (write.serial === undefined) {
    return { delete: container, deletes: members.map(({ id }) => ({ q: { _id: id }, limit: 1 })) }
  }
  return { update: container, updates: members.map(({ id }) => changeOf(id, write)) }
}

/** One command with a write for each member. A crash may come between them. */
async function writeEach(wire: WireClient, open: OpenGroup, write: GroupWrite): Promise<void> {
  const { group } = open
  open.repeat = { ...commandOf(group.members, write), ...wire.nextNumber() }
  group.begin(write)
  await wire.run(open.repeat)
  group.finish(true)
}

async function transact(wire: WireClient, open: OpenGroup, write: GroupWrite): Promise<void> {
  const { group } = open
  const { mayHappen } = write
  const numbered = { ...wire.nextNumber(), autocommit: false }
  const commit = { commitTransaction: 1, ...numbered, $db: 'admin' }
  open.repeat = commit
  group.begin({ ...write, mayHappen: false })
  let isAlive = true
  for (const [at, member] of group.members.entries()) {
    const command = { ...commandOf([member], write), ...numbered, ...(at === 0 && { startTransaction: true }) }
    if (isAlive) isAlive = await wire.runUnlessAborted(command)
  }
  // Only from here on can it happen.
  group.sent!.mayHappen = isAlive && mayHappen
  const end = mayHappen ? commit : { abortTransaction: 1, ...numbered, $db: 'admin' }
  if (isAlive) isAlive = await wire.runUnlessAborted(end)
  group.finish(isAlive && mayHappen)
}

async function writeAgain(wire: WireClient, { group, repeat }: OpenGroup, sent: Sent): Promise<void> {
  await wire.run(repeat!)
  group.finish(true, sent)
}

/** The transaction itself is lost with the process. Its commit is known, or it never happened. */
async function commitAgain(wire: WireClient, open: OpenGroup, sent: Sent, hasHappened: boolean): Promise<void> {
  const answer = await wire.send(open.repeat!)
  const shown = JSON.stringify(answer)
  if (hasHappened) check(answer.ok === 1, `a committed transaction was answered with ${shown}`)
  else if (answer.ok === 1) check(open.group.mayBeInvisible(sent), 'a commit is said to be done without its writes')
  else check(answer.code === noSuchTransaction, `a lost transaction was answered with ${shown}`)
}

const noSuchTransaction = 251
