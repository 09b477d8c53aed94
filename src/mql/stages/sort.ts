/** `$sort`, with a limit if it is known how many documents are needed. */

import { heldHere } from '../../base/memory-account.ts'
import { sortInSteps } from '../../base/steps.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import { compileSort, type Sort } from '../paths/sort-order.ts'
import { aggregationMemoryBytesMax, refuseSortMemory } from './memory.ts'
import {
  type DocumentBatch,
  documentBytes,
  encoded,
  forEachDocument,
  inBatches,
  inSlices,
  type PipelineSlice,
  type Stage,
  type Stream,
} from './stage.ts'

export function sortSpecOf(spec: Value): BsonDocument {
  if (spec.type !== bsonType.document) return refuse(15973, 'the $sort key specification must be an object')
  if (spec.isEmpty) refuse(15976, '$sort stage must have at least one sort key')
  return spec
}

interface SortEntry {
  readonly key: Uint8Array
  readonly document: BsonDocument
  readonly bytes: number
}

/** Overhead of an entry besides the bytes of key and document. */
const entryBytes = 100

/** Keeps the first `limit` documents in sort order. Documents with equal keys keep their order of arrival. */
export class Sorter implements Disposable {
  readonly #limit: number
  /** The lease of the cursor or command that runs the pipeline. */
  readonly #lease = heldHere()
  #entries: SortEntry[] = []
  #bytes = 0
  #cutAt = 1024

  constructor(limit: number) {
    this.#limit = limit
  }

  add(key: Uint8Array, document: BsonDocument): void {
    const bytes = key.length + documentBytes(document).length + entryBytes
    this.#entries.push({ key, document, bytes })
    this.#bytes += bytes
    this.#lease?.add(bytes)
    const isLong = this.#entries.length >= this.#cutAt && this.#entries.length > this.#limit
    if (isLong || this.#bytes > aggregationMemoryBytesMax) this.#cut()
  }

  /** Cutting at twice the limit makes the cost of sorting per document constant. */
  #cut(): void {
    this.#entries = this.#sorted()
    const before = this.#bytes
    this.#bytes = this.#entries.reduce((sum, entry) => sum + entry.bytes, 0)
    this.#lease?.release(before - this.#bytes)
    if (this.#bytes > aggregationMemoryBytesMax) throw refuseSortMemory()
    this.#cutAt = 2 * this.#entries.length + 1024
  }

  #sorted(): SortEntry[] {
    return this.#entries.toSorted(compareEntries).slice(0, this.#limit)
  }

  [Symbol.dispose](): void {
    this.#lease?.release(this.#bytes)
    this.#bytes = 0
  }

  async documents(slice: PipelineSlice): Promise<readonly BsonDocument[]> {
    const sorted = await inSlices(sortInSteps(this.#entries, compareEntries), slice)
    return sorted.slice(0, this.#limit).map(({ document }) => document)
  }
}

function compareEntries(left: SortEntry, right: SortEntry): number {
  return Buffer.compare(left.key, right.key)
}

export async function* sorted(
  input: Stream,
  sort: Sort,
  limit: number,
  slice: PipelineSlice,
): AsyncGenerator<DocumentBatch> {
  using sorter = new Sorter(limit)
  await forEachDocument(input, slice, document => {
    const own = encoded(document)
    sorter.add(sort.keyOf(documentBytes(own)), own)
  })
  yield* inBatches(await sorter.documents(slice), slice)
}

export function sortStage(spec: Value, limit: number | undefined, collation: Collation | undefined): Stage {
  const sort = compileSort(sortSpecOf(spec), collation)
  return {
    name: '$sort',
    run: (input, { slice }) => sorted(input, sort, limit ?? Number.POSITIVE_INFINITY, slice),
  }
}
