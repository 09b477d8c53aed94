/**
 * Random histories of writes, deaths, drops and renames, with streams that are opened and resumed anywhere:
 * every stream sees exactly the events of a small model, in order.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChangeStream, ChangeStreamOptions, Document } from 'mongodb'
import { fc } from '../../support/property.ts'
import { startMongo } from './support/fixture.ts'

const { db, client, newDatabase } = await startMongo()

const names = ['a', 'b', 'c'] as const
type Name = (typeof names)[number]
type Scope = Name | 'database' | 'cluster'
const lifespanS = 10

type Operation =
  | { readonly kind: 'insert' | 'update' | 'replace' | 'delete'; readonly name: Name; readonly id: number }
  | { readonly kind: 'several'; readonly name: Name; readonly id: number }
  | { readonly kind: 'drop'; readonly name: Name }
  | { readonly kind: 'rename'; readonly name: Name; readonly to: Name }
  | { readonly kind: 'dropDatabase' }
  | { readonly kind: 'advance'; readonly seconds: number }
  | { readonly kind: 'watch'; readonly scope: Scope }

const name = fc.constantFrom(...names)
const id = fc.nat(4)
const scope = fc.constantFrom<Scope>(...names, 'database', 'cluster')
const write = fc.record({ kind: fc.constantFrom('insert', 'update', 'replace', 'delete'), name, id })
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 12, arbitrary: write as fc.Arbitrary<Operation> },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('several' as const), name, id }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('drop' as const), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rename' as const), name, to: name }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'dropDatabase' } as const) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), seconds: fc.integer({ min: 1, max: 8 }) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('watch' as const), scope }) },
)
const resumption = fc.record({
  at: fc.nat(1000),
  by: fc.constantFrom('resumeAfter', 'startAfter', 'startAtOperationTime'),
  scope,
})

interface Event {
  readonly type: string
  readonly name?: string | undefined
  readonly to?: string | undefined
  readonly id?: number | undefined
  readonly isDeath?: boolean
}

/** What the events of a history look like from a scope, to the end of the stream. */
function seenFrom(events: readonly Event[], scope: Scope): Event[] {
  const seen: Event[] = []
  for (const event of events) {
    const isName = scope !== 'database' && scope !== 'cluster'
    if (isName && event.name !== scope && event.to !== scope) continue
    seen.push(event)
    const isEnd = isName ? event.type === 'drop' || event.type === 'rename' : event.type === 'dropDatabase'
    if (isEnd && scope !== 'cluster') return [...seen, { type: 'invalidate' }]
  }
  return seen
}

function shown({ operationType, ns, to, documentKey, mayflyExpired }: Document): Event {
  return {
    type: operationType,
    ...(ns?.coll !== undefined && { name: ns.coll }),
    ...(to !== undefined && { to: to.coll }),
    ...(documentKey !== undefined && { id: documentKey._id }),
    ...(mayflyExpired === true && { isDeath: true }),
  }
}

/** Documents that die in the same second do so in any order. */
function sortedDeaths(events: readonly Event[]): Event[] {
  const sorted: Event[] = []
  let deaths: Event[] = []
  const flush = () => {
    sorted.push(...deaths.sort((x, y) => `${x.name}${x.id}`.localeCompare(`${y.name}${y.id}`)))
    deaths = []
  }
  for (const event of events) {
    if (event.isDeath === true) deaths.push(event)
    else {
      flush()
      sorted.push(event)
    }
  }
  flush()
  return sorted
}

class History {
  readonly database = newDatabase()
  readonly events: Event[] = []
  /** By name: the documents, and the second in which each was written. */
  readonly #model = new Map<string, Map<number, number>>()
  readonly #open: ChangeStream<Document, Document>[] = []

  watch(scope: Scope, options: ChangeStreamOptions = {}): ChangeStream<Document, Document> {
    const settings = { maxAwaitTimeMS: 30, ...options }
    const only = [{ $match: { 'ns.db': this.database.databaseName } }]
    const stream = (
      scope === 'cluster'
        ? client.watch(only, settings)
        : scope === 'database'
          ? this.database.watch([], settings)
          : this.database.collection(scope).watch([], settings)
    ) as ChangeStream<Document, Document>
    this.#open.push(stream)
    return stream
  }

