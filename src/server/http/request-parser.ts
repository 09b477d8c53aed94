/**
 * Reads a plain HTTP/1.1 request out of one chunk of bytes, and declines everything that is not plain.
 *
 * node:http spends about 15 of a point read's 40 us on what such requests never use: streams, events, chunked
 * bodies, trailers. This parser knows the requests that clients send all day: one of six methods, printable
 * ASCII headers without repetition, all in one chunk, and a body with a length, of which more may follow. It
 * is deliberately narrower than the standard. What it declines (undefined) is handed to node:http untouched,
 * so it never has to decide about odd or hostile input; it only must not accept any such.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { KiB, requestBytesMax } from '../../base/limits.ts'
import { ownText } from '../../base/own-text.ts'

/** Bytes of headers a request may have: node's default, stated. */
export const headerBytesMax = 16 * KiB

/**
 * Names of headers that are known again. All SDKs together send fewer; further ones are understood as well,
 * and looked at each time.
 */
const rememberedNamesMax = 256

export interface PlainRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** As much of it as the chunk holds. */
  readonly body: Buffer
  /** What must still arrive before it is whole. */
  readonly missingBytes: number
}

const methods = new Set(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'])

/** Headers that change how a connection or a body is to be understood. */
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

/** What a name may be made of. */
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
    // What every object has counts as a repetition too; no client sends such names.
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
 * Most requests have no body. Of one whose body happens to end like a head, what comes out is no plain head.
 */
function endOfHead(chunk: Buffer): number {
  const last = chunk.length - headEnd.length
  return isHeadEnd(chunk, last) ? last : chunk.indexOf(headEnd)
}

function isHeadEnd(chunk: Buffer, at: number): boolean {
  return chunk[at] === cr && chunk[at + 1] === lf && chunk[at + 2] === cr && chunk[at + 3] === lf
}

/** A header as some client writes it. */
interface Header {
  /** With its colon. */
  readonly written: string
  /** In lower case. */
  readonly name: string
  /** What came behind it the last time: clients keep to their order, so mostly one look at it tells. */
  follower: Header | undefined
}

/** Stands before the first header. */
const requestLine: Header = { written: '', name: '', follower: undefined }

/** Few are ever seen, so each is looked at closely once. */
const known = new Map<string, Header>()

/** The one that begins there; undefined: it is none of ours to understand. */
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

/** Without the spaces around it, of which there is mostly one. */
function valueIn(head: string, start: number, end: number): string {
  const first = head.charCodeAt(start) === space ? start + 1 : start
  const isBare = first === end || (head.charCodeAt(first) !== space && head.charCodeAt(end - 1) !== space)
  return isBare ? head.slice(first, end) : head.slice(first, end).trim()
}

/** Of a body of which so many bytes are there. Behind it there may be nothing. */
function missingOf(bytes: number, contentLength: string | undefined): number | undefined {
  if (contentLength === undefined) return bytes === 0 ? 0 : undefined
  if (!/^\d{1,8}$/.test(contentLength)) return undefined
  const length = Number(contentLength)
  return length < bytes || length > requestBytesMax ? undefined : length - bytes
}
