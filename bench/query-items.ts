/** Items for query benchmarks, and queries over them as signed requests. */

import { machine } from '../src/base/clock.ts'
import { type Answer, type HttpConnection, openHttp } from './http.ts'
import { DATABASE, signedRequest } from './requests.ts'

const CONNECTIONS = 32

export interface QueryItem {
  readonly id: string
  readonly pk: string
  readonly [name: string]: unknown
}

/** Ten items share a group; prices are scattered; the text makes an item of about 200 bytes. */
export function queryItem(item: number, partitions: number): QueryItem {
  return {
    id: `q${item}`,
    pk: `p${item % partitions}`,
    group: Math.floor(item / 10),
    price: (Math.imul(item, 2_654_435_761) >>> 0) / 100,
    text: 'x'.repeat(100),
  }
}

export function itemRequest(container: string, item: QueryItem, isUpsert = false): Buffer {
  return signedRequest({
    method: 'POST',
    path: `/dbs/${DATABASE}/colls/${container}/docs`,
    headers: {
      'x-ms-documentdb-partitionkey': JSON.stringify([item.pk]),
      ...(isUpsert && { 'x-ms-documentdb-is-upsert': 'True' }),
    },
    body: JSON.stringify(item),
  })
}

/** A query for one partition key, or for the only physical partition. */
export function queryRequest(container: string, query: string, partitionKey?: string): Buffer {
  return signedRequest({
    method: 'POST',
    path: `/dbs/${DATABASE}/colls/${container}/docs`,
    headers: {
      'x-ms-documentdb-isquery': 'True',
      // The SDK sends this in every request.
      'x-ms-documentdb-query-enablecrosspartition': 'True',
      ...(partitionKey === undefined
        ? { 'x-ms-documentdb-partitionkeyrangeid': '0' }
        : { 'x-ms-documentdb-partitionkey': JSON.stringify([partitionKey]) }),
    },
    body: JSON.stringify({ query, parameters: [] }),
  })
}

/** A few connections that send one request and wait, for everything except the measured load. */
export class Clients implements Disposable {
  readonly #connections: readonly HttpConnection[]
  readonly #failure: Promise<never>

  private constructor(connections: readonly HttpConnection[], failure: Promise<never>) {
    this.#connections = connections
    this.#failure = failure
  }

  static async open(port: number): Promise<Clients> {
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => openHttp(port, reject)))
    return new Clients(connections, promise)
  }

  async ask(request: Buffer, status: number): Promise<Answer> {
    const answer = await Promise.race([this.#connections[0]!.ask(request), this.#failure])
    if (answer.status !== status) throw new Error(`Answered ${answer.status}: ${answer.body.slice(0, 300)}`)
    return answer
  }

  /** The milliseconds of each of `count` requests, one after the other. */
  async time(count: number, requestOf: (n: number) => Buffer, status = 200): Promise<number[]> {
    const times: number[] = []
    for (let n = 0; n < count; n++) {
      const request = requestOf(n)
      const startMs = machine.monotonicMs()
      await this.ask(request, status)
      times.push(machine.monotonicMs() - startMs)
    }
    return times
  }

  /** Sends requests 0 to `count` - 1 over all connections; returns the rate per second. */
  async storm(count: number, requestOf: (n: number) => Buffer, status: number): Promise<number> {
    let next = 0
    const startMs = machine.monotonicMs()
    await Promise.all(
      this.#connections.map(async connection => {
        while (next < count) {
          const answer = await Promise.race([connection.ask(requestOf(next++)), this.#failure])
          if (answer.status !== status) throw new Error(`Answered ${answer.status}: ${answer.body.slice(0, 300)}`)
        }
      }),
    )
    return (count / (machine.monotonicMs() - startMs)) * 1000
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection.close()
  }
}
