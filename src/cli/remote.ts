/** The commands that talk to a running server through its admin API: clock, ttl, purge. */

import { RequestError } from '../base/error.ts'

export interface RemoteFlags {
  readonly endpoint?: string
  readonly key?: string
}

async function call(method: string, path: string, flags: RemoteFlags, body?: unknown): Promise<unknown> {
  const port = process.env.MAYFLY_PORT ?? process.env.PORT ?? '8081'
  const endpoint = flags.endpoint ?? process.env.COSMOS_ENDPOINT ?? `http://127.0.0.1:${port}`
  const key = flags.key ?? process.env.COSMOS_KEY
  const base = endpoint.endsWith('/') ? endpoint : `${endpoint}/`
  if (!URL.canParse(base) || !/^https?:/.test(base)) {
    throw new RequestError('malformed', `'${endpoint}' is not an address. Write it like http://127.0.0.1:8081.`)
  }
  let response: Response
  try {
    response = await fetch(new URL(`_mayfly/${path}`, base), {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }),
    })
  } catch (error) {
    throw new RequestError('not_found', `There is no server at ${endpoint}. Start one with "mayfly".`, { cause: error })
  }
  const answer = (await response.json()) as { message?: string }
  if (!response.ok) throw new RequestError('malformed', answer.message ?? `The server answered ${response.status}.`)
  return answer
}

function print(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
}

function container(database: string, name: string): string {
  return `ttl/${encodeURIComponent(database)}/${encodeURIComponent(name)}`
}

export async function showClock(flags: RemoteFlags): Promise<void> {
  print(await call('GET', 'clock', flags))
}

export async function moveClock(move: { advance: string } | { set: number }, flags: RemoteFlags): Promise<void> {
  print(await call('POST', 'clock', flags, move))
}

export async function trustClock(flags: RemoteFlags): Promise<void> {
  print(await call('POST', 'clock', flags, { trust: true }))
}

export async function ttlStatus(database: string, name: string, flags: RemoteFlags): Promise<void> {
  print(await call('GET', container(database, name), flags))
}

export async function ttlForecast(
  database: string,
  name: string,
  flags: RemoteFlags & { window: string; buckets: string },
): Promise<void> {
  const query = new URLSearchParams({ window: flags.window, buckets: flags.buckets })
  print(await call('GET', `${container(database, name)}/forecast?${query}`, flags))
}

export async function ttlExplain(
  item: { database: string; container: string; id: string; partitionKey: string },
  flags: RemoteFlags,
): Promise<void> {
  const query = new URLSearchParams({ id: item.id, partitionKey: asPartitionKey(item.partitionKey) })
  print(await call('GET', `${container(item.database, item.container)}/explain?${query}`, flags))
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
  const value = defaultTtl === 'off' || defaultTtl === 'null' ? null : Number(defaultTtl)
  print(await call('POST', `${container(database, name)}/preview`, flags, { defaultTtl: value }))
}

export async function purge(
  database: string | undefined,
  name: string | undefined,
  flags: RemoteFlags & { pause?: boolean; resume?: boolean },
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
