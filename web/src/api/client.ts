/** Sends calls to the explorer API, and takes the time and the errors from its answers. */

import { signal } from '@preact/signals'
import { syncClock } from '../time/clock.ts'
import type { ContainerName, WholeItem } from './shapes.ts'

export const apiBase = '/_explorer/api'

/** The path of a container's calls: `C` in docs/explorer-api.md. */
export function containerPath({ database, container }: ContainerName): string {
  return `databases/${encodeURIComponent(database)}/containers/${encodeURIComponent(container)}`
}

/** A refused call: its status and code, and where in the form or the text the reason lies. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly activityId: string | undefined
  readonly field: string | undefined
  readonly line: number | undefined
  readonly column: number | undefined
  readonly retryAfterMs: number | undefined
  /** 412: the version that is there now. */
  readonly item: WholeItem | null | undefined
  /** The whole body of the answer: its other fields depend on the call. */
  readonly body: Record<string, unknown>

  constructor(status: number, body: Record<string, unknown>) {
    super(typeof body.message === 'string' ? body.message : `The server answered ${status}.`)
    this.status = status
    this.code = typeof body.code === 'string' ? body.code : 'unknown'
    this.activityId = body.activityId as string | undefined
    this.field = body.field as string | undefined
    this.line = body.line as number | undefined
    this.column = body.column as number | undefined
    this.retryAfterMs = body.retryAfterMs as number | undefined
    this.item = body.item as WholeItem | null | undefined
    this.body = body
  }
}

/** There was no answer: the connection is lost, or the server is gone. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  constructor() {
    super('The server does not answer.')
  }
}

/** Set when a call answered 401: the session has ended, and the page shows the login. */
export const isSessionOver = signal(false)

export interface CallOptions {
  /** Query parameters; undefined and empty ones are left out. */
  params?: Record<string, string | number | undefined>
  body?: unknown
  /** Sent as it is, in place of a body. */
  file?: Blob
  ifMatch?: string
  signal?: AbortSignal
}

function addressOf(path: string, params: CallOptions['params'] = {}): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${apiBase}/${path}${query && `?${query}`}`
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One call. Throws an ApiError if it is refused, a NoAnswerError if nobody answers. */
export async function call<Answer>(method: Method, path: string, options: CallOptions = {}): Promise<Answer> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (method !== 'GET') headers['x-mayfly-explorer'] = '1'
  if (options.body !== undefined) headers['content-type'] = 'application/json'
  if (options.file !== undefined) headers['content-type'] = 'application/octet-stream'
  if (options.ifMatch !== undefined) headers['if-match'] = options.ifMatch
  const response = await fetch(addressOf(path, options.params), {
    method,
    headers,
    body: options.file ?? (options.body === undefined ? null : JSON.stringify(options.body)),
    signal: options.signal ?? null,
  }).catch((error: unknown) => {
    throw options.signal?.aborted ? error : new NoAnswerError()
  })
  const now = Number(response.headers.get('x-mayfly-now'))
  if (now > 0) syncClock(now)
  const text = await response.text().catch((error: unknown) => {
    throw options.signal?.aborted ? error : new NoAnswerError()
  })
  if (!response.ok) throw refusal(response.status, text, path)
  return (text ? JSON.parse(text) : undefined) as Answer
}

function refusal(status: number, text: string, path: string): ApiError {
  const error = new ApiError(status, readBody(text))
  if (status === 401 && path !== 'login') isSessionOver.value = true
  return error
}

/** A proxy between the page and the server may answer with a page of its own. */
function readBody(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

export const get = <Answer>(path: string, params?: CallOptions['params'], signal?: AbortSignal) =>
  call<Answer>('GET', path, { ...(params && { params }), ...(signal && { signal }) })

/** Whether the page itself ended the call. Then no message is shown. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

/** What went wrong, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
