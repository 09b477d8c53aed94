/** Exports items of 1 KB with `mayfly export`, compared with the change feed of the same container. */

import { join } from 'node:path'
import { flatMemory, MemorySamples } from '../memory-samples.ts'
import { figure, median } from '../report.ts'
import { DATABASE } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import { fill } from '../throughput.ts'
import type { Workload } from '../workload.ts'
import { readFeed } from './change-feed.ts'
import { runMayfly } from './import.ts'

const CONTAINER = 'items'

export const exportWorkload: Workload = {
  name: 'export',
  async run({ load, quick }) {
    const items = quick ? 5000 : 1_000_000
    const rounds = quick ? 1 : 3
    using folder = scratchFolder()
    using files = scratchFolder()
    await using server = await startMayfly(folder.path)
    await createDatabase(server.port)
    await createContainer(server.port, CONTAINER)
    await fill(load, server, { container: CONTAINER, count: items, bytes: 1024 })
    const rates = { 'change feed': [] as number[], 'mayfly export': [] as number[] }
    const growths = { server: [] as (number | undefined)[], command: [] as (number | undefined)[] }
    const peaks: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const feed = await readFeed(server.port, items)
      const target = ['--database', DATABASE, '--container', CONTAINER, '--output', join(files.path, 'items.jsonl')]
      using memory = new MemorySamples(server.pid)
      const run = await runMayfly(['export', ...target, '--endpoint', `http://127.0.0.1:${server.port}`])
      if (round === 0) continue
      rates['change feed'].push((items * 1000) / feed.ms)
      rates['mayfly export'].push((items * 1000) / run.ms)
      growths.server.push(memory.growth)
      growths.command.push(run.memory.growth)
      peaks.push(run.memory.peak / 1e6)
    }
    const single = rates['mayfly export'].map((rate, at) => rate / rates['change feed'][at]!)
    return {
      title: `export: ${figure(items)} items of 1 KB into a file, ${rounds} rounds by turns`,
      columns: ['what', 'items/s'],
      rows: Object.entries(rates).map(([name, all]) => [name, figure(median(all))]),
      findings: [
        {
          text: 'mayfly export / change feed, items/s',
          value: median(rates['mayfly export']) / median(rates['change feed']),
          range: [Math.min(...single), Math.max(...single)],
          bound: { atLeast: 0.5 },
        },
        flatMemory('server', growths.server),
        flatMemory('command', growths.command),
      ],
      notes: [
        'change feed: pages of 1000 items on one connection, whose bodies nobody looks at',
        `the command had ${figure(median(peaks))} MB at most`,
      ],
    }
  },
}
