/** Imports items of 1 KB with `mayfly import`, compared with SQLite alone inserting the same bytes. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { machine } from '../../src/base/clock.ts'
import { effectivePartitionKey } from '../../src/document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../../src/document/partition-key.ts'
import { BareInserts, type BareRow } from '../bare-insert.ts'
import { flatMemory, MemorySamples } from '../memory-samples.ts'
import { residentBytes } from '../processes.ts'
import { figure, median } from '../report.ts'
import { DATABASE, itemBody } from '../requests.ts'
import { scratchFolder, startMayfly } from '../targets.ts'
import type { Workload } from '../workload.ts'

const ITEM_BYTES = 1024
/** As many as the server writes in one transaction. */
const ROWS_AT_ONCE = 1000
const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 } as const
const COMMAND = join(import.meta.dirname, '..', '..', 'bin', 'mayfly.js')

export interface CommandRun {
  readonly ms: number
  readonly memory: MemorySamples
}

export async function runMayfly(args: readonly string[]): Promise<CommandRun> {
  const startMs = machine.monotonicMs()
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  using memory = new MemorySamples(child.pid!)
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr = (stderr + chunk).slice(-2000)
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`mayfly ${args[0]} ended with ${code}. ${stderr}`)
  return { ms: machine.monotonicMs() - startMs, memory }
}

/** A file of JSON Lines with items. */
export function writeItems(path: string, count: number): void {
  const file = openSync(path, 'w')
  for (let from = 0; from < count; from += 1000) {
    const bodies = Array.from({ length: Math.min(1000, count - from) }, (_, at) => itemBody(from + at, ITEM_BYTES))
    writeSync(file, `${bodies.join('\n')}\n`)
  }
  closeSync(file)
}

function insertBare(folder: string, count: number): number {
  using bare = new BareInserts(folder)
  let ms = 0
  for (let from = 0; from < count; from += 10 * ROWS_AT_ONCE) {
    const rows = Array.from({ length: Math.min(10 * ROWS_AT_ONCE, count - from) }, (_, at): BareRow => {
      const body = itemBody(from + at, ITEM_BYTES)
      const { id, pk } = JSON.parse(body)
      const key = { epk: effectivePartitionKey(partitionKey, [pk]), pk: canonicalPartitionKey([pk]) }
      return { key, id, body: Buffer.from(body) }
    })
    ms += bare.run(rows, ROWS_AT_ONCE).ms
  }
  return ms
}

export const importWorkload: Workload = {
  name: 'import',
  async run({ quick }) {
    const count = quick ? 5000 : 1_000_000
    const rounds = quick ? 1 : 2
    using files = scratchFolder()
    const file = join(files.path, 'items.jsonl')
    writeItems(file, count)
    const rates = { 'bare inserts': [] as number[], 'mayfly import': [] as number[] }
    const grown: number[] = []
    const peaks: number[] = []
    const growths = { server: [] as (number | undefined)[], command: [] as (number | undefined)[] }
    for (let round = 0; round < rounds; round++) {
      using bareFolder = scratchFolder()
      rates['bare inserts'].push((count * 1000) / insertBare(bareFolder.path, count))
      using folder = scratchFolder()
      await using server = await startMayfly(folder.path)
      const before = residentBytes(server.pid) ?? 0
      const target = ['--database', DATABASE, '--container', 'items', '--partition-key', '/pk']
      using memory = new MemorySamples(server.pid)
      const run = await runMayfly(['import', file, ...target, '--endpoint', `http://127.0.0.1:${server.port}`])
      rates['mayfly import'].push((count * 1000) / run.ms)
      growths.server.push(memory.growth)
      growths.command.push(run.memory.growth)
      peaks.push(run.memory.peak / 1e6)
      grown.push(((residentBytes(server.pid) ?? 0) - before) / 1e6)
    }
    const megabytes = statSync(file).size / 1e6
    const single = rates['mayfly import'].map((rate, at) => rate / rates['bare inserts'][at]!)
    return {
      title: `import: ${figure(count)} items of 1 KB, ${figure(megabytes)} MB, ${rounds} rounds by turns`,
      columns: ['what', 'items/s'],
      rows: Object.entries(rates).map(([name, all]) => [name, figure(median(all))]),
      findings: [
        {
          text: 'mayfly import / bare inserts, items/s',
          value: median(rates['mayfly import']) / median(rates['bare inserts']),
          range: [Math.min(...single), Math.max(...single)],
          bound: { atLeast: 0.5 },
        },
        flatMemory('server', growths.server),
        flatMemory('command', growths.command),
      ],
      notes: [
        'bare inserts: node:sqlite alone, rows with the same keys and bytes, the same table and indexes, and as many ' +
          'rows in a transaction; it neither reads the file nor adds what the system adds to an item',
        `the server grew by ${figure(median(grown))} MB, with the mapped part of its file; the command had ` +
          `${figure(median(peaks))} MB at most`,
      ],
    }
  },
}
