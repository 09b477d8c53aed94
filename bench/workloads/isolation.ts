/**
 * What other clients notice of each of the hostile works (`isolation/works.ts`), and how each work ends.
 *
 * One process sends the work again and again over two connections. Another sends point reads and single
 * creates at fixed times, and measures how long each waits. Then the hostile client leaves, and the server
 * must come to rest. At last the work is sent once more, and ended in each way that it has.
 *
 * Machines stand still as well, for a tenth of a second now and then if others share them. So a bare server
 * is asked at the same time, and rounds in which it waited for long are measured again.
 */

import { machine } from '../../src/base/clock.ts'
import { ask } from '../http.ts'
import type { Outcome, Ports } from '../isolation/asking.ts'
import { Child } from '../isolation/child.ts'
import { fillHostileData } from '../isolation/fill.ts'
import type { FromHostile, ToHostile } from '../isolation/hostile-client.ts'
import type { HostileWork } from '../isolation/hostile-work.ts'
import type { FromProbe, Probed, ProbeOrder } from '../isolation/probe.ts'
import { works } from '../isolation/works.ts'
import { documentOf, openMongo, opMsg } from '../mongo-wire.ts'
import { cpuUs, type Load } from '../processes.ts'
import { type Finding, figure, median } from '../report.ts'
import { readRequest } from '../requests.ts'
import {
  createContainer,
  createDatabase,
  type MayflyProcess,
  scratchFolder,
  startBare,
  startMayflyBoth,
} from '../targets.ts'
import { fill } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEMS = 2_000
const ITEM_BYTES = 1000
const P99_MS_MAX = { disk: 25, memory: 50 }
/** The server has come to rest when it uses less of a core than this, for as long as this. */
const REST_SHARE = 0.2
const REST_MS = 100
const REST_LIMIT_MS = 8000
const ROUNDS = 3
/** To have as many in which the machine was quiet. */
const ROUNDS_MAX = 8
const QUIET_P99_MS_MAX = 8
/** What has not ended by itself by then is asked again, together with all others of its kind. */
const OWN_END_FIRST_MS = 9000
/** Some limits are a minute. */
const OWN_END_LIMIT_MS = 80_000
const MAX_TIME_MS = 300
const KILL_AFTER_MS = 200
/** What is ended has ended after this time. */
const SOON_MS = 250
const NO_END = 'none'
const ENDED_BEFORE = 'ended before'

type Store = keyof typeof P99_MS_MAX

interface Seen {
  readonly work: HostileWork
  readonly reads: Waited
  readonly creates: Waited
  readonly bare: Waited
  readonly answers: number
  readonly last: Outcome | undefined
  /** Undefined: it did not come to rest. */
  readonly restMs: number | undefined
  ownEnd: string
  readonly maxTime: string
  readonly kill: string
}

/** The median of some rounds, and the longest wait in them. */
interface Waited {
  readonly p99Ms: number
  readonly maxMs: number
}

class Bench {
  readonly #server: MayflyProcess
  readonly #ports: Ports
  readonly #ms: number
  #hostile = new Child<ToHostile, FromHostile>('hostile-client.ts')
  readonly #probe = new Child<ProbeOrder, FromProbe>('probe.ts')
  #firstItem = 1_000_000
  readonly #barePort: number
  readonly #rounds: number

  constructor(server: MayflyProcess, barePort: number, { ms, rounds }: { ms: number; rounds: number }) {
    this.#server = server
    this.#barePort = barePort
    this.#rounds = rounds
    this.#ports = { http: server.port, mongo: server.mongoPort }
    this.#ms = ms
  }

  async see(work: HostileWork, hasEnds: boolean): Promise<Seen> {
    await this.#hostile.ask({ begin: work.name, ports: this.#ports })
    const waited = await this.#calmRounds()
    const left = await this.#hostile.ask({ leave: true })
    if (!('left' in left)) throw new Error('The hostile client answered out of turn.')
    const { answers, last } = left
    const restMs = await this.#rest()
    const ends = hasEnds ? await this.#ends(work) : { ownEnd: '', maxTime: '', kill: '' }
    await this.#hostile[Symbol.asyncDispose]()
    this.#hostile = new Child('hostile-client.ts')
    return { work, ...waited, answers, last, restMs, ...ends }
  }

