/**
 * Runs the same load against several servers in turn, so that a noisy machine disturbs all of them alike.
 */

import type { LoadOrder } from './load.ts'
import { cpuUs, type Load, type ServerProcess } from './processes.ts'
import { difference, type Finding, figure, median, medianOfKnown, quotient } from './report.ts'

export const CONNECTIONS = 32

export interface Target {
  readonly name: string
  readonly server: ServerProcess
}

interface Round {
  readonly opsPerSecond: number
  readonly cpuUsPerOp: number | undefined
  /** CPU time of the load generator, to see that it was not the limit. */
  readonly clientUsPerOp: number | undefined
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
}

export type Rounds = ReadonlyMap<string, readonly Round[]>

type Order = Omit<LoadOrder, 'connections' | 'port'> & { readonly connections?: number }

type OrderFor = (target: Target) => Order

/** Runs one order and reads the CPU time of both sides around it. */
export async function measure(load: Load, { server }: Target, order: Order): Promise<Round & { done: number }> {
  await load.prepare({ connections: CONNECTIONS, ...order, port: server.port })
  const pids = [server.pid, load.pid]
  const before = pids.map(cpuUs)
  const { completed, elapsedMs, ...latencies } = await load.run()
  const [cpuUsPerOp, clientUsPerOp] = pids.map((pid, i) => quotient(difference(cpuUs(pid), before[i]), completed))
  return { opsPerSecond: completed / (elapsedMs / 1000), cpuUsPerOp, clientUsPerOp, ...latencies, done: completed }
}

/**
 * The first round of each server is a warm-up and is not counted. `completed` is called after every round, so
 * that a workload that needs new items knows where to continue.
 */
export async function interleave(
  load: Load,
  targets: readonly Target[],
  rounds: number,
  orderFor: OrderFor,
  completed: (target: Target, count: number) => void = () => {},
): Promise<Rounds> {
  const measured = new Map<string, Round[]>(targets.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const target of targets) {
      const { done, ...figures } = await measure(load, target, orderFor(target))
      completed(target, done)
      if (round > 0) measured.get(target.name)!.push(figures)
    }
  }
  return measured
}

/** Creates items 0 to `count` - 1. */
export async function fill(
  load: Load,
  server: ServerProcess,
  { container, count, bytes }: { readonly container: string; readonly count: number; readonly bytes: number },
): Promise<void> {
  // In parts, so that no signature expires on a slow server.
  const part = 50_000
  for (let firstItem = 0; firstItem < count; firstItem += part) {
    await load.prepare({
      port: server.port,
      connections: CONNECTIONS,
      requests: { kind: 'create', container, firstItem, bytes },
      answers: { status: 201 },
      atMost: { count: Math.min(part, count - firstItem) },
    })
    await load.run()
  }
}

export const THROUGHPUT_COLUMNS = ['server', 'op/s', 'CPU us/op', 'cores busy', 'client us/op', 'p50 ms', 'p99 ms']

export function throughputRows(measured: Rounds): string[][] {
  return [...measured].map(([name, rounds]) => {
    const opsPerSecond = median(rounds.map(round => round.opsPerSecond))
    const cpu = medianOfKnown(rounds.map(round => round.cpuUsPerOp))
    return [
      name,
      figure(opsPerSecond),
      figure(cpu, 1),
      figure(cpu === undefined ? undefined : (cpu * opsPerSecond) / 1e6, 2),
      figure(medianOfKnown(rounds.map(round => round.clientUsPerOp)), 1),
      figure(median(rounds.map(round => round.p50Ms)), 2),
      figure(median(rounds.map(round => round.p99Ms)), 2),
    ]
  })
}

/**
 * The ratio of `a` to `b` in operations per second, with its bound if it has one, and in CPU time per
 * operation.
 */
export function compare(measured: Rounds, a: string, b: string, atLeast?: number): Finding[] {
  const roundsA = measured.get(a)
  const roundsB = measured.get(b)
  const text = `${a} / ${b}`
  const bound = atLeast === undefined ? {} : { bound: { atLeast } }
  if (roundsA === undefined || roundsB === undefined) {
    return [{ text: `${text}, op/s`, value: undefined, ...bound }]
  }
  const single = roundsA.map((round, i) => round.opsPerSecond / roundsB[i]!.opsPerSecond)
  const [cpuA, cpuB] = [roundsA, roundsB].map(rounds => medianOfKnown(rounds.map(round => round.cpuUsPerOp)))
  return [
    {
      text: `${text}, op/s`,
      value: median(roundsA.map(round => round.opsPerSecond)) / median(roundsB.map(round => round.opsPerSecond)),
      range: [Math.min(...single), Math.max(...single)],
      ...bound,
    },
    { text: `${text}, per CPU second`, value: quotient(cpuB, cpuA) },
  ]
}
