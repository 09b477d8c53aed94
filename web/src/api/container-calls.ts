/** The calls of the screens for settings, expiry, load, feed and scripts, of the clock, and of files. */

import { apiBase, call, containerPath, get } from './client.ts'
import type {
  Behind,
  DateIndex,
  FeedPage,
  FeedQuery,
  Impact,
  ImportOptions,
  MongoSwitches,
  MovedClock,
  NewIndex,
  Preview,
  Script,
  ScriptKind,
  ScriptList,
  ScriptRun,
  ScriptText,
  Settings,
  SettingsChange,
} from './container-shapes.ts'
import type { ContainerName, Job, LoadHistory, ServerClock } from './shapes.ts'

export const getSettings = (name: ContainerName, signal?: AbortSignal) =>
  get<Settings>(`${containerPath(name)}/settings`, undefined, signal)

export const putSettings = (name: ContainerName, body: SettingsChange, ifMatch?: string) =>
  call<Settings>('PUT', `${containerPath(name)}/settings`, { body, ...(ifMatch !== undefined && { ifMatch }) })

export const previewTtl = (name: ContainerName, defaultTtl: number | null, signal?: AbortSignal) =>
  call<Preview>('POST', `${containerPath(name)}/ttl/preview`, { body: { defaultTtl }, ...(signal && { signal }) })

/** How many documents such an index would end at once. */
export const previewIndex = (name: ContainerName, index: DateIndex, signal?: AbortSignal) =>
  call<Pick<Preview, 'now'>>('POST', `${containerPath(name)}/ttl/preview`, {
    body: { index },
    ...(signal && { signal }),
  })

export const createIndex = (name: ContainerName, body: NewIndex) =>
  call<Settings>('POST', `${containerPath(name)}/indexes`, { body })
export const changeIndex = (
  name: ContainerName,
  index: string,
  body: { expireAfterSeconds: number; expectNow: number },
) => call<Settings>('PUT', `${containerPath(name)}/indexes/${encodeURIComponent(index)}`, { body })
export const dropIndex = (name: ContainerName, index: string) =>
  call<Settings>('DELETE', `${containerPath(name)}/indexes/${encodeURIComponent(index)}`)

export const switchMongo = (body: Partial<MongoSwitches>) => call<MongoSwitches>('POST', 'mongo', { body })

export const getBehind = (name: ContainerName, window: string, buckets: number, signal?: AbortSignal) =>
  get<Behind>(`${containerPath(name)}/behind`, { window, buckets }, signal)

/** The load of a container, or of the whole server. */
export const getLoadHistory = (name: ContainerName | undefined, seconds: number, signal?: AbortSignal) =>
  get<LoadHistory>(name ? `${containerPath(name)}/load` : 'load', { seconds }, signal)

export const moveClock = (body: { advance: string } | { set: number } | { trust: true }) =>
  call<MovedClock>('POST', 'clock', { body })

export const getImpact = (step: { advance: string } | { to: number }, signal?: AbortSignal) =>
  get<Impact>('clock/impact', step, signal)
export const getClock = () => get<ServerClock & { now: number }>('clock')

export const getFeed = (name: ContainerName, query: FeedQuery, signal?: AbortSignal) =>
  get<FeedPage>(`${containerPath(name)}/feed`, { ...query }, signal)

export const getScripts = (name: ContainerName) => get<ScriptList>(`${containerPath(name)}/scripts`)
export const getScript = (name: ContainerName, kind: ScriptKind, id: string) =>
  get<Script>(`${containerPath(name)}/scripts/${kind}/${encodeURIComponent(id)}`)
export const createScript = (name: ContainerName, kind: ScriptKind, script: ScriptText & { id: string }) =>
  call<Script>('POST', `${containerPath(name)}/scripts/${kind}`, { body: script })
export const saveScript = (name: ContainerName, kind: ScriptKind, id: string, script: ScriptText, ifMatch: string) =>
  call<Script>('PUT', `${containerPath(name)}/scripts/${kind}/${encodeURIComponent(id)}`, { body: script, ifMatch })
export const deleteScript = (name: ContainerName, kind: ScriptKind, id: string) =>
  call<void>('DELETE', `${containerPath(name)}/scripts/${kind}/${encodeURIComponent(id)}`)

export const runProcedure = (
  name: ContainerName,
  id: string,
  body: { partitionKey?: unknown[]; arguments: unknown[] },
) => call<ScriptRun>('POST', `${containerPath(name)}/scripts/procedures/${encodeURIComponent(id)}/run`, { body })

/** Sends a file as it is. Ends when the import has ended; its progress comes over the live connection. */
export const importFile = (name: ContainerName, file: File, options: ImportOptions, signal: AbortSignal) =>
  call<Job>('POST', `${containerPath(name)}/import`, { params: { ...options }, file, signal })

/** The address of a download: the browser saves it without a script. */
export function exportAddress(name: ContainerName, params: Record<string, string | undefined>): string {
  const given = Object.entries(params).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return `${apiBase}/${containerPath(name)}/export?${new URLSearchParams(given)}`
}
export function refusedAddress(job: string): string {
  return `${apiBase}/jobs/${encodeURIComponent(job)}/refused`
}
