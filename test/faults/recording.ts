/** Plays the script once, and has everything written down that reaches the disk. Started by power-loss.ts. */

import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { playScript } from './script.ts'
import { beginRun } from './shim.ts'

const [directory, synchronous] = process.argv.slice(2) as [string, string]

if (synchronous !== 'FULL') {
  // The control: the store has no such setting.
  const exec = DatabaseSync.prototype.exec
  DatabaseSync.prototype.exec = function (sql) {
    exec.call(this, sql.replace('synchronous = FULL', `synchronous = ${synchronous}`))
  }
}

// A file beside the data file, so that its writes stand in the same log: the order is the order of events.
const acknowledgements = openSync(join(directory, 'mayfly.db-acknowledged'), 'w')
beginRun()
const { acknowledged, end, store } = await playScript(directory, n => {
  writeSync(acknowledgements, Buffer.of(n), 0, 1, n)
})
await store?.[Symbol.asyncDispose]()
process.stdout.write(JSON.stringify({ acknowledged, end }))
