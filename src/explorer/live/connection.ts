/**
 * One live connection: server-sent events to one reader, with a bounded buffer. A slow reader misses events
 * and then gets a `resync`; one that reads nothing for a minute is disconnected.
 */

import type { ServerResponse } from 'node:http'
import { machine } from '../../base/clock.ts'
import { KiB, MiB } from '../../base/limits.ts'
import { securityHeaders } from '../files/page-files.ts'
import { printJson } from '../http/json-text.ts'

/** The most bytes that wait for a slow reader, and the rest at which events continue. */
const waitingBytesMax = 1 * MiB
const waitingBytesLow = 64 * KiB
const stuckMsMax = 60_000
const heartbeatMs = 15_000

export class LiveConnection {
  readonly #res: ServerResponse
  readonly #isValid: () => boolean
  #missesSinceMs: number | undefined
  #writtenMs = machine.monotonicMs()
  #isClosed = false

  constructor(res: ServerResponse, isValid: () => boolean) {
    this.#res = res
    this.#isValid = isValid
    res.once('close', () => {
      this.#isClosed = true
    })
    res.writeHead(200, {
      ...securityHeaders,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether the session is still valid. */
  get isValid(): boolean {
    return this.#isValid()
  }

  /** `data` must have `now`. */
  send(event: string, data: object): void {
    if (this.#isClosed) return
    if (this.#missesSinceMs !== undefined) {
      if (this.#res.writableLength > waitingBytesLow) return
      this.#missesSinceMs = undefined
      const { now } = data as { now?: number }
      this.#write('resync', { now })
      // What the event says may build upon what was missed.
      if (event !== 'bye') return
    }
    if (this.#res.writableLength > waitingBytesMax) this.#missesSinceMs = machine.monotonicMs()
    else this.#write(event, data)
  }

  /** Called now and then: keeps proxies from closing a quiet connection, and closes one that is stuck. */
  tend(): void {
    const nowMs = machine.monotonicMs()
    if (this.#missesSinceMs !== undefined && nowMs - this.#missesSinceMs > stuckMsMax) this.#res.destroy()
    else if (nowMs - this.#writtenMs > heartbeatMs && this.#res.writableLength < waitingBytesMax) this.#put(':\n\n')
  }

  end(reason: 'stopping' | 'session', now: number): void {
    this.send('bye', { now, reason })
    this.#isClosed = true
    this.#res.end()
  }

  #write(event: string, data: object): void {
    this.#put(`event: ${event}\ndata: ${printJson(data)}\n\n`)
  }

  #put(text: string): void {
    this.#writtenMs = machine.monotonicMs()
    this.#res.write(text)
  }
}
