/**
 * The way into this edge for the explorer, in the same process: the same handlers, checks and texts as over
 * the network, but without a signature. The holder of the door must check who asks.
 */

import { Caller } from '../base/caller.ts'
import { andThen } from '../base/maybe-promise.ts'
import { documentOf } from '../document/body.ts'
import type { QueriedPage, QueryPageRequest } from '../engine/query.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { StoredItem } from '../store/item.ts'
import { parsePartitionKeyPolicy } from './definitions/partition-key-policy.ts'
import { parseUniqueKeyPolicy } from './definitions/unique-key-policy.ts'
import type { DirectQuery, planDirectly } from './handlers/query.ts'
import type { NosqlRequest, Service } from './http/request.ts'
import { findHandler } from './routes.ts'

export interface NosqlQuestion {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Names, decoded: `['dbs', 'shop', 'colls', 'carts']`. */
  readonly path: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Aborted when nobody waits for the answer. */
  readonly gone?: AbortSignal
}

export interface NosqlReply {
  readonly status: number
  readonly body: string
  readonly chargeRu: number
  /** By name. */
  readonly headers: ReadonlyMap<string, string>
}

export interface NosqlDoor {
  /** Refuses what this field of a container's definition cannot hold. */
  checkField(name: 'partitionKey' | 'uniqueKeyPolicy', value: unknown): Promise<void>
  /** Fails as the handlers fail: with a `MayflyError`. */
  ask(question: NosqlQuestion): Promise<NosqlReply>
  query(
    container: ContainerRecord,
    query: DirectQuery,
    page: QueryPageRequest,
  ): Promise<QueriedPage & { readonly chargeRu: number }>
  /** The plan that SDKs are given. */
  plan(container: ContainerRecord, query: DirectQuery): Promise<Awaited<ReturnType<typeof planDirectly>>>
  /** Calls `use` with a test for items: whether `SELECT * FROM c <clause>` has them in its result. */
  withFilter<T>(
    container: ContainerRecord,
    clause: string,
    use: (accepts: (item: StoredItem) => boolean) => Promise<T>,
  ): Promise<T>
}

/** The version of the API that today's SDKs send. */
const apiVersion = '2020-07-15'

const queries = () => import('./handlers/query.ts')

export function nosqlDoor(service: Service): NosqlDoor {
  return {
    checkField: async (name, value) => {
      if (name === 'partitionKey') parsePartitionKeyPolicy(value, apiVersion)
      else parseUniqueKeyPolicy(value)
    },
    ask: async ({ method, path, headers = {}, body = '', gone }) => {
      const caller = new Caller()
      if (gone?.aborted === true) caller.leave()
      gone?.addEventListener('abort', () => caller.leave(), { once: true })
      const request: NosqlRequest = {
        service,
        headers: { 'x-ms-version': apiVersion, ...headers },
        origin: '',
        caller,
        path,
        body: Buffer.from(body),
      }
      const {
        status,
        body: answered = '',
        chargeRu,
        headers: lines = '',
      } = await andThen(findHandler(method, path)(request), response => response)
      return { status, body: answered.toString(), chargeRu, headers: namesAndValues(lines) }
    },
    query: async (container, query, page) => (await queries()).queryDirectly(service, container, query, page),
    plan: async (container, query) => (await queries()).planDirectly(service.engine, container, query),
    withFilter: async (container, clause, use) =>
      (await queries()).withItemFilter(service, container, clause, accepts =>
        use(({ sequence, body }) => accepts({ sequence, document: documentOf(body) })),
      ),
  }
}

function namesAndValues(lines: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(': ')
    if (colon > 0) found.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 2))
  }
  return found
}
