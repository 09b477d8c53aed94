/**
 * Reads a plain HTTP/1.1 request out of one chunk of bytes, and declines everything that is not plain.
 *
 * Of the 40 us of a point read, node:http spends about 15 on things that such requests never use: streams,
 * events, chunked bodies, trailers. This parser knows the requests that clients send all day: one of six
 * methods, headers of printable ASCII without repetition, all in one chunk. The body has a length, and may
 * continue in later chunks. The parser accepts much less than the standard. It returns undefined for
 * everything else, and node:http gets the same bytes. So it never has to answer odd or hostile input. It only
 * must not accept any.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { KiB, requestBytesMax } from '../../base/limits.ts'
import { ownText } from '../../base/own-text.ts'

/** Bytes of headers that a request may have. This is Node's default. */
export const headerBytesMax = 16 * KiB

/** The answer to a request with more, of status 431. */
export const headersTooLarge = { code: 'RequestHeaderFieldsTooLarge', message: 'The headers are too large.' }

/**
 * How many header names are remembered. All SDKs together send fewer. Other names work too, but are checked
 * each time.
 */
const rememberedNamesMax = 256

export interface PlainRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** The part of the body that is in the chunk. */
  readonly body: Buffer
  /** How many bytes of the body are still missing. */
  readonly missingBytes: number
}

const methods = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'])

/** Headers that change how a connection or a body must be read. */
const peculiar = new Set([
  'transfer-encoding',
  'expect',
  'upgrade',
  'te',
  'trailer',
  'proxy-connection',
  'http2-settings',
])

/** Lines of printable ASCII, nothing else: no tabs, no lone CR or LF, no folded or empty lines. */
const plainHead = /^[\x21-\x7e][\x20-\x7e]*(?:\r\n[\x21-\x7e][\x20-\x7e]*)*$/

/** The name of a header. */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

const cr = 0x0d
const lf = 0x0a
const headEnd = Buffer.from([cr, lf, cr, lf])
const version = ' HTTP/1.1'
const noBody = Buffer.alloc(0)

export function parsePlainRequest(chunk: Buffer): PlainRequest | undefined {
  const end = endOfHead(chunk)
  if (end < 0 || end > headerBytesMax) return undefined
  const head = chunk.toString('latin1', 0, end)
  if (!plainHead.test(head)) return undefined

  let lineEnd = head.indexOf('\r\n')
  if (lineEnd === -1) return undefined
  const methodEnd = head.indexOf(' ')
  const urlEnd = lineEnd - version.length
  const method = head.slice(0, methodEnd)
  if (!methods.has(method) || urlEnd <= methodEnd || !head.startsWith(version, urlEnd)) return undefined
  const url = head.slice(methodEnd + 1, urlEnd)
  if (url.charCodeAt(0) !== 0x2f || url.includes(' ')) return undefined

  const headers: Record<string, string> = {}
  let header = requestLine
  while (lineEnd < head.length) {
    const start = lineEnd + 2
    const next = headerAfter(header, head, start)
    if (next === undefined) return undefined
    header = next
    lineEnd = head.indexOf('\r\n', start)
    if (lineEnd === -1) lineEnd = head.length
    // Names of properties that every object has are declined too. No client sends them.
    if (headers[header.name] !== undefined) return undefined
    headers[header.name] = valueIn(head, start + header.written.length, lineEnd)
  }
  const { connection, host } = headers
  if (host === undefined || host === '') return undefined
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined

  const bodyStart = end + headEnd.length
  const missingBytes = missingOf(chunk.length - bodyStart, headers['content-length'])
  if (missingBytes === undefined) return undefined
  const body = bodyStart === chunk.length ? noBody : chunk.subarray(bodyStart)
  return { method, url, headers, body, missingBytes }
}

/**
 * Looks at the end first, because most requests have no body. If a body ends like a head, then the head that
 * this finds is not plain and is declined.
 */
function endOfHead(chunk: Buffer): number {
  const last = chunk.length - headEnd.length
  return isHeadEnd(chunk, last) ? last : chunk.indexOf(headEnd)
}

function isHeadEnd(chunk: Buffer, at: number): boolean {
  return chunk[at] === cr && chunk[at + 1] === lf && chunk[at + 2] === cr && chunk[at + 3] === lf
}

/** The name of a header, as a client writes it. */
interface Header {
  /** As written, with the colon. */
  readonly written: string
  /** In lower case. */
  readonly name: string
  /** The header that followed last time. Clients keep their order, so it usually follows again. */
  follower: Header | undefined
}

/** Takes the place of a header before the first one. */
const requestLine: Header = { written: '', name: '', follower: undefined }

/** Each name is checked once and then remembered. */
const known = new Map<string, Header>()

/** The header that begins at `start`. Undefined if it is not plain. */
function headerAfter(before: Header, head: string, start: number): Header | undefined {
  if (before.follower !== undefined && head.startsWith(before.follower.written, start)) return before.follower
  const colon = head.indexOf(':', start)
  const written = head.slice(start, colon + 1)
  const header = known.get(written)
  if (header === undefined) return learn(written)
  before.follower = header
  return header
}

function learn(written: string): Header | undefined {
  const name = written.slice(0, -1).toLowerCase()
  if (!token.test(name) || name === '__proto__' || peculiar.has(name)) return undefined
  if (known.size >= rememberedNamesMax) return { written, name, follower: undefined }
  const header = { written: ownText(written), name: ownText(name), follower: undefined }
  known.set(header.written, header)
  return header
}

const space = 0x20

/** The value without the spaces around it. Usually there is one. */
function valueIn(head: string, start: number, end: number): string {
  const first = head.charCodeAt(start) === space ? start + 1 : start
  const isBare = first === end || (head.charCodeAt(first) !== space && head.charCodeAt(end - 1) !== space)
  return isBare ? head.slice(first, end) : head.slice(first, end).trim()
}

/** How much of a body is missing when `bytes` have arrived. Undefined if the request is not plain. */
function missingOf(bytes: number, contentLength: string | undefined): number | undefined {
  if (contentLength === undefined) return bytes === 0 ? 0 : undefined
  if (!/^\d{1,8}$/.test(contentLength)) return undefined
  const length = Number(contentLength)
  return length < bytes || length > requestBytesMax ? undefined : length - bytes
}
