/** Creates items durably, compared with a server that only reads the body and answers, and with the peer. */

import { ask } from '../http.ts'
import { createSource } from '../requests.ts'
import {
  createContainer,
  createDatabase,
  PEER_NAME,
  scratchFolder,
  startBare,
  startMayfly,
  startPeer,
} from '../targets.ts'
import { compare, interleave, type Target, THROUGHPUT_COLUMNS, throughputRows } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEM_BYTES = 1024

export const create: Workload = {
  name: 'create',
  async run({ load, quick, peerMissing }) {
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
    }
    const sample = await ask(mayfly.port, createSource(CONTAINER, 0, ITEM_BYTES)(0))
    targets.push({ name: 'bare', server: servers.use(await startBare(sample)) }, { name: 'mayfly', server: mayfly })
    if (peer !== undefined) targets.push({ name: 'peer', server: peer })

    const nextItem = new Map(targets.map(target => [target, 1]))
    const measured = await interleave(
      load,
      targets,
      rounds,
      target => ({
        requests: { kind: 'create', container: CONTAINER, firstItem: nextItem.get(target)!, bytes: ITEM_BYTES },
        answers: { status: 201 },
        atMost: { ms },
      }),
      (target, count) => nextItem.set(target, nextItem.get(target)! + count),
    )
    return {
      title: `create: POST new items of 1 KB, 32 connections, ${rounds} rounds of ${ms} ms by turns`,
      columns: THROUGHPUT_COLUMNS,
      rows: throughputRows(measured),
      findings: [...compare(measured, 'mayfly', 'bare', 0.28), ...compare(measured, 'mayfly', 'peer', 2)],
      notes: [
        'bare: node:http that reads the body and sends the same headers and bytes, no checks and no data',
        'mayfly: on disk, each create durable before it is answered',
        peerMissing ?? `peer: ${PEER_NAME}, in memory, nothing durable`,
      ],
    }
  },
}
