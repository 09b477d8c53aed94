/**
 * One simulated history: the store under test, its twin that is never swept, and the model, with the same
 * operations.
 *
 * All three are compared at every answer. The twin is never closed either. So sweeping, closing, crashing and
 * reopening are shown to change nothing that a client can see. The store under test uses a SystemClock with a
 * wall and a monotonic source that the simulation moves; twin and model use the moments of its answers.
 */

import assert from 'node:assert/strict'
import { type Clock, type EpochSeconds, SystemClock, toEpochSeconds } from '../../src/base/clock.ts'
import { textOf } from '../../src/document/body.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey, StoredItem } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { ScanRange } from '../../src/store/reading.ts'
import type { ItemWrite, WriteAnswer } from '../../src/store/writing.ts'
import { draftOf, makeContainer, setDefault } from './fixture.ts'
import { changeIndexes, changeIndexesInVain, scanIndexes } from './indexes.ts'
import { Model, type ModelItem, nameOf } from './model.ts'
import { cursorCount, keyCount, type Operation, type Page, type Step, type Write } from './operations.ts'
import type { Subject } from './subject.ts'
import { survey } from './survey.ts'
import { type Happened, inOrder, momentOf } from './together.ts'
import { transact } from './transact.ts'
import { Twin } from './twin.ts'

/**
 * Two partition keys share an effective one, and ids repeat, so that each part of the key matters. PostgreSQL
 * writes the first two together.
 */
export const keys: readonly ItemKey[] = Array.from({ length: keyCount }, (_, n) => ({
  epk: ['10', '18', '18', '30'][n % 4]!,
  pk: ['["a"]', '["b"]', '["c"]', '["d"]'][n % 4]!,
  id: ['x', 'y', 'z'][Math.floor(n / 4)]!,
}))

export const everything: ScanRange = { min: '', maxExclusive: 'FF' }
export const ranges: readonly ScanRange[] = [
  everything,
  { min: '', maxExclusive: '18' },
  { min: '18', maxExclusive: '30' },
  { min: '18', maxExclusive: 'FF' },
  { min: '18', maxExclusive: '30', pk: '["c"]' },
]

interface Cursor {
  readonly range: ScanRange
  readonly resume: ItemKey | undefined
  /** The last item that the client received. The model continues here, whatever position the store names. */
  readonly lastItem: ItemKey | undefined
}

type Asked =
  | { readonly write: ItemWrite; readonly answer: Promise<WriteAnswer> }
  | { readonly defaultTtl: number | null; readonly record: Promise<ContainerRecord> }
  | { readonly swept: Promise<{ removed: number }> }

export class World implements AsyncDisposable {
  readonly subject: Subject
  /** What happened, to check that the simulation is not idle. */
  readonly met: Set<string>
  readonly #source = { wallMs: 1_000_000_000_000, elapsedMs: 0 }
  #clock!: Clock
  #cursors: (Cursor | undefined)[] = []
  /** Versions that each key had, oldest first. */
  #versions = new Map<string, number[]>()
  #incarnations = new Set<number>()
  /** The version of the last effective write, per container or per effective partition key. */
  #newest = new Map<string, number>()
  /** The latest moment in any answer. */
  #latest = toEpochSeconds(0)
  store!: Store
  readonly twin: Twin
  /** The current container record. */
  container!: ContainerRecord
  /** The record from creation. A caller with an old record must be judged by the current policy. */
  handle!: ContainerRecord
  model = new Model(null)

  private constructor(subject: Subject, met: Set<string>) {
    this.subject = subject
    this.met = met
    this.twin = new Twin(() => this.#latest, subject.isOneCommit)
  }

  static async make(subject: Subject, met: Set<string>): Promise<World> {
    const world = new World(subject, met)
    await world.#open()
    await world.#createContainer(null)
    return world
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]()
    await this.twin.store[Symbol.asyncDispose]()
    await this.subject[Symbol.asyncDispose]()
  }

  async perform(operation: Operation): Promise<void> {
    switch (operation.op) {
      case 'together':
        return this.#together(operation)
      case 'page':
        return this.#page(operation)
      case 'transact':
        return transact(this, operation.writes)
      case 'advance':
        return this.#advance(operation.ms)
      case 'set wall':
        this.#source.wallMs += operation.byMs
        return
      case 'look':
        return this.look()
      case 'survey':
        return survey(this, operation)
      case 'reopen':
        return this.subject.isLasting ? this.#reopen(operation) : undefined
      case 'create index':
      case 'build index':
      case 'drop index':
        return changeIndexes(this, operation)
      case 'scan index':
        return scanIndexes(this, operation)
      case 'recreate':
        return this.#recreate(operation.defaultTtl)
      case 'reclaim':
        await this.store.reclaim(operation.rowsMax)
    }
  }

