/** The commands that talk to a running server through its admin API: clock, ttl, purge. */

import { RequestError } from '../base/error.ts'
import { durationText, isoTime, timeText } from '../base/time-words.ts'
import type { Forecast, Preview } from '../ttl/report-shapes.ts'
import { type ConnectionFlags, pathOf, ServerConnection } from './server-connection.ts'
import { tableText, ttlText } from './table.ts'
import { parseTtl } from './ttl-text.ts'

interface RemoteFlags extends ConnectionFlags {
  readonly json?: boolean
}

/** The meaning of the numbers of an answer, by their names. Other numbers are counts. */
type Kinds = Readonly<Record<string, 'time' | 'duration' | 'distance' | 'default' | 'lifespan'>>

interface Meaning {
  readonly kinds?: Kinds
  /** The time of the answer: its times are printed relative to this. */
  readonly now?: number | undefined
}

/** People on a terminal get a table, programs JSON. */
function isForPeople({ json }: RemoteFlags): boolean {
  return process.stdout.isTTY === true && json !== true
}

function print(answer: object, flags: RemoteFlags, meaning: Meaning = {}): void {
  process.stdout.write(isForPeople(flags) ? peopleText(answer, meaning) : `${JSON.stringify(answer, null, 2)}\n`)
}

function peopleText(answer: object, meaning: Meaning): string {
  const { buckets, ...facts } = answer as { readonly buckets?: readonly object[] }
  const table = buckets === undefined ? '' : bucketsText(buckets, meaning)
  const lines = factsIn(facts, meaning)
  const width = Math.max(0, ...lines.map(([name]) => name.length))
  return table + lines.map(([name, value]) => `${name.padEnd(width)}  ${String(value)}\n`).join('')
}

function bucketsText(buckets: readonly object[], meaning: Meaning): string {
  const rows = buckets.map(bucket => Object.entries(bucket).map(([name, value]) => shown(name, value, meaning)))
  return tableText(Object.keys(buckets[0] ?? {}), rows)
}

/** The facts of an inner object have its name before theirs. */
function factsIn(facts: object, meaning: Meaning, prefix = ''): [name: string, value: unknown][] {
  return Object.entries(facts).flatMap(([name, value]) => {
    if (typeof value === 'object' && value !== null) return factsIn(value as object, meaning, `${name} `)
    return [[`${prefix}${name}`, shown(name, value, meaning)] as [string, unknown]]
  })
}

function shown(name: string, value: unknown, { kinds = {}, now }: Meaning): unknown {
  const kind = kinds[name]
  if (value === null) return kind === 'default' ? ttlText(null) : '-'
  if (typeof value !== 'number' || kind === undefined) return value
  switch (kind) {
    case 'time':
      return now === undefined || value === now ? isoTime(value) : timeText(value, now)
    case 'duration':
      return durationText(value)
    case 'distance':
      return `in ${durationText(value)}`
    case 'default':
      return ttlText(value)
    case 'lifespan':
      return value === -1 ? 'never' : durationText(value)
  }
}

const clockKinds: Kinds = { now: 'time', since: 'time', sure: 'time', aheadSeconds: 'duration' }

async function call(method: string, path: string, flags: RemoteFlags, body?: unknown): Promise<object> {
  return new ServerConnection(flags).call(method, path, { body })
}

export async function showClock(flags: RemoteFlags): Promise<void> {
  print(await call('GET', 'clock', flags), flags, { kinds: clockKinds })
}

export async function moveClock(
  move: { advance: string } | { set: number | string },
  flags: RemoteFlags,
): Promise<void> {
  print(await call('POST', 'clock', flags, move), flags, { kinds: clockKinds })
}

export async function trustClock(flags: RemoteFlags): Promise<void> {
  print(await call('POST', 'clock', flags, { trust: true }), flags, { kinds: clockKinds })
}

export async function ttlStatus(database: string, name: string, flags: RemoteFlags): Promise<void> {
  const kinds = { defaultTtl: 'default', oldestDeadline: 'time', lagSeconds: 'duration' } as const
  print(await call('GET', `ttl/${pathOf(database, name)}`, flags), flags, { kinds })
}

export async function ttlForecast(
  database: string,
  name: string,
  flags: RemoteFlags & { window: string; buckets: string },
): Promise<void> {
  const { window, buckets } = flags
  const path = `ttl/${pathOf(database, name)}/forecast`
  const answer = await new ServerConnection(flags).call<Forecast>('GET', path, { query: { window, buckets } })
  print(answer, flags, { kinds: { start: 'time', end: 'time' }, now: answer.buckets[0]?.start })
}

export async function ttlExplain(
  item: { database: string; container: string; id: string; partitionKey: string | undefined },
  flags: RemoteFlags,
): Promise<void> {
  const { id, partitionKey } = item
  const query = { id, partitionKey: partitionKey === undefined ? undefined : asPartitionKey(partitionKey) }
  const path = `ttl/${pathOf(item.database, item.container)}/explain`
  const answer = await new ServerConnection(flags).call<object>('GET', path, { query })
  const times = { ts: 'time', expiresAt: 'time', secondsLeft: 'distance' } as const
  const kinds = { ...times, defaultTtl: 'default', ttl: 'lifespan', effectiveTtl: 'lifespan' } as const
  print(answer, flags, { kinds })
}

/** A JSON list such as `["a",1]` stays as it is. Any other text is one value. */
function asPartitionKey(text: string): string {
  return text.startsWith('[') ? text : JSON.stringify([text])
}

/** Each item is counted once, in the first row that is true for it. */
const previewRows = [
  ['now', 'at once'],
  ['within1h', 'within 1 h'],
  ['within24h', 'within 24 h'],
  ['later', 'later'],
  ['never', 'never'],
] as const satisfies (readonly [keyof Preview, string])[]

export async function ttlPreview(
  database: string,
  name: string,
  defaultTtl: string,
  flags: RemoteFlags,
): Promise<void> {
  const body = { defaultTtl: parseTtl(defaultTtl) }
  const path = `ttl/${pathOf(database, name)}/preview`
  const answer = await new ServerConnection(flags).call<Preview>('POST', path, { body })
  if (!isForPeople(flags)) return print(answer, flags)
  const rows = previewRows.map(([key, words]) => [words, answer[key]])
  process.stdout.write(tableText(['DIE', 'ITEMS'], rows))
}

export async function purge(
  database: string | undefined,
  name: string | undefined,
  flags: RemoteFlags & { pause?: boolean; resume?: boolean },
): Promise<void> {
  if (flags.pause === true || flags.resume === true) {
    if (flags.pause === flags.resume) throw new RequestError('malformed', 'Give either --pause or --resume.')
    if (database !== undefined) {
      throw new RequestError('malformed', '--pause and --resume are for the whole server: name no database.')
    }
    print(await call('POST', 'purge', flags, { pause: flags.pause === true }), flags)
    return
  }
  const scope = {
    ...(database === undefined ? {} : { db: database }),
    ...(name === undefined ? {} : { container: name }),
  }
  print(await call('POST', 'purge', flags, scope), flags)
}
