/**
 * The upper limit for a purge: only the deletions, from a file of the server, in the same batches.
 *
 * Its argument is the file. Prints one line of JSON.
 */

import { DatabaseSync } from 'node:sqlite'
import { fileSettings } from '../src/adapters/sqlite/file/settings.ts'
import { machine } from '../src/base/clock.ts'
import { sweepRowsMax } from '../src/base/limits.ts'

export interface BarePurge {
  readonly removed: number
  readonly ms: number
  readonly cpuUs: number
}

const file = process.argv[2]!
const database = new DatabaseSync(file)
database.exec(fileSettings)

const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%deadline%'").all()
const tables = names.map(({ name }) => `"${name}"`)
const rowsIn = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()!.n)
const items = tables.toSorted((a, b) => rowsIn(b) - rowsIn(a))[0]
if (items === undefined) throw new Error('No table of items was found.')

const sweep = database.prepare(
  `DELETE FROM ${items} WHERE rowid IN
     (SELECT rowid FROM ${items} WHERE deadline IS NULL AND ts <= ? ORDER BY ts LIMIT ?)`,
)
const now = Number.MAX_SAFE_INTEGER
const startMs = machine.monotonicMs()
const cpuBefore = process.cpuUsage()
let removed = 0
for (let changes = -1; changes !== 0; removed += changes) {
  database.exec('BEGIN IMMEDIATE')
  changes = Number(sweep.run(now, sweepRowsMax).changes)
  database.exec('COMMIT')
}
const { user, system } = process.cpuUsage(cpuBefore)
const result: BarePurge = { removed, ms: machine.monotonicMs() - startMs, cpuUs: user + system }
console.log(JSON.stringify(result))