  /** Reads every key, and everything in one page. */
  async look(): Promise<void> {
    for (const key of keys) await this.#read(key)
    const page = { itemsMax: 1000, bytesMax: 1_000_000 }
    const answer = await this.store.scan(this.handle, everything, page)
    const moment = this.observe(answer.moment)
    this.twin.compare(answer, await this.twin.store.scan(this.handle, everything, page))
    assert.deepEqual(bodies(answer.items), bodies(this.model.page(everything, page, moment)))
  }

  /** `wallMs`: the wall clock at the earliest possible time of the operation. */
  observe(moment: EpochSeconds, wallMs = this.#source.wallMs): EpochSeconds {
    assert.ok(moment >= this.#latest, `the moment ${moment} is before ${this.#latest}`)
    assert.ok(moment >= Math.floor(wallMs / 1000), 'a wall clock that is ahead is followed')
    assert.ok(moment <= this.#clock.now(), 'no moment is invented')
    this.#latest = moment
    return moment
  }

  #advance(ms: number): void {
    this.#source.wallMs += ms
    this.#source.elapsedMs += ms
  }

  async #read(key: ItemKey): Promise<void> {
    const answer = await this.store.read(this.handle, key)
    const expected = this.model.read(key, this.observe(answer.moment))
    this.twin.compare(answer, await this.twin.store.read(this.handle, key))
    this.meet(expected === undefined && this.model.items.has(nameOf(key)) ? 'a read of a dead item' : 'a read')
    assert.equal(answer.item?.body, expected?.body, `${nameOf(key)} at ${answer.moment}`)
    assert.equal(answer.version, this.#newestOf(key))
  }

  async #together({ steps, advanceMs, isLost }: Extract<Operation, { op: 'together' }>): Promise<void> {
    const asked: Asked[] = []
    // Within a turn a read does not see writes that were sent before it. Over several turns the order is
    // unknown.
    const isRead = ({ op }: Step) => op === 'read'
    const ordered = this.subject.isOneCommit ? steps : [...steps].sort((a, b) => Number(isRead(b)) - Number(isRead(a)))
    for (const step of ordered) {
      if (step.op === 'read') await this.#read(keys[step.key]!)
      else asked.push(this.#ask(step))
    }
    if (isLost && this.subject.isOneCommit) return this.#lose(asked)
    if (isLost) await this.#failAlone()
    const { wallMs } = this.#source
    this.#advance(advanceMs)
    await this.#settle(asked, this.subject.isOneCommit ? this.#source.wallMs : wallMs)
  }

  /** The last operation of the turn fails unexpectedly, and its commit with it: nothing has changed then. */
  async #lose(asked: readonly Asked[]): Promise<void> {
    const before = await this.store.findContainer('d', 'c')
    const broken = [...changeIndexesInVain(this), this.store.updateContainer(this.handle, breaking)]
    const all = [...broken, ...asked.map(promiseOf)]
    await Promise.all(all.map(each => assert.rejects(each, { name: 'InvariantError' })))
    assert.deepEqual(await this.store.findContainer('d', 'c'), before)
    this.meet('a lost commit')
  }

