/** The shapes of requests and answers of container-calls.ts; docs/explorer-api.md explains them. */

import type { Change, Died, ServerClock, Throughput, Ttl } from './shapes.ts'

export interface IndexState {
  paths: string[]
  state: string
  declared: boolean
}

export interface MongoIndex {
  name: string
  key: Record<string, unknown>
  expireAfterSeconds?: number
  /** `modification`: the index on `_ts`; `date`: ends documents at a date of theirs. */
  kind: 'modification' | 'date' | 'plain'
  isUnique?: boolean
  state?: string
}

/** Living items without a ttl, with -1, and with a number. */
export interface Shares {
  none: number
  never: number
  own: number
  isAbout: boolean
}

export interface CommonSettings {
  etag: string
  throughput: (Throughput & { isShared?: boolean }) | null
  ttl: Ttl
  shares: Shares
}

export interface NosqlSettings extends CommonSettings {
  api: 'nosql'
  definition: Record<string, unknown>
  indexes: IndexState[]
}

export interface MongoSettings extends CommonSettings {
  api: 'mongo'
  shardKey: string[]
  indexes: MongoIndex[]
  documentTtl: boolean
  expiryEvents: boolean
  validator: unknown
}

export interface Preview {
  now: number
  within1h: number
  within24h: number
  later: number
  never: number
  isAbout: boolean
}

export interface NewIndex {
  key: Record<string, unknown>
  name?: string
  expireAfterSeconds?: number
  unique?: boolean
  sparse?: boolean
  partialFilterExpression?: unknown
  expectNow?: number
}

/** A new index that ends documents at a date, by its key; or another time for a present one, by its name. */
export type DateIndex = ({ key: Record<string, unknown> } | { name: string }) & { expireAfterSeconds: number }

export interface MongoSwitches {
  documentTtl: boolean
  expiryEvents: boolean
}

export interface Behind {
  buckets: { start: number; end: number; removed: number; waiting: number }[]
  waitingLonger: number
  oldest: number | null
  isAbout: boolean
}

export interface MovedClock extends ServerClock {
  now: number
  died: Died
}

export interface Impact extends Died {
  to: number
  isAbout: boolean
}

export interface FeedPage {
  changes: Change[]
  next: string
  isEnd: boolean
  isForgotten: boolean
  /** There were more from `since` on. */
  isCut: boolean
}

export interface FeedQuery {
  mode: 'latest' | 'all'
  since?: number
  limit?: number
}

export interface ScriptName {
  id: string
  etag: string
  type?: 'Pre' | 'Post'
  operation?: string
}

export interface Script extends ScriptName {
  body: string
}

export interface ScriptRun {
  status: number
  result?: unknown
  message?: string
  chargeRu: number
  elapsedMs: number
  log: string
}

export interface ImportOptions {
  job: string
  name: string
  format: 'auto' | 'jsonl' | 'json' | 'csv'
  mode: 'create' | 'upsert' | 'skip'
  keepTtl: 'remaining' | 'reset' | 'absolute'
  skip?: number
}

export type Settings = NosqlSettings | MongoSettings

export type SettingsChange =
  | { definition: Record<string, unknown>; expectNow?: number }
  | { defaultTtl: number | null; expectNow?: number }
  | { throughput: Throughput }

export type ScriptKind = 'procedures' | 'triggers' | 'functions'

export type ScriptList = Record<ScriptKind, ScriptName[]>

export type ScriptText = Pick<Script, 'body' | 'type' | 'operation'>
