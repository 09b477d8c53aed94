/** The state that all screens share: the session, the tree with its live counts, the server's work, jobs. */

import { batch, computed, signal } from '@preact/signals'
import { getOverview, getSession, getTree, logout } from '../api/calls.ts'
import { isSessionOver, NoAnswerError } from '../api/client.ts'
import type {
  Container,
  ContainerName,
  Database,
  Died,
  Doubt,
  Job,
  LiveEvents,
  Overview,
  ServerWork,
  Session,
} from '../api/shapes.ts'
import { setClockMode } from '../time/clock.ts'
import { connect, connection, onLive, reconnections } from './connection.ts'

export const session = signal<Session | undefined>(undefined)
export const databases = signal<Database[] | undefined>(undefined)
export const overview = signal<Overview | undefined>(undefined)
/** The last whole second of the whole server. */
export const totals = signal<ServerWork | undefined>(undefined)
export const isPurgePaused = signal(false)
export const doubt = signal<Doubt | null>(null)
export const jobs = signal<ReadonlyMap<string, Job>>(new Map())
/** The last step of the manual clock, and who died by it. */
export const lastStep = signal<{ from: number; to: number; died: Died } | undefined>(undefined)
/** The error of the first load, before anything can be shown. */
export const firstError = signal<string | undefined>(undefined)

export const mayWrite = computed(() => session.value?.mayWrite ?? false)
/** A login began this session, and it can be ended. */
export const hasLoggedIn = computed(() => Boolean(session.value?.needsLogin && session.value.isLoggedIn))
export const needsLogin = computed(() => {
  const known = session.value
  return isSessionOver.value || (known?.needsLogin && !known.isLoggedIn)
})

/** The container of this name in the tree, with its live counts; undefined if there is none. */
export function findContainer({ database, container }: ContainerName): Container | undefined {
  return databases.value?.find(({ id }) => id === database)?.containers.find(({ id }) => id === container)
}

type Counts = LiveEvents['counts']['containers']

/** Counts that came while the tree was being loaded, for each load: they are newer than it. */
const arrivals = new Set<Counts>()

/** Loads the tree again. */
export async function reloadTree(): Promise<void> {
  const arrived: Counts = []
  arrivals.add(arrived)
  try {
    const tree = await getTree()
    databases.value = withCounts(tree.databases, arrived)
  } finally {
    arrivals.delete(arrived)
  }
}

/** Before the first answer, and where none comes, the table has no numbers of deaths. */
export async function loadOverview(signal: AbortSignal): Promise<void> {
  try {
    overview.value = await getOverview(signal)
  } catch (error) {
    if (signal.aborted) throw error
    overview.value = undefined
  }
}

/** First the session, then the tree and the live connection: the page is painted before all of them. */
export async function start(): Promise<void> {
  try {
    takeSession(await getSession())
    if (!needsLogin.peek()) await begin()
    firstError.value = undefined
  } catch (error) {
    if (!(error instanceof NoAnswerError)) firstError.value = error instanceof Error ? error.message : String(error)
    connect()
  }
}

export function takeSession(answer: Session): void {
  batch(() => {
    session.value = answer
    if (answer.clock) setClockMode(answer.clock.mode)
    if (!answer.needsLogin || answer.isLoggedIn) isSessionOver.value = false
  })
}

/** After the login, or at once where none is needed. */
export async function begin(): Promise<void> {
  connect()
  await reloadTree()
}

/** Ends the session that a login began, and forgets all that was loaded in it. */
export async function signOut(): Promise<void> {
  await logout()
  batch(() => {
    isSessionOver.value = true
    databases.value = undefined
    overview.value = undefined
    totals.value = undefined
    lastStep.value = undefined
    jobs.value = new Map()
  })
}

function withCounts(known: readonly Database[], counts: Counts): Database[] {
  const changed = Map.groupBy(counts, each => each.database)
  return known.map(database => {
    const news = changed.get(database.id)
    if (!news) return database
    const byName = new Map(news.map(each => [each.container, each]))
    return {
      ...database,
      containers: database.containers.map(container => {
        const found = byName.get(container.id)
        if (!found) return container
        const { living, dead, next, isAbout } = found
        return { ...container, living, dead, next, isAbout }
      }),
    }
  })
}

onLive('counts', ({ containers }) => {
  for (const arrived of arrivals) arrived.push(...containers)
  const known = databases.peek()
  if (known) databases.value = withCounts(known, containers)
})

onLive('totals', data => {
  totals.value = data
})

onLive('hello', data => {
  isPurgePaused.value = data.isPaused
  doubt.value = data.doubt ?? null
})

onLive('purge', data => {
  isPurgePaused.value = data.isPaused
})

onLive('doubt', data => {
  doubt.value = data.doubt
})

onLive('clock', ({ from, to, died }) => {
  lastStep.value = { from, to, died }
})

onLive('job', job => {
  jobs.value = new Map(jobs.peek()).set(job.id, job)
})

const reload = () => void reloadTree().catch(() => {})
onLive('catalog', reload)
onLive('resync', reload)
// Also where the server was away when the page was opened: then there is no session yet.
onLive('hello', () => {
  if (!session.peek()) void getSession().then(takeSession, () => {})
  if (!databases.peek()) reload()
})
reconnections.subscribe(n => {
  if (n > 0 && connection.peek() === 'live') reload()
})
