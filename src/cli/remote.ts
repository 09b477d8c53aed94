/** The commands that talk to a running server through its admin API: clock, ttl, purge. */

import { type ConnectionFlags, pathOf, ServerConnection } from './server-connection.ts'
import { parseTtl } from './ttl-text.ts'

function print(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
}

async function call(method: string, path: string, flags: ConnectionFlags, body?: unknown): Promise<unknown> {
  return new ServerConnection(flags).call(method, path, { body })
}

export async function showClock(flags: ConnectionFlags): Promise<void> {
  print(await call('GET', 'clock', flags))
}

export async function moveClock(move: { advance: string } | { set: number }, flags: ConnectionFlags): Promise<void> {
  print(await call('POST', 'clock', flags, move))
}

export async function trustClock(flags: ConnectionFlags): Promise<void> {
  print(await call('POST', 'clock', flags, { trust: true }))
}

export async function ttlStatus(database: string, name: string, flags: ConnectionFlags): Promise<void> {
  print(await call('GET', `ttl/${pathOf(database, name)}`, flags))
}

export async function ttlForecast(
  database: string,
  name: string,
  flags: ConnectionFlags & { window: string; buckets: string },
): Promise<void> {
  const { window, buckets } = flags
  const query = { window, buckets }
  print(await new ServerConnection(flags).call('GET', `ttl/${pathOf(database, name)}/forecast`, { query }))
}

export async function ttlExplain(
  item: { database: string; container: string; id: string; partitionKey: string },
  flags: ConnectionFlags,
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
  flags: ConnectionFlags,
): Promise<void> {
  const body = { defaultTtl: parseTtl(defaultTtl) }
  print(await call('POST', `ttl/${pathOf(database, name)}/preview`, flags, body))
}

export async function purge(
  database: string | undefined,
  name: string | undefined,
  flags: ConnectionFlags & { pause?: boolean; resume?: boolean },
): Promise<void> {
  if (flags.pause === true || flags.resume === true) {
    print(await call('POST', 'purge', flags, { pause: flags.pause === true }))
    return
  }
  const scope = {
    ...(database === undefined ? {} : { db: database }),
    ...(name === undefined ? {} : { container: name }),
  }
  print(await call('POST', 'purge', flags, scope))
}
