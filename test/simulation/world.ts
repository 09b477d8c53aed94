/**
 * One simulated life: the store under test, its twin that is never swept, and the model, asked the same things.
 *
 * All three are compared at every answer. The twin lives in memory and is never closed, so that sweeping, closing, crashing
 * and reopening are shown to change nothing that a client can see. Both stores look at one clock, a SystemClock over a
 * wall and a monotonic source that the simulation turns.
 */

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, type EpochSeconds, SystemClock } from '../../src/base/clock.ts'
import { withContract } from '../../src/storage/contract.ts'
import type {
  ContainerRecord,
  ItemKey,
  ItemWrite,
  ScanRange,
  Store,
  StoredItem,
  WriteAnswer,
} from '../../src/storage/port.ts'
import { openSqlite } from '../../src/storage/sqlite/open.ts'
import { draftOf, fail, makeContainer, openStore, setDefault } from './fixture.ts'
import { changeIndexes, changeIndexesInVain, scanIndexes } from './indexes.ts'
import { Model, nameOf } from './model.ts'
import { cursorCount, keyCount, type Operation, type Page, type Step, type Write } from './operations.ts'
import { survey } from './survey.ts'

export type Kind = 'memory' | 'disk'

/** Two partition keys share an effective one, and ids repeat, so that each part of the key matters. */
export const keys: readonly ItemKey[] = Array.from({ length: keyCount }, (_, n) => ({
  epk: ['10', '20', '20', '30'][n % 4]!,
  pk: ['["a"]', '["b"]', '["c"]', '["d"]'][n % 4]!,
  id: ['x', 'y', 'z'][Math.floor(n / 4)]!,
}))

export const everything: ScanRange = { min: '', maxExclusive: 'FF' }
export const ranges: readonly ScanRange[] = [
  everything,
  { min: '', maxExclusive: '20' },
  { min: '20', maxExclusive: '30' },
  { min: '20', maxExclusive: 'FF' },
  { min: '20', maxExclusive: '30', pk: '["c"]' },
]

interface Cursor {
  readonly range: ScanRange
  readonly resume: ItemKey | undefined
  /** The last item the client was given. The model goes on from here, whatever the store names as its place. */
  readonly lastItem: ItemKey | undefined
}

export class World implements AsyncDisposable {
  readonly kind: Kind
  /** What happened, for a check that the simulation is not idle. */
  readonly met: Set<string>
  readonly #source = { wallMs: 1_000_000_000_000, elapsedMs: 0 }
  #clock!: Clock
  #directory: string | undefined
  #cursors: (Cursor | undefined)[] = []
  /** Versions each key had, oldest first. */
  #versions = new Map<string, number[]>()
  #incarnations = new Set<number>()
  /** The version of the last write that changed something. */
  #newest = 0
  /** The latest moment that an answer has named. */
  #latest = 0
  store!: Store
  twin!: Store
  /** The container as it is now. */
  container!: ContainerRecord
  /** The container as it was when it was made: who holds an old record must be answered by the present policy. */
  handle!: ContainerRecord
  model = new Model(null)

  private constructor(kind: Kind, met: Set<string>) {
    this.kind = kind
    this.met = met
  }

