/** One raw request: the test chooses every byte and header; it is signed as the protocol requires. */

import { createHmac } from 'node:crypto'
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http'

export interface Account {
  readonly endpoint: string
  readonly key: string
}

export interface RawRequest {
  readonly method?: string
  /** Encoded, as on the wire; the signature covers the decoded form. */
  readonly path: string
  /** A value of undefined removes a default header. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
  readonly key?: string
  readonly date?: string
  /** The resource link to sign, if it is not the path. */
  readonly signedLink?: string
}

export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed body; undefined when there is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly json: any
}

export function signature(key: string, method: string, path: string, date: string, signedLink?: string): string {
  const names = path.split('/').filter(Boolean).map(decode)
  const isFeed = names.length % 2 === 1
  const type = names.length === 0 ? '' : names.at(isFeed ? -1 : -2)!
  const nameLink = type === 'offers' ? (names[1] ?? '').toLowerCase() : (isFeed ? names.slice(0, -1) : names).join('/')
  const link = signedLink ?? nameLink
  const text = `${method.toLowerCase()}\n${type.toLowerCase()}\n${link}\n${date.toLowerCase()}\n\n`
  const digest = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
  return encodeURIComponent(`type=master&ver=1.0&sig=${digest}`)
}

/** A test may send a path that cannot be decoded. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

export async function send(account: Account, options: RawRequest): Promise<RawAnswer> {
  const { method = 'GET', path, body, key = account.key, date = new Date().toUTCString() } = options
  const headers: Record<string, string | undefined> = {
    authorization: signature(key, method, path, date, options.signedLink),
    'x-ms-date': date,
    'x-ms-version': '2020-07-15',
    ...options.headers,
  }
  const payload = body === undefined || typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body)
  if (payload !== undefined && !('content-length' in headers)) {
    headers['content-length'] = String(Buffer.byteLength(payload))
  }
  return exchange(account.endpoint, { method, path, headers, payload })
}

/** A request of the admin API, or any other without a signature. */
export async function call(
  endpoint: string,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Readonly<Record<string, string>> } = {},
): Promise<RawAnswer> {
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return exchange(endpoint, { method, path, headers, payload })
}

interface Exchange {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly payload: string | Buffer | undefined
}

function exchange(endpoint: string, { method, path, headers, payload }: Exchange): Promise<RawAnswer> {
  const { hostname, port } = new URL(endpoint)
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  return new Promise((resolve, reject) => {
    const options = { hostname, port, method, path, headers: given as OutgoingHttpHeaders }
    const req = httpRequest(options, res => {
      const chunks: Buffer[] = []
      res.on('data', chunk => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        const isJson = String(res.headers['content-type']).startsWith('application/json') && text !== ''
        resolve({
          status: res.statusCode!,
          headers: res.headers,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        })
      })
    })
    req.on('error', reject)
    req.end(payload)
  })
}
