/** The data that hostile works read: a large list, large texts, many numbers, polygons, many small items. */

import { MiB } from '../../src/base/limits.ts'

export const CONTAINER = 'works'
/** With an index, which small partitions do not need. */
export const INDEXED = 'indexed'
/** Another database, because a container belongs to one API. */
export const MONGO_DATABASE = 'hostile'
export const SMALL_ITEMS = 20_000
export const LIST = 999
const NUMBERS = 200_000
const CORNERS = 20_000

export interface NamedItem {
  readonly id: string
  readonly pk: string
  readonly [name: string]: unknown
}

const range = (length: number) => Array.from({ length }, (_, n) => n)

/** A polygon around a point, with many corners and none of them on a line. */
function polygon(longitude: number): object {
  const ring = range(CORNERS).map(n => {
    const angle = (2 * Math.PI * n) / CORNERS
    const radius = 10 + (n % 7) / 10
    return [longitude + radius * Math.cos(angle), radius * Math.sin(angle)]
  })
  return { type: 'Polygon', coordinates: [[...ring, ring[0]]] }
}

export const largeItems: readonly NamedItem[] = [
  { id: 'list', pk: 'list', list: range(LIST), more: range(LIST), others: range(LIST) },
  { id: 'text', pk: 'text', text: 'ab'.repeat(1024 * 1024 - 500), tail: 'c' },
  { id: 'same', pk: 'same', text: 'a'.repeat(MiB) },
  { id: 'numbers', pk: 'numbers', numbers: range(NUMBERS) },
  { id: 'polygon', pk: 'polygon', one: polygon(0), other: polygon(1) },
]

export function smallItem(n: number): NamedItem {
  const scattered = (Math.imul(n + 1, 2_654_435_761) >>> 0) % 1_000_003
  return { id: `small-${n}`, pk: 'many', n, k: n % 1000, s: `text-${scattered}`, next: (n + 1) % SMALL_ITEMS }
}

/** User-defined functions, procedures and triggers by name. */
export const scripts = {
  udfs: {
    forever: '() => { for (;;); }',
    slow: '() => { let n = 0; for (let i = 0; i < 1e5; i++) n += i; return n }',
  },
  sprocs: {
    loop: '() => { for (;;); }',
    promises: '() => { const job = () => { Promise.resolve().then(job) }; job() }',
    builtins: '() => { const a = new Array(1e6).fill(0); for (;;) a.indexOf(1) }',
    queries: `() => {
      const next = () => __.queryDocuments(__.getSelfLink(), "SELECT * FROM c WHERE c.n = 0.5", next)
      next()
    }`,
    joins: `() => {
      __.upsertDocument(__.getSelfLink(), { id: "written", pk: "list" })
      const pairs = "FROM c JOIN x IN c.list JOIN y IN c.list"
      __.queryDocuments(__.getSelfLink(), "SELECT DISTINCT VALUE x * 1000 + y " + pairs)
    }`,
    expressions: `() => {
      __.upsertDocument(__.getSelfLink(), { id: "written", pk: "text" })
      const found = 'SELECT VALUE ARRAY_LENGTH(REGEXEXTRACTALL(c.text, "(a|b)*?c|a")) FROM c'
      __.queryDocuments(__.getSelfLink(), found)
    }`,
    functions: `() => {
      __.queryDocuments(__.getSelfLink(), "SELECT VALUE COUNT(1) FROM c WHERE udf.slow(c.n) = 1")
    }`,
    writes: `() => {
      for (let i = 0; i < 2000; i++) __.upsertDocument(__.getSelfLink(), { id: "w" + i, pk: "many" })
    }`,
  },
  triggers: { spin: '() => { for (;;); }' },
} as const
