/**
 * Removes a backlog as fast as the server can, compared with a bare loop over the same rows in a copy of the
 * file.
 */

import { execFileSync } from 'node:child_process'
import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { machine } from '../../src/base/clock.ts'
import { sweepRowsMax } from '../../src/base/limits.ts'
import type { BarePurge } from '../bare-purge.ts'
import { cpuUs } from '../processes.ts'
import { difference, figure, median, medianOfKnown, quotient } from '../report.ts'
import { DATABASE } from '../requests.ts'
import { admin, createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import { fill } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024
/** A day, so that nothing dies before the clock is moved, however slow the machine. */
const DEFAULT_TTL = 86_400

interface Purge {
  readonly rowsPerSecond: number
  readonly cpuUsPerRow: number | undefined
}

/** Both purges start from a copy that is fully on disk, so that neither pays for writing the copy. */
function copyData(from: string, to: string): void {
  mkdirSync(to)
  for (const name of readdirSync(from)) {
    copyFileSync(join(from, name), join(to, name))
    const file = openSync(join(to, name), 'r+')
    fsyncSync(file)
    closeSync(file)
  }
}

async function purgeMayfly(data: string, items: number): Promise<Purge> {
  await using server = await startMayfly(data, '--clock', 'manual')
  await admin(server.port, '/_mayfly/purge', { pause: true })
  await admin(server.port, '/_mayfly/clock', { advance: `${DEFAULT_TTL + 1}s` })
  const cpuBefore = cpuUs(server.pid)
  const startMs = machine.monotonicMs()
  let removed = 0
  for (let remaining = items; remaining > 0; ) {
    const answer = await admin(server.port, '/_mayfly/purge', { db: DATABASE, container: CONTAINER })
    const part = answer as { removed: number; remaining: number }
    if (part.removed === 0) break
    removed += part.removed
    remaining = part.remaining
  }
  const seconds = (machine.monotonicMs() - startMs) / 1000
  const cpuAfter = cpuUs(server.pid)
  if (removed !== items) throw new Error(`The server removed ${removed} items, not ${items}.`)
  return { rowsPerSecond: items / seconds, cpuUsPerRow: quotient(difference(cpuAfter, cpuBefore), items) }
}

function purgeBare(data: string, items: number): Purge {
  const script = join(import.meta.dirname, '..', 'bare-purge.ts')
  const output = execFileSync(process.execPath, [script, join(data, 'mayfly.db')], {
    encoding: 'utf8',
  })
  const result = JSON.parse(output) as BarePurge
  if (result.removed !== items) throw new Error(`The bare loop removed ${result.removed} rows, not ${items}.`)
  return { rowsPerSecond: items / (result.ms / 1000), cpuUsPerRow: result.cpuUs / items }
}

export const purge: Workload = {
  name: 'purge',
  async run({ load, quick }) {
    const items = quick ? 20_000 : 1_000_000
    const rounds = quick ? 1 : 3
    using original = scratchFolder()
    {
      await using server = await startMayfly(original.path, '--clock', 'manual')
      await createDatabase(server.port)
      await createContainer(server.port, CONTAINER, DEFAULT_TTL)
      await fill(load, server, { container: CONTAINER, count: items, bytes: ITEM_BYTES })
    }

    const measured: Record<'bare loop' | 'mayfly', Purge[]> = { 'bare loop': [], mayfly: [] }
    for (let round = 0; round < rounds; round++) {
      using folder = scratchFolder()
      const [forBare, forMayfly] = [join(folder.path, 'bare'), join(folder.path, 'mayfly')]
      copyData(original.path, forBare)
      measured['bare loop'].push(purgeBare(forBare, items))
      copyData(original.path, forMayfly)
      measured.mayfly.push(await purgeMayfly(forMayfly, items))
    }

    const rates = (name: keyof typeof measured) => measured[name].map(({ rowsPerSecond }) => rowsPerSecond)
    const cpu = (name: keyof typeof measured) => medianOfKnown(measured[name].map(({ cpuUsPerRow }) => cpuUsPerRow))
    const single = rates('mayfly').map((rate, i) => rate / rates('bare loop')[i]!)
    return {
      title: `purge: a backlog of ${items} items of 1 KB in one container, ${rounds} rounds by turns`,
      columns: ['what', 'rows/s', 'CPU us/row', 'seconds'],
      rows: (['bare loop', 'mayfly'] as const).map(name => [
        name,
        figure(median(rates(name))),
        figure(cpu(name), 1),
        figure(items / median(rates(name)), 2),
      ]),
      findings: [
        {
          text: 'mayfly / bare loop, rows/s',
          value: median(rates('mayfly')) / median(rates('bare loop')),
          range: [Math.min(...single), Math.max(...single)],
          bound: { atLeast: 0.7 },
        },
        { text: 'mayfly / bare loop, per CPU second', value: quotient(cpu('bare loop'), cpu('mayfly')) },
      ],
      notes: [
        `bare loop: node:sqlite alone on a copy of the same file, ${sweepRowsMax} rows per transaction, WAL, FULL`,
        'both on fresh copies; the clock is moved by hand, the purge is one admin call',
      ],
    }
  },
}
