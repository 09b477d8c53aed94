/** Removes dead rows and the tables of deleted containers, and counts cohorts of items. */

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MiB, sliceRowsMax } from '../../base/limits.ts'
import { nextSlice } from '../../base/slices.ts'
import type { Body } from '../../document/body.ts'
import type { ItemKey } from '../../store/item.ts'
import type { Living } from '../../store/policy.ts'
import type { Census, Cohort } from '../../store/reading.ts'
import { entryTable, itemTable } from './file/schema.ts'

/** SQLite overwrites removed data: 4 MiB take about 10 ms. */
const sweepBytesMax = 4 * MiB

type Lifespan = Cohort['lifespan']
type Thresholds = Readonly<Record<Lifespan, number>>
const column = { inherited: 'ts', own: 'deadline' } as const
const condition = { inherited: 'deadline IS NULL', own: 'deadline IS NOT NULL' } as const

/** A dead item that is about to be removed. */
export interface Victim {
  readonly key: ItemKey
  readonly sequence: number
  readonly version: number
  readonly body: Body
}

/** `at`: when the item was written, if it inherits its lifespan; otherwise its deadline. */
type VictimRow = ItemKey & Omit<Victim, 'key'> & { readonly at: number }

export type BeforeRemoval = (victim: Victim) => void

export class ContainerPurge {
  readonly #remove: Record<Lifespan, StatementSync>
  readonly #victims: Record<Lifespan, StatementSync>
  readonly #removeOne: StatementSync
  readonly #largest: Record<Lifespan, StatementSync>
  readonly #probe: Record<Lifespan, StatementSync>
  readonly #earliest: Record<Lifespan, StatementSync>
  readonly #earliestLogged: StatementSync
  readonly #sliceEnd: Record<Lifespan, StatementSync>
  readonly #rest: Record<Lifespan, StatementSync>
  #first: Lifespan = 'inherited'

