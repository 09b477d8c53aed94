/**
 * Common operations beside servers for the same protocols: cosmium and FerretDB. They are built by hand with
 * Go, and their programs lie in a folder (`--peers FOLDER`). One that is not there has no row.
 */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { LoadOrder } from '../load.ts'
import { DOCUMENT_BYTES, documentId } from '../mongo-documents.ts'
import { sampleReply } from '../mongo-fill.ts'
import { findGroup, findOne, type MongoInserts, mongoSource } from '../mongo-requests.ts'
import { opMsg } from '../mongo-wire.ts'
import { freePort, residentBytes, startProgram } from '../processes.ts'
import { type Finding, figure, median, quotient } from '../report.ts'
import { DATABASE } from '../requests.ts'
import {
  createContainer,
  createDatabase,
  scratchFolder,
  startMayfly,
  startMayflyBoth,
  startMayflyMongo,
} from '../targets.ts'
import { fill, interleave, type Rounds, type Target } from '../throughput.ts'
import type { Context, Workload } from '../workload.ts'

const CONTAINER = 'items'
const COLLECTION = 'orders'
const ITEM_BYTES = 1024
const GROUP_DOCUMENTS = 10
const MAYFLY = 'mayfly'
const MiB = 1024 * 1024

type Order = Pick<LoadOrder, 'requests' | 'answers'>

interface Operation {
  readonly name: string
  /** Sees how often it was done at this server. */
  orderOf(target: Target, done: number): Order
}

/** Servers of one protocol, and what is asked of them. */
interface Match {
  readonly targets: readonly Target[]
  readonly operations: readonly Operation[]
}

export const peers: Workload = {
  name: 'peers',
  async run(context) {
    const { quick, settings } = context
    const folder = settings.peers
    if (folder === undefined) throw new Error('--peers FOLDER: where the programs cosmium and ferretdb are.')
    const rows: string[][] = []
    const findings: Finding[] = []
    for (const open of [openNosql, openMongoMatch]) {
      await using servers = new AsyncDisposableStack()
      const { targets, operations } = await open(servers, folder, context)
      for (const { name, orderOf } of operations) {
        const done = new Map<Target, number>()
        const measured = await interleave(
          context.load,
          targets,
          quick ? 1 : 5,
          target => ({ ...orderOf(target, done.get(target) ?? 0), atMost: { ms: quick ? 300 : 2_000 } }),
          (target, count) => done.set(target, (done.get(target) ?? 0) + count),
        )
        rows.push(...rowsOf(name, measured, targets))
        findings.push(...findingsOf(name, measured))
      }
    }
    return {
      title: 'peers: common operations beside other servers for the same protocols, 32 connections, by turns',
      columns: ['operation', 'server', 'op/s', 'CPU us/op', 'p50 ms', 'p99 ms', 'RSS MiB'],
      rows,
      findings,
      notes: [
        'mayfly and FerretDB keep data in SQLite files, cosmium and mayfly --memory in memory',
        'cosmium: built with Go from its repository at 90de21c (June 2026); over http, with its check of signatures',
        'FerretDB: v1.24.2 with its SQLite backend. v2 needs PostgreSQL with the DocumentDB extension: not measured',
        'all: 10,000 items of 1 KB, 2,000 documents of 860 bytes; a query answers one field of one item',
      ],
    }
  },
}

async function openNosql(servers: AsyncDisposableStack, folder: string, { load, quick }: Context): Promise<Match> {
  const items = quick ? 1_000 : 10_000
  const data = servers.use(disposedAsync(scratchFolder()))
  const targets: Target[] = [
    { name: MAYFLY, server: servers.use(await startMayfly(data.path)) },
    { name: 'mayfly --memory', server: servers.use(await startMayflyBoth(['--memory'])) },
  ]
  const program = join(folder, 'cosmium')
  if (existsSync(program)) {
    const port = await freePort()
    const args = ['-Host', '127.0.0.1', '-Port', String(port), '-DisableTls', '-LogLevel', 'error']
    targets.push({ name: 'cosmium', server: servers.use(await startProgram(program, args, port)) })
  }
  for (const { server } of targets) {
    await createDatabase(server.port)
    await createContainer(server.port, CONTAINER)
    await fill(load, server, { container: CONTAINER, count: items, bytes: ITEM_BYTES })
  }
  const reading = (kind: 'read' | 'query') => (): Order => ({
    requests: { kind, container: CONTAINER, items },
    answers: { status: 200 },
  })
  return {
    targets,
    operations: [
      { name: 'point read', orderOf: reading('read') },
      { name: 'query of one partition', orderOf: reading('query') },
      {
        name: 'create',
        orderOf: (_, done) => ({
          requests: { kind: 'create', container: CONTAINER, firstItem: items + done, bytes: ITEM_BYTES },
          answers: { status: 201 },
        }),
      },
    ],
  }
}

