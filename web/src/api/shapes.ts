/** The shapes of requests and answers of the explorer API; docs/explorer-api.md explains them. */

export type Api = 'nosql' | 'mongo'
export type Filter = 'all' | 'minute' | 'dead' | 'never'
export type Rule = 'inherited' | 'own' | 'never' | 'off' | 'final'

export interface ServerClock {
  mode: 'system' | 'manual'
  nowMs: number
  machineMs: number
}

/** Without a login only the first four are there. */
export interface Session {
  product: string
  needsLogin: boolean
  isLoggedIn: boolean
  mayWrite: boolean
  version?: string
  endpoint?: string
  mongoUri?: string | null
  key?: string | null
  connectionString?: string
  store?: string
  keepsData?: boolean
  rateLimit?: boolean
  strict?: boolean
  clock?: ServerClock
  startedMs?: number
}

export type Ttl = { kind: 'off' } | { kind: 'no default' } | { kind: 'on'; seconds: number } | { kind: 'date' }

export type Throughput = { kind: 'manual'; ruPerSecond: number } | { kind: 'autoscale'; maxRuPerSecond: number } | null

export interface NextDeath {
  id: string
  key: string
  deadline: number
}

export interface Container {
  id: string
  api: Api
  partitionKey: string[]
  rid: string
  ttl: Ttl
  defaultTtl: number | null
  living: number
  dead: number
  isAbout: boolean
  next: NextDeath | null
  throughput: Throughput
  keepsLog: boolean
}

export interface ContainerDetails extends Container {
  bytes: number
  scripts: { procedures: number; triggers: number; functions: number }
}

export interface Database {
  id: string
  throughput: Throughput
  containers: Container[]
}

export interface Tree {
  databases: Database[]
}

/** Names one container. */
export interface ContainerName {
  database: string
  container: string
}

export interface Overview {
  containers: (ContainerName & { withinHour: number; isAbout: boolean })[]
  withinMinute: number
}

export interface Item {
  key: string
  id: string
  partitionKey: unknown[]
  ttl: number | null
  rule: Rule
  ts: number
  /** null: never. */
  deadline: number | null
  isDead: boolean
  bytes: number
  etag: string
}

export interface ListedItem extends Item {
  values: Record<string, unknown>
}

export interface ItemPage {
  items: ListedItem[]
  next?: string
  examined: number
  chargeRu: number
}

export interface Counts {
  all: number
  minute: number
  dead: number
  never: number
  isAbout: boolean
}

export interface Explanation {
  state: 'alive' | 'dead' | 'unknown'
  rule: Rule | null
  ts: number | null
  defaultTtl: number | null
  ttl: number | null
  effectiveTtl: number | null
  expiresAt: number | null
  secondsLeft: number | null
  explanation: string
}

export interface WholeItem extends Item {
  text: string
  /** False: text cannot express a value of the item, so saving the text would change it. */
  isExact: boolean
  system: Record<string, unknown>
  explanation: Explanation
}

export interface Life {
  /** null: not known. */
  ts: number | null
  deadline: number | null
  key: string | null
}

export interface QueryResult {
  rows: unknown[]
  lives: (Life | null)[]
  next?: string
  chargeRu: number
  elapsedMs: number
  /** null: not known, as in Mongo. */
  itemsRead: number | null
  bytesRead: number | null
  rowsOut: number
  bytesOut: number
  indexHit: number | null
  /** null: not known, as on later pages in Mongo. */
  usedIndexes: string[] | null
  wishedIndexes: string[]
  deadSkipped: number
}

export interface QueryPlan {
  source: 'index' | 'scan' | 'ids' | 'points'
  indexes: { paths: string[]; state: string; declared: boolean }[]
  wished: string[]
  isSorted: boolean
  isCrossPartition: boolean
  text: string
  raw: unknown
}

export interface Completion {
  paths: { path: string; types: string[]; share: number }[]
  sampled: number
  functions?: { name: string; signature: string; family: string }[]
  userFunctions?: string[]
  keywords?: string[]
  operators?: string[]
}

export interface Forecast {
  buckets: { start: number; end: number; inherited: number; own: number }[]
  later: number
  never: number
  isAbout: boolean
}

/** One second of work, of the whole server or of one container. */
export interface ContainerWork {
  second: number
  dead: number
  requests: number
  requestRu: number
  purgeRu: number
  throttled: number
  removed: number
  lagSeconds: number | null
  oldest: number | null
}

export interface ServerWork extends ContainerWork {
  withinMinute: number
  isAbout: boolean
}

export interface LoadHistory {
  endSecond: number
  stepSeconds: number
  provisionedRu: number | null
  isEnforced: boolean
  requests: number[]
  requestRu: number[]
  purgeRu: number[]
  throttled: number[]
  removed: number[]
  dead: (number | null)[]
  lagSeconds: (number | null)[]
  now: { dead: number; lagSeconds: number | null; oldest: number | null; isPaused: boolean }
}

export interface Change {
  kind: 'create' | 'replace' | 'delete' | 'died'
  lsn: number
  ts: number
  id: string
  key: string
  partitionKey: unknown[]
  ttl: number | null
  rule: Rule
  deadline: number | null
  bytes: number
  text: string
  previousText?: string
  isCut?: boolean
  values?: Record<string, unknown>
}

export interface Died {
  total: number
  containers: (ContainerName & { count: number })[]
}

/** The reason why the server doubts its time. */
export interface Doubt {
  kind: string
  since: number
  sure: number
  aheadSeconds: number
  /** The item time at which the doubt ends by itself. Missing: a person must trust the time. */
  endsAt?: number
}

export type JobState = 'running' | 'done' | 'failed' | 'canceled'

export interface Job extends ContainerName {
  id: string
  kind: 'import' | 'delete'
  state: JobState
  done: number
  total: number | null
  isTotalAbout: boolean
  bytesDone: number
  bytesTotal: number | null
  rate: number
  written: number
  refused: number
  skipped: number
  dead: number
  startedMs: number
  endedMs: number | null
  refusals?: { line: number; message: string }[]
  chargeRu: number
  message: string | null
}

/** The events of the live connection; all carry the time. */
export interface LiveEvents {
  hello: { now: number; mode: 'system' | 'manual'; isPaused: boolean; doubt?: Doubt | null }
  time: { now: number }
  counts: {
    now: number
    containers: (ContainerName & Pick<Container, 'living' | 'dead' | 'next' | 'isAbout'>)[]
  }
  totals: ServerWork & { now: number }
  load: ContainerWork & { now: number }
  deaths: { now: number; count: number; keys: string[]; upTo: number }
  changes: { now: number; changes: Change[]; skipped: number }
  catalog: { now: number }
  clock: { now: number; from: number; to: number; died: Died }
  doubt: { now: number; doubt: Doubt | null }
  purge: { now: number; isPaused: boolean }
  job: Job & { now: number }
  resync: { now: number }
  bye: { now: number; reason: 'stopping' | 'session' }
}
