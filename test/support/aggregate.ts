/** Runs pipelines in this process, over collections that are arrays. */

import { type Document, deserialize, EJSON, serialize } from 'bson'
import type { Origin } from '../../src/document/bson/origin.ts'
import { type BsonArray, BsonDocument, type Value } from '../../src/document/bson/value.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import { compileSort } from '../../src/mql/paths/sort-order.ts'
import { compilePipeline } from '../../src/mql/pipeline/pipeline.ts'
import {
  type ByteStream,
  type Collections,
  type DocumentBatch,
  documentBytes,
  type FindRequest,
  type MergeRequest,
} from '../../src/mql/stages/stage.ts'

export interface AggregateOptions {
  readonly documents?: readonly Document[]
  readonly others?: Readonly<Record<string, readonly Document[]>>
  readonly let?: Document | undefined
  readonly nowMs?: number
  readonly random?: () => number
}

const database = 'test'
const main = 'main'

/** BSON bytes of a driver's document; integers that fit are int32, as drivers write them. */
export function bytesOf(document: Document): Uint8Array {
  return serialize(document, { ignoreUndefined: false })
}

/** A document as text: equal for equal bytes, different for different ones. */
export function shown(bytes: Uint8Array): string {
  return EJSON.stringify(deserialize(bytes, { promoteValues: false, bsonRegExp: true }), { relaxed: false })
}

export function bsonValue(value: unknown): Value {
  return BsonDocument.view(bytesOf({ value })).get('value')!
}

/** Collections by name, with only the part of a store that a pipeline sees. */
const anyOrigin: Origin = { container: 1, sequence: 0, writtenAt: 1, deadline: 0, and: undefined }

export class MemoryCollections implements Collections {
  readonly #byName: Map<string, readonly Uint8Array[]>

  constructor(byName: Readonly<Record<string, readonly Uint8Array[]>>) {
    this.#byName = new Map(Object.entries(byName))
  }

  documents(name: string): readonly Uint8Array[] {
    return this.#byName.get(name) ?? []
  }

  async *find({ collection }: { collection: string }, request: FindRequest): AsyncGenerator<DocumentBatch> {
    const matcher = compileFilter(request.filter, { expression: request.expression })
    let found = this.documents(collection).filter(bytes => matcher.matches(bytes))
    if (request.sort !== undefined) {
      const sort = compileSort(request.sort)
      found = found.toSorted((left, right) => Buffer.compare(sort.keyOf(left), sort.keyOf(right)))
    }
    const end = request.limit === undefined ? undefined : request.skip + request.limit
    // Several batches, so that stages meet batch boundaries.
    const wanted = found.slice(request.skip, end)
    // All documents have origins, as where they can die. Without them, the cases run through the driver.
    const views = wanted.map((bytes, sequence) => BsonDocument.view(bytes, 0, { ...anyOrigin, sequence }))
    for (let at = 0; at < views.length; at += 2) yield views.slice(at, at + 2)
  }

  async replace({ collection }: { collection: string }, documents: ByteStream): Promise<void> {
    const all: Uint8Array[] = []
    for await (const batch of documents) all.push(...batch)
    this.#byName.set(collection, all)
  }

  async merge(request: MergeRequest, documents: ByteStream): Promise<void> {
    const name = request.target.collection
    const sort = compileSort(BsonDocument.of(request.on.map(path => [path, bsonValue(1)])))
    const keyOf = (bytes: Uint8Array) => Buffer.from(sort.keyOf(bytes)).toString('hex')
    for await (const batch of documents) {
      for (const incoming of batch) {
        const existing = [...this.documents(name)]
        const at = existing.findIndex(bytes => keyOf(bytes) === keyOf(incoming))
        if (at === -1) {
          if (request.whenNotMatched === 'fail') throw new Error('no matching document')
          if (request.whenNotMatched === 'insert') existing.push(incoming)
        } else {
          if (request.whenMatched === 'fail') throw new Error('duplicate key')
          if (request.whenMatched === 'update') existing[at] = request.update(existing[at]!, incoming)
        }
        this.#byName.set(name, existing)
      }
    }
  }
}

export interface Aggregated {
  readonly results: readonly Uint8Array[]
  readonly collections: MemoryCollections
}

export async function aggregate(stages: readonly Document[], options: AggregateOptions = {}): Promise<Aggregated> {
  const others = Object.entries(options.others ?? {}).map(([name, documents]) => [name, documents.map(bytesOf)])
  return aggregateBytes(bsonValue(stages) as BsonArray, {
    ...options,
    documents: (options.documents ?? []).map(bytesOf),
    others: Object.fromEntries(others),
    let: options.let === undefined ? undefined : BsonDocument.view(bytesOf(options.let)),
  })
}

export interface BytesOptions {
  readonly documents: readonly Uint8Array[]
  readonly others?: Readonly<Record<string, readonly Uint8Array[]>>
  readonly let?: BsonDocument | undefined
  readonly nowMs?: number
  readonly random?: () => number
}

export async function aggregateBytes(stages: BsonArray, options: BytesOptions): Promise<Aggregated> {
  const collections = new MemoryCollections({ ...options.others, [main]: options.documents })
  const namespace = { database, collection: main }
  const pipeline = compilePipeline(stages, {
    namespace,
    constants: { now: BigInt(options.nowMs ?? 0), random: options.random ?? Math.random },
    let: options.let,
  })
  const { source } = pipeline
  const input = source.kind === 'collection' ? collections.find(namespace, source.find) : nothing()
  const results: Uint8Array[] = []
  for await (const batch of pipeline.run(input, collections)) results.push(...batch.map(documentBytes))
  return { results, collections }
}

async function* nothing(): AsyncGenerator<DocumentBatch> {}
