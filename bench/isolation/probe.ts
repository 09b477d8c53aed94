/**
 * The measuring client: a process that sends point reads and single creates at fixed times. The wait of each
 * counts from the time at which it was due, so that a server that stands still is seen by all that were due.
 */

import { machine } from '../../src/base/clock.ts'
import { type HttpConnection, openHttp } from '../http.ts'
import { createSource, type RequestSource, readSource } from '../requests.ts'

export interface ProbeOrder {
  readonly port: number
  readonly container: string
  readonly items: number
  readonly firstItem: number
  readonly ms: number
}

export interface Waits {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

export type FromProbe = { readonly reads: Waits; readonly creates: Waits } | { readonly error: string }

const readEveryMs = 3
const createEveryMs = 6
const connectionsOfEach = 8
const itemBytes = 1000

class Kind {
  readonly waits: number[] = []
  readonly #source: RequestSource
  readonly #status: number
  readonly #idle: HttpConnection[]
  readonly #due: number[] = []
  readonly #failed: (error: Error) => void

  constructor(source: RequestSource, status: number, idle: HttpConnection[], failed: (error: Error) => void) {
    this.#source = source
    this.#status = status
    this.#idle = idle
    this.#failed = failed
  }

  get isQuiet(): boolean {
    return this.#idle.length === connectionsOfEach && this.#due.length === 0
  }

  add(dueMs: number): void {
    this.#due.push(dueMs)
    this.#send()
  }

  #send(): void {
    while (this.#due.length > 0 && this.#idle.length > 0) {
      const connection = this.#idle.pop()!
      const dueMs = this.#due.shift()!
      // A buffer of its own, because another connection may still be sending the last one.
      connection.ask(Buffer.from(this.#source(0))).then(({ status, body }) => {
        if (status !== this.#status) this.#failed(new Error(`Answered ${status}: ${body.slice(0, 200)}`))
        this.waits.push(machine.monotonicMs() - dueMs)
        this.#idle.push(connection)
        this.#send()
      }, this.#failed)
    }
  }
}

async function open(port: number, failed: (error: Error) => void): Promise<HttpConnection[]> {
  return Promise.all(Array.from({ length: connectionsOfEach }, () => openHttp(port, failed)))
}

function waitsOf(list: readonly number[]): Waits {
  const sorted = list.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

let reading: { readonly key: string; readonly source: RequestSource } | undefined

async function probe({ port, container, items, firstItem, ms }: ProbeOrder): Promise<FromProbe> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  const key = `${container} ${items}`
  if (reading?.key !== key) reading = { key, source: readSource(container, items) }
  const connections = [await open(port, reject), await open(port, reject)]
  const reads = new Kind(reading.source, 200, [...connections[0]!], reject)
  const creates = new Kind(createSource(container, firstItem, itemBytes), 201, [...connections[1]!], reject)
  const startMs = machine.monotonicMs()
  let readDueMs = 0
  let createDueMs = 0
  const working = (async () => {
    for (;;) {
      const now = machine.monotonicMs() - startMs
      if (now >= ms && reads.isQuiet && creates.isQuiet) return
      for (; readDueMs <= Math.min(now, ms); readDueMs += readEveryMs) reads.add(startMs + readDueMs)
      for (; createDueMs <= Math.min(now, ms); createDueMs += createEveryMs) creates.add(startMs + createDueMs)
      await new Promise<void>(resolve => machine.setTimeout(resolve, 1))
    }
  })()
  await Promise.race([working, failure])
  for (const connection of connections.flat()) connection.close()
  return { reads: waitsOf(reads.waits), creates: waitsOf(creates.waits) }
}

process.on('message', (order: ProbeOrder) => {
  probe(order).then(
    found => process.send?.(found),
    error => process.send?.({ error: String(error) } satisfies FromProbe),
  )
})
