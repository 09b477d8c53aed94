/** Filters a partition of a small container, compared with the peer. */

import { Clients, itemRequest, queryItem, queryRequest } from '../query-items.ts'
import { figure, median } from '../report.ts'
import { createContainer, createDatabase, PEER_NAME, scratchFolder, startMayfly, startPeer } from '../targets.ts'
import type { Workload } from '../workload.ts'

const ITEMS = 5_200
const CONTAINER = 'items'

export const querySmall: Workload = {
  name: 'query-small',
  async run({ quick, peerMissing }) {
    const rounds = quick ? 2 : 7
    using folder = scratchFolder()
    await using servers = new AsyncDisposableStack()
    const targets = [
      { name: 'mayfly', server: servers.use(await startMayfly(folder.path)), queriesPerRound: quick ? 200 : 5_000 },
      ...(peerMissing === undefined
        ? [{ name: 'peer', server: servers.use(await startPeer()), queriesPerRound: quick ? 32 : 64 }]
        : []),
    ]
    const rows: string[][] = []
    const rates = new Map<string, number[]>()
    for (const partitions of [1, 50]) {
      const container = `${CONTAINER}${partitions}`
      for (const { name, server } of targets) {
        if (partitions === 1) await createDatabase(server.port)
        await createContainer(server.port, container)
        using clients = await Clients.open(server.port)
        await clients.storm(ITEMS, n => itemRequest(container, queryItem(n, partitions)), 201)
        rates.set(`${name} ${partitions}`, [])
      }
      for (let round = 0; round < rounds; round++) {
        for (const { name, server, queriesPerRound } of targets) {
          using clients = await Clients.open(server.port)
          const rate = await clients.storm(
            queriesPerRound,
            n => {
              const group = (n * 7919) % (ITEMS / 10)
              const pk = `p${(group * 10) % partitions}`
              // The peer uses only the filter, so the partition key is in it as well.
              return queryRequest(container, `SELECT * FROM c WHERE c["group"] = ${group} AND c.pk = "${pk}"`, pk)
            },
            200,
          )
          rates.get(`${name} ${partitions}`)!.push(rate)
        }
      }
      for (const { name } of targets) {
        const measured = rates.get(`${name} ${partitions}`)!
        rows.push([
          name,
          String(partitions),
          figure(median(measured)),
          figure(Math.min(...measured)),
          figure(Math.max(...measured)),
        ])
      }
    }
    const ratio = (partitions: number) =>
      peerMissing === undefined
        ? median(rates.get(`mayfly ${partitions}`)!) / median(rates.get(`peer ${partitions}`)!)
        : undefined
    return {
      title:
        `query-small: one partition of ${ITEMS} items, filtered by equality, 32 connections, ${rounds} rounds by ` +
        'turns',
      columns: ['server', 'partitions', 'queries/s', 'worst round', 'best round'],
      rows,
      findings: [
        { text: 'mayfly / peer, all items in one partition', value: ratio(1), bound: { atLeast: 100 } },
        { text: 'mayfly / peer, 50 partitions', value: ratio(50) },
      ],
      notes: [
        'mayfly makes an index after a few scans; the medians are those of all rounds',
        peerMissing ?? `peer: ${PEER_NAME}, in memory`,
      ],
    }
  },
}
