/** Finds single documents by `_id`, compared with a server that only answers. */

import { DOCUMENT_BYTES, documentId } from '../mongo-documents.ts'
import { fillMongo, sampleReply } from '../mongo-fill.ts'
import { findOne } from '../mongo-requests.ts'
import { scratchFolder, startBareMongo, startMayflyMongo } from '../targets.ts'
import { compare, interleave, THROUGHPUT_COLUMNS, throughputRows } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const COLLECTION = 'orders'

export const mongoFindOne: Workload = {
  name: 'mongo-find-one',
  async run({ load, quick }) {
    const documents = quick ? 2_000 : 100_000
    const rounds = quick ? 2 : 11
    const ms = quick ? 300 : 2_000
    using folder = scratchFolder()
    await using mayfly = await startMayflyMongo(folder.path)
    await fillMongo(load, mayfly, {
      collection: COLLECTION,
      count: documents,
      bytes: DOCUMENT_BYTES,
      groups: documents,
    })
    const sample = await sampleReply(mayfly.port, findOne(COLLECTION, documentId(0)))
    await using bare = await startBareMongo(sample)

    const measured = await interleave(
      load,
      [
        { name: 'bare', server: bare },
        { name: 'mayfly', server: mayfly },
      ],
      rounds,
      ({ server }) => ({
        requests: { kind: 'mongo-find-one', collection: COLLECTION, documents },
        answers: { replyBytes: sample.length, needsLogin: server === mayfly },
        atMost: { ms },
      }),
    )
    return {
      title:
        `mongo-find-one: find by _id, one of ${documents} documents of ${DOCUMENT_BYTES} bytes, 32 connections, ` +
        `${rounds} rounds of ${ms} ms by turns`,
      columns: THROUGHPUT_COLUMNS,
      rows: throughputRows(measured),
      findings: compare(measured, 'mayfly', 'bare', 0.4),
      notes: ['bare: node:net that reads the length of a message and sends the same bytes, no checks and no data'],
    }
  },
}