  async close(): Promise<void> {
    for (const stream of this.#open) await stream.close()
    await this.database.dropDatabase()
  }

  async run(operation: Exclude<Operation, { kind: 'watch' }>): Promise<void> {
    switch (operation.kind) {
      case 'dropDatabase': {
        await this.database.dropDatabase()
        const dropped = [...this.#model.keys()].sort()
        this.events.push(...dropped.map(each => ({ type: 'drop', name: each })))
        if (dropped.length > 0) this.events.push({ type: 'dropDatabase' })
        this.#model.clear()
        return
      }
      case 'drop':
        await this.database.collection(operation.name).drop()
        if (this.#model.delete(operation.name)) this.events.push({ type: 'drop', name: operation.name })
        return
      case 'rename': {
        const { name: from, to } = operation
        const documents = this.#model.get(from)
        if (documents === undefined || from === to) return
        await this.database.collection(from).rename(to, { dropTarget: true })
        this.#model.delete(from)
        this.#model.set(to, documents)
        this.events.push({ type: 'rename', name: from, to })
        return
      }
      case 'advance':
        await db.clock.advance(`${operation.seconds}s`)
        await db.purge()
        for (const [each, documents] of this.#model) {
          for (const [dead, writtenAt] of [...documents]) {
            if (writtenAt + lifespanS > db.clock.now()) continue
            documents.delete(dead)
            this.events.push({ type: 'delete', name: each, id: dead, isDeath: true })
          }
        }
        return
      default:
        return this.#write(operation)
    }
  }

  async #write({ kind, name, id }: Operation & { name: Name; id: number }): Promise<void> {
    const collection = this.database.collection<Document>(name)
    if (!this.#model.has(name)) {
      await collection.createIndex({ _ts: 1 }, { expireAfterSeconds: lifespanS })
      this.#model.set(name, new Map())
    }
    const documents = this.#model.get(name)!
    const _id = id as never
    const put = (type: string, each: number) => {
      documents.set(each, db.clock.now())
      this.events.push({ type, name, id: each })
    }
    if (kind === 'several') {
      const several = [10, 11, 12].map(each => each + id * 10).filter(each => !documents.has(each))
      if (several.length > 0) await collection.insertMany(several.map(each => ({ _id: each as never })))
      for (const each of several) put('insert', each)
    } else if (kind === 'insert') {
      if (documents.has(id)) return
      await collection.insertOne({ _id })
      put('insert', id)
    } else if (!documents.has(id)) {
      return
    } else if (kind === 'update') {
      await collection.updateOne({ _id }, { $inc: { n: 1 } })
      put('update', id)
    } else if (kind === 'replace') {
      await collection.replaceOne({ _id }, { r: this.events.length })
      put('replace', id)
    } else {
      await collection.deleteOne({ _id })
      documents.delete(id)
      this.events.push({ type: 'delete', name, id })
    }
  }
}

async function read(stream: ChangeStream<Document, Document>, count: number): Promise<Document[]> {
  const events: Document[] = []
  while (events.length < count) events.push(await stream.next())
  if (!stream.closed) assert.equal(await stream.tryNext(), null)
  return events
}

test('Every stream sees the events of the model, wherever it starts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 10, maxLength: 40 }),
      fc.array(resumption, { minLength: 4, maxLength: 4 }),
      async (operations, resumptions) => {
        const history = new History()
        const everything = history.watch('cluster')
        assert.equal(await everything.tryNext(), null)
        const opened: { scope: Scope; from: number; stream: ChangeStream<Document, Document> }[] = []
        for (const each of operations) {
          if (each.kind !== 'watch') {
            await history.run(each)
            continue
          }
          const stream = history.watch(each.scope)
          opened.push({ scope: each.scope, from: history.events.length, stream })
          assert.equal(await stream.tryNext(), null)
        }
        const all = await read(everything, history.events.length)
        const actual = all.map(shown)
        assert.deepEqual(sortedDeaths(actual), sortedDeaths(history.events))
        for (const { scope, from, stream } of opened) {
          const expected = seenFrom(actual.slice(from), scope)
          assert.deepEqual((await read(stream, expected.length)).map(shown), expected, `${scope} from ${from}`)
        }
        for (const { at, by, scope } of resumptions) {
          if (all.length === 0) break
          const from = at % all.length
          const event = all[from]!
          const isTime = by === 'startAtOperationTime'
          const stream = history.watch(scope, { [by]: isTime ? event.clusterTime : event._id })
          const expected = seenFrom(actual.slice(isTime ? from : from + 1), scope)
          assert.deepEqual((await read(stream, expected.length)).map(shown), expected, `${by} ${from} in ${scope}`)
        }
        await history.close()
      },
    ),
    { numRuns: Number(process.env.MAYFLY_STREAM_RUNS ?? 20) },
  )
})
