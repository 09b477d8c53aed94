/**
 * What a page of the explorer asks of a server: recorded from a real browser, and asked again by a client
 * that costs little. A browser beside the server would take processor time from it and blur the figures.
 */

import { type ClientRequest, get } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { machine } from '../src/base/clock.ts'

export interface Screen {
  /** Below `/_explorer/`. */
  readonly path: string
  /** It is loaded when this is there. */
  readonly waitsFor: string
  /** What its visitor does, again and again. */
  readonly visit?: (page: Page) => Promise<void>
}

interface RecordedCall {
  readonly atMs: number
  readonly path: string
}

export interface Recording {
  /** The live connection, which is open all the time. */
  readonly live: string
  /** By the phase in which they were made. */
  readonly calls: ReadonlyMap<string, readonly RecordedCall[]>
}

const VISIT_EVERY_MS = 500
/** Its first load is not what it costs to leave a page open. */
const SETTLE_MS = 1_500

/** Runs the phases one after the other while the page is open. */
export async function record(
  browser: Browser,
  endpoint: string,
  { path, waitsFor, visit }: Screen,
  phases: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<Recording> {
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  let live = ''
  let phase: RecordedCall[] = []
  let startMs = 0
  page.on('request', request => {
    const { pathname, search } = new URL(request.url())
    if (pathname.endsWith('/api/live')) live = pathname + search
    else phase.push({ atMs: machine.monotonicMs() - startMs, path: pathname + search })
  })
  await page.goto(`${endpoint}/_explorer/${path}`)
  await page.locator(waitsFor).first().waitFor()
  await sleep(SETTLE_MS)
  const calls = new Map<string, readonly RecordedCall[]>()
  const timer = visit && machine.setInterval(() => void visit(page).catch(() => {}), VISIT_EVERY_MS)
  for (const [name, run] of Object.entries(phases)) {
    phase = []
    startMs = machine.monotonicMs()
    await run()
    calls.set(name, phase)
  }
  if (timer !== undefined) machine.clearInterval(timer)
  await context.close()
  return { live, calls }
}

/** A page that is open, as the server sees it. */
export class Replay implements Disposable {
  calls = 0
  bytes = 0
  readonly #endpoint: string
  readonly #recording: Recording | undefined
  readonly #live: ClientRequest | undefined

  /** Without a recording no page is open. */
  constructor(endpoint: string, recording: Recording | undefined) {
    this.#endpoint = endpoint
    this.#recording = recording
    this.#live = recording && this.#get(recording.live)
  }

  /** Asks what the page asked in this phase, at the same times, until `run` has ended. */
  async during<T>(phase: string, run: () => Promise<T>): Promise<T> {
    const calls = this.#recording?.calls.get(phase) ?? []
    const timers = calls.map(({ atMs, path }) => machine.setTimeout(() => this.#call(path), atMs))
    try {
      return await run()
    } finally {
      for (const timer of timers) machine.clearTimeout(timer)
    }
  }

  #call(path: string): void {
    this.calls++
    this.#get(path)
  }

  #get(path: string): ClientRequest {
    const headers = { 'accept-encoding': 'gzip' }
    const request = get(`${this.#endpoint}${path}`, { headers }, response => {
      if (response.statusCode !== 200) throw new Error(`${path} was answered ${response.statusCode}.`)
      response.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length
      })
      response.on('error', () => {})
    })
    // The live connection is cut at the end.
    return request.on('error', () => {})
  }

  [Symbol.dispose](): void {
    this.#live?.destroy()
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => machine.setTimeout(resolve, ms))
}
