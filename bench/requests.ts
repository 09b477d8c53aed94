/** Builds signed requests as bytes, with the fewest headers the protocol accepts. */

import { machine } from '../src/base/clock.ts'
import { authorization, httpDate } from './sign.ts'

export const DATABASE = 'bench'
export const PARTITION_KEYS = 10_000

const ID_DIGITS = 9
const PK_DIGITS = 4

/** Signatures are valid for 15 minutes; the rest of that time is left for the run. */
const DATE_SPREAD_SECONDS = 600

export function itemId(item: number): string {
  return `item-${String(item).padStart(ID_DIGITS, '0')}`
}

function partitionKey(item: number): string {
  return `pk-${String(item % PARTITION_KEYS).padStart(PK_DIGITS, '0')}`
}

interface RawRequest {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** `Host` is the same for every server, so that one set of bytes serves all of them. */
export function rawRequest({ method, path, headers = {}, body }: RawRequest): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: localhost']
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
  if (body !== undefined) lines.push('content-type: application/json', `content-length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

/** A request to a resource path such as `/dbs/bench/colls/items`, dated now unless told otherwise. */
export function signedRequest(request: RawRequest & { readonly date?: string }): Buffer {
  const segments = request.path.split('/').slice(1)
  const isFeed = segments.length % 2 === 1
  const date = request.date ?? httpDate(machine.epochMs())
  const headers = {
    authorization: authorization({
      method: request.method,
      resourceType: segments.at(isFeed ? -1 : -2)!,
      resourceLink: (isFeed ? segments.slice(0, -1) : segments).join('/'),
      date,
    }),
    'x-ms-date': date,
    'x-ms-version': '2020-07-15',
    ...request.headers,
  }
  return rawRequest({ ...request, headers })
}

export function readRequest(container: string, item: number): Buffer {
  return signedRequest({
    method: 'GET',
    path: `/dbs/${DATABASE}/colls/${container}/docs/${itemId(item)}`,
    headers: { 'x-ms-documentdb-partitionkey': `["${partitionKey(item)}"]` },
  })
}

/** An item of exactly `bytes` bytes of JSON: an event as an application might keep it, then padding. */
export function itemBody(item: number, bytes: number): string {
  const start = `{"id":"${itemId(item)}","pk":"${partitionKey(item)}","kind":"page.viewed","version":3,"ok":true`
  const detail =
    ',"user":{"name":"Ada Lovelace","plan":"team","seats":12},"price":19.99,"currency":"EUR","tags":["alpha",' +
    '"beta","gamma"]' +
    ',"address":{"street":"12 Rue Cler","city":"Paris","zip":"75007","geo":{"lat":48.857,"lon":2.306}}' +
    ',"device":{"os":"linux","agent":"Mozilla/5.0 (X11; Linux x86_64)","width":2560,"height":1440}' +
    ',"referrer":"https://example.com/search?q=mayfly","session":"7f9c24e8-3b12-4fef-91d0-1c2d3e4f5a6b",' +
    '"retries":0,"note":null'
  const padding = ',"text":""}'
  const head = bytes >= 1000 ? start + detail : start
  const room = bytes - head.length - padding.length
  if (room < 0) throw new Error(`An item of ${bytes} bytes is too small.`)
  return `${head},"text":"${'x'.repeat(room)}"}`
}

function createRequest(container: string, item: number, bytes: number, date: string): Buffer {
  return signedRequest({
    method: 'POST',
    path: `/dbs/${DATABASE}/colls/${container}/docs`,
    headers: { 'x-ms-documentdb-partitionkey': `["${partitionKey(item)}"]` },
    body: itemBody(item, bytes),
    date,
  })
}

export type RequestSource = (connection: number) => Buffer

/** Reads of `items` different items, each with its own signature, in a shuffled order that goes round. */
export function readSource(container: string, items: number): RequestSource {
  return takingTurns(shuffled(Array.from({ length: items }, (_, item) => readRequest(container, item))))
}

/** Queries for a field of the items of one partition, with a short answer. */
export function querySource(container: string, items: number): RequestSource {
  const request = (item: number) =>
    signedRequest({
      method: 'POST',
      path: `/dbs/${DATABASE}/colls/${container}/docs`,
      headers: {
        'x-ms-documentdb-isquery': 'True',
        'x-ms-documentdb-partitionkey': `["${partitionKey(item)}"]`,
      },
      // Not every server takes the partition key of the header for a filter.
      body: JSON.stringify({
        query: `SELECT VALUE c.price FROM c WHERE c.pk = "${partitionKey(item)}"`,
        parameters: [],
      }),
    })
  const count = Math.min(items, PARTITION_KEYS)
  return takingTurns(shuffled(Array.from({ length: count }, (_, item) => request(item))))
}

/** Shuffles in place, in the same way every time. */
export function shuffled<T>(list: T[]): T[] {
  let random = 1
  for (let i = list.length - 1; i > 0; i--) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
    const j = random % (i + 1)
    const swapped = list[i]!
    list[i] = list[j]!
    list[j] = swapped
  }
  return list
}

export function takingTurns(requests: readonly Buffer[]): RequestSource {
  let next = 0
  return () => {
    if (next === requests.length) next = 0
    return requests[next++]!
  }
}

/**
 * Creates of new items, made by overwriting the digits of a prepared request.
 *
 * A create signs only the container and the date, so all creates of one second share a signature. Therefore
 * dates are spread over ten minutes: a server that remembers the last signature gains nothing.
 */
export function createSource(container: string, firstItem: number, bytes: number): RequestSource {
  const nowMs = machine.epochMs()
  const templates = Array.from({ length: DATE_SPREAD_SECONDS }, (_, second) => {
    const request = createRequest(container, 0, bytes, httpDate(nowMs - second * 1000))
    return { request, idEnds: endsOf(itemId(0), request), pkEnds: endsOf(partitionKey(0), request) }
  })
  // Escaped signatures differ in length.
  const longest = Math.max(...templates.map(({ request }) => request.length))
  const buffers: Buffer[] = []
  let item = firstItem
  return connection => {
    const { request, idEnds, pkEnds } = templates[item % DATE_SPREAD_SECONDS]!
    // A connection's buffer can be reused: its last request was answered, so it has been sent.
    buffers[connection] ??= Buffer.allocUnsafe(longest)
    const buffer = buffers[connection]
    request.copy(buffer)
    for (const end of idEnds) writeDigits(buffer, end, item)
    for (const end of pkEnds) writeDigits(buffer, end, item % PARTITION_KEYS)
    item++
    return buffer.subarray(0, request.length)
  }
}

/** The end position of each occurrence of `text`. */
function endsOf(text: string, request: Buffer): number[] {
  const ends: number[] = []
  for (let at = request.indexOf(text); at >= 0; at = request.indexOf(text, at + 1)) ends.push(at + text.length)
  return ends
}

/** Overwrites zeros with the digits of `value`, right-aligned before `end`. */
function writeDigits(buffer: Buffer, end: number, value: number): void {
  for (let at = end - 1, rest = value; rest > 0; at--, rest = Math.floor(rest / 10)) buffer[at] = 48 + (rest % 10)
}
