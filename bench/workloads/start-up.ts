/** From spawn to the first answered request, and the memory of an idle server. */

import { setTimeout as sleep } from 'node:timers/promises'
import { machine } from '../../src/base/clock.ts'
import { ask } from '../http.ts'
import { residentBytes, type ServerProcess } from '../processes.ts'
import { figure, median, medianOfKnown } from '../report.ts'
import { rawRequest } from '../requests.ts'
import {
  findExecutable,
  PEER_NAME,
  scratchFolder,
  startBareNode,
  startExecutable,
  startMayfly,
  startMayflyBoth,
  startPeerCommand,
} from '../targets.ts'
import type { Workload } from '../workload.ts'

const IDLE_MS = 1_000
const POLL_MS = 2
const MIB = 1024 * 1024

interface Start {
  readonly ms: number
  readonly rss: number | undefined
}

/** Requests `path` until it answers 200. */
async function measure(starting: Promise<ServerProcess>, path: string): Promise<Start> {
  await using server = await starting
  const request = rawRequest({ method: 'GET', path })
  while ((await ask(server.port, request)).status !== 200) await sleep(POLL_MS)
  const ms = machine.monotonicMs() - server.spawnedAtMs
  await sleep(IDLE_MS)
  return { ms, rss: residentBytes(server.pid) }
}

async function measureMayfly(): Promise<Start> {
  using folder = scratchFolder()
  return await measure(startMayflyBoth(['--data', folder.path]), '/ready')
}

async function measureWithoutMongo(): Promise<Start> {
  using folder = scratchFolder()
  return await measure(startMayfly(folder.path), '/ready')
}

async function measureExecutable(executable: string): Promise<Start> {
  using folder = scratchFolder()
  return await measure(startExecutable(executable, folder.path), '/ready')
}

export const startUp: Workload = {
  name: 'start-up',
  async run({ quick, peerMissing }) {
    const starts = quick ? 2 : 11
    const kinds: [string, () => Promise<Start>][] = [
      ['bare node', () => measure(startBareNode(), '/')],
      ['mayfly', measureMayfly],
      ['mayfly --no-mongo', measureWithoutMongo],
    ]
    const executable = findExecutable()
    if (executable !== undefined) kinds.push(['executable', () => measureExecutable(executable)])
    if (peerMissing === undefined) kinds.push(['peer', () => measure(startPeerCommand(), '/')])

    const measured = new Map<string, Start[]>(kinds.map(([name]) => [name, []]))
    for (let start = 0; start < starts; start++) {
      for (const [name, run] of kinds) measured.get(name)!.push(await run())
    }
    const msOf = (name: string) => measured.get(name)!.map(({ ms }) => ms)
    const rssMiB = (name: string) => {
      const bytes = medianOfKnown(measured.get(name)!.map(({ rss }) => rss))
      return bytes === undefined ? undefined : bytes / MIB
    }
    const range = [Math.min(...msOf('mayfly')), Math.max(...msOf('mayfly'))] as const
    return {
      title: `start-up: spawn to first answered request, ${starts} starts by turns; memory after 1 s idle`,
      columns: ['server', 'median ms', 'best ms', 'worst ms', 'idle RSS MiB'],
      rows: kinds.map(([name]) => [
        name,
        figure(median(msOf(name))),
        figure(Math.min(...msOf(name))),
        figure(Math.max(...msOf(name))),
        figure(rssMiB(name), 1),
      ]),
      findings: [
        { text: 'mayfly, ms', value: median(msOf('mayfly')), digits: 0, range, bound: { atMost: 200 } },
        { text: 'mayfly, idle RSS MiB', value: rssMiB('mayfly'), digits: 1, bound: { atMost: 80 } },
        ...(peerMissing === undefined
          ? [{ text: 'mayfly / peer, ms', value: median(msOf('mayfly')) / median(msOf('peer')) }]
          : []),
      ],
      notes: [
        'mayfly: an empty folder each time, first 200 from GET /ready',
        'executable: with --no-mongo; the one that "npm run executable" made, if there is one',
        'bare node: node:http that answers anything; what node itself costs',
        peerMissing ?? `peer: ${PEER_NAME} by its own command, first 200 from GET /`,
      ],
    }
  },
}