  /** If commits are separate, an unexpected failure affects nothing else. */
  async #failAlone(): Promise<void> {
    await assert.rejects(this.store.updateContainer(this.handle, breaking), { name: 'InvariantError' })
    this.meet('a lost commit')
  }

  #ask(step: Exclude<Step, { op: 'read' }>): Asked {
    if (step.op === 'sweep') return { swept: this.store.sweep(this.handle, step.rowsMax) }
    if (step.op === 'default') {
      return { defaultTtl: step.defaultTtl, record: setDefault(this.store, this.handle, step.defaultTtl) }
    }
    const write = this.toWrite(step)
    return { write, answer: this.store.write(this.handle, write) }
  }

  /** Waits for operations that were sent together; the twin and the model follow in their actual order. */
  async #settle(asked: readonly Asked[], wallMs = this.#source.wallMs): Promise<void> {
    await Promise.all(asked.map(promiseOf))
    const happened: Happened[] = []
    for (const each of asked) {
      if ('swept' in each) this.meet((await each.swept).removed > 0 ? 'a sweep that removed' : 'a sweep in vain')
      else if ('record' in each) happened.push({ defaultTtl: each.defaultTtl, record: await each.record })
      else happened.push({ write: each.write, answer: await each.answer })
    }
    const moments = new Set(happened.map(momentOf))
    if (this.subject.isOneCommit) assert.ok(moments.size <= 1, 'operations sent together happen at one moment')
    const ordered = this.subject.isOneCommit ? happened : inOrder(this.container.policy, happened)
    for (const each of ordered) await this.#follow(each, wallMs)
    if (asked.length > 1) this.meet('several at once')
  }

  async #follow(happened: Happened, wallMs: number): Promise<void> {
    if ('write' in happened) {
      const { write, answer } = happened
      this.observe(answer.moment, wallMs)
      this.check(write, answer)
      const theirs = await this.twin.write(this.handle, write)
      this.twin.learn(answer.item, theirs.item)
      this.twin.compare(answer, theirs)
    } else {
      const { defaultTtl, record } = happened
      this.model.changeDefault(defaultTtl, this.observe(record.ts, wallMs))
      const theirs = await setDefault(this.twin.store, this.handle, defaultTtl)
      assert.deepEqual(withoutIndexes(record), withoutIndexes(theirs))
      this.container = record
    }
  }

  toWrite({ op: kind, key: n, ttl, condition, bodyChars, content }: Write): ItemWrite {
    const key = keys[n]!
    const versions = this.#versions.get(nameOf(key)) ?? []
    const named = { none: undefined, newest: versions.at(-1) ?? -1, oldest: versions[0] ?? -1, unknown: -1 }
    const ifVersion = named[condition]
    if (kind === 'delete') return { kind, key, ifVersion }
    const padded = { ...content, padding: '.'.repeat(bodyChars) }
    return { kind, key, ifVersion, ttl, draft: draftOf(padded) }
  }

  /** Compares the result of a write with what the model expects; then the model follows. */
  check(write: ItemWrite, answer: WriteAnswer): void {
    const { outcome, item, moment } = answer
    const name = nameOf(write.key)
    const before = this.model.items.get(name)
    assert.equal(outcome, this.model.expect(write, moment), `${write.kind} of ${name} at ${moment}`)
    assert.equal(item !== undefined, outcome === 'created' || outcome === 'replaced')
    const isRefused = outcome === 'exists' || outcome === 'missing' || outcome === 'changed'
    if (isRefused) assert.equal(answer.version, this.#newestOf(write.key), 'a write that is refused changes nothing')
    else assert.ok(answer.version > this.#newestOf(write.key), 'versions increase')
    this.#newest.set(this.#countedWith(write.key), answer.version)
    if (item !== undefined) {
      assert.equal(item.version, answer.version)
      this.know(write.key, item, outcome === 'replaced' ? before!.sequence : undefined)
      assert.equal(item.ts, moment)
    }
    this.meet(outcome === 'created' && before !== undefined ? 'created over the dead' : outcome)
    this.model.apply(write, answer)
  }

  async #page({ cursor: n, isNew, range, itemsMax, bytesMax }: Page): Promise<void> {
    const open = isNew ? undefined : this.#cursors[n]
    const cursor = open ?? { range: ranges[range]!, resume: undefined, lastItem: undefined }
    if (open !== undefined) this.meet('a scan resumed')
    const size = { itemsMax, bytesMax }
    const scanRange = { ...cursor.range, after: cursor.resume }
    const answer = await this.store.scan(this.handle, scanRange, size)
    const moment = this.observe(answer.moment)
    this.twin.compare(answer, await this.twin.store.scan(this.handle, scanRange, size))
    const expected = this.model.page({ ...cursor.range, after: cursor.lastItem }, size, moment)
    assert.deepEqual(bodies(answer.items), bodies(expected))
    const lastItem = expected.at(-1)?.key ?? cursor.lastItem
    this.#cursors[n] = answer.last && { range: cursor.range, resume: answer.last, lastItem }
    // A client that is told there is no more must have seen everything.
    if (answer.last === undefined) {
      const rest = this.model.page({ ...cursor.range, after: lastItem }, size, moment)
      assert.deepEqual(bodies(rest), [])
    }
  }

  /** A crash may or may not lose unfinished writes, but never an acknowledged one. Closing finishes them. */
  async #reopen({ isCrash, wallByMs, underWay }: Extract<Operation, { op: 'reopen' }>): Promise<void> {
    const asked = underWay.map(step => this.#ask(step))
    if (isCrash) {
      this.meet('a crash')
      const end = await this.subject.kill(this.store, asked.map(promiseOf))
      if (end === 'happened') await this.#settle(asked)
    } else {
      const closed = this.store[Symbol.asyncDispose]()
      await this.#settle(asked)
      await closed
    }
    this.#source.wallMs += wallByMs
    await this.#open()
    const container = await this.store.findContainer('d', 'c')
    assert.deepEqual(withoutIndexes(container!), withoutIndexes(this.container))
  }

  async #open(): Promise<void> {
    this.store = await this.subject.open(stored => {
      assert.ok(stored.mark >= this.#latest, `the mark ${stored.mark} forgets that it was ${this.#latest}`)
      // Every step is believed here. `clock-faults.test.ts` is about those that are not.
      this.#clock = new SystemClock(stored, {
        source: {
          epochMs: () => this.#source.wallMs,
          monotonicMs: () => this.#source.elapsedMs,
          uptimeMs: () => this.#source.elapsedMs,
        },
        stepSecondsMax: Number.MAX_SAFE_INTEGER,
      })
      return this.#clock
    })
  }

  async #recreate(defaultTtl: number | null): Promise<void> {
    const old = this.container
    for (const store of [this.store, this.twin.store]) {
      assert.equal(await store.deleteContainer(old), true)
      await assert.rejects(async () => store.read(old, keys[0]!), { kind: 'namespace_not_found' })
    }
    await this.#createContainer(defaultTtl)
  }

  async #createContainer(defaultTtl: number | null): Promise<void> {
    this.container = await makeContainer(this.store, defaultTtl)
    this.handle = this.container
    this.observe(this.container.ts)
    assert.deepEqual(await makeContainer(this.twin.store, defaultTtl), this.container)
    this.twin.forget()
    this.model = new Model(defaultTtl)
    this.#cursors = new Array(cursorCount).fill(undefined)
    this.#versions = new Map()
    this.#incarnations = new Set()
    this.#newest = new Map()
  }

  /** An item was written; `sequence` is that of the item it replaced. */
  know(key: ItemKey, item: StoredItem, sequence: number | undefined): void {
    const name = nameOf(key)
    this.#versions.set(name, [...(this.#versions.get(name) ?? []), item.version])
    assert.deepEqual(JSON.parse(textOf(item.body)).stamps, [item.sequence, item.version, item.ts])
    if (sequence !== undefined) assert.equal(item.sequence, sequence, 'a replaced item stays itself')
    else assert.ok(!this.#incarnations.has(item.sequence), 'a created item is a new one')
    this.#incarnations.add(item.sequence)
  }

  /** Writes with these keys happened whose versions are not all known. */
  async relearnNewest(written: readonly ItemKey[]): Promise<void> {
    for (const key of written) {
      const { version } = await this.store.read(this.handle, key)
      assert.ok(version >= this.#newestOf(key), 'versions increase')
      this.#newest.set(this.#countedWith(key), version)
    }
  }

  #newestOf(key: ItemKey): number {
    return this.#newest.get(this.#countedWith(key)) ?? 0
  }

  #countedWith({ epk }: ItemKey): string {
    return this.subject.isOneCommit ? '' : epk
  }

  /** An item of the model, with the numbers of one of the two stores. */
  asIn(store: Store, item: ModelItem): ModelItem {
    return store === this.twin.store ? this.twin.asTheirs(item) : item
  }

  meet(what: string): void {
    this.met.add(what)
  }
}

/** Dead rows make a build longer, so one store may have an index ready before the other. */
function withoutIndexes({ indexes: _, ...rest }: ContainerRecord): Omit<ContainerRecord, 'indexes'> {
  return rest
}

function bodies(items: readonly Pick<StoredItem, 'body'>[]): StoredItem['body'][] {
  return items.map(({ body }) => textOf(body))
}

function promiseOf(asked: Asked): Promise<unknown> {
  if ('swept' in asked) return asked.swept
  return 'record' in asked ? asked.record : asked.answer
}

function breaking(): never {
  throw new Error('out of memory')
}
