/** The connection of a command to a running server, over its admin API. */

import { RequestError } from '../base/error.ts'
import { settings } from '../server/config.ts'

export interface ConnectionFlags {
  readonly endpoint?: string
  readonly key?: string
}

/** The server refused a request. */
export class Refused extends RequestError {
  readonly status: number

  constructor(status: number, message: string) {
    super('malformed', message)
    this.status = status
  }
}

/** There was no answer, or it was not complete. */
export class Unreachable extends RequestError {
  constructor(message: string, cause: unknown) {
    super('not_found', message, { cause })
  }
}

interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** JSON, or bytes. */
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

export class ServerConnection {
  readonly endpoint: string
  readonly #base: string
  readonly #key: string | undefined

  constructor(flags: ConnectionFlags) {
    const { port } = settings({}, process.env)
    this.endpoint = flags.endpoint ?? (process.env.COSMOS_ENDPOINT || `http://127.0.0.1:${port}`)
    this.#key = flags.key ?? (process.env.COSMOS_KEY || undefined)
    this.#base = this.endpoint.endsWith('/') ? this.endpoint : `${this.endpoint}/`
    if (!URL.canParse(this.#base) || !/^https?:/.test(this.#base)) {
      throw new RequestError('malformed', `'${this.endpoint}' is not an address. Write it like http://127.0.0.1:8081.`)
    }
  }

  /** A call whose answer is JSON. `path` comes after `/_mayfly/`. */
  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const response = await this.open(method, path, options)
    try {
      return (await response.json()) as T
    } catch (error) {
      throw new Unreachable(`The server at ${this.endpoint} did not finish its answer.`, error)
    }
  }

  /** The time by the clock of the server, in seconds since 1970. */
  async now(): Promise<number> {
    return (await this.call<{ now: number }>('GET', 'clock')).now
  }

  /** The bytes of an answer as they come. An answer that breaks off ends with an error. */
  async stream(method: string, path: string, options: CallOptions = {}): Promise<AsyncIterable<Uint8Array>> {
    const { body } = await this.open(method, path, options)
    return this.#whole(body!, options.signal)
  }

  async *#whole(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    try {
      yield* pieces
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      throw new Unreachable(`The server at ${this.endpoint} did not finish its answer.`, error)
    }
  }

  /** A call whose answer is read as it comes. */
  open(method: string, path: string, options: CallOptions = {}): Promise<Response> {
    return this.#ask(method, `_mayfly/${path}`, options)
  }

  /**
   * The authority that clients must trust for https, in PEM form. It is read over http, because https is not
   * trusted yet.
   */
  async authority(): Promise<string> {
    if (this.#base.startsWith('https:')) {
      throw new RequestError(
        'unsupported',
        `The authority of ${this.endpoint} is not trusted yet. Give --endpoint with http: the port answers both.`,
      )
    }
    const pem = await (await this.#ask('GET', '_explorer/emulator.pem')).text()
    if (pem.startsWith('-----BEGIN CERTIFICATE-----')) return pem
    throw new RequestError(
      'unsupported',
      `The server at ${this.endpoint} is not a Mayfly. Give its address with --endpoint.`,
    )
  }

  async #ask(method: string, path: string, { query = {}, body, signal }: CallOptions = {}): Promise<Response> {
    const url = new URL(path, this.#base)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const isBytes = body instanceof Uint8Array
    let response: Response
    try {
      response = await fetch(url, {
        method,
        ...(body !== undefined && { body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
        ...(this.#key !== undefined && { headers: { authorization: `Bearer ${this.#key}` } }),
        ...(signal !== undefined && { signal }),
      })
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      throw new Unreachable(`There is no server at ${this.endpoint}. Start one with "mayfly".`, error)
    }
    if (!response.ok) throw new Refused(response.status, await messageOf(response))
    return response
  }
}

async function messageOf(response: Response): Promise<string> {
  const text = await response.text()
  try {
    return (JSON.parse(text) as { message?: string }).message ?? `The server answered ${response.status}.`
  } catch {
    return `The server answered ${response.status}, but not as a Mayfly does.`
  }
}

/**
 * Encodes names for a path. Refuses `.` and `..`: they would lead to another path, and no resource has such
 * a name.
 */
export function pathOf(...names: readonly string[]): string {
  for (const name of names) {
    if (name === '.' || name === '..') throw new RequestError('malformed', `No database or container is named ${name}.`)
  }
  return names.map(encodeURIComponent).join('/')
}
