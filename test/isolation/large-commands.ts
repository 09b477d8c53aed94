/** Commands of MongoDB's API with very many parts, which take long to read, to parse or to answer. */

import { type Document, serialize } from 'bson'

export interface LargeCommand {
  readonly command: Document
  /** Documents that are sent as a sequence of that name. */
  readonly sequence?: readonly [string, readonly Document[]]
  /** Whether it is sent as OP_COMPRESSED. */
  readonly isCompressed?: true
}

const times = (count: number) => Array.from({ length: count }, (_, n) => n)
const fields = (count: number, value: (n: number) => unknown = n => n) =>
  Object.fromEntries(times(count).map(n => [`f${n}`, value(n)]))

function schema(depth: number): Document {
  if (depth === 0) return { properties: { s: { pattern: '^(t|e)+.*5$' } } }
  return {
    anyOf: [{ allOf: [schema(depth - 1), schema(depth - 1), { required: ['none'] }] }, { not: schema(depth - 1) }],
  }
}

const find = (filter: Document, more: Document = {}) => ({ command: { find: 'items', filter, ...more } })

export const largeCommands: Readonly<Record<string, () => LargeCommand>> = {
  'a filter of 100,000 fields': () => find(fields(100_000)),
  'a filter of 15,000 fields': () => find(fields(15_000)),
  '$in with 140,000 values': () => find({ s: { $in: times(140_000).map(n => `none-${n}`) } }),
  '$in with 50,000 documents': () => find({ s: { $in: times(50_000).map(n => ({ a: n, b: [n] })) } }),
  'a field that equals 10 MB': () => find({ s: fields(600_000) }),
  '$or with 18,000 alternatives': () => find({ $or: times(18_000).map(n => ({ [`f${n}`]: n })) }),
  '$jsonSchema with nested alternatives': () => find({ $jsonSchema: schema(7) }),
  '$jsonSchema that requires 100,000 names': () =>
    find({ $jsonSchema: { required: times(100_000).map(n => `f${n}`) } }),
  '$jsonSchema that lists 20,000 documents': () =>
    find({ $jsonSchema: { properties: { a: { enum: times(20_000).map(n => fields(20, m => n + m)) } } } }),
  'an explained filter of 100,000 fields': () => ({ command: { explain: find(fields(100_000)).command } }),
  'a distinct with a filter of 100,000 fields': () => ({
    command: { distinct: 'items', key: 's', query: fields(100_000) },
  }),
  'an update with a filter of 100,000 fields': () => ({
    command: { update: 'items', updates: [{ q: fields(100_000), u: { $set: { x: 1 } } }] },
  }),
  'an update that sets 50,000 fields': () => ({
    command: { update: 'items', updates: [{ q: { _id: 1 }, u: { $set: fields(50_000) } }] },
  }),
  'an upsert that sets 120,000 fields': () => ({
    command: { update: 'items', updates: [{ q: { _id: 2 }, u: { $set: fields(120_000) }, upsert: true }] },
  }),
  'an update with array filters of 100,000 values': () => ({
    command: {
      update: 'items',
      updates: [{ q: { _id: 1 }, u: { $set: { 'a.$[x]': 5 } }, arrayFilters: [{ x: { $in: times(100_000) } }] }],
    },
  }),
  'a replacement of 2 MB': () => ({
    command: { update: 'items', updates: [{ q: { _id: 3 }, u: { s: 'x'.repeat(1_900_000) }, upsert: true }] },
  }),
  'a compressed insert of 40 MB': () => ({
    command: { insert: 'inserted', ordered: false },
    sequence: ['documents', times(40).map(() => ({ text: 'x'.repeat(1_000_000) }))],
    isCompressed: true,
  }),
  'a new document of 120,000 fields': () => ({
    command: { insert: 'items', documents: [{ ...fields(120_000) }] },
  }),
  'a command of 100,000 unknown fields': () => ({ command: { ping: 1, ...fields(100_000) } }),
  'a comment of 600,000 fields': () => ({ command: { ping: 1, comment: fields(600_000) } }),
  '100,000 new documents': () => ({
    command: { insert: 'inserted', ordered: false },
    sequence: ['documents', times(100_000).map(n => ({ _id: n }))],
  }),
  '100,000 documents that are there': () => ({
    command: { insert: 'inserted', ordered: false },
    sequence: ['documents', times(100_000).map(n => ({ _id: n }))],
  }),
  '100,000 documents that are refused': () => ({
    command: { insert: 'inserted', ordered: false, documents: times(100_000).map(() => ({ _id: [] })) },
  }),
}

export function encodedSequence([name, documents]: NonNullable<LargeCommand['sequence']>) {
  return { name, documents: Buffer.concat(documents.map(each => serialize(each))) }
}
