/**
 * The live connections, and the one timer that serves them: twice a second it looks for changes and sends
 * them to the connections that watch them. Without connections it does nothing.
 *
 * The cost of a look does not grow with the number of items. A look asks the census of a bounded number of
 * containers, and counts only the items that died since the last look. Other counts come from `CountCache`.
 */

import { type EpochSeconds, epochMsWithin, machine } from '../../base/clock.ts'
import { CapacityError } from '../../base/error.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { Usage } from '../../units/usage.ts'
import { findContainer } from '../calls/containers.ts'
import { hundredths } from '../calls/load.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { choiceOf } from '../http/fields.ts'
import { shownDoubt } from '../items/doubt.ts'
import { dyingWithin, type Figures, figuresOf } from '../items/figures.ts'
import { parseColumns } from '../items/rows.ts'
import type { Job } from '../service/jobs.ts'
import type { ExplorerService } from '../service/service.ts'
import { LiveConnection } from './connection.ts'
import { requireLog, Watch } from './watch.ts'

const lookMs = 500
const connectionsMax = 64
/** Containers without a watching connection that one look covers. */
const containersAtOnce = 50
/** On the manual clock time stands still, but a page wants to know that the server is there. */
const manualTimeMs = 5000
const minuteS = 60

interface Open {
  readonly connection: LiveConnection
  readonly watch: Watch | undefined
  /** Whether it knows the counts as they were in the last look. */
  knowsCounts: boolean
}

interface Known {
  readonly figures: Figures
  readonly named: { readonly database: string; readonly container: string }
  readonly state: string
}

export class LiveHub {
  readonly #service: ExplorerService
  readonly #open = new Set<Open>()
  /** Connections that are being set up. */
  #opening = 0
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #isClosed = false
  /** By the number of the container. */
  #known = new Map<number, Known>()
  #nextContainer = 0
  #catalog = ''
  #moment: EpochSeconds | undefined
  #doubt = ''
  #isPaused = false
  #second = 0
  #timeMs = 0
  #jobs = new Set<Job>()

