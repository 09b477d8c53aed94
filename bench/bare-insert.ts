/**
 * The upper limit for a batch of inserts: SQLite alone, with a table like the server's, in this process.
 */

import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { createItemTableSql, itemTable } from '../src/adapters/sqlite/file/schema.ts'
import { fileSettings } from '../src/adapters/sqlite/file/settings.ts'
import { machine } from '../src/base/clock.ts'

const CONTAINER = 1
const TS = 1_700_000_000

export interface BareRow {
  /** The keys by which the server orders its rows. Without them, rows come in the order of the index. */
  readonly key?: { readonly epk: string; readonly pk: string }
  readonly id: string
  readonly body: Uint8Array
}

export class BareInserts implements Disposable {
  readonly #db: DatabaseSync
  readonly #insert: StatementSync
  #sequence = 0

  constructor(folder: string) {
    this.#db = new DatabaseSync(join(folder, 'bare.db'))
    this.#db.exec(fileSettings + createItemTableSql(CONTAINER, 1))
    this.#insert = this.#db.prepare(`INSERT INTO ${itemTable(CONTAINER)} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
  }

  /** One transaction for each `perTransaction` rows. */
  run(rows: readonly BareRow[], perTransaction: number): { readonly ms: number; readonly cpuUs: number } {
    const startMs = machine.monotonicMs()
    const cpuBefore = process.cpuUsage()
    for (let at = 0; at < rows.length; at += perTransaction) {
      this.#db.exec('BEGIN IMMEDIATE')
      for (const { key, id, body } of rows.slice(at, at + perTransaction)) {
        const sequence = ++this.#sequence
        this.#insert.run(sequence, key?.epk ?? '00', key?.pk ?? '', id, TS, null, sequence, body)
      }
      this.#db.exec('COMMIT')
    }
    const { user, system } = process.cpuUsage(cpuBefore)
    return { ms: machine.monotonicMs() - startMs, cpuUs: user + system }
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}
