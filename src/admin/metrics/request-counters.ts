/** Counts the answers of both protocols, with their charges and times. */

import type { Answered } from '../../base/answered.ts'
import { Latency } from './latency.ts'

export class RequestCounters {
  readonly #requests = new Map<number, number>()
  readonly #mongoCodes = new Map<number, number>()
  readonly #latencies: Readonly<Record<Answered['protocol'], Map<string, Latency>>> = {
    nosql: new Map(),
    mongo: new Map(),
  }
  #chargeRu = 0

  count({ protocol, operation, status, chargeRu, ms }: Answered): void {
    // Every answer of the Mongo protocol counts as 200 here.
    const httpStatus = protocol === 'mongo' ? 200 : status
    this.#requests.set(httpStatus, (this.#requests.get(httpStatus) ?? 0) + 1)
    if (protocol === 'mongo') this.#mongoCodes.set(status, (this.#mongoCodes.get(status) ?? 0) + 1)
    this.#chargeRu += chargeRu
    let latency = this.#latencies[protocol].get(operation)
    if (latency === undefined) {
      latency = new Latency()
      this.#latencies[protocol].set(operation, latency)
    }
    latency.add(ms)
  }

  /** All answers. */
  get answers(): number {
    let answers = 0
    for (const count of this.#requests.values()) answers += count
    return answers
  }

  get chargeRu(): number {
    return this.#chargeRu
  }

  get requests(): ReadonlyMap<number, number> {
    return this.#requests
  }

  /** By error code; 0 is success. */
  get mongoCodes(): ReadonlyMap<number, number> {
    return this.#mongoCodes
  }

  /** By protocol and operation. */
  *latencies(): Iterable<{ readonly labels: Readonly<Record<string, string>>; readonly latency: Latency }> {
    for (const protocol of ['nosql', 'mongo'] as const) {
      for (const [operation, latency] of this.#latencies[protocol]) yield { labels: { protocol, operation }, latency }
    }
  }
}
