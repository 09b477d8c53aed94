/** The words of the two APIs: items live in containers, documents in collections. */

import type { Api, Container, Throughput } from '../api/shapes.ts'
import { count } from '../text/number-text.ts'
import { spanText } from '../time/time-text.ts'

const one: Readonly<Record<Api, string>> = { nosql: 'item', mongo: 'document' }
const many: Readonly<Record<Api, string>> = { nosql: 'items', mongo: 'documents' }
const place: Readonly<Record<Api, string>> = { nosql: 'container', mongo: 'collection' }

export const itemWord = (api: Api) => one[api]
export const itemsWord = (api: Api) => many[api]
export const placeWord = (api: Api) => place[api]

/** `1 item`, `18,204 documents`. */
export function countedItems(n: number, api: Api): string {
  return `${count(n)} ${n === 1 ? one[api] : many[api]}`
}

/** `400 RU/s`, `autoscale to 4,000 RU/s`, `shared RU/s`. */
export function throughputText(throughput: Throughput): string {
  if (!throughput) return 'shared RU/s'
  return throughput.kind === 'manual'
    ? `${count(throughput.ruPerSecond)} RU/s`
    : `autoscale to ${count(throughput.maxRuPerSecond)} RU/s`
}

/** `/userId`, `/tenant, /user`; for Mongo the shard key, or `unsharded`. */
export function partitionKeyText({ api, partitionKey }: Pick<Container, 'api' | 'partitionKey'>): string {
  if (partitionKey.length > 0) return partitionKey.join(', ')
  return api === 'mongo' ? 'unsharded' : 'no partition key'
}

/** `On, 1 h`, `On (no default)`, `Off`, `date index`. */
export function ttlText(ttl: Container['ttl']): string {
  if (ttl.kind === 'on') return `On, ${spanText(ttl.seconds)}`
  return { off: 'Off', 'no default': 'On (no default)', date: 'date index' }[ttl.kind]
}
