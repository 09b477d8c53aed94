/**
 * The items and documents whose number grows. A partition has 20 items and a group 10 at every size, so the
 * answers of the same query are of the same length.
 */

import { DOCUMENT_BYTES, DocumentStamp } from '../mongo-documents.ts'

export const CONTAINER = 'items'
export const COLLECTION = 'documents'

const itemBytes = 1000
const partitionItems = 20
/** The ten items of a group lie a hundred items apart, in a stretch of a thousand. */
const groupStride = 100
const groupStretch = 1000

export function idOf(n: number): string {
  return `item-${String(n).padStart(10, '0')}`
}

export function partitionOf(n: number): string {
  return `pk-${String(Math.floor(n / partitionItems)).padStart(9, '0')}`
}

export function groupOf(n: number): number {
  return Math.floor(n / groupStretch) * groupStride + (n % groupStride)
}

const detail = {
  kind: 'page.viewed',
  ok: true,
  user: { name: 'Ada Lovelace', plan: 'team', seats: 12 },
  price: 19.99,
  currency: 'EUR',
  tags: ['alpha', 'beta', 'gamma'],
  address: { street: '12 Rue Cler', city: 'Paris', zip: '75007', geo: { lat: 48.857, lon: 2.306 } },
  device: { os: 'linux', agent: 'Mozilla/5.0 (X11; Linux x86_64)', width: 2560, height: 1440 },
  session: '7f9c24e8-3b12-4fef-91d0-1c2d3e4f5a6b',
}
const rest = `${JSON.stringify(detail).slice(1, -1)}`

/** About 1 KB of JSON. New items of a measurement share the partition and the group of another. */
export function itemText(n: number, like = n, more = ''): string {
  const head = `{"id":"${idOf(n)}","pk":"${partitionOf(like)}","group":${groupOf(like)},${more}${rest}`
  return `${head},"text":"${'x'.repeat(Math.max(0, itemBytes - head.length - 11))}"}`
}

/** Makes documents of 860 bytes. */
export const documents = new DocumentStamp(DOCUMENT_BYTES, groupOf)

/** A whole number below `range`, the same for the same `n`, that looks like chance. */
export function scattered(n: number, range: number): number {
  let mixed = Math.imul(n ^ 0x9e3779b9, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) % range
}