  /** How long others wait. */
  async probe(): Promise<Probed> {
    const firstItem = this.#firstItem
    this.#firstItem += 100_000
    const { port } = this.#server
    const order = { port, barePort: this.#barePort, container: CONTAINER, items: ITEMS, firstItem, ms: this.#ms }
    return this.#probe.ask(order)
  }

  /** Of all rounds, those in which the bare server waited least. */
  async #calmRounds(): Promise<Pick<Seen, 'reads' | 'creates' | 'bare'>> {
    const rounds: Probed[] = []
    const isCalm = ({ bare }: Probed) => bare.p99Ms <= QUIET_P99_MS_MAX
    const isEnough = () => rounds.filter(isCalm).length >= this.#rounds || rounds.length >= ROUNDS_MAX
    while (!isEnough()) rounds.push(await this.probe())
    const calm = rounds.toSorted((a, b) => a.bare.p99Ms - b.bare.p99Ms).slice(0, this.#rounds)
    const of = (kind: keyof Probed): Waited => ({
      p99Ms: median(calm.map(round => round[kind].p99Ms)),
      maxMs: Math.max(...calm.map(round => round[kind].maxMs)),
    })
    return { reads: of('reads'), creates: of('creates'), bare: of('bare') }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hostile[Symbol.asyncDispose]()
    await this.#probe[Symbol.asyncDispose]()
  }

  /** How long the server worked on, after its client had left. */
  async #rest(): Promise<number | undefined> {
    const startMs = machine.monotonicMs()
    while (machine.monotonicMs() - startMs < REST_LIMIT_MS) {
      const beforeUs = cpuUs(this.#server.pid) ?? 0
      const beforeMs = machine.monotonicMs()
      await new Promise<void>(resolve => machine.setTimeout(resolve, REST_MS))
      const usedMs = ((cpuUs(this.#server.pid) ?? 0) - beforeUs) / 1000
      if (usedMs / (machine.monotonicMs() - beforeMs) < REST_SHARE) return beforeMs - startMs
    }
    return undefined
  }

  async #ends(work: HostileWork): Promise<Pick<Seen, 'ownEnd' | 'maxTime' | 'kill'>> {
    const ownEnd = await this.#once(work, {})
    const isCommand = work.mongo !== undefined && work.isFlood !== true
    const maxTime = isCommand ? await this.#once(work, { maxTimeMS: MAX_TIME_MS }) : ''
    const kill = isCommand ? await this.#killed(work) : ''
    return { ownEnd, maxTime, kill }
  }

  /** Those that go on for long are waited for together. */
  async waitForLate(seen: readonly Seen[]): Promise<void> {
    const late = seen.filter(({ ownEnd }) => ownEnd === NO_END)
    const ends = late.map(async each => {
      await using client = new Child<ToHostile, FromHostile>('hostile-client.ts')
      const limit = Promise.withResolvers<undefined>()
      const timer = machine.setTimeout(() => limit.resolve(undefined), OWN_END_LIMIT_MS)
      const asked = client.ask({ once: each.work.name, ports: this.#ports, more: {} })
      const answer = await Promise.race([asked, limit.promise])
      machine.clearTimeout(timer)
      asked.catch(() => {})
      if (answer !== undefined) each.ownEnd = endOf(answer)
    })
    await Promise.all(ends)
  }

  async #once(work: HostileWork, more: object): Promise<string> {
    const asked = this.#hostile.ask({ once: work.name, ports: this.#ports, more })
    const limit = Promise.withResolvers<undefined>()
    const timer = machine.setTimeout(() => limit.resolve(undefined), OWN_END_FIRST_MS)
    const answer = await Promise.race([asked, limit.promise])
    machine.clearTimeout(timer)
    if (answer === undefined) {
      await this.#hostile[Symbol.asyncDispose]()
      asked.catch(() => {})
      this.#hostile = new Child('hostile-client.ts')
      await this.#rest()
      return NO_END
    }
    return endOf(answer)
  }

  async #killed(work: HostileWork): Promise<string> {
    const comment = `kill ${work.name}`
    const asked = this.#once(work, { comment })
    const { promise: failure, reject } = Promise.withResolvers<never>()
    failure.catch(() => {})
    const admin = await openMongo(this.#ports.mongo, reject)
    const run = async (command: object) => documentOf(await admin.ask(opMsg({ ...command, $db: 'admin' })))
    let killedMs: number | undefined
    const killing = (async () => {
      await new Promise<void>(resolve => machine.setTimeout(resolve, KILL_AFTER_MS))
      const { inprog = [] } = await run({ currentOp: 1 })
      const found = inprog.find((each: { command?: { comment?: string } }) => each.command?.comment === comment)
      if (found === undefined) return
      killedMs = machine.monotonicMs()
      await run({ killOp: 1, op: found.opid })
    })()
    const end = await asked
    await killing
    admin.close()
    if (killedMs === undefined) return ENDED_BEFORE
    return `${end.split(' ')[0]} ${figure(machine.monotonicMs() - killedMs)}`
  }
}

function endOf(answer: Exclude<FromHostile, { readonly error: string }>): string {
  if (!('outcome' in answer)) throw new Error('The hostile client answered out of turn.')
  return `${answer.outcome.code} ${figure(answer.ms)}`
}

async function runStore(load: Load, store: Store, quick: boolean): Promise<readonly Seen[]> {
  using folder = scratchFolder()
  await using server = await startMayflyBoth(store === 'memory' ? ['--memory'] : ['--data', folder.path])
  await createDatabase(server.port)
  await createContainer(server.port, CONTAINER)
  await fill(load, server, { container: CONTAINER, count: ITEMS, bytes: ITEM_BYTES })
  await fillHostileData({ http: server.port, mongo: server.mongoPort }, quick ? 2000 : undefined)
  await using bare = await startBare(await ask(server.port, readRequest(CONTAINER, 0)))
  await using bench = new Bench(server, bare.port, quick ? { ms: 200, rounds: 1 } : { ms: 1000, rounds: ROUNDS })
  await bench.probe()
  const seen: Seen[] = []
  for (const work of chosenWorks()) {
    const one = await bench.see(work, store === 'disk' && !quick)
    seen.push(one)
    if (process.env.MAYFLY_BENCH_LOG !== undefined) console.log(rowOf(one).join(' | '), one.last?.text.slice(0, 100))
  }
  await bench.waitForLate(seen)
  return seen
}

/** MAYFLY_BENCH_WORKS names some of them by a part of their names. */
function chosenWorks(): readonly HostileWork[] {
  const part = process.env.MAYFLY_BENCH_WORKS
  return part === undefined ? works : works.filter(({ name }) => part.split('|').some(each => name.includes(each)))
}

function rowOf({ work, reads, creates, bare, answers, last, restMs, ownEnd, maxTime, kill }: Seen): string[] {
  return [
    work.name,
    work.http === undefined ? 'Mongo' : 'NoSQL',
    figure(reads.p99Ms, 1),
    figure(reads.maxMs, 1),
    figure(creates.p99Ms, 1),
    figure(creates.maxMs, 1),
    figure(bare.p99Ms, 1),
    figure(answers),
    last === undefined ? '' : String(last.code),
    restMs === undefined ? 'none' : figure(restMs),
    ownEnd,
    maxTime,
    kill,
  ]
}

/** Whether each work ended as it should. What is over before it can be ended counts as ended. */
function endsOf(seen: readonly Seen[]): Finding[] {
  const share = (what: string, all: readonly Seen[], isEnded: (each: Seen) => boolean): Finding => ({
    text: `disk: works of ${all.length} that end ${what}`,
    value: all.filter(isEnded).length,
    digits: 0,
    bound: { atLeast: all.length },
  })
  const commands = seen.filter(({ kill }) => kill !== '')
  const msOf = (end: string) => Number(end.split(' ')[1]?.replaceAll(',', ''))
  return [
    share('by themselves', seen, ({ ownEnd }) => ownEnd !== NO_END),
    share(`by maxTimeMS ${MAX_TIME_MS}`, commands, ({ maxTime }) => msOf(maxTime) < MAX_TIME_MS + SOON_MS),
    share('by killOp', commands, ({ kill }) => kill === ENDED_BEFORE || msOf(kill) < SOON_MS),
  ]
}

export const isolation: Workload = {
  name: 'isolation',
  async run({ load, quick }) {
    const rows: string[][] = []
    const findings: Finding[] = []
    for (const store of ['disk', 'memory'] as const) {
      const seen = await runStore(load, store, quick)
      rows.push(...seen.map(each => [store, ...rowOf(each)]))
      const bound = { atMost: P99_MS_MAX[store] }
      for (const kind of ['reads', 'creates'] as const) {
        const worst = seen.reduce((a, b) => (a[kind].p99Ms >= b[kind].p99Ms ? a : b))
        const text = `${store}: p99 of ${kind} beside the worst work (${worst.work.name})`
        findings.push({ text, value: worst[kind].p99Ms, unit: ' ms', digits: 1, bound })
        const within = seen.filter(each => each[kind].p99Ms <= bound.atMost).length
        const share = `${store}: works of ${seen.length} beside which p99 of ${kind} is within ${bound.atMost} ms`
        findings.push({ text: share, value: within, digits: 0, bound: { atLeast: seen.length } })
      }
      const rested = seen.filter(({ restMs }) => restMs !== undefined).length
      const text = `${store}: works of ${seen.length} that end when their client leaves`
      findings.push({ text, value: rested, digits: 0, bound: { atLeast: seen.length } })
      if (store === 'disk' && !quick) findings.push(...endsOf(seen))
    }
    return {
      title: `isolation: point reads and single creates of others while a hostile client works, ${works.length} works`,
      columns: [
        'store',
        'work',
        'API',
        'read p99',
        'max',
        'create p99',
        'max',
        'bare p99',
        'answers',
        'last',
        'left',
        'own end',
      ].concat(['maxTimeMS', 'killOp']),
      rows,
      findings,
      notes: [
        `read, create: waits in ms, counted from the time at which a request was due; medians of ${ROUNDS} rounds`,
        'bare: the same for a server that does nothing, on the same machine at the same time',
        `the rounds are those of at most ${ROUNDS_MAX} in which the bare server waited least`,
        'last: status or error code of the last answer (0 is success); left: ms until the server was at rest',
        `own end, maxTimeMS ${MAX_TIME_MS}, killOp: code of the answer, and ms; for killOp since the call`,
      ],
    }
  },
}
