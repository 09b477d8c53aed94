/**
 * Builds the indexes that queries need, and drops those that are no longer used.
 *
 * Azure indexes every path. Mayfly indexes the paths that queries read. Declared indexes are built as
 * declared. For other paths, a query reports how many items it scanned and which index would have avoided
 * that. When the avoidable scans of a path have read several times the size of the container, building an
 * index costs no more than they did. It is then built in the background, in bounded steps at idle moments.
 * For a promised path (one that a wildcard index of the user covers) one such scan is enough. An adaptive
 * index is dropped after many writes without a use. A container that is never queried pays nothing.
 */

import { machine } from '../base/clock.ts'
import type { IdleWatch } from '../base/idle.ts'
import { indexBuildRowsMax } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import { nextSlice } from '../base/slices.ts'
import { anyElement, type IndexComponent } from '../document/index-definition.ts'
import { ascendingFirst, describeIndex } from '../query/choose-index.ts'
import type { ContainerRecord, IndexDraft } from '../store/catalog.ts'
import type { Store } from '../store/port.ts'
import { LargePartitions } from './large-partitions.ts'

/** With fewer items a scan is as good as an index. */
export const adaptiveIndexRowsMin = 2000

/**
 * An index is built when the scans that it would have avoided have read the container this often. Building
 * costs about five scans.
 */
export const adaptiveScansMin = 5

/**
 * Most paths of one container whose scans are counted. Applications use few paths; a client that invents
 * paths must not fill the memory.
 */
export const adaptiveWishesMax = 64

/** Adaptive indexes of one container. With four, inserts are four times slower than with none. */
const adaptiveIndexesMax = 4

/** The same for promised paths: the user asked for the index and accepts slower writes, as in MongoDB. */
const promisedIndexesMax = 16

/**
 * An adaptive index is dropped after this many writes without a use, or after half as many writes as there
 * are items if that is more.
 */
export const adaptiveUnusedWritesMin = 10_000

/**
 * A build waits less than a purge, because queries scan until it is done. A million items take two minutes
 * beside steady requests.
 */
const indexBuildWaitMsMax = 10

interface Wish {
  readonly component: IndexComponent
  rowsScanned: number
  isPromised: boolean
}

interface Scan {
  readonly scanned: number
  /** All items of the container. */
  readonly rows: number
  readonly isPromised: boolean
}

/** What was observed about a container since the process started. */
interface Observed {
  readonly wishes: Map<string, Wish>
  /** Index number to the container's write count when it was last known to be used. */
  readonly uses: Map<number, number>
  /** Indexes used since the last check. */
  readonly used: Set<number>
}

export interface IndexKeeperOptions {
  readonly store: Store
  readonly idle: IdleWatch
  readonly log: Logger
  /** The indexes that a container's definition declares. Only the edge that made it can read it. */
  readonly declaredIndexes: (definition: unknown) => readonly (readonly IndexComponent[])[]
}

export class IndexKeeper implements AsyncDisposable {
  readonly largePartitions = new LargePartitions()
  readonly #store: Store
  readonly #idle: IdleWatch
  readonly #log: Logger
  readonly #declaredIndexes: IndexKeeperOptions['declaredIndexes']
  readonly #observed = new Map<number, Observed>()
  #work: Promise<void> = Promise.resolve()
  #declared: Promise<void> = Promise.resolve()
  #isWorking = false
  #isAsked = false
  #isClosed = false

  constructor({ store, idle, log, declaredIndexes }: IndexKeeperOptions) {
    this.#store = store
    this.#declaredIndexes = declaredIndexes
    this.#idle = idle
    this.#log = log
    this.wake()
  }

  noteUse(container: ContainerRecord, index: number): void {
    this.#observe(container).used.add(index)
  }

  /** Reports a scan that an index on this path would have avoided. */
  noteScan(container: ContainerRecord, component: IndexComponent, { scanned, rows, isPromised }: Scan): void {
    if (rows < adaptiveIndexRowsMin) return
    const { wishes } = this.#observe(container)
    const name = describeIndex([component])
    const wish = wishes.get(name) ?? { component, rowsScanned: 0, isPromised }
    wish.rowsScanned += scanned
    wish.isPromised = isPromised
    // A Map keeps insertion order, so the path that was asked for least recently is removed.
    wishes.delete(name)
    wishes.set(name, wish)
    if (wishes.size > adaptiveWishesMax) wishes.delete(wishes.keys().next().value!)
    if (isDue(wish, rows)) this.wake()
  }

  /**
   * Creates the indexes that a container's definition declares, and drops declared ones that it no longer
   * names. One call at a time: two concurrent calls would each miss what the other creates.
   */
  declare(container: ContainerRecord): Promise<void> {
    const declared = this.#declared.then(() => this.#declare(container))
    this.#declared = declared.catch(() => {})
    return declared
  }

