/** The time that SQLite alone needs to write rows in one transaction, and to read them all. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createItemTableSql, itemTable } from '../src/adapters/sqlite/file/schema.ts'
import { fileSettings } from '../src/adapters/sqlite/file/settings.ts'
import { machine } from '../src/base/clock.ts'

const CONTAINER = 1

export interface BareRow {
  readonly pk: string
  readonly id: string
  readonly body: string
}

/**
 * Inserts rows durably into a table that the server created, in separate transactions, and returns the time
 * of each.
 */
export class BareWriter implements Disposable {
  readonly #database: DatabaseSync
  readonly #insert
  #sequence = 0

  constructor(folder: string) {
    this.#database = new DatabaseSync(join(folder, 'bare.db'))
    this.#database.exec(fileSettings + createItemTableSql(CONTAINER, 1))
    this.#insert = this.#database.prepare(`INSERT INTO ${itemTable(CONTAINER)} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
  }

  write(rows: readonly BareRow[]): number {
    const startMs = machine.monotonicMs()
    this.#database.exec('BEGIN IMMEDIATE')
    for (const { pk, id, body } of rows) {
      this.#sequence++
      this.#insert.run(this.#sequence, '00'.repeat(16), pk, id, 1_700_000_000, null, this.#sequence, body)
    }
    this.#database.exec('COMMIT')
    return machine.monotonicMs() - startMs
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}

/** Reads the items of a server's file in the order of their creation, into pages of text. */
export function readBare(file: string, pageItems: number): { readonly ms: number; readonly items: number } {
  using database = new DatabaseSync(file, { readOnly: true })
  database.exec('PRAGMA cache_size = -262144')
  const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%deadline%'").all()
  const rowsIn = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM "${table}"`).get()!.n)
  const table = names.map(({ name }) => String(name)).toSorted((a, b) => rowsIn(b) - rowsIn(a))[0]!
  const page = database.prepare(`SELECT sequence, body FROM "${table}" WHERE sequence > ? ORDER BY sequence LIMIT ?`)
  const startMs = machine.monotonicMs()
  let items = 0
  let bytes = 0
  for (let after = 0; ; ) {
    const rows = page.all(after, pageItems) as { sequence: number; body: string }[]
    if (rows.length === 0) break
    bytes += Buffer.byteLength(`[${rows.map(({ body }) => body).join(',')}]`)
    items += rows.length
    after = rows.at(-1)!.sequence
  }
  if (bytes < items) throw new Error('The rows are empty.')
  return { ms: machine.monotonicMs() - startMs, items }
}
