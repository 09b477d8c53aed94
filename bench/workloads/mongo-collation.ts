/** Finds by an indexed string with a collation and without one, in turn: what the collation costs. */

import { type Document, serialize } from 'bson'
import { machine } from '../../src/base/clock.ts'
import { askMongo, openMongo, opMsg } from '../mongo-wire.ts'
import { type Finding, figure, median } from '../report.ts'
import { DATABASE } from '../requests.ts'
import { scratchFolder, startMayflyMongo } from '../targets.ts'
import type { Workload } from '../workload.ts'

const COLLECTION = 'people'
const PER_MESSAGE = 1_000
const ROUNDS = 11
const CONNECTIONS = 8
const collation = { locale: 'en', strength: 2 }

function nameOf(n: number): string {
  return `Customer ${(Math.imul(n + 1, 2_654_435_761) >>> 0).toString(36)}`
}

/** What one find asks for, by its name. */
const finds: Readonly<Record<string, (n: number) => Document>> = {
  'by equality': n => ({ filter: { name: nameOf(n) } }),
  'of a range of ten': n => ({ filter: { name: { $gte: nameOf(n) } }, limit: 10, singleBatch: true }),
}

export const mongoCollation: Workload = {
  name: 'mongo-collation',
  async run({ quick }) {
    const count = quick ? 2_000 : 50_000
    const perRound = quick ? 50 : 1_000
    using folder = scratchFolder()
    await using server = await startMayflyMongo(folder.path)
    const { promise: failure, reject } = Promise.withResolvers<never>()
    failure.catch(() => {})
    const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => openMongo(server.port, reject)))
    const ask = (at: number, message: Buffer) => Promise.race([askMongo(connections[at]!, message), failure])
    for (let first = 0; first < count; first += PER_MESSAGE) {
      const documents = Array.from({ length: PER_MESSAGE }, (_, n) =>
        serialize({ _id: first + n, name: nameOf(first + n) }),
      )
      await ask(
        0,
        opMsg({ insert: COLLECTION, $db: DATABASE }, { name: 'documents', documents: Buffer.concat(documents) }),
      )
    }
    const indexes = [
      { key: { name: 1 }, name: 'simple' },
      { key: { name: 1 }, name: 'collated', collation },
    ]
    await ask(0, opMsg({ createIndexes: COLLECTION, indexes, $db: DATABASE }))

    const rows: string[][] = []
    const findings: Finding[] = []
    for (const [name, find] of Object.entries(finds)) {
      const rates: Record<'plain' | 'collated', number[]> = { plain: [], collated: [] }
      const messages = (options: Document) =>
        Array.from({ length: perRound }, (_, n) => {
          return opMsg({ find: COLLECTION, ...find((n * 7_919) % count), ...options, $db: DATABASE })
        })
      const sides = { plain: messages({}), collated: messages({ collation }) }
      for (let round = -1; round < ROUNDS; round++) {
        for (const side of ['plain', 'collated'] as const) {
          const startMs = machine.monotonicMs()
          await Promise.all(
            connections.map(async (_, at) => {
              for (let n = at; n < perRound; n += CONNECTIONS) await ask(at, sides[side][n]!)
            }),
          )
          // The first round is not counted: code is compiled, and the table of the collation is made.
          if (round >= 0) rates[side].push((1000 * perRound) / (machine.monotonicMs() - startMs))
        }
      }
      for (const side of ['plain', 'collated'] as const) rows.push([name, side, figure(median(rates[side]))])
      const value = median(rates.collated.map((rate, at) => rate / rates.plain[at]!))
      findings.push({ text: `find ${name}, with a collation / without`, value, bound: { atLeast: 0.5 } })
    }
    for (const connection of connections) connection.close()
    return {
      title: `mongo-collation: finds by an indexed string among ${figure(count)} documents, ${CONNECTIONS} connections`,
      columns: ['find', 'side', 'op/s'],
      rows,
      findings,
      notes: ['the collation is { locale: "en", strength: 2 }; each side has an index of its own on the same field'],
    }
  },
}