  async #declare(named: ContainerRecord): Promise<void> {
    const container = await this.#present(named)
    if (container === undefined || container.encoding !== 'json') return
    const wanted = this.#declaredIndexes(container.definition)
    // Several paths make one key, which cannot hold several elements of an array.
    const possible = wanted.filter(components => components.every(({ path }) => !path.includes(anyElement)))
    const normal = new Map(possible.map(ascendingFirst).map(components => [describeIndex(components), components]))
    for (const { definition, isDeclared } of container.indexes) {
      // Unique keys are fixed when the container is created.
      if (definition.uniqueness !== 'none') continue
      const isWanted = normal.delete(describeIndex(definition.components))
      if (isDeclared && !isWanted) await this.#store.dropIndex(container, definition.number)
    }
    for (const components of normal.values()) {
      await this.#store.createIndex(container, { components, isDeclared: true })
    }
    if (normal.size > 0) this.wake()
  }

  /**
   * Creates an index that a user asked for, and returns its number. From now on every write updates it.
   * Returns undefined if the container does not exist any more.
   */
  async create(container: ContainerRecord, draft: IndexDraft): Promise<number | undefined> {
    const before = new Set(container.indexes.map(({ definition }) => definition.number))
    const extended = await this.#store.createIndex(container, draft)
    return extended?.indexes.find(({ definition }) => !before.has(definition.number))?.definition.number
  }

  /** Adds the existing items to a new index. Other requests get a turn between the steps. */
  async complete(container: ContainerRecord, number: number, afterStep: () => void): Promise<void> {
    while (!(await this.#store.buildIndex(container, number, indexBuildRowsMax))) {
      afterStep()
      await nextSlice()
    }
  }

  async drop(container: ContainerRecord, number: number): Promise<void> {
    await this.#store.dropIndex(container, number)
  }

  /**
   * Looks for work. If a search is already under way, another one follows it, because the first may have
   * passed the new work already. One index is built at a time.
   */
  wake(): void {
    this.#isAsked = true
    if (this.#isWorking || this.#isClosed) return
    this.#isWorking = true
    this.#work = this.#run()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#work
  }

  async #run(): Promise<void> {
    while (this.#isAsked && !this.#isClosed) {
      this.#isAsked = false
      await this.#lookRound()
    }
    this.#isWorking = false
  }

  async #lookRound(): Promise<void> {
    try {
      for (const database of await this.#store.databases()) {
        for (const container of await this.#store.containers(database)) {
          // It may have been deleted while another container's index was built.
          if ((await this.#present(container)) === undefined) continue
          // A definition and its indexes are stored one after the other, and a crash may have come between.
          await this.declare(container)
          await this.#grantWishes(container)
          await this.#dropUnused(container)
          await this.#build(container)
          if (this.#isClosed) return
        }
      }
    } catch (error) {
      this.#log.error({ error }, 'index maintenance failed; it continues with the next query')
    }
  }

  async #grantWishes(container: ContainerRecord): Promise<void> {
    const { wishes } = this.#observe(container)
    const { rows } = await this.#store.census(container)
    for (const [name, wish] of wishes) {
      if (!isDue(wish, rows)) continue
      wishes.delete(name)
      const { indexes } = (await this.#present(container)) ?? container
      const adaptive = indexes.filter(({ isDeclared }) => !isDeclared)
      const isThere = indexes.some(({ definition }) => describeIndex(definition.components) === name)
      if (isThere || adaptive.length >= (wish.isPromised ? promisedIndexesMax : adaptiveIndexesMax)) continue
      await this.#store.createIndex(container, { components: [wish.component], isDeclared: false })
      this.#log.info({ container: container.id, path: name }, 'queries keep asking for this path: building an index')
    }
  }

  async #build(container: ContainerRecord): Promise<void> {
    for (const { definition, isReady } of (await this.#present(container))?.indexes ?? []) {
      const startMs = machine.monotonicMs()
      let isDone = isReady
      while (!isDone && !this.#isClosed) {
        await this.#idle.moment(indexBuildWaitMsMax)
        isDone = await this.#store.buildIndex(container, definition.number, indexBuildRowsMax)
        if (isDone)
          this.#log.info({ container: container.id, ms: machine.monotonicMs() - startMs }, 'an index is ready')
      }
    }
  }

  async #dropUnused(container: ContainerRecord): Promise<void> {
    const { uses, used } = this.#observe(container)
    const { rows, writes } = await this.#store.census(container)
    for (const { definition, isDeclared } of (await this.#present(container))?.indexes ?? []) {
      if (used.delete(definition.number) || !uses.has(definition.number)) uses.set(definition.number, writes)
      const writesSince = writes - uses.get(definition.number)!
      if (isDeclared || writesSince < Math.max(adaptiveUnusedWritesMin, rows / 2)) continue
      await this.#store.dropIndex(container, definition.number)
      uses.delete(definition.number)
    }
  }

  async #present({ database, id, number }: ContainerRecord): Promise<ContainerRecord | undefined> {
    const found = await this.#store.findContainer(database.id, id)
    return found?.number === number ? found : undefined
  }

  #observe({ number }: ContainerRecord): Observed {
    let observed = this.#observed.get(number)
    if (observed === undefined) {
      observed = { wishes: new Map(), uses: new Map(), used: new Set() }
      this.#observed.set(number, observed)
    }
    return observed
  }
}

function isDue({ rowsScanned, isPromised }: Wish, rows: number): boolean {
  return isPromised || rowsScanned >= adaptiveScansMin * rows
}
