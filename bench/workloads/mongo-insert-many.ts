/**
 * Inserts documents durably, a thousand per message, compared with SQLite alone on the same bytes.
 */

import { itemId } from '../../src/document/bson/document-id.ts'
import { BareInserts, type BareRow } from '../bare-insert.ts'
import { DOCUMENT_BYTES, DocumentStamp } from '../mongo-documents.ts'
import { INSERT_CONNECTIONS, PER_MESSAGE, sampleReply } from '../mongo-fill.ts'
import { mongoSource } from '../mongo-requests.ts'
import { figure, median, medianOfKnown, quotient } from '../report.ts'
import { scratchFolder, startMayflyMongo } from '../targets.ts'
import { measure } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const GROUPS = 1_000_000
const INSERTS = {
  kind: 'mongo-insert',
  collection: 'orders',
  bytes: DOCUMENT_BYTES,
  groups: GROUPS,
  perMessage: PER_MESSAGE,
  isRetryable: false,
} as const

const OBJECT_ID = 7
const ID_AT = 9

function bareRows(first: number, count: number): BareRow[] {
  const stamp = new DocumentStamp(DOCUMENT_BYTES, n => n % GROUPS)
  const bytes = stamp.room(count)
  return Array.from({ length: count }, (_, n) => {
    const at = n * DOCUMENT_BYTES
    stamp.write(bytes, at, first + n)
    return { id: itemId(bytes, OBJECT_ID, at + ID_AT), body: bytes.subarray(at, at + DOCUMENT_BYTES) }
  })
}

interface Batch {
  readonly rowsPerSecond: number
  readonly cpuUsPerRow: number | undefined
}

export const mongoInsertMany: Workload = {
  name: 'mongo-insert-many',
  async run({ load, quick }) {
    const messages = quick ? 5 : 40
    const rounds = quick ? 2 : 11
    const rows = messages * PER_MESSAGE
    using folder = scratchFolder()
    await using mayfly = await startMayflyMongo(folder.path)
    const { length: replyBytes } = await sampleReply(mayfly.port, mongoSource({ ...INSERTS, firstDocument: 0 })(0))
    using bare = new BareInserts(folder.path)
    bare.run(bareRows(0, PER_MESSAGE), PER_MESSAGE)

    const measured: Record<'bare SQLite' | 'mayfly', Batch[]> = { 'bare SQLite': [], mayfly: [] }
    // The first round is a warm-up; both have the same number of rows in every round.
    for (let round = 0; round <= rounds; round++) {
      const firstDocument = PER_MESSAGE + round * rows
      const { ms, cpuUs } = bare.run(bareRows(firstDocument, rows), PER_MESSAGE)
      const { opsPerSecond, cpuUsPerOp } = await measure(
        load,
        { name: 'mayfly', server: mayfly },
        {
          connections: INSERT_CONNECTIONS,
          requests: { ...INSERTS, firstDocument },
          answers: { replyBytes, needsLogin: true },
          atMost: { count: messages },
        },
      )
      if (round === 0) continue
      measured['bare SQLite'].push({ rowsPerSecond: rows / (ms / 1000), cpuUsPerRow: cpuUs / rows })
      measured.mayfly.push({
        rowsPerSecond: opsPerSecond * PER_MESSAGE,
        cpuUsPerRow: quotient(cpuUsPerOp, PER_MESSAGE),
      })
    }

    const rates = (name: keyof typeof measured) => measured[name].map(({ rowsPerSecond }) => rowsPerSecond)
    const cpu = (name: keyof typeof measured) => medianOfKnown(measured[name].map(({ cpuUsPerRow }) => cpuUsPerRow))
    const single = rates('mayfly').map((rate, i) => rate / rates('bare SQLite')[i]!)
    return {
      title:
        `mongo-insert-many: ${PER_MESSAGE} documents of ${DOCUMENT_BYTES} bytes per message, ` +
        `${INSERT_CONNECTIONS} connections, ${rounds} rounds of ${messages} messages by turns`,
      columns: ['what', 'documents/s', 'CPU us/document'],
      rows: (['bare SQLite', 'mayfly'] as const).map(name => [name, figure(median(rates(name))), figure(cpu(name), 1)]),
      findings: [
        {
          text: 'mayfly / bare SQLite, documents/s',
          value: median(rates('mayfly')) / median(rates('bare SQLite')),
          range: [Math.min(...single), Math.max(...single)],
          bound: { atLeast: 0.6 },
        },
        { text: 'mayfly / bare SQLite, per CPU second', value: quotient(cpu('bare SQLite'), cpu('mayfly')) },
      ],
      notes: [
        'bare SQLite: node:sqlite in this process, the same table and indexes, WAL, FULL, one transaction for ' +
          'each message',
        'both on disk, and as full as the other in every round',
      ],
    }
  },
}
