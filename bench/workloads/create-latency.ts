/**
 * How long creates take at 32 clients that do nothing else: not the median, which `create` shows, but the
 * slow ones. With another checkout, both take turns.
 */

import { type Finding, figure, median } from '../report.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly, startOtherMayfly } from '../targets.ts'
import { interleave, type Rounds, type Target } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024
const HERE = 'mayfly'
const OTHER = 'the other'
const P99_MS_MAX = 5

export function createLatency(checkout?: string): Workload {
  return {
    name: 'create-latency',
    async run({ load, quick }) {
      const rounds = quick ? 2 : 9
      const ms = quick ? 300 : 4_000
      using folder = scratchFolder()
      using otherFolder = scratchFolder()
      await using servers = new AsyncDisposableStack()
      const targets: Target[] = [{ name: HERE, server: servers.use(await startMayfly(folder.path)) }]
      if (checkout !== undefined) {
        targets.push({ name: OTHER, server: servers.use(await startOtherMayfly(checkout, otherFolder.path)) })
      }
      for (const { server } of targets) {
        await createDatabase(server.port)
        await createContainer(server.port, CONTAINER)
      }
      const next = new Map(targets.map(target => [target, 0]))
      const measured = await interleave(
        load,
        targets,
        rounds,
        target => ({
          requests: { kind: 'create', container: CONTAINER, firstItem: next.get(target)!, bytes: ITEM_BYTES },
          answers: { status: 201 },
          atMost: { ms },
        }),
        (target, count) => next.set(target, next.get(target)! + count),
      )
      return {
        title: `create-latency: POST new items of 1 KB, 32 clients, ${rounds} rounds of ${ms / 1000} s by turns`,
        columns: ['server', 'creates/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'max ms'],
        rows: rowsOf(measured),
        findings: findingsOf(measured),
        notes: ['on disk, each create durable before it is answered; medians of the rounds, max: of all rounds'],
      }
    },
  }
}

function rowsOf(measured: Rounds): string[][] {
  return [...measured].map(([name, rounds]) => [
    name,
    figure(median(rounds.map(({ opsPerSecond }) => opsPerSecond))),
    ...(['p50Ms', 'p99Ms', 'p999Ms'] as const).map(part => figure(median(rounds.map(round => round[part])), 2)),
    figure(Math.max(...rounds.map(({ maxMs }) => maxMs)), 1),
  ])
}

function findingsOf(measured: Rounds): Finding[] {
  const p99 = measured.get(HERE)!.map(({ p99Ms }) => p99Ms)
  const other = measured.get(OTHER)?.map(({ p99Ms }) => p99Ms)
  const range = [Math.min(...p99), Math.max(...p99)] as const
  return [
    { text: 'p99 of creates, ms', value: median(p99), range, bound: { atMost: P99_MS_MAX } },
    ...(other === undefined ? [] : [{ text: 'p99, mayfly / the other', value: median(p99) / median(other) }]),
  ]
}
