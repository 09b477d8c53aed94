/**
 * Reads: an item, pages of items by key, by index or by change, and the log. The reads of one turn share a
 * snapshot.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { heavyTurnFor } from '../../base/heavy-turns.ts'
import { sliceRowsMax } from '../../base/limits.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { nextSlice } from '../../base/slices.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { Viewpoint } from '../../store/policy.ts'
import type { Store } from '../../store/port.ts'
import type {
  ChangeRange,
  ChangesAnswer,
  IndexRange,
  LogAnswer,
  PageSize,
  ReadAnswer,
  RowRange,
  ScanAnswer,
  ScanRange,
} from '../../store/reading.ts'
import { livingAt } from '../../ttl/living.ts'
import type { ChangeSlice } from './changes.ts'
import { heavy, type RowSlice } from './items.ts'
import type { StoreParts } from './parts.ts'
import { changeNumber } from './positions.ts'

/** Room for one item of any size: an empty page accepts its first item whatever its bytes. */
const roomForOne = { itemsMax: 1, bytesMax: 0, isEmpty: true }

export class StoreReads {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint): MaybePromise<ReadAnswer> {
    try {
      const { record, items } = this.#parts.catalog.requireContainer(container)
      const { moment, policy } = this.#judgedBy(record, at)
      const item = items.readLight(key, livingAt(policy, moment))
      if (item === heavy) return heavyTurnFor(() => this.#readHeavy(container, key, at), this)
      return { moment, policy, version: items.version, item }
    } catch (error) {
      throw this.#parts.turns.readFailed(error)
    }
  }

