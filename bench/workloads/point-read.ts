/** Reads single items by id, compared with a server that only answers and with the peer. */

import { ask } from '../http.ts'
import { readRequest } from '../requests.ts'
import {
  createContainer,
  createDatabase,
  PEER_NAME,
  scratchFolder,
  startBare,
  startMayfly,
  startPeer,
} from '../targets.ts'
import { compare, fill, interleave, type Target, THROUGHPUT_COLUMNS, throughputRows } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024

export const pointRead: Workload = {
  name: 'point-read',
  async run({ load, quick, peerMissing }) {
    const items = quick ? 2_000 : 100_000
    const rounds = quick ? 2 : 11
    const ms = quick ? 300 : 2_000
    using folder = scratchFolder()
    await using servers = new AsyncDisposableStack()
    const targets: Target[] = []

    const mayfly = servers.use(await startMayfly(folder.path))
    const peer = peerMissing === undefined ? servers.use(await startPeer()) : undefined
    for (const server of [mayfly, peer]) {
      if (server === undefined) continue
      await createDatabase(server.port)
      await createContainer(server.port, CONTAINER)
      await fill(load, server, { container: CONTAINER, count: items, bytes: ITEM_BYTES })
    }
    const sample = await ask(mayfly.port, readRequest(CONTAINER, 0))
    targets.push({ name: 'bare', server: servers.use(await startBare(sample)) }, { name: 'mayfly', server: mayfly })
    if (peer !== undefined) targets.push({ name: 'peer', server: peer })

    const measured = await interleave(load, targets, rounds, () => ({
      requests: { kind: 'read', container: CONTAINER, items },
      answers: { status: 200 },
      atMost: { ms },
    }))
    return {
      title: `point-read: GET one of ${items} items of 1 KB, 32 connections, ${rounds} rounds of ${ms} ms by turns`,
      columns: THROUGHPUT_COLUMNS,
      rows: throughputRows(measured),
      findings: [...compare(measured, 'mayfly', 'bare', 0.42), ...compare(measured, 'mayfly', 'peer', 2.5)],
      notes: [
        'bare: node:http with the same headers and bytes, no checks and no data',
        peerMissing ?? `peer: ${PEER_NAME}, in memory, signatures not checked`,
      ],
    }
  },
}