  constructor(service: ExplorerService) {
    this.#service = service
    service.jobs.onChange = job => {
      if (this.#open.size > 0) this.#jobs.add(job)
    }
  }

  get size(): number {
    return this.#open.size
  }

  async open({ query, res, gone }: ApiCall, isValid: () => boolean): Promise<ApiAnswer> {
    if (this.#open.size + this.#opening >= connectionsMax) {
      throw new CapacityError('throttled', `${connectionsMax} live connections are open. Close a page.`, 5000)
    }
    this.#opening++
    try {
      const watch = await this.#watchOf(query)
      const { engine } = this.#service
      const time = await engine.time()
      const { moment } = time
      const doubt = shownDoubt(time, this.#service.clock)
      if (gone.aborted || this.#isClosed) return 'streamed'
      if (this.#open.size === 0) this.#begin(moment)
      const connection = new LiveConnection(res, isValid)
      const open = { connection, watch, knowsCounts: false }
      this.#open.add(open)
      res.once('close', () => this.#forget(open))
      connection.send('hello', {
        now: this.#nowMs(moment),
        mode: this.#service.clock.mode,
        isPaused: engine.purger.isPaused,
        ...(doubt && { doubt }),
      })
      return 'streamed'
    } finally {
      this.#opening--
    }
  }

  close(): void {
    this.#isClosed = true
    if (this.#timer !== undefined) machine.clearTimeout(this.#timer)
    for (const { connection } of this.#open) connection.end('stopping', this.#service.clock.nowMs())
    this.#open.clear()
  }

  async #watchOf(query: URLSearchParams): Promise<Watch | undefined> {
    const database = query.get('database')
    const id = query.get('container')
    if (database === null && id === null) return undefined
    if (database === null || id === null)
      throw new FieldError('container', 'Name a database and a container, or neither.')
    const { engine } = this.#service
    const feed = choiceOf(query.get('feed'), 'feed', ['latest', 'all', 'none'], 'latest')
    const container = await findContainer(this.#service, database, id)
    requireLog(container, feed)
    const columns = query.get('columns')
    return Watch.begin(engine, container, feed, columns === null ? undefined : parseColumns(columns))
  }

  #begin(moment: EpochSeconds): void {
    this.#moment = moment
    this.#known = new Map()
    this.#catalog = ''
    this.#isPaused = this.#service.engine.purger.isPaused
    this.#lookLater()
  }

  #lookLater(): void {
    this.#timer = machine.setTimeout(() => {
      this.#lookLater()
      this.#lookOnce()
    }, msToNextLook(this.#service.clock.nowMs()))
    this.#timer.unref()
  }

  #forget(open: Open): void {
    this.#open.delete(open)
    if (this.#open.size > 0 || this.#timer === undefined) return
    machine.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #lookOnce(): void {
    // A store that is slow is not asked twice at a time.
    if (this.#isLooking) return
    this.#isLooking = true
    this.look()
      .catch(error => this.#service.log.debug({ error }, 'the explorer could not look at the data'))
      .finally(() => {
        this.#isLooking = false
      })
  }

  /** One look at everything. Tests call it. */
  async look(): Promise<void> {
    const { engine } = this.#service
    for (const { connection } of this.#open) {
      if (!connection.isValid) connection.end('session', this.#service.clock.nowMs())
      else connection.tend()
    }
    const containers = await this.#containers()
    const time = await engine.time()
    const { moment } = time
    const now = this.#nowMs(moment)
    await this.#tellSteps(containers, moment, now)
    this.#tellDoubt(shownDoubt(time, this.#service.clock), now)
    this.#tellPause(now)
    this.#tellCatalog(containers, now)
    await this.#tellCounts(containers, moment, now)
    await this.#tellWatched(now)
    for (const job of this.#jobs) this.#tell('job', { now, ...job.show(false) })
    this.#jobs.clear()
    const { second } = engine.usage
    if (second !== this.#second) {
      this.#second = second
      await this.#tellSecond(containers, second - 1, now)
    }
  }

  async #containers(): Promise<ContainerRecord[]> {
    const { catalog } = this.#service.engine
    const databases = await catalog.databases()
    return (await Promise.all(databases.map(database => catalog.containers(database)))).flat()
  }

  #nowMs(moment: EpochSeconds): number {
    return epochMsWithin(moment, this.#service.clock)
  }

  #tell(event: string, data: object): void {
    for (const { connection } of this.#open) connection.send(event, data)
  }

  /** Tells the pages that the manual clock was moved, or that a time in doubt came back. */
  async #tellSteps(containers: readonly ContainerRecord[], moment: EpochSeconds, now: number): Promise<void> {
    const from = this.#moment ?? moment
    this.#moment = moment
    const { clock, engine } = this.#service
    if (moment === from || (clock.mode === 'system' && moment > from)) return
    const found: { database: string; container: string; count: number }[] = []
    let total = 0
    for (const container of moment > from ? containers : []) {
      const { count } = await engine.reports.diedBetween(container, from, moment, 0)
      total += count
      if (count > 0) found.push({ database: container.database.id, container: container.id, count })
    }
    this.#service.counts.forget()
    const died = { total, containers: found.sort((a, b) => b.count - a.count) }
    this.#tell('clock', { now, from, to: moment, died })
  }

  #tellDoubt(doubt: ReturnType<typeof shownDoubt>, now: number): void {
    const state = doubt === undefined ? '' : JSON.stringify([doubt.kind, doubt.since, doubt.endsAt !== undefined])
    if (state === this.#doubt) return
    this.#doubt = state
    this.#tell('doubt', { now, doubt: doubt ?? null })
  }

  #tellPause(now: number): void {
    const { isPaused } = this.#service.engine.purger
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    this.#tell('purge', { now, isPaused })
  }

  #tellCatalog(containers: readonly ContainerRecord[], now: number): void {
    const state = containers
      .map(({ number, version, id, policy, throughput, database }) =>
        [number, version, id, policy.defaultTtl, JSON.stringify(throughput), database.id].join(' '),
      )
      .join('\n')
    if (this.#catalog !== '' && state !== this.#catalog) this.#tell('catalog', { now })
    this.#catalog = state === '' ? ' ' : state
    const numbers = new Set(containers.map(({ number }) => number))
    for (const number of this.#known.keys()) if (!numbers.has(number)) this.#known.delete(number)
  }

  async #tellCounts(containers: readonly ContainerRecord[], moment: EpochSeconds, now: number): Promise<void> {
    const changed: Known[] = []
    for (const container of this.#inTurn(containers)) {
      const known = this.#known.get(container.number)
      const found = await this.#lookAt(container, moment, known)
      if (found === undefined || found === known) continue
      this.#known.set(container.number, found)
      changed.push(found)
    }
    for (const open of this.#open) {
      // A new page may have loaded its counts before it was connected.
      const news = open.knowsCounts ? changed : [...this.#known.values()]
      open.knowsCounts = true
      if (news.length > 0) open.connection.send('counts', { now, containers: news.map(shownCounts) })
    }
  }

  /** Watched containers in every look, the others in turns. */
  #inTurn(containers: readonly ContainerRecord[]): readonly ContainerRecord[] {
    if (containers.length <= containersAtOnce) return containers
    const names = new Set([...this.#open].flatMap(({ watch }) => (watch === undefined ? [] : [nameOf(watch)])))
    const watched = containers.filter(({ database, id }) => names.has(nameOf({ database: database.id, id })))
    const first = this.#nextContainer % containers.length
    this.#nextContainer = first + containersAtOnce
    const others = [...containers.slice(first), ...containers.slice(0, first)].slice(0, containersAtOnce)
    return [...new Set([...watched, ...others])]
  }

  /** Returns `known` itself if nothing happened; undefined if the container is gone. */
  async #lookAt(
    container: ContainerRecord,
    moment: EpochSeconds,
    known: Known | undefined,
  ): Promise<Known | undefined> {
    try {
      const { rows, writes, hasDead } = await this.#service.engine.reports.glance(container)
      const { next } = known?.figures ?? {}
      const isNextDead = next !== undefined && next !== null && next.deadline <= moment
      const state = `${rows} ${writes} ${container.policy.defaultTtl}`
      if (known !== undefined && known.state === state && !isNextDead && !hasDead && known.figures.dead === 0)
        return known
      const figures = await figuresOf(this.#service, container)
      if (known !== undefined && isSame(figures, known.figures)) return { ...known, state }
      return { figures, state, named: { database: container.database.id, container: container.id } }
    } catch {
      // It was deleted meanwhile; the catalog tells.
      return undefined
    }
  }

  async #tellWatched(now: number): Promise<void> {
    const { engine } = this.#service
    for (const { watch, connection } of this.#open) {
      if (watch === undefined || connection.isClosed) continue
      const container = await watch.container(engine)
      if (container === undefined) continue
      const { deaths, changes } = await watch.look(engine, container)
      if (deaths !== undefined) connection.send('deaths', { now, ...deaths })
      if (changes !== undefined) connection.send('changes', { now, ...changes })
    }
  }

  async #tellSecond(containers: readonly ContainerRecord[], second: number, now: number): Promise<void> {
    const { engine, backlogs, clock } = this.#service
    const nowMs = machine.monotonicMs()
    if (clock.mode === 'system' || nowMs - this.#timeMs >= manualTimeMs) {
      this.#timeMs = nowMs
      this.#tell('time', { now })
    }
    let withinMinute = 0
    let dead = 0
    let isAbout = false
    let lagSeconds = 0
    let oldest: number | null = null
    for (const container of containers) {
      const figures = this.#known.get(container.number)?.figures
      dead += figures?.dead ?? 0
      lagSeconds = Math.max(lagSeconds, figures?.lagSeconds ?? 0)
      const waiting = figures?.oldest ?? null
      if (waiting !== null) oldest = Math.min(oldest ?? waiting, waiting)
      // If the next death is more than a minute away, no item dies within a minute.
      const next = figures?.next
      if (next === undefined || next === null || next.deadline > this.#moment! + minuteS) continue
      const dying = await dyingWithin(this.#service, container, minuteS)
      withinMinute += dying.value
      isAbout ||= dying.isAbout || figures?.isAbout === true
    }
    backlogs.note(undefined, second, { dead, lagSeconds })
    const work = shown(engine.usage.at(undefined, second))
    this.#tell('totals', { now, second, withinMinute, dead, ...work, lagSeconds, oldest, isAbout })
    for (const { watch, connection } of this.#open) {
      if (watch === undefined) continue
      const container = containers.find(({ database, id }) => database.id === watch.database && id === watch.id)
      const figures = container && this.#known.get(container.number)?.figures
      if (container === undefined || figures === undefined) continue
      const { lagSeconds, oldest } = figures
      backlogs.note(container.number, second, { dead: figures.dead, lagSeconds })
      const used = shown(engine.usage.at(container.number, second))
      connection.send('load', { now, second, dead: figures.dead, ...used, lagSeconds, oldest })
    }
  }
}

/** Items die at whole seconds. A look just after each of them shows the deaths at once. */
export function msToNextLook(nowMs: number): number {
  return lookMs - (nowMs % lookMs) + 1
}

function shown({ requests, requestRu, purgeRu, throttled, removed }: Usage) {
  return { requests, requestRu: hundredths(requestRu), purgeRu: hundredths(purgeRu), throttled, removed }
}

function shownCounts({ named, figures: { living, dead, next, isAbout } }: Known) {
  return { ...named, living, dead, next, isAbout }
}

function nameOf({ database, id }: { readonly database: string; readonly id: string }): string {
  return JSON.stringify([database, id])
}

function isSame(left: Figures, right: Figures): boolean {
  return (
    left.living === right.living &&
    left.dead === right.dead &&
    left.isAbout === right.isAbout &&
    left.next?.key === right.next?.key &&
    left.next?.deadline === right.next?.deadline &&
    left.lagSeconds === right.lagSeconds
  )
}
