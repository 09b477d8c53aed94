/** Finds ten documents by an indexed field: it must cost the same among ten thousand and among a million. */

import { SMALL_DOCUMENT_BYTES } from '../mongo-documents.ts'
import { fillMongo, sampleReply } from '../mongo-fill.ts'
import { findGroup } from '../mongo-requests.ts'
import { documentOf, opMsg } from '../mongo-wire.ts'
import { figure, median, medianOfKnown, quotient } from '../report.ts'
import { DATABASE } from '../requests.ts'
import { scratchFolder, startMayflyMongo } from '../targets.ts'
import { interleave, THROUGHPUT_COLUMNS, throughputRows } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const FOUND = 10

export const mongoFindIndexed: Workload = {
  name: 'mongo-find-indexed',
  async run({ load, quick }) {
    const counts = { small: 10_000, large: quick ? 20_000 : 1_000_000 }
    const rounds = quick ? 2 : 11
    const ms = quick ? 300 : 2_000
    using folder = scratchFolder()
    await using server = await startMayflyMongo(folder.path)
    for (const [collection, count] of Object.entries(counts)) {
      const index = { key: { group: 1 }, name: 'group_1' }
      await sampleReply(server.port, opMsg({ createIndexes: collection, indexes: [index], $db: DATABASE }))
      await fillMongo(load, server, { collection, count, bytes: SMALL_DOCUMENT_BYTES, groups: count / FOUND })
    }
    const sample = await sampleReply(server.port, findGroup('large', 1))
    const found: unknown[] = documentOf(sample).cursor.firstBatch
    if (found.length !== FOUND) throw new Error(`${found.length} documents were found, not ${FOUND}.`)

    const measured = await interleave(
      load,
      Object.keys(counts).map(name => ({ name, server })),
      rounds,
      ({ name }) => ({
        requests: { kind: 'mongo-find-group', collection: name, groups: counts[name as keyof typeof counts] / FOUND },
        answers: { replyBytes: sample.length, needsLogin: true },
        atMost: { ms },
      }),
    )
    const rates = (name: string) => measured.get(name)!.map(({ opsPerSecond }) => opsPerSecond)
    const cpu = (name: string) => medianOfKnown(measured.get(name)!.map(({ cpuUsPerOp }) => cpuUsPerOp))
    const single = rates('small').map((rate, i) => rate / rates('large')[i]!)
    return {
      title:
        `mongo-find-indexed: find ${FOUND} of ${figure(counts.small)} and of ${figure(counts.large)} documents of ` +
        `${SMALL_DOCUMENT_BYTES} bytes by an indexed field, 32 connections, ${rounds} rounds of ${ms} ms by turns`,
      columns: ['collection', ...THROUGHPUT_COLUMNS.slice(1)],
      rows: throughputRows(measured),
      findings: [
        {
          text: 'time of one find, large / small',
          value: median(rates('small')) / median(rates('large')),
          range: [Math.min(...single), Math.max(...single)],
          bound: { atMost: 1.5 },
        },
        { text: 'CPU of one find, large / small', value: quotient(cpu('large'), cpu('small')) },
      ],
      notes: ['documents with the same value were inserted far from each other; every find is for another value'],
    }
  },
}
