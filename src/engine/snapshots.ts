/**
 * Keeps states of the whole store in memory and goes back to them, so that each test begins from the same
 * data.
 *
 * A state has the databases, the containers with their settings, and the items that were alive, each with
 * its numbers, its etag, its `_ts` and its deadline. Time is not part of it: the clock never goes back. An
 * item that has died since the state was kept is dead when the state is restored.
 *
 * A restore makes all containers anew, so earlier positions in feeds, cursors and change streams are
 * refused. The contents of change logs are not kept.
 */

import { RequestError } from '../base/error.ts'
import { MiB, scanBytesMax } from '../base/limits.ts'
import { nextSlice } from '../base/slices.ts'
import type { ContainerRecord, DatabaseRecord } from '../store/catalog.ts'
import type { ScannedItem } from '../store/item.ts'
import type { Store } from '../store/port.ts'
import type { RowPosition } from '../store/reading.ts'
import { isAlive, livingAt } from '../ttl/living.ts'
import { OneAtATime } from './one-at-a-time.ts'

const snapshotsMax = 16
/** Bytes of the bodies of all snapshots together. */
const bytesMax = 256 * MiB
const nameForm = /^[A-Za-z0-9_.-]{1,64}$/

/** Rows of one transaction. */
const rowsAtOnce = 250
const triesMax = 3

interface KeptContainer {
  readonly record: ContainerRecord
  readonly rows: readonly ScannedItem[]
}

interface Kept {
  readonly takenAt: number
  readonly databases: readonly { readonly record: DatabaseRecord; readonly containers: readonly KeptContainer[] }[]
  readonly items: number
  readonly bytes: number
}

export interface SnapshotInfo {
  readonly name: string
  /** Item time. */
  readonly takenAt: number
  readonly items: number
  readonly bytes: number
}

export class KeptStates {
  readonly #store: Store
  readonly #kept = new Map<string, Kept>()
  readonly #works = new OneAtATime()

  constructor(store: Store) {
    this.#store = store
  }

