/** Inserts single documents durably, compared with a server that only reads and answers. */

import { DOCUMENT_BYTES } from '../mongo-documents.ts'
import { sampleReply } from '../mongo-fill.ts'
import { type MongoInserts, mongoSource } from '../mongo-requests.ts'
import { scratchFolder, startBareMongo, startMayflyMongo } from '../targets.ts'
import { compare, interleave, THROUGHPUT_COLUMNS, throughputRows } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const INSERTS = { kind: 'mongo-insert', bytes: DOCUMENT_BYTES, groups: 1_000_000, perMessage: 1 } as const
const RETRYABLE = 'mayfly, retryable'

export const mongoInsertOne: Workload = {
  name: 'mongo-insert-one',
  async run({ load, quick }) {
    const rounds = quick ? 2 : 11
    const ms = quick ? 300 : 2_000
    using folder = scratchFolder()
    await using mayfly = await startMayflyMongo(folder.path)
    const insertsFor = (name: string, firstDocument: number): MongoInserts => ({
      ...INSERTS,
      collection: name === RETRYABLE ? 'retryable' : 'plain',
      isRetryable: name === RETRYABLE,
      firstDocument,
    })
    const sample = await sampleReply(mayfly.port, mongoSource(insertsFor('mayfly', 0))(0))
    await using bare = await startBareMongo(sample)
    const targets = [
      { name: 'bare', server: bare },
      { name: 'mayfly', server: mayfly },
      { name: RETRYABLE, server: mayfly },
    ]

    const nextDocument = new Map(targets.map(({ name }) => [name, 1]))
    const measured = await interleave(
      load,
      targets,
      rounds,
      ({ name, server }) => ({
        requests: insertsFor(name, nextDocument.get(name)!),
        answers: { replyBytes: sample.length, needsLogin: server === mayfly },
        atMost: { ms },
      }),
      ({ name }, count) => nextDocument.set(name, nextDocument.get(name)! + count),
    )
    return {
      title:
        `mongo-insert-one: insert of one document of ${DOCUMENT_BYTES} bytes, 32 connections, ${rounds} rounds of ` +
        `${ms} ms by turns`,
      columns: THROUGHPUT_COLUMNS,
      rows: throughputRows(measured),
      findings: [...compare(measured, 'mayfly', 'bare', 0.27), ...compare(measured, RETRYABLE, 'mayfly', 0.85)],
      notes: [
        'bare: node:net that reads the message and sends the same bytes, no checks and no data',
        'mayfly: on disk, each insert durable before it is answered',
        'retryable: with a transaction number, as drivers send it; what was answered is stored with the document',
      ],
    }
  },
}
