/** The calls of the shell and of the screens for items and queries, each as a function. */

import { call, containerPath, get } from './client.ts'
import type {
  Api,
  Completion,
  Container,
  ContainerDetails,
  ContainerName,
  Counts,
  Explanation,
  Filter,
  Forecast,
  ItemPage,
  Job,
  LoadHistory,
  Overview,
  QueryPlan,
  QueryResult,
  Session,
  Throughput,
  Tree,
  WholeItem,
} from './shapes.ts'

export const getSession = () => get<Session>('session')
export const login = (key: string) => call<Session>('POST', 'login', { body: { key } })
export const logout = () => call<void>('POST', 'logout')

export const getTree = () => get<Tree>('tree')
export const getOverview = (signal: AbortSignal) => get<Overview>('overview', {}, signal)
export const getContainer = (name: ContainerName, signal: AbortSignal) =>
  get<ContainerDetails>(containerPath(name), {}, signal)
export const makeDemo = () => call<ContainerName & { items: number; ttl: number }>('POST', 'demo')

export const createDatabase = (id: string) => call<{ id: string }>('POST', 'databases', { body: { id } })
export const deleteDatabase = (database: string) => call<void>('DELETE', `databases/${encodeURIComponent(database)}`)

export interface NewContainer {
  api: Api
  id: string
  partitionKey?: string[]
  defaultTtl?: number | null
  throughput?: Throughput
  /** The paths of each. */
  uniqueKeys?: string[][]
}
export const createContainer = (database: string, body: NewContainer) =>
  call<Container>('POST', `databases/${encodeURIComponent(database)}/containers`, { body })
export const deleteContainer = (name: ContainerName) => call<void>('DELETE', containerPath(name))

export type ListOrder = 'soonest' | 'latest' | 'natural' | 'newest' | 'oldest'

/** Which items a list shows, and in which order. */
export interface ListQuery {
  filter?: Filter
  order?: ListOrder
  query?: string
  from?: number
  to?: number
  limit?: number
  columns?: string
  after?: string
}
export const getItems = (name: ContainerName, list: ListQuery, signal?: AbortSignal) =>
  get<ItemPage>(`${containerPath(name)}/items`, { ...list }, signal)
export const getCounts = (name: ContainerName, query?: string, signal?: AbortSignal) =>
  get<Counts>(`${containerPath(name)}/items/counts`, { query }, signal)
export const getItem = (name: ContainerName, key: string, signal?: AbortSignal) =>
  get<WholeItem>(`${containerPath(name)}/item`, { key }, signal)
export const findItem = (name: ContainerName, id: string, partitionKey: string | undefined, signal?: AbortSignal) =>
  get<WholeItem>(`${containerPath(name)}/item`, { id, partitionKey }, signal)
export const explainItem = (name: ContainerName, key: string) =>
  get<Explanation>(`${containerPath(name)}/item/explain`, { key })

export const createItem = (name: ContainerName, text: string) =>
  call<WholeItem>('POST', `${containerPath(name)}/items`, { body: { text } })
export const saveItem = (name: ContainerName, key: string, text: string, ifMatch: string) =>
  call<WholeItem>('PUT', `${containerPath(name)}/item`, { params: { key }, body: { text }, ifMatch })
export const deleteItem = (name: ContainerName, key: string, ifMatch: string) =>
  call<void>('DELETE', `${containerPath(name)}/item`, { params: { key }, ifMatch })

export type NewLife = '+1h' | 'never' | 'inherit'
export const setLife = (name: ContainerName, key: string, set: NewLife, ifMatch: string) =>
  call<WholeItem>('POST', `${containerPath(name)}/item/life`, { params: { key }, body: { set }, ifMatch })

/** Named items, or all living ones that match, with the count that the user saw. */
export type Deletion = ({ keys: string[] } | { query?: string; filter?: Filter; expect: number }) & { job?: string }
export const deleteItems = (name: ContainerName, deletion: Deletion) =>
  call<Job>('POST', `${containerPath(name)}/items/delete`, { body: deletion })
export const getJob = (id: string) => get<Job>(`jobs/${encodeURIComponent(id)}`)
export const cancelJob = (id: string) => call<void>('DELETE', `jobs/${encodeURIComponent(id)}`)

export type QueryBody =
  | { id: string; text: string; parameters?: unknown[]; partitionKey?: unknown[]; limit?: number; after?: string }
  | { id: string; filter: string; sort?: string; projection?: string; limit?: number; after?: string }
  | { id: string; pipeline: string; limit?: number; after?: string }
/** Unique among the running queries of this page. Browsers make UUIDs only where the connection is safe. */
export const newQueryId = () => `once-${Math.random().toString(36).slice(2)}`
export const runQuery = (name: ContainerName, body: QueryBody, signal?: AbortSignal) =>
  call<QueryResult>('POST', `${containerPath(name)}/query`, { body, signal })
export const planQuery = (name: ContainerName, body: QueryBody) =>
  call<QueryPlan>('POST', `${containerPath(name)}/query/plan`, { body })
export const cancelQuery = (id: string) => call<void>('DELETE', `queries/${encodeURIComponent(id)}`)
export const getCompletion = (name: ContainerName) => get<Completion>(`${containerPath(name)}/completion`)

export const getForecast = (name: ContainerName, window: string, buckets: number, signal?: AbortSignal) =>
  get<Forecast>(`${containerPath(name)}/forecast`, { window, buckets }, signal)
export const getLoad = (name: ContainerName, seconds: number, signal?: AbortSignal) =>
  get<LoadHistory>(`${containerPath(name)}/load`, { seconds }, signal)
/** Removes dead items now, in one container or everywhere. */
export const purgeNow = (name?: ContainerName) =>
  call<{ removed: number; remaining: number }>('POST', 'purge', { body: name ?? {} })
export const pausePurge = (pause: boolean) => call<{ paused: boolean }>('POST', 'purge', { body: { pause } })