  list(): SnapshotInfo[] {
    return [...this.#kept].map(([name, kept]) => infoOf(name, kept))
  }

  /** Runs one such work at a time. Two at once would mix their states and hold twice the memory. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#works.do(work)
  }

  /** Replaces a snapshot of the same name. */
  keep(name: string): Promise<SnapshotInfo> {
    return this.alone(() => this.#keep(name))
  }

  async #keep(name: string): Promise<SnapshotInfo> {
    if (!nameForm.test(name)) {
      throw new RequestError('malformed', 'The name of a snapshot has 1 to 64 letters, digits, dots, _ and -.')
    }
    if (!this.#kept.has(name) && this.#kept.size >= snapshotsMax) {
      throw new RequestError('malformed', `There are ${snapshotsMax} snapshots. Drop one first.`)
    }
    const others = [...this.#kept].reduce((sum, [each, { bytes }]) => sum + (each === name ? 0 : bytes), 0)
    await this.#requireAble()
    const kept = await this.#take(bytesMax - others)
    this.#kept.set(name, kept)
    return infoOf(name, kept)
  }

  /** Throws if the store cannot restore states. Called before a state is kept. */
  async #requireAble(): Promise<void> {
    for (const database of await this.#store.databases()) {
      const [first] = await this.#store.containers(database)
      if (first !== undefined) return this.#store.putRows(first, [])
    }
  }

  drop(name: string): void {
    if (!this.#kept.delete(name)) throw unknownSnapshot(name)
  }

  restore(name: string): Promise<SnapshotInfo> {
    return this.alone(() => this.#restore(name))
  }

  async #restore(name: string): Promise<SnapshotInfo> {
    const kept = this.#kept.get(name)
    if (kept === undefined) throw unknownSnapshot(name)
    for (const database of await this.#store.databases()) await this.#store.deleteDatabase(database)
    for (const { record, containers } of kept.databases) {
      const { id, rid, throughput } = record
      const database = await this.#store.createDatabase({ id, rid, throughput })
      if (database === undefined) throw interrupted()
      for (const container of containers) await this.#putBack(database, container)
    }
    return infoOf(name, kept)
  }

  /** Reads everything again if something was written meanwhile, because a snapshot shows one moment. */
  async #take(roomBytes: number): Promise<Kept> {
    for (let tries = 0; tries < triesMax; tries++) {
      const before = await this.#fingerprint()
      const kept = await this.#read(roomBytes)
      if ((await this.#fingerprint()) === before) return kept
    }
    throw new RequestError('precondition_failed', 'The data was written while the snapshot was taken. Try again.')
  }

  async #fingerprint(): Promise<string> {
    const parts: unknown[] = []
    for (const database of await this.#store.databases()) {
      for (const container of await this.#store.containers(database)) {
        const { number, version, policy } = container
        parts.push([number, version, policy, (await this.#store.census(container)).writes])
      }
      parts.push([database.number, database.version])
    }
    return JSON.stringify(parts)
  }

  async #read(roomBytes: number): Promise<Kept> {
    const moment = await this.#store.moment()
    const databases: { record: DatabaseRecord; containers: KeptContainer[] }[] = []
    let items = 0
    let bytes = 0
    for (const record of await this.#store.databases()) {
      const containers: KeptContainer[] = []
      for (const container of await this.#store.containers(record)) {
        const living = livingAt(container.policy, moment)
        const rows: ScannedItem[] = []
        let behind: RowPosition | undefined
        do {
          const range = { by: 'creation', after: -1, upTo: Number.MAX_SAFE_INTEGER, isReverse: false, behind } as const
          const page = await this.#store.listRows(container, range, { itemsMax: 1000, bytesMax: scanBytesMax })
          behind = page.last
          for (const row of page.rows) {
            if (!isAlive(living, row)) continue
            rows.push(row)
            bytes += row.body.length
          }
          if (bytes > roomBytes) {
            throw new RequestError(
              'too_large',
              `Snapshots may hold ${bytesMax / MiB} MB together. Drop one, or keep less.`,
            )
          }
          await nextSlice()
        } while (behind !== undefined)
        items += rows.length
        containers.push({ record: container, rows })
      }
      databases.push({ record, containers })
    }
    return { takenAt: moment, databases, items, bytes }
  }

  async #putBack(database: DatabaseRecord, { record, rows }: KeptContainer): Promise<void> {
    const { id, rid, throughput, partitionKey, partitionCount, encoding, policy, definition, indexes } = record
    const declaredIndexes = indexes.map(({ definition: { components, options, uniqueness }, isDeclared }) => ({
      ...{ components, options, uniqueness, isDeclared },
    }))
    // The log is switched on at the end: restored items are not changes.
    const draft = { id, rid, throughput, partitionKey, partitionCount, encoding, policy, definition, declaredIndexes }
    let container = await this.#store.createContainer(database, { ...draft, logSeconds: null })
    if (container === undefined) throw interrupted()
    for (const part of partsOf(rows)) {
      await this.#store.putRows(container, part)
      await nextSlice()
    }
    const renumbered = withNumbers(definition, indexes, container.indexes)
    const { logSeconds, partitionSplits } = record
    container = await this.#store.updateContainer(container, () => ({
      logSeconds,
      partitionSplits,
      definition: renumbered,
    }))
    if (container === undefined) throw interrupted()
  }
}

/** Parts that take a few milliseconds of the event loop each. */
function* partsOf(rows: readonly ScannedItem[]): Generator<readonly ScannedItem[]> {
  let from = 0
  let bytes = 0
  for (const [at, { body }] of rows.entries()) {
    bytes += body.length
    if (at + 1 - from < rowsAtOnce && bytes < scanBytesMax && at + 1 < rows.length) continue
    yield rows.slice(from, at + 1)
    from = at + 1
    bytes = 0
  }
}

/** The definition of a collection has the numbers of its indexes, which change with a restore. */
function withNumbers(
  definition: unknown,
  before: ContainerRecord['indexes'],
  after: ContainerRecord['indexes'],
): unknown {
  const { api, indexes } = definition as { api?: unknown; indexes?: readonly { readonly number?: number }[] }
  if (api !== 'mongo' || indexes === undefined) return definition
  const numbers = new Map(before.map((index, at) => [index.definition.number, after[at]!.definition.number]))
  const renumbered = indexes.map(index =>
    index.number === undefined ? index : { ...index, number: numbers.get(index.number) ?? index.number },
  )
  return { ...(definition as object), indexes: renumbered }
}

function infoOf(name: string, { takenAt, items, bytes }: Kept): SnapshotInfo {
  return { name, takenAt, items, bytes }
}

function unknownSnapshot(name: string): RequestError {
  return new RequestError('not_found', `There is no snapshot '${name.slice(0, 64)}'.`)
}

function interrupted(): RequestError {
  return new RequestError('precondition_failed', 'Somebody made a database or container while the state was restored.')
}