  constructor(db: DatabaseSync, container: number) {
    const table = itemTable(container)
    const both = (sql: (lifespan: Lifespan, by: string) => string): Record<Lifespan, StatementSync> => ({
      inherited: db.prepare(sql('inherited', column.inherited)),
      own: db.prepare(sql('own', column.own)),
    })
    const dead = (columns: string, lifespan: Lifespan, by: string) =>
      `SELECT ${columns} FROM ${table} WHERE ${condition[lifespan]} AND ${by} <= ? ORDER BY ${by} LIMIT ?`
    this.#remove = both((lifespan, by) => `DELETE FROM ${table} WHERE sequence IN (${dead('sequence', lifespan, by)})`)
    this.#victims = both((lifespan, by) => dead(`sequence, version, epk, pk, id, body, ${by} AS at`, lifespan, by))
    this.#largest = both(
      (lifespan, by) => `SELECT max(bytes) AS bytes FROM (${dead('octet_length(body) AS bytes', lifespan, by)})`,
    )
    this.#removeOne = db.prepare(`DELETE FROM ${table} WHERE sequence = ?`)
    this.#probe = both((lifespan, by) => `SELECT 1 FROM ${table} WHERE ${condition[lifespan]} AND ${by} <= ? LIMIT 1`)
    this.#earliest = both((lifespan, by) => `SELECT min(${by}) AS at FROM ${table} WHERE ${condition[lifespan]}`)
    this.#earliestLogged = db.prepare(`SELECT min(ts) AS at FROM log WHERE container = ${container}`)
    const slice = (lifespan: Lifespan, by: string) =>
      `FROM ${table} WHERE ${condition[lifespan]} AND (${by}, sequence) > (?, ?) AND ${by} <= ?`
    this.#sliceEnd = both(
      (lifespan, by) => `SELECT ${by} AS at, sequence ${slice(lifespan, by)} ORDER BY ${by}, sequence LIMIT 1 OFFSET ?`,
    )
    this.#rest = both((lifespan, by) => `SELECT count(*) AS count ${slice(lifespan, by)}`)
  }

  /**
   * Must run inside the writer's transaction: the predicate and the removal see one state. Without
   * `beforeRemoval` (no index, no log) the removed rows are not read.
   */
  sweep(living: Living, rowsMax: number, beforeRemoval: BeforeRemoval | undefined): { removed: number; done: boolean } {
    const threshold = { inherited: living.inheritedAfter, own: living.ownAfter }
    const limit = this.#rowsAtOnce(threshold, rowsMax)
    const removed =
      beforeRemoval === undefined
        ? this.#removeByTurns(threshold, limit)
        : this.#removeInOrder(threshold, limit, beforeRemoval)
    const isLeft = (lifespan: Lifespan) => this.#probe[lifespan].get(threshold[lifespan]) !== undefined
    return { removed, done: removed < limit || !(isLeft('inherited') || isLeft('own')) }
  }

  /** The number of rows to remove in one transaction: fewer than `rowsMax` if one of them is large. */
  #rowsAtOnce(threshold: Thresholds, rowsMax: number): number {
    const largest = (lifespan: Lifespan) =>
      (this.#largest[lifespan].get(threshold[lifespan], rowsMax) as { bytes: number | null }).bytes ?? 0
    const bytes = Math.max(largest('inherited'), largest('own'), 1)
    return Math.min(rowsMax, Math.max(1, Math.floor(sweepBytesMax / bytes)))
  }

  /** The two lifespans take turns at being first, so that many deaths of one never starve the other. */
  #removeByTurns(threshold: Thresholds, rowsMax: number): number {
    const first = this.#first
    const second = first === 'inherited' ? 'own' : 'inherited'
    this.#first = second
    const remove = (lifespan: Lifespan, most: number) =>
      Number(this.#remove[lifespan].run(threshold[lifespan], most).changes)
    const removed = remove(first, rowsMax)
    return removed < rowsMax ? removed + remove(second, rowsMax - removed) : removed
  }

  /**
   * Removes those first that have been dead longest, of both lifespans: the log shows deaths in this order.
   */
  #removeInOrder(threshold: Thresholds, rowsMax: number, beforeRemoval: BeforeRemoval): number {
    const victims = (['inherited', 'own'] as const).flatMap(lifespan => {
      const rows = this.#victims[lifespan].all(threshold[lifespan], rowsMax) as unknown as VictimRow[]
      return rows.map(row => ({ row, deadForSeconds: threshold[lifespan] - row.at }))
    })
    const first = victims.sort((a, b) => b.deadForSeconds - a.deadForSeconds).slice(0, rowsMax)
    for (const { row } of first) {
      const { epk, pk, id, sequence, version, body } = row
      beforeRemoval({ key: { epk, pk, id }, sequence, version, body })
      this.#removeOne.run(sequence)
    }
    return first.length
  }

  earliest(): Pick<Census, 'earliestInherited' | 'earliestOwn' | 'earliestLogged'> {
    const at = (statement: StatementSync) => (statement.get() as { at: number | null }).at
    return {
      earliestInherited: at(this.#earliest.inherited),
      earliestOwn: at(this.#earliest.own),
      earliestLogged: at(this.#earliestLogged),
    }
  }

  /** Walks the index of the cohort in slices, and lets the event loop turn between two of them. */
  async count({ lifespan, after, upTo }: Cohort): Promise<number> {
    let counted = 0
    let at = after
    let sequence = Number.MAX_SAFE_INTEGER
    while (true) {
      const end = this.#sliceEnd[lifespan].get(at, sequence, upTo, sliceRowsMax - 1)
      if (end === undefined) {
        return counted + (this.#rest[lifespan].get(at, sequence, upTo) as { count: number }).count
      }
      counted += sliceRowsMax
      ;({ at, sequence } = end as { at: number; sequence: number })
      await nextSlice()
    }
  }
}

/**
 * Removes the log of a deleted container and empties its tables, then drops them: dropping full ones would
 * block the event loop.
 */
export function reclaim(db: DatabaseSync, container: number, rowsMax: number): void {
  const [entries, items] = [entryTable(container), itemTable(container)]
  const parts = [
    [entries, 'number, key, sequence', ''],
    [items, 'sequence', ''],
    ['log', 'number', `WHERE container = ${container} AND container NOT IN (SELECT container FROM kept_logs)`],
  ]
  for (const [table, key, where] of parts) {
    const removed = db
      .prepare(`DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} ${where} LIMIT ?)`)
      .run(rowsMax)
    if (Number(removed.changes) === rowsMax) return
  }
  db.exec(`DROP TABLE ${entries}; DROP TABLE ${items}`)
  db.prepare('DELETE FROM doomed WHERE container = ?').run(container)
}