  static async make(kind: Kind, met: Set<string>): Promise<World> {
    const world = new World(kind, met)
    if (kind === 'disk') world.#directory = temporaryDirectory()
    world.store = world.#open(world.#directory)
    const moving: Clock = { mode: 'system', now: () => world.#clock.now() }
    world.twin = openStore(moving)
    await world.#createContainer(null)
    return world
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]()
    await this.twin[Symbol.asyncDispose]()
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true })
  }

  async perform(operation: Operation): Promise<void> {
    switch (operation.op) {
      case 'together':
        return this.#together(operation)
      case 'page':
        return this.#page(operation)
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
        return this.kind === 'disk' ? this.#reopen(operation) : undefined
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
    assert.deepEqual(answer, await this.twin.scan(this.handle, everything, page))
    assert.deepEqual(bodies(answer.items), bodies(this.model.page(everything, page, answer.moment)))
  }

  observe(moment: EpochSeconds): EpochSeconds {
    assert.ok(moment >= this.#latest, `the moment ${moment} is before ${this.#latest}`)
    assert.ok(moment >= Math.floor(this.#source.wallMs / 1000), 'a wall clock that is ahead is followed')
    this.#latest = moment
    return moment
  }

  #advance(ms: number): void {
    this.#source.wallMs += ms
    this.#source.elapsedMs += ms
  }

  async #read(key: ItemKey): Promise<void> {
    const answer = await this.store.read(this.handle, key)
    assert.deepEqual(answer, await this.twin.read(this.handle, key))
    const expected = this.model.read(key, this.observe(answer.moment))
    this.meet(expected === undefined && this.model.items.has(nameOf(key)) ? 'a read of a dead item' : 'a read')
    assert.equal(answer.item?.body, expected?.body, `${nameOf(key)} at ${answer.moment}`)
    assert.equal(answer.version, this.#newest)
  }

  async #together({ steps, advanceMs, isLost }: Extract<Operation, { op: 'together' }>): Promise<void> {
    const settling: (() => Promise<number | undefined>)[] = []
    for (const step of steps) {
      // A read is answered within the turn and so sees nothing of the writes that were asked for before it.
      if (step.op === 'read') await this.#read(keys[step.key]!)
      else settling.push(this.#ask(step))
    }
    if (isLost) return this.#lose(settling)
    this.#advance(advanceMs)
    const moments = new Set<number>()
    for (const settle of settling) {
      const moment = await settle()
      if (moment !== undefined) moments.add(moment)
    }
    assert.ok(moments.size <= 1, 'what is asked for together happens at one moment')
    if (settling.length > 1) this.meet('several at once')
  }

  /** The last work of the turn fails in a way that nobody foresaw, and its commit with it: nothing has happened then. */
  async #lose(settling: readonly (() => Promise<unknown>)[]): Promise<void> {
    const breaking = () => {
      throw new Error('out of memory')
    }
    const stores = [this.store, this.twin]
    const before = await Promise.all(stores.map(store => store.findContainer('d', 'c')))
    const broken = stores.flatMap(store => [
      ...changeIndexesInVain(this, store),
      store.updateContainer(this.handle, breaking),
    ])
    const all = [...broken, ...settling.map(settle => settle())]
    await Promise.all(all.map(each => assert.rejects(each, { name: 'InvariantError' })))
    assert.deepEqual(await Promise.all(stores.map(store => store.findContainer('d', 'c'))), before)
    this.meet('a lost commit')
  }

  /** Asks both stores now; what comes back is compared and told to the model later, and names its moment. */
  #ask(step: Exclude<Step, { op: 'read' }>): () => Promise<number | undefined> {
    if (step.op === 'sweep') {
      const swept = this.store.sweep(this.handle, step.rowsMax)
      return async () => {
        this.meet((await swept).removed > 0 ? 'a sweep that removed' : 'a sweep in vain')
        return undefined
      }
    }
    if (step.op === 'default') {
      const asked = [this.store, this.twin].map(store => setDefault(store, this.handle, step.defaultTtl))
      return async () => {
        const [changed, twins] = await Promise.all(asked)
        assert.deepEqual(withoutIndexes(changed!), withoutIndexes(twins!))
        this.container = changed!
        this.model.changeDefault(step.defaultTtl, this.observe(changed!.ts))
        return changed!.ts
      }
    }
    const write = this.#toWrite(step)
    const asked = [this.store, this.twin].map(store => store.write(this.handle, write))
    return async () => {
      const [answer, twins] = await Promise.all(asked)
      assert.deepEqual(answer, twins)
      this.#settle(write, answer!)
      return answer!.moment
    }
  }

  #toWrite({ op: kind, key: n, ttl, condition, bodyChars, content }: Write): ItemWrite {
    const key = keys[n]!
    const versions = this.#versions.get(nameOf(key)) ?? []
    const named = { none: undefined, newest: versions.at(-1) ?? -1, oldest: versions[0] ?? -1, unknown: -1 }
    const ifVersion = named[condition]
    if (kind === 'delete') return { kind, key, ifVersion }
    const padded = { ...content, padding: '.'.repeat(bodyChars) }
    return { kind, key, ifVersion, ttl, draft: draftOf(padded) }
  }

  /** What came of a write, against what the model expects; then the model follows. */
  #settle(write: ItemWrite, answer: WriteAnswer): void {
    const { outcome, item, moment } = answer
    const name = nameOf(write.key)
    const before = this.model.items.get(name)
    assert.equal(outcome, this.model.expect(write, this.observe(moment)), `${write.kind} of ${name} at ${moment}`)
    assert.equal(item !== undefined, outcome === 'created' || outcome === 'replaced')
    const isRefused = outcome === 'exists' || outcome === 'missing' || outcome === 'changed'
    if (isRefused) assert.equal(answer.version, this.#newest, 'a write that is refused changes nothing')
    else assert.ok(answer.version > this.#newest, 'versions increase')
    this.#newest = answer.version
    if (item !== undefined) {
      const versions = this.#versions.get(name) ?? []
      assert.equal(item.version, answer.version)
      this.#versions.set(name, [...versions, item.version])
      assert.equal(item.ts, moment)
      assert.deepEqual(JSON.parse(item.body).stamps, [item.sequence, item.version, item.ts])
      const isKnown = this.#incarnations.has(item.sequence)
      if (outcome === 'replaced') assert.equal(item.sequence, before!.sequence, 'a replaced item stays itself')
      else assert.ok(!isKnown, 'a created item is a new one')
      this.#incarnations.add(item.sequence)
    }
    this.meet(outcome === 'created' && before !== undefined ? 'created over the dead' : outcome)
    this.model.apply(write, answer)
  }

  async #page({ cursor: n, isNew, range, itemsMax, bytesMax }: Page): Promise<void> {
    const open = isNew ? undefined : this.#cursors[n]
    const cursor = open ?? { range: ranges[range]!, resume: undefined, lastItem: undefined }
    if (open !== undefined) this.meet('a scan resumed')
    const size = { itemsMax, bytesMax }
    const place = { ...cursor.range, after: cursor.resume }
    const answer = await this.store.scan(this.handle, place, size)
    assert.deepEqual(answer, await this.twin.scan(this.handle, place, size))
    const moment = this.observe(answer.moment)
    const expected = this.model.page({ ...cursor.range, after: cursor.lastItem }, size, moment)
    assert.deepEqual(bodies(answer.items), bodies(expected))
    const lastItem = expected.at(-1)?.key ?? cursor.lastItem
    this.#cursors[n] = answer.last && { range: cursor.range, resume: answer.last, lastItem }
    // Whoever is told that there is no more must have seen all.
    if (answer.last === undefined) {
      const rest = this.model.page({ ...cursor.range, after: lastItem }, size, moment)
      assert.deepEqual(bodies(rest), [])
    }
  }

  /**
   * A crash is a copy of the files as they are in the middle of a turn: what a killed process leaves behind. What was under
   * way was not acknowledged and is lost. Closing, on the other hand, ends what is under way.
   */
  async #reopen({ isCrash, wallByMs, underWay }: Extract<Operation, { op: 'reopen' }>): Promise<void> {
    const before = this.#directory!
    if (isCrash) {
      this.meet('a crash')
      const lost = underWay.map(step => this.store.write(this.handle, this.#toWrite(step)))
      this.#directory = temporaryDirectory()
      for (const name of ['mayfly.db', 'mayfly.db-wal']) {
        if (existsSync(join(before, name))) copyFileSync(join(before, name), join(this.#directory, name))
      }
      await Promise.all([...lost, this.store[Symbol.asyncDispose]()])
      rmSync(before, { recursive: true })
    } else {
      const settling = underWay.map(step => this.#ask(step))
      const closed = this.store[Symbol.asyncDispose]()
      for (const settle of settling) await settle()
      await closed
    }
    this.#source.wallMs += wallByMs
    this.store = this.#open(this.#directory)
    const container = await this.store.findContainer('d', 'c')
    assert.deepEqual(withoutIndexes(container!), withoutIndexes(this.container))
  }

  #open(directory: string | undefined): Store {
    const clock = (highWaterMark: EpochSeconds) => {
      assert.ok(highWaterMark >= this.#latest, `the mark ${highWaterMark} forgets that it was ${this.#latest}`)
      this.#clock = new SystemClock(highWaterMark, {
        epochMs: () => this.#source.wallMs,
        monotonicMs: () => this.#source.elapsedMs,
      })
      return this.#clock
    }
    return withContract(openSqlite({ directory, clock, onFatal: fail }))
  }

  async #recreate(defaultTtl: number | null): Promise<void> {
    const old = this.container
    for (const store of [this.store, this.twin]) {
      assert.equal(await store.deleteContainer(old), true)
      await assert.rejects(async () => store.read(old, keys[0]!), { kind: 'namespace_not_found' })
    }
    await this.#createContainer(defaultTtl)
  }

  async #createContainer(defaultTtl: number | null): Promise<void> {
    const made = await Promise.all([this.store, this.twin].map(store => makeContainer(store, defaultTtl)))
    assert.deepEqual(made[0], made[1])
    this.container = made[0]!
    this.handle = made[0]!
    this.observe(this.container.ts)
    this.model = new Model(defaultTtl)
    this.#cursors = new Array(cursorCount).fill(undefined)
    this.#versions = new Map()
    this.#incarnations = new Set()
    this.#newest = 0
  }

  meet(what: string): void {
    this.met.add(what)
  }
}

/** An index takes longer to build where the dead are still there, so that one store may have it ready before the other. */
function withoutIndexes({ indexes: _, ...rest }: ContainerRecord): Omit<ContainerRecord, 'indexes'> {
  return rest
}

function bodies(items: readonly Pick<StoredItem, 'body'>[]): string[] {
  return items.map(({ body }) => body)
}

function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'mayfly-simulation-'))
}
