/** The commands that talk to a running server through its admin API: clock, ttl, purge. */

import { durationText } from './progress.ts'
import { type ConnectionFlags, pathOf, ServerConnection } from './server-connection.ts'
import { isoTime, tableText, ttlText } from './table.ts'
import { parseTtl } from './ttl-text.ts'

interface RemoteFlags extends ConnectionFlags {
  readonly json?: boolean
}

/** People on a terminal get a table, programs JSON. */
function print(answer: unknown, { json }: { readonly json?: boolean } = {}): void {
  const isForPeople = process.stdout.isTTY === true && json !== true
  process.stdout.write(isForPeople ? peopleText(answer) : `${JSON.stringify(answer, null, 2)}\n`)
}

const times = new Set(['now', 'oldestDeadline', 'ts', 'expiresAt', 'start', 'end', 'since', 'sure'])
const durations = new Set(['lagSeconds', 'effectiveTtl', 'aheadSeconds'])

function peopleText(answer: unknown): string {
  const { buckets, ...facts } = answer as Record<string, unknown> & { buckets?: Record<string, unknown>[] }
  const table =
    buckets === undefined
      ? ''
      : tableText(
          Object.keys(buckets[0] ?? {}),
          buckets.map(bucket => Object.entries(bucket).map(([name, value]) => shown(name, value))),
        )
  const width = Math.max(0, ...Object.keys(facts).map(name => name.length))
  const lines = Object.entries(facts).map(([name, value]) => `${name.padEnd(width)}  ${String(shown(name, value))}\n`)
  return table + lines.join('')
}

function shown(name: string, value: unknown): unknown {
  if (value === null) return '-'
  if (name === 'defaultTtl') return ttlText(value as number | null)
  if (typeof value === 'number' && name === 'secondsLeft') return `in ${durationText(value)}`
  if (typeof value === 'number' && durations.has(name)) return durationText(value)
  // In a preview `now` counts items.
  if (typeof value === 'number' && times.has(name) && value > 1_000_000) return isoTime(value)
  return typeof value === 'object' ? JSON.stringify(value) : value
}

async function call(method: string, path: string, flags: RemoteFlags, body?: unknown): Promise<unknown> {
  return new ServerConnection(flags).call(method, path, { body })
}

export async function showClock(flags: RemoteFlags): Promise<void> {
  print(await call('GET', 'clock', flags), flags)
}

export async function moveClock(move: { advance: string } | { set: number }, flags: RemoteFlags): Promise<void> {
  print(await call('POST', 'clock', flags, move), flags)
}

export async function trustClock(flags: RemoteFlags): Promise<void> {
  print(await call('POST', 'clock', flags, { trust: true }), flags)
}

export async function ttlStatus(database: string, name: string, flags: RemoteFlags): Promise<void> {
  print(await call('GET', `ttl/${pathOf(database, name)}`, flags), flags)
}

export async function ttlForecast(
  database: string,
  name: string,
  flags: RemoteFlags & { window: string; buckets: string },
): Promise<void> {
  const { window, buckets } = flags
  const query = { window, buckets }
  print(await new ServerConnection(flags).call('GET', `ttl/${pathOf(database, name)}/forecast`, { query }), flags)
}

export async function ttlExplain(
  item: { database: string; container: string; id: string; partitionKey: string },
  flags: RemoteFlags,
): Promise<void> {
  const query = { id: item.id, partitionKey: asPartitionKey(item.partitionKey) }
  print(
    await new ServerConnection(flags).call('GET', `ttl/${pathOf(item.database, item.container)}/explain`, { query }),
  )
}

/** A JSON list such as `["a",1]` stays as it is. Any other text is one value. */
function asPartitionKey(text: string): string {
  return text.startsWith('[') ? text : JSON.stringify([text])
}

export async function ttlPreview(
  database: string,
  name: string,
  defaultTtl: string,
  flags: RemoteFlags,
): Promise<void> {
  const body = { defaultTtl: parseTtl(defaultTtl) }
  print(await call('POST', `ttl/${pathOf(database, name)}/preview`, flags, body), flags)
}

export async function purge(
  database: string | undefined,
  name: string | undefined,
  flags: RemoteFlags & { pause?: boolean; resume?: boolean },
): Promise<void> {
  if (flags.pause === true || flags.resume === true) {
    print(await call('POST', 'purge', flags, { pause: flags.pause === true }), flags)
    return
  }
  const scope = {
    ...(database === undefined ? {} : { db: database }),
    ...(name === undefined ? {} : { container: name }),
  }
  print(await call('POST', 'purge', flags, scope), flags)
}