  #readHeavy(container: ContainerRecord, key: ItemKey, at: Viewpoint | undefined): ReadAnswer {
    return this.#reading(() => {
      const { record, items } = this.#parts.catalog.requireContainer(container)
      const { moment, policy } = this.#judgedBy(record, at)
      return { moment, policy, version: items.version, item: items.read(key, livingAt(policy, moment)) }
    })
  }

  readBySequence(container: ContainerRecord, sequence: number) {
    return this.#reading(() => {
      const { record, items } = this.#parts.catalog.requireContainer(container)
      const { moment, policy } = this.#judgedBy(record, undefined)
      // The next living row; it is the wanted one only if its number matches.
      const [item] = items.rowsBehind(sequence - 1, livingAt(policy, moment), roomForOne, 1).items
      return { moment, policy, version: items.version, item: item?.sequence === sequence ? item : undefined }
    })
  }

  scan(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<ScanAnswer> {
    return this.#reading(() => {
      const { record, items } = this.#parts.catalog.requireContainer(container)
      const { moment, policy } = this.#judgedBy(record, range.at)
      const slice = items.scan(range, livingAt(policy, moment), page, sliceRowsMax)
      if (slice.isFull || slice.last === undefined) {
        return { moment, policy, version: items.version, items: slice.items, last: slice.last }
      }
      return this.#scanOn(container, range, page, { moment, policy, slice })
    })
  }

  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize) {
    return this.#reading(() => {
      const { record, items, entries } = this.#parts.catalog.requireContainer(container)
      const { moment, policy } = this.#judgedBy(record, range.within.at)
      const slice = entries.scan(range, livingAt(policy, moment), page, sliceRowsMax, record.indexes)
      return { moment, policy, version: items.version, ...slice }
    })
  }

  countEntries(...[container, range]: Parameters<Store['countEntries']>) {
    return this.#reading(() => this.#parts.catalog.requireContainer(container).entries.count(range))
  }

  listRows(container: ContainerRecord, range: RowRange, page: PageSize) {
    return this.#reading(() => {
      this.#parts.turns.beginRead()
      return this.#parts.catalog.requireContainer(container).items.list(range, page)
    })
  }

  changes(container: ContainerRecord, { within, after }: ChangeRange, page: PageSize): MaybePromise<ChangesAnswer> {
    return this.#reading(() => {
      const { record, items, changes } = this.#parts.catalog.requireContainer(container)
      const { moment, policy } = this.#judgedBy(record, within.at)
      const { version } = items
      const from = changeNumber(after)
      const range = { after: from, upTo: version }
      const slice = changes.read(within, range, livingAt(policy, moment), { ...page, isEmpty: true }, sliceRowsMax)
      const answer = ({ items, last }: Pick<ChangeSlice, 'items' | 'last'>): ChangesAnswer => {
        const position = String(last ?? Math.max(from, version))
        return { moment, policy, version, items, position, isEnd: last === undefined }
      }
      if (!slice.isCut) return answer(slice)
      return this.#changesOn(container, within, page, { moment, policy, upTo: version, slice }).then(answer)
    })
  }

  changesSince(container: ContainerRecord, moment: EpochSeconds) {
    const { turns, catalog } = this.#parts
    const { items, changes } = catalog.requireContainer(container)
    turns.beginRead()
    return String(changes.lastBefore(moment, items.version))
  }

  log(container: ContainerRecord, range: ChangeRange, page: PageSize): LogAnswer {
    return this.#reading(() => {
      const { catalog, turns, log } = this.#parts
      const { record, items } = catalog.requireContainer(container)
      const { policy, number, logSeconds } = record
      const moment = turns.beginRead()
      if (logSeconds === null) throw new RequestError('malformed', `The container ${record.id} keeps no log.`)
      return { moment, policy, version: items.version, ...log.read(number, range, page, moment - logSeconds) }
    })
  }

  logNow() {
    this.#parts.turns.beginRead()
    return String(this.#parts.log.newest())
  }

  journal(after: number, page: PageSize) {
    return this.#reading(() => {
      const { turns, log, catalog } = this.#parts
      const moment = turns.beginRead()
      return log.journal(after, page, moment, number => catalog.recordOf(number))
    })
  }

  journalNow() {
    const ts = this.#parts.turns.beginRead()
    return { tick: this.#parts.log.newest(), ts }
  }

  journalSince(moment: EpochSeconds) {
    this.#parts.turns.beginRead()
    return this.#parts.log.lastBefore(moment)
  }

  /** A read that fails may be the first to meet damage in the file. */
  #reading<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw this.#parts.turns.readFailed(error)
    }
  }

  /** Joins the reads of this turn. Items are judged by the given viewpoint, or by now. */
  #judgedBy({ policy }: ContainerRecord, at: Viewpoint | undefined): Viewpoint {
    const moment = this.#parts.turns.beginRead()
    return at ?? { moment, policy }
  }

  /**
   * Continues a page that met many dead rows. It reads in slices, at its one moment, and lets the event loop
   * turn between two of them.
   */
  async #scanOn(
    container: ContainerRecord,
    range: ScanRange,
    page: PageSize,
    begun: Viewpoint & { slice: RowSlice },
  ): Promise<ScanAnswer> {
    const { views, turns, catalog } = this.#parts
    const { moment, policy } = begun
    using _view = views.open(container.number, { moment, policy })
    const living = livingAt(policy, moment)
    const { items } = begun.slice
    let { last, bytes, isFull } = begun.slice
    while (last !== undefined && !isFull) {
      await nextSlice()
      turns.beginRead()
      const rest = { itemsMax: page.itemsMax - items.length, bytesMax: page.bytesMax - bytes }
      const open = catalog.requireContainer(container)
      const slice = open.items.scan({ ...range, after: last }, living, rest, sliceRowsMax)
      items.push(...slice.items)
      bytes += slice.bytes
      ;({ last, isFull } = slice)
    }
    return { moment, policy, version: catalog.requireContainer(container).items.version, items, last }
  }

  /**
   * Continues a page of changes that has many bytes, at its one moment. What changes meanwhile is not on this
   * page: it comes behind it.
   */
  async #changesOn(
    container: ContainerRecord,
    within: ScanRange,
    page: PageSize,
    begun: Viewpoint & { readonly upTo: number; readonly slice: ChangeSlice },
  ): Promise<Pick<ChangeSlice, 'items' | 'last'>> {
    const { views, turns, catalog } = this.#parts
    const { moment, policy, upTo } = begun
    using _view = views.open(container.number, { moment, policy })
    const living = livingAt(policy, moment)
    const items = [...begun.slice.items]
    let { last, bytes, isCut } = begun.slice
    while (last !== undefined && isCut) {
      const range = { after: last, upTo }
      const room = { itemsMax: page.itemsMax - items.length, bytesMax: page.bytesMax - bytes, isEmpty: false }
      const slice = await heavyTurnFor(
        () =>
          this.#reading(() => {
            turns.beginRead()
            return catalog.requireContainer(container).changes.read(within, range, living, room, sliceRowsMax)
          }),
        this,
      )
      items.push(...slice.items)
      bytes += slice.bytes
      ;({ last, isCut } = slice)
    }
    return { items, last }
  }
}
