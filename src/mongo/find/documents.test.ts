/** Tests of a batch that is put together of several pages. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KiB, MiB } from '../../base/limits.ts'
import { holding, MemoryAccount } from '../../base/memory-account.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import type { QueryResult } from '../../engine/engine.ts'
import { compileFilter } from '../../mql/filter/match.ts'
import type { Collection } from '../collections/collections.ts'
import type { CommandCall } from '../service/command.ts'
import { documentSource } from './documents.ts'

const collection = {
  indexes: [],
  dateRules: [],
  definition: {},
  container: { number: 1, indexes: [] },
} as unknown as Collection
const matcher = compileFilter(BsonDocument.of([]))

/** A page of one document of 100 KB. The second one is the last. */
function page(number: number): QueryResult {
  const piece = new Uint8Array(100 * KiB)
  const statistics = { itemsRead: 1, bytesRead: piece.length, rowsOut: 1, bytesOut: piece.length, elapsedMs: 0 }
  const next = number === 2 ? undefined : { passed: 1 }
  return { rows: [piece], piece, next, version: 0, statistics, chargeRu: 1 } as unknown as QueryResult
}

test('what waits for the next page of its batch is counted, and its memory goes with the batch', async () => {
  const account = new MemoryAccount(10 * MiB)
  const heldBytes: number[] = []
  let pages = 0
  const engine = {
    queryPage: async () => {
      heldBytes.push(account.heldBytes)
      return page(++pages)
    },
  }
  const operation = { check: () => {}, signal: undefined }
  const call = { service: { engine }, operation, chargeRu: 0, documentsRead: 0 } as unknown as CommandCall
  const source = documentSource(call, collection, { matcher })
  const request = { documentsMax: 1000, bytesMax: MiB, by: call, waitMs: undefined }
  const batch = await holding(account.share().hold('cursors'), () => source.next(request))
  assert.deepEqual(heldBytes, [0, 112 * KiB])
  assert.equal(batch.documents.length, 2)
  assert.deepEqual(batch.pieces, batch.documents)
  assert.equal(batch.isEnd, true)
  assert.equal(account.heldBytes, 0, 'the answer is counted from here on')
})
