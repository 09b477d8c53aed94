/**
 * The load generator: a separate process. It receives orders over IPC and answers with the results.
 *
 * Requests are built before the measured time starts, because signing costs the client more than sending.
 */

import { machine } from '../src/base/clock.ts'
import { Connection } from './connection.ts'
import { HttpFraming } from './http.ts'
import { type MongoRequests, mongoSource } from './mongo-requests.ts'
import { logIn, MongoFraming } from './mongo-wire.ts'
import { createSource, querySource, type RequestSource, readSource } from './requests.ts'

interface Repeated {
  readonly kind: 'read' | 'query'
  readonly container: string
  readonly items: number
}

type HttpRequests =
  | Repeated
  | { readonly kind: 'create'; readonly container: string; readonly firstItem: number; readonly bytes: number }

/** The expected answer. */
type Answers =
  | { readonly status: number }
  /** For the Mongo protocol. Without a password there is no login. */
  | { readonly replyBytes: number; readonly needsLogin: boolean }

export interface LoadOrder {
  readonly port: number
  readonly connections: number
  readonly requests: HttpRequests | MongoRequests
  readonly answers: Answers
  /** The run ends with the first limit that is reached. */
  readonly atMost: { readonly ms?: number; readonly count?: number }
}

export interface LoadResult {
  readonly completed: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
}

export type ToLoad = { readonly prepare: LoadOrder } | { readonly run: true }
export type FromLoad = { readonly prepared: true } | { readonly result: LoadResult } | { readonly error: string }

const BUCKET_MS = 0.01
const BUCKETS = 200_000

let prepared: { order: LoadOrder; source: RequestSource; connections: Connection<unknown>[] } | undefined
let failed: (error: Error) => void = () => {}
/** Read requests are built once and used again by later orders for the same reads. */
const rounds = new Map<string, { source: RequestSource; builtAtMs: number }>()
const SIGNATURE_LIFE_MS = 600_000

function sourceFor({ requests }: LoadOrder): RequestSource {
  if (requests.kind === 'create') return createSource(requests.container, requests.firstItem, requests.bytes)
  if (requests.kind === 'mongo-insert') return mongoSource(requests)
  const key = JSON.stringify(requests)
  let round = rounds.get(key)
  if (round === undefined || machine.epochMs() - round.builtAtMs > SIGNATURE_LIFE_MS) {
    const source = repeatedSource(requests)
    round = { source, builtAtMs: machine.epochMs() }
    rounds.set(key, round)
  }
  return round.source
}

/** What can be asked again and again. */
function repeatedSource(requests: Repeated | MongoRequests): RequestSource {
  if (!('container' in requests)) return mongoSource(requests)
  const { kind, container, items } = requests
  return kind === 'read' ? readSource(container, items) : querySource(container, items)
}

async function openConnection({ port, answers }: LoadOrder): Promise<Connection<unknown>> {
  const report = (error: Error) => failed(error)
  if ('status' in answers) return Connection.open(port, new HttpFraming(answers.status), report)
  const connection = await Connection.open(port, new MongoFraming(answers.replyBytes), report)
  if (answers.needsLogin) await logIn(connection)
  return connection
}

async function prepare(order: LoadOrder): Promise<void> {
  const source = sourceFor(order)
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failed = reject
  const opening = Promise.all(Array.from({ length: order.connections }, () => openConnection(order)))
  prepared = { order, source, connections: await Promise.race([opening, failure]) }
}

async function run(): Promise<LoadResult> {
  if (prepared === undefined) throw new Error('Nothing is prepared.')
  const { order, source, connections } = prepared
  prepared = undefined
  const { ms = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY } = order.atMost
  const histogram = new Uint32Array(BUCKETS)
  let sent = 0
  let completed = 0
  let open = connections.length
  const startMs = machine.monotonicMs()
  let endMs = startMs
  await new Promise<void>((resolve, reject) => {
    failed = reject
    for (const [index, connection] of connections.entries()) {
      let sentMs = startMs
      const send = () => {
        if (sent >= count || sentMs - startMs >= ms) {
          if (--open === 0) resolve()
          return
        }
        sent++
        connection.exchange(source(index), received)
      }
      const received = () => {
        endMs = machine.monotonicMs()
        completed++
        histogram[Math.min(BUCKETS - 1, Math.floor((endMs - sentMs) / BUCKET_MS))]!++
        sentMs = endMs
        send()
      }
      send()
    }
  }).finally(() => {
    for (const connection of connections) connection.close()
  })
  return {
    completed,
    elapsedMs: endMs - startMs,
    p50Ms: percentile(histogram, completed, 0.5),
    p99Ms: percentile(histogram, completed, 0.99),
    p999Ms: percentile(histogram, completed, 0.999),
    maxMs: percentile(histogram, completed, 1),
  }
}

function percentile(histogram: Uint32Array, total: number, share: number): number {
  let seen = 0
  const bucket = histogram.findIndex(count => {
    seen += count
    return seen >= total * share
  })
  return bucket * BUCKET_MS
}

async function answer(message: ToLoad): Promise<FromLoad> {
  try {
    if ('run' in message) return { result: await run() }
    await prepare(message.prepare)
    return { prepared: true }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

process.on('message', (message: ToLoad) => void answer(message).then(reply => process.send?.(reply)))
