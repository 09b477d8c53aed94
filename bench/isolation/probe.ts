/**
 * The measuring client: a process that sends point reads and single creates at fixed times. The wait of each
 * counts from the time at which it was due, so that a server that stands still is seen by all that were due.
 * It also asks a bare server, which does nothing: what those requests wait, the machine is to blame for.
 */

import { machine } from '../../src/base/clock.ts'
import { type HttpConnection, openHttp } from '../http.ts'
import { createSource, type RequestSource, readSource } from '../requests.ts'

export interface ProbeOrder {
  readonly port: number
  readonly barePort: number
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

export interface Probed {
  readonly reads: Waits
  readonly creates: Waits
  readonly bare: Waits
}

export type FromProbe = Probed | { readonly error: string }

const readEveryMs = 3
const createEveryMs = 6
const bareEveryMs = 6
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

  close(): void {
    for (const connection of this.#idle) connection.close()
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

async function openAll(port: number, failed: (error: Error) => void): Promise<HttpConnection[]> {
  return Promise.all(Array.from({ length: connectionsOfEach }, () => openHttp(port, failed)))
}

function waitsOf(list: readonly number[]): Waits {
  const sorted = list.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
}

let reading: { readonly key: string; readonly source: RequestSource } | undefined

async function probe({ port, barePort, container, items, firstItem, ms }: ProbeOrder): Promise<FromProbe> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  const key = `${container} ${items}`
  if (reading?.key !== key) reading = { key, source: readSource(container, items) }
  const open = () => openAll(port, reject)
  const reads = new Kind(reading.source, 200, await open(), reject)
  const creates = new Kind(createSource(container, firstItem, itemBytes), 201, await open(), reject)
  const bare = new Kind(reading.source, 200, await openAll(barePort, reject), reject)
  const kinds = [
    { kind: reads, everyMs: readEveryMs, dueMs: 0 },
    { kind: creates, everyMs: createEveryMs, dueMs: 0 },
    { kind: bare, everyMs: bareEveryMs, dueMs: 0 },
  ]
  const startMs = machine.monotonicMs()
  const working = (async () => {
    for (;;) {
      const now = machine.monotonicMs() - startMs
      if (now >= ms && kinds.every(({ kind }) => kind.isQuiet)) return
      for (const each of kinds) {
        for (; each.dueMs <= Math.min(now, ms); each.dueMs += each.everyMs) each.kind.add(startMs + each.dueMs)
      }
      await new Promise<void>(resolve => machine.setTimeout(resolve, 1))
    }
  })()
  await Promise.race([working, failure])
  for (const { kind } of kinds) kind.close()
  return { reads: waitsOf(reads.waits), creates: waitsOf(creates.waits), bare: waitsOf(bare.waits) }
}

process.on('message', (order: ProbeOrder) => {
  probe(order).then(
    found => process.send?.(found),
    error => process.send?.({ error: String(error) } satisfies FromProbe),
  )
})
