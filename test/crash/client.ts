/**
 * One signed connection to a server: a request ends with its whole answer, or with the loss of the
 * connection.
 */

import { createHmac } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { machine } from '../../src/base/clock.ts'

/** The well-known key of the Microsoft emulator, which is the server's default on loopback. */
const key = Buffer.from(
  'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==',
  'base64',
)

export interface Reply {
  readonly status: number
  readonly text: string
  /** The newest version of the container, if the answer contains it. */
  readonly lsn: number | undefined
  /** Continuation for the next page of a feed. */
  readonly continuation?: string | undefined
}

/** The connection was lost: it is unknown whether the request took effect. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

export interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

export class Client implements Disposable {
  readonly #url: URL
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(endpoint: string) {
    this.#url = new URL(endpoint)
  }

  send(method: string, path: string, { headers = {}, body }: RequestParts = {}): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const lost = (cause: unknown) => reject(new ConnectionLost(`${method} ${path} got no answer`, { cause }))
    const sent = request(
      {
        agent: this.#agent,
        host: this.#url.hostname,
        port: this.#url.port,
        method,
        path,
        headers: { ...signed(method, path), ...headers, 'content-length': Buffer.byteLength(body ?? '') },
      },
      reply => collect(reply).then(text => resolve(replyOf(reply, text)), lost),
    )
    sent.on('error', lost)
    sent.end(body)
    return promise
  }

  /** For calls whose success is taken for granted. */
  async json(method: string, path: string, parts: RequestParts = {}): Promise<Record<string, unknown>> {
    const { status, text } = await this.send(method, path, parts)
    if (status >= 300) throw new Error(`${method} ${path} was answered with ${status}: ${text}`)
    return JSON.parse(text)
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

async function collect(reply: IncomingMessage): Promise<string> {
  let text = ''
  reply.setEncoding('utf8')
  for await (const chunk of reply) text += chunk
  if (!reply.complete) throw new Error('the answer broke off')
  return text
}

function replyOf({ statusCode, headers }: IncomingMessage, text: string): Reply {
  const { lsn, 'x-ms-continuation': continuation } = headers
  return {
    status: statusCode!,
    text,
    lsn: typeof lsn === 'string' ? Number(lsn) : undefined,
    continuation: typeof continuation === 'string' ? continuation : undefined,
  }
}

/**
 * The headers every request of the protocol carries. A feed is signed with the link of its owner, a single
 * resource with its own; admin calls need no signature on loopback and ignore it.
 */
export function signed(method: string, path: string): Record<string, string> {
  const date = new Date(machine.epochMs()).toUTCString()
  const segments = path.slice(1).split('/')
  const isFeed = segments.length % 2 === 1
  const type = isFeed ? segments.at(-1) : segments.at(-2)
  const link = (isFeed ? segments.slice(0, -1) : segments).join('/')
  const payload = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`
  const signature = createHmac('sha256', key).update(payload).digest('base64')
  return {
    authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
    'x-ms-date': date,
    'x-ms-version': '2020-07-15',
  }
}
