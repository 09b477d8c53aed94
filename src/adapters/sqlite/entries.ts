/**
 * The index entries of one container: updated by every write, read in order, and built for items that are
 * older than the index.
 *
 * One table holds the entries of all indexes: (index, key, item). So a new index is no change of the schema,
 * and an update that changes no key touches no entry.
 */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type EpochSeconds, machine } from '../../base/clock.ts'
import { MiB, sliceRowsMax } from '../../base/limits.ts'
import { nextSlice } from '../../base/slices.ts'
import type { Body } from '../../document/body.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import type { IndexKeys, KeyMaker } from '../../document/index-keys.ts'
import type { IndexRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import type { Living } from '../../store/policy.ts'
import type { IndexPosition, IndexRange, PageSize } from '../../store/reading.ts'
import { type IndexFindings, learn, noFindings } from '../index-findings.ts'
import { endOf, isWithin, lastPosition, remainingRanges, startOf } from '../index-ranges.ts'
import { itemIndexKeys } from '../item-index-keys.ts'
import { entryTable, itemTable } from './file/schema.ts'
import { EntrySorter, type SortedEntries } from './sorted-entries.ts'

/** The most items that the query thread sorts at a time. It takes half a second, and 20 MB with the keys. */
const indexRangeRowsMax = 100_000
const indexRangeBytesMax = 16 * MiB

/** The most key ranges that one call looks at. Each costs 20 us, even if it is empty. */
const rangesMax = 64

/** Rows that the query thread reads and encodes in one turn of its event loop: a few milliseconds. */
const sortRows = 500

export interface IndexSlice {
  readonly items: (ScannedItem & { readonly indexKey: Uint8Array })[]
  readonly last: IndexPosition | undefined
  readonly isPart?: true
}

/** The body of an item before and after a write, if it exists then. The old body is read only if needed. */
export interface BodyChange {
  readonly sequence: number
  readonly pk: string
  readonly before: (() => Body) | undefined
  readonly after: Body | undefined
}

/** While item time is in doubt: the sure time, and the thresholds by it. */
export interface DoubtedHolders {
  readonly sure: EpochSeconds
  readonly living: Living
}

type Entry = ItemKey & {
  indexKey: Uint8Array
  sequence: number
  version: number
  ts: ScannedItem['ts']
  deadline: number | null
  body: Body | null
}

interface UnbuiltRow {
  readonly sequence: number
  readonly pk: string
  readonly body: Body
}

/** One step of a build ends with the first item after this time. */
const buildMsMax = 4

export class ContainerEntries {
  readonly #keysOf: KeyMaker
  readonly #holder: StatementSync
  readonly #endHolders: StatementSync
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #scan: { forward: StatementSync; reverse: StatementSync }
  readonly #sliceEnd: StatementSync
  readonly #rest: StatementSync
  readonly #count: StatementSync
  readonly #unbuilt: StatementSync
  readonly #present: StatementSync
  readonly #clear: StatementSync
  /** What each `watch` has collected so far. */
  readonly #watching = new Set<Set<number>>()

  constructor(db: DatabaseSync, container: number, keysOf: KeyMaker) {
    this.#keysOf = keysOf
    const entries = entryTable(container)
    const items = itemTable(container)
    this.#insert = db.prepare(`INSERT OR IGNORE INTO ${entries} VALUES (?, ?, ?)`)
    this.#delete = db.prepare(`DELETE FROM ${entries} WHERE number = ? AND key = ? AND sequence = ?`)
    this.#unbuilt = db.prepare(`SELECT sequence, pk, body FROM ${items} WHERE sequence > ? ORDER BY sequence LIMIT ?`)
    this.#present = db.prepare(`SELECT pk, body FROM ${items} WHERE sequence = ?`)
    this.#holder = db.prepare(`
      SELECT 1 FROM ${entries} e CROSS JOIN ${items} i ON i.sequence = e.sequence
      WHERE e.number = ? AND e.key = ? AND e.sequence <> ?
        AND CASE WHEN i.deadline IS NULL THEN i.ts > ? ELSE i.deadline > ? END LIMIT 1`)
    this.#endHolders = db.prepare(`
      UPDATE ${items} SET deadline = :sure WHERE sequence IN (
        SELECT i.sequence FROM ${entries} e CROSS JOIN ${items} i ON i.sequence = e.sequence
        WHERE e.number = :number AND e.key = :key AND e.sequence <> :sequence
          AND CASE WHEN i.deadline IS NULL THEN i.ts > :inheritedAfter ELSE i.deadline > :ownAfter END)`)
    this.#clear = db.prepare(
      `DELETE FROM ${entries} WHERE (number, key, sequence) IN
        (SELECT number, key, sequence FROM ${entries} WHERE number = ? LIMIT ?)`,
    )
    // The bodies of dead items and of items of other partitions are not fetched. CROSS JOIN keeps the order
    // of the tables, and so the order of the keys.
    const select = (from: string, order: string) => `
      SELECT e.key AS indexKey, e.sequence, i.epk, i.pk, i.id, i.version, i.ts, i.deadline,
        CASE WHEN i.epk >= :min AND i.epk < :maxExclusive AND (:only IS NULL OR i.pk = :only)
          AND CASE WHEN i.deadline IS NULL THEN i.ts > :inheritedAfter ELSE i.deadline > :ownAfter END
        THEN i.body END AS body
      FROM ${entries} e CROSS JOIN ${items} i ON i.sequence = e.sequence
      WHERE e.number = :index AND ${from} ORDER BY e.key ${order}, e.sequence ${order} LIMIT :rowsMax`
    this.#scan = {
      forward: db.prepare(select('(e.key, e.sequence) > (:from, :fromSequence) AND e.key < :to', 'ASC')),
      reverse: db.prepare(select('(e.key, e.sequence) < (:from, :fromSequence) AND e.key >= :to', 'DESC')),
    }
    const slice = `FROM ${entries} WHERE number = ? AND (key, sequence) > (?, ?) AND key < ?`
    this.#sliceEnd = db.prepare(`SELECT key, sequence ${slice} ORDER BY key, sequence LIMIT 1 OFFSET ?`)
    this.#rest = db.prepare(`SELECT count(*) AS count ${slice}`)
    this.#count = db.prepare(`SELECT count(*) AS count FROM ${entries} WHERE number = ? AND key >= ? AND key < ?`)
  }

  /**
   * Updates the entries of an item; must run in the transaction that writes it. Entries whose keys stay are
   * not touched. Returns false, and changes nothing, if another living item has a key of a unique index. An
   * item with such a key may be dead only by a time that is in doubt. With `doubted` it dies for good, so
   * that it does not live again if the clock comes back.
   */
  change(
    indexes: readonly IndexRecord[],
    change: BodyChange,
    living: Living,
    findings: IndexFindings,
    doubted?: DoubtedHolders,
  ): boolean {
    const { sequence, pk, before, after } = change
    for (const touched of this.#watching) touched.add(sequence)
    const definitions = indexes.map(({ definition }) => definition)
    const now = after === undefined ? undefined : this.#keys(definitions, pk, after)
    if (now !== undefined && this.#isTaken(definitions, now, sequence, living)) return false
    if (now !== undefined && doubted !== undefined) this.#endDoubted(definitions, now, sequence, doubted)
    const old = before === undefined ? undefined : this.#keys(definitions, pk, before())
    for (const [at, definition] of definitions.entries()) {
      const { number } = definition
      const gone = old?.[at]?.keys ?? noKeys
      const made = now?.[at]
      const keys = made?.keys ?? noKeys
      if (made !== undefined) learn(findings, number, made)
      for (const key of gone) if (!includes(keys, key)) this.#delete.run(number, key, sequence)
      for (const key of keys) if (!includes(gone, key)) this.#insert.run(number, key, sequence)
    }
    return true
  }

  /**
   * Makes entries for the next items. `builtTo` is the sequence of the last item that has entries. Returns
   * the new `builtTo`; undefined: there are no more items.
   */
  build(definition: IndexDefinition, builtTo: number, rowsMax: number, findings: IndexFindings): number | undefined {
    const startMs = machine.monotonicMs()
    let reached = builtTo
    let count = 0
    for (const row of this.#unbuilt.iterate(builtTo, rowsMax) as Iterable<unknown> as Iterable<UnbuiltRow>) {
      this.#enterItem(definition, row, findings)
      reached = row.sequence
      // Items may be large, and so may the filter of a partial index.
      if (++count < rowsMax && machine.monotonicMs() - startMs > buildMsMax) return reached
    }
    return count < rowsMax ? undefined : reached
  }

  /** Makes entries for these items as they are now; those that are gone are skipped. */
  enterItems(definition: IndexDefinition, sequences: readonly number[], findings: IndexFindings): void {
    for (const sequence of sequences) {
      const row = this.#present.get(sequence) as Omit<UnbuiltRow, 'sequence'> | undefined
      if (row !== undefined) this.#enterItem(definition, { sequence, ...row }, findings)
    }
  }

  #enterItem(definition: IndexDefinition, { sequence, pk, body }: UnbuiltRow, findings: IndexFindings): void {
    const [made] = this.#keys([definition], pk, body)
    const { number } = definition
    learn(findings, number, made!)
    for (const key of made!.keys) this.#insert.run(number, key, sequence)
  }

  /**
   * Collects the items that are written from now on, until `stop` is called. `sorted-build.ts` needs them:
   * the entries that were sorted before such a write are outdated.
   */
  watch(): { readonly touched: ReadonlySet<number>; readonly stop: () => void } {
    const touched = new Set<number>()
    this.#watching.add(touched)
    return { touched, stop: () => this.#watching.delete(touched) }
  }

  /** Inserts sorted entries, except those of some items. Returns the excepted items that it skipped. */
  enterSorted(
    number: number,
    { keys, ends, sequences }: SortedEntries,
    from: number,
    to: number,
    except: ReadonlySet<number>,
  ): number[] {
    const skipped: number[] = []
    for (let at = from; at < to; at++) {
      const sequence = sequences[at]!
      if (except.has(sequence)) skipped.push(sequence)
      else this.#insert.run(number, keys.subarray(at === 0 ? 0 : ends[at - 1], ends[at]), sequence)
    }
    return skipped
  }

  /** Sorts the entries of a range of items behind `builtTo`. Writes nothing. */
  async sorted(definition: IndexDefinition, builtTo: number, turn: () => Promise<void>): Promise<SortedEntries> {
    const sorter = new EntrySorter()
    const findings = noFindings()
    let reached = builtTo
    for (let rows = 0; rows < indexRangeRowsMax && sorter.bytes < indexRangeBytesMax; rows += sortRows) {
      const found = this.#unbuilt.all(reached, sortRows) as unknown as UnbuiltRow[]
      for (const { sequence, pk, body } of found) {
        const [made] = this.#keys([definition], pk, body)
        learn(findings, definition.number, made!)
        sorter.add(sequence, made!)
      }
      if (found.length < sortRows) return sorter.sorted(undefined, findings)
      reached = found.at(-1)!.sequence
      await turn()
    }
    return sorter.sorted(reached, findings)
  }

  #keys(definitions: readonly IndexDefinition[], pk: string, body: Body): readonly IndexKeys[] {
    return itemIndexKeys(this.#keysOf, definitions, { pk, body })
  }

  /** Dead items do not count, removed or not. */
  #isTaken(
    definitions: readonly IndexDefinition[],
    keys: readonly IndexKeys[],
    sequence: number,
    living: Living,
  ): boolean {
    return definitions.some(
      ({ number, uniqueness }, at) =>
        uniqueness !== 'none' &&
        keys[at]!.keys.some(
          key => this.#holder.get(number, key, sequence, living.inheritedAfter, living.ownAfter) !== undefined,
        ),
    )
  }

  #endDoubted(
    definitions: readonly IndexDefinition[],
    keys: readonly IndexKeys[],
    sequence: number,
    { sure, living }: DoubtedHolders,
  ): void {
    for (const [at, { number, uniqueness }] of definitions.entries()) {
      if (uniqueness === 'none') continue
      for (const key of keys[at]!.keys) this.#endHolders.run({ number, key, sequence, sure, ...living })
    }
  }

  /** Removes entries of a dropped index; true when none is left. */
  clear(number: number, rowsMax: number): boolean {
    return Number(this.#clear.run(number, rowsMax).changes) < rowsMax
  }

  scan(
    range: IndexRange,
    living: Living,
    page: PageSize,
    rowsMax: number,
    indexes: readonly IndexRecord[],
  ): IndexSlice {
    const indexWithSeveralKeys =
      range.isDistinct === true ? indexes.find(({ definition }) => definition.number === range.index) : undefined
    const { index, isReverse, within } = range
    const statement = isReverse ? this.#scan.reverse : this.#scan.forward
    const items: IndexSlice['items'] = []
    let bytes = 0
    let looked = 0
    const parts = remainingRanges(range)
    for (const [at, part] of parts.entries()) {
      if (at === rangesMax) return { items, last: endOf(parts[at - 1]!, isReverse), isPart: true }
      const start = startOf(range, part)
      const rows = statement.iterate({
        index,
        from: start.key,
        fromSequence: start.sequence,
        to: isReverse ? part.low : part.high,
        min: within.min,
        maxExclusive: within.maxExclusive,
        only: within.pk ?? null,
        inheritedAfter: living.inheritedAfter,
        ownAfter: living.ownAfter,
        rowsMax: rowsMax - looked,
      }) as Iterable<Entry>
      for (const { indexKey, sequence, epk, pk, id, version, ts, deadline, body } of rows) {
        const isFirstEntry =
          indexWithSeveralKeys === undefined ||
          body === null ||
          this.#isFirst(indexWithSeveralKeys.definition, indexKey, pk, body, range)
        if (body !== null && isFirstEntry) {
          if (items.length > 0 && bytes + body.length > page.bytesMax) return { items, last: lastPosition(items) }
          items.push({ indexKey, sequence, key: { epk, pk, id }, version, ts, deadline, body })
          bytes += body.length
        }
        looked++
        const last = { key: indexKey, sequence }
        if (items.length === page.itemsMax || looked === rowsMax) return { items, last }
      }
    }
    return { items, last: undefined }
  }

  /** Whether an item has no other entry earlier in the range. */
  #isFirst(definition: IndexDefinition, key: Uint8Array, pk: string, body: Body, range: IndexRange): boolean {
    const [made] = this.#keys([definition], pk, body)
    const { keys, isReverse } = range
    return !made!.keys.some(other => {
      const side = Buffer.compare(other, key)
      const isBefore = isReverse ? side > 0 : side < 0
      return isBefore && keys.some(part => isWithin(other, part))
    })
  }

  /** Counts synchronously. */
  countAtOnce({ index, keys }: Pick<IndexRange, 'index' | 'keys'>): number {
    const counts = keys.map(({ low, high }) => (this.#count.get(index, low, high) as { count: number }).count)
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async count({ index, keys }: Pick<IndexRange, 'index' | 'keys'>): Promise<number> {
    let counted = 0
    for (const { low, high } of keys) {
      let from: IndexPosition = { key: low, sequence: -1 }
      while (true) {
        const end = this.#sliceEnd.get(index, from.key, from.sequence, high, sliceRowsMax - 1) as
          | IndexPosition
          | undefined
        if (end === undefined) break
        counted += sliceRowsMax
        from = end
        await nextSlice()
      }
      counted += (this.#rest.get(index, from.key, from.sequence, high) as { count: number }).count
    }
    return counted
  }
}

const noKeys: readonly Uint8Array[] = []

function includes(keys: readonly Uint8Array[], key: Uint8Array): boolean {
  return keys.some(other => Buffer.compare(other, key) === 0)
}
