/**
 * Makes the indexes that queries need, and lets go of those that nobody needs any more.
 *
 * The service indexes everything; we index what is read. Declared indexes are built as declared. For the
 * rest, queries report what they had to scan and which index would have spared them that: when the avoidable
 * scans of a path have read several times the container, an index of it costs no more than they did, and it
 * is built in the background, a bounded step at a time in idle moments. What was promised is built when it is
 * first missed. An adaptive index that many writes kept up without a single use is dropped. A container that
 * is never queried pays nothing.
 */

import { machine } from '../base/clock.ts'
import type { IdleWatch } from '../base/idle.ts'
import { indexBuildRowsMax } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import { anyElement, type IndexComponent } from '../document/index-definition.ts'
import { ascendingFirst, describeIndex } from '../query/choose-index.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Store } from '../store/port.ts'
import { LargePartitions } from './large-partitions.ts'

/** Below this many items a scan is as good as an index. */
export const adaptiveIndexRowsMin = 2000

/**
 * An index is made when scans that it would have avoided have read so many times the container: building
 * costs about five.
 */
export const adaptiveScansMin = 5

/**
 * Paths of one container whose scans are counted. Applications ask for few; a client that makes paths up must
 * not fill memory.
 */
export const adaptiveWishesMax = 64

/** Adaptive indexes of one container: with four, inserts run at about a quarter of their rate without any. */
const adaptiveIndexesMax = 4

/** The same where somebody asked that everything be indexed and writes pay for it, as they do in MongoDB. */
const promisedIndexesMax = 16

/**
 * An adaptive index goes when so many writes, or half as many as there are items, kept it up since its last
 * use.
 */
export const adaptiveUnusedWritesMin = 10_000

/**
 * A build waits less than a purge: queries scan until it is done. A million items take two minutes beside
 * steady requests.
 */
const indexBuildWaitMsMax = 10

interface Wish {
  readonly component: IndexComponent
  rowsScanned: number
  isPromised: boolean
}

interface Scan {
  readonly scanned: number
  /** All that the container has. */
  readonly rows: number
  readonly isPromised: boolean
}

/** What is known of a container since the start; a restart begins anew. */
interface Observed {
  readonly wishes: Map<string, Wish>
  /** Index number to the container's writes when it was last known to have been used. */
  readonly uses: Map<number, number>
  /** Those that were used since anybody looked. */
  readonly used: Set<number>
}

export interface IndexKeeperOptions {
  readonly store: Store
  readonly idle: IdleWatch
  readonly log: Logger
  /** What the definition of a container declares; only the edge that made it can read it. */
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

  /** A query read so many items which an index on this path would have spared it. */
  noteScan(container: ContainerRecord, component: IndexComponent, { scanned, rows, isPromised }: Scan): void {
    if (rows < adaptiveIndexRowsMin) return
    const { wishes } = this.#observe(container)
    const name = describeIndex([component])
    const wish = wishes.get(name) ?? { component, rowsScanned: 0, isPromised }
    wish.rowsScanned += scanned
    wish.isPromised = isPromised
    // A Map keeps insertion order: the path that was not asked for longest gives way.
    wishes.delete(name)
    wishes.set(name, wish)
    if (wishes.size > adaptiveWishesMax) wishes.delete(wishes.keys().next().value!)
    if (isDue(wish, rows)) this.wake()
  }

  /**
   * Makes the indexes a container's definition declares and drops the declared ones it no longer names. One
   * container after the other: two changes that came at once would each miss what the other makes.
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
    // Several paths make one key, which cannot have several elements of an array in it.
    const possible = wanted.filter(components => components.every(({ path }) => !path.includes(anyElement)))
    const normal = new Map(possible.map(ascendingFirst).map(components => [describeIndex(components), components]))
    for (const { definition, isDeclared } of container.indexes) {
      // Unique keys are chosen when the container is made, and stay.
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
   * Looks for work, once more if that is being done already: it may have passed what is new. One index is
   * built at a time.
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
          // It may have been deleted while another one's index was built.
          if ((await this.#present(container)) === undefined) continue
          // A definition and its indexes are stored one after the other; a crash may have come between them.
          await this.declare(container)
          await this.#grantWishes(container)
          await this.#dropUnused(container)
          await this.#build(container)
          if (this.#isClosed) return
        }
      }
    } catch (error) {
      this.#log.error({ error }, 'looking after indexes failed; it goes on with the next query')
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