async function openMongoMatch(servers: AsyncDisposableStack, folder: string, { quick }: Context): Promise<Match> {
  // FerretDB reads all of them for a filter that it does not push down.
  const count = quick ? 1_000 : 2_000
  const data = servers.use(disposedAsync(scratchFolder()))
  const targets: Target[] = [{ name: MAYFLY, server: servers.use(await startMayflyMongo(data.path)) }]
  const program = join(folder, 'ferretdb')
  if (existsSync(program)) {
    const port = await freePort()
    const other = servers.use(disposedAsync(scratchFolder()))
    const args = [
      ...['--handler=sqlite', `--sqlite-url=file:${other.path}/`, `--listen-addr=127.0.0.1:${port}`, '--debug-addr=-'],
      ...[`--state-dir=${other.path}`, '--telemetry=disable', '--log-level=error'],
    ]
    targets.push({ name: 'FerretDB', server: servers.use(await startProgram(program, args, port)) })
  }
  // FerretDB asks nobody for a password unless told to.
  const needsLogin = ({ name }: Target) => name === MAYFLY
  const inserts: Omit<MongoInserts, 'firstDocument' | 'perMessage'> = {
    ...{ kind: 'mongo-insert', collection: COLLECTION, bytes: DOCUMENT_BYTES },
    ...{ groups: count / GROUP_DOCUMENTS, isRetryable: false },
  }
  const replies = new Map<Target, Record<'one' | 'group' | 'insert', number>>()
  for (const target of targets) {
    const ask = async (message: Buffer) => (await sampleReply(target.server.port, message, needsLogin(target))).length
    const index = { key: { group: 1 }, name: 'group_1' }
    await ask(opMsg({ createIndexes: COLLECTION, indexes: [index], $db: DATABASE }))
    for (let first = 0; first < count; first += 1_000) {
      await ask(mongoSource({ ...inserts, firstDocument: first, perMessage: 1_000 })(0))
    }
    replies.set(target, {
      one: await ask(findOne(COLLECTION, documentId(0))),
      group: await ask(findGroup(COLLECTION, 0)),
      insert: await ask(mongoSource({ ...inserts, collection: 'new', firstDocument: 0, perMessage: 1 })(0)),
    })
  }
  const answers = (target: Target, reply: 'one' | 'group' | 'insert') => ({
    answers: { replyBytes: replies.get(target)![reply], needsLogin: needsLogin(target) },
  })
  return {
    targets,
    operations: [
      {
        name: 'Mongo find one',
        orderOf: target => ({
          requests: { kind: 'mongo-find-one', collection: COLLECTION, documents: count },
          ...answers(target, 'one'),
        }),
      },
      {
        name: 'Mongo find by index',
        orderOf: target => ({
          requests: { kind: 'mongo-find-group', collection: COLLECTION, groups: count / GROUP_DOCUMENTS },
          ...answers(target, 'group'),
        }),
      },
      {
        name: 'Mongo insert one',
        orderOf: (target, done) => ({
          requests: { ...inserts, collection: 'new', firstDocument: 1 + done, perMessage: 1 },
          ...answers(target, 'insert'),
        }),
      },
    ],
  }
}

function disposedAsync<T extends Disposable>(resource: T): T & AsyncDisposable {
  return Object.assign(resource, { [Symbol.asyncDispose]: async () => resource[Symbol.dispose]() })
}

function rowsOf(operation: string, measured: Rounds, targets: readonly Target[]): string[][] {
  return targets.map(target => {
    const rounds = measured.get(target.name)!
    const middle = (part: 'opsPerSecond' | 'p50Ms' | 'p99Ms') => median(rounds.map(round => round[part]))
    const cpu = rounds.map(({ cpuUsPerOp }) => cpuUsPerOp).filter(value => value !== undefined)
    const resident = residentBytes(target.server.pid)
    return [
      ...[operation, target.name, figure(middle('opsPerSecond')), figure(cpu.length > 0 ? median(cpu) : undefined, 1)],
      ...[figure(middle('p50Ms'), 2), figure(middle('p99Ms'), 2), figure(quotient(resident, MiB))],
    ]
  })
}

function findingsOf(operation: string, measured: Rounds): Finding[] {
  const ours = measured.get(MAYFLY)!
  return [...measured]
    .filter(([name]) => !name.startsWith(MAYFLY))
    .map(([name, theirs]) => {
      const single = ours.map(({ opsPerSecond }, at) => opsPerSecond / theirs[at]!.opsPerSecond)
      const value = median(ours.map(round => round.opsPerSecond)) / median(theirs.map(round => round.opsPerSecond))
      return { text: `${operation}, mayfly / ${name}, op/s`, value, range: [Math.min(...single), Math.max(...single)] }
    })
}
