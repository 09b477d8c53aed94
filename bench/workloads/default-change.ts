/**
 * Changes a container's default time to live: it must cost the same for a thousand items and for a million.
 */

import { machine } from '../../src/base/clock.ts'
import { ask, openHttp } from '../http.ts'
import { writtenBytes } from '../processes.ts'
import { difference, figure, median, medianOfKnown } from '../report.ts'
import { DATABASE, readRequest, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import { fill } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const ITEM_BYTES = 200
const SMALL_COUNT = 1_000
const SAMPLE = 200
/** Long enough that nothing dies during the run; undefined turns expiry off. */
const DEFAULTS = [86_400, undefined, 172_800, -1]

interface Change {
  readonly ms: number
  readonly written: number | undefined
}

/** Properties that change if an item is rewritten. */
async function versions(port: number, container: string, count: number): Promise<string> {
  const seen: string[] = []
  for (let i = 0; i < SAMPLE; i++) {
    const { status, body } = await ask(port, readRequest(container, Math.floor((i * count) / SAMPLE)))
    if (status !== 200) throw new Error(`A sampled item was answered ${status}.`)
    const { _etag, _ts } = JSON.parse(body) as { _etag: string; _ts: number }
    seen.push(`${_etag} ${_ts}`)
  }
  return seen.join('\n')
}

export const defaultChange: Workload = {
  name: 'default-change',
  async run({ load, quick }) {
    const largeCount = quick ? 20_000 : 1_000_000
    const rounds = quick ? 8 : 100
    const containers = [
      { name: 'small', count: SMALL_COUNT },
      { name: 'large', count: largeCount },
    ]
    using folder = scratchFolder()
    await using server = await startMayfly(folder.path)
    await createDatabase(server.port)
    for (const { name, count } of containers) {
      await createContainer(server.port, name)
      await fill(load, server, { container: name, count, bytes: ITEM_BYTES })
    }

    const before = await Promise.all(containers.map(({ name, count }) => versions(server.port, name, count)))
    const { promise: failure, reject } = Promise.withResolvers<never>()
    const connection = await openHttp(server.port, reject)
    const change = async (container: string, defaultTtl: number | undefined): Promise<Change> => {
      const request = signedRequest({
        method: 'PUT',
        path: `/dbs/${DATABASE}/colls/${container}`,
        body: JSON.stringify({ id: container, partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 }, defaultTtl }),
      })
      const writtenBefore = writtenBytes(server.pid)
      const startMs = machine.monotonicMs()
      const { status, body } = await Promise.race([connection.ask(request), failure])
      const ms = machine.monotonicMs() - startMs
      const writtenAfter = writtenBytes(server.pid)
      if (status !== 200) throw new Error(`The change was answered ${status}: ${body.slice(0, 300)}`)
      return { ms, written: difference(writtenAfter, writtenBefore) }
    }
    const measured = new Map<string, Change[]>(containers.map(({ name }) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      for (const { name } of containers) {
        measured.get(name)!.push(await change(name, DEFAULTS[round % DEFAULTS.length]))
      }
    }
    connection.close()
    const after = await Promise.all(containers.map(({ name, count }) => versions(server.port, name, count)))
    const rewritten = after.filter((versionsAfter, i) => versionsAfter !== before[i]).length

    const msOf = (name: string) => measured.get(name)!.map(({ ms }) => ms)
    return {
      title: `default-change: PUT container with another defaultTtl, ${rounds} changes of each container by turns`,
      columns: ['container', 'items', 'median ms', 'best ms', 'worst ms', 'bytes written per change'],
      rows: containers.map(({ name, count }) => [
        name,
        figure(count),
        figure(median(msOf(name)), 2),
        figure(Math.min(...msOf(name)), 2),
        figure(Math.max(...msOf(name)), 2),
        figure(medianOfKnown(measured.get(name)!.map(({ written }) => written))),
      ]),
      findings: [
        { text: 'large / small, ms', value: median(msOf('large')) / median(msOf('small')), bound: { atMost: 2 } },
        { text: 'containers with a rewritten item', value: rewritten, digits: 0, bound: { atMost: 0 } },
      ],
      notes: [
        `defaults in turn: ${DEFAULTS.map(value => value ?? 'off').join(', ')}`,
        `rewritten: _etag and _ts of ${SAMPLE} items of each container compared before and after`,
      ],
    }
  },
}
