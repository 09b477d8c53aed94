/**
 * Runs a pipeline in a thread that holds it for a cursor: documents come from the server, and results go
 * there, batch by batch.
 *
 * A filter with `$expr` may use variables that only the pipeline knows. So the server gets a weaker filter,
 * with a constant in place of each `$expr`. Its documents are filtered again here, and only then sorted and
 * limited.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, bool, type Field, type Value } from '../../document/bson/value.ts'
import { encodedForMessage } from '../../document/bson/writer.ts'
import type { StreamHost, StreamNumber } from '../../query/hosted-stream.ts'
import { compileFilter } from '../filter/match.ts'
import { compileSort } from '../paths/sort-order.ts'
import type { Namespace } from '../stages/namespace.ts'
import { sorted } from '../stages/sort.ts'
import { type Collections, documentBytes, type FindRequest, PipelineSlice, type Stream } from '../stages/stage.ts'
import type { Pipeline } from './pipeline.ts'
import { packDocuments, unpackDocuments } from './row-marks.ts'

export async function runHosted(pipeline: Pipeline, passed: number, host: StreamHost): Promise<void> {
  const input = documentsOf(host, () => 0)
  for await (const batch of pipeline.runTail(input, hostedCollections(host), { passed })) {
    const results = packDocuments(batch)
    if (results !== undefined) await host.give(results)
  }
}

async function* documentsOf(host: StreamHost, open: () => StreamNumber | Promise<StreamNumber>): Stream {
  const number = await open()
  try {
    for (;;) {
      const documents = await host.next(number)
      if (documents === undefined) return
      yield unpackDocuments(documents)
    }
  } finally {
    await host.close(number)
  }
}

function hostedCollections(host: StreamHost): Collections {
  const atServer = () => {
    throw new Error('only the server writes')
  }
  return { find: (namespace, request) => found(host, namespace, request), replace: atServer, merge: atServer }
}

function found(host: StreamHost, { database, collection }: Namespace, request: FindRequest): Stream {
  const { filter, sort, skip, limit, expression, collation } = request
  const find = (asked: BsonDocument, window: Pick<FindRequest, 'sort' | 'skip' | 'limit'>) =>
    documentsOf(host, () =>
      host.open({
        namespace: { database, collection },
        filter: encodedForMessage(asked),
        sort: window.sort && encodedForMessage(window.sort),
        skip: window.skip,
        limit: window.limit,
      }),
    )
  const weaker = withoutExpressions(filter, true)
  if (weaker === filter) return find(filter, { sort, skip, limit })
  const { matches } = compileFilter(filter, { expression, collation }, { isWholeDocument: true, allowsNear: false })
  return windowOf(filtered(find(weaker, { sort: undefined, skip: 0, limit: undefined }), matches), request)
}

async function* filtered(input: Stream, matches: (document: Uint8Array) => boolean): Stream {
  for await (const batch of input) yield batch.filter(document => matches(documentBytes(document)))
}

async function* windowOf(input: Stream, { sort, skip, limit, collation }: FindRequest): Stream {
  const end = limit === undefined ? Number.POSITIVE_INFINITY : skip + limit
  const ordered =
    sort === undefined || sort.isEmpty ? input : sorted(input, compileSort(sort, collation), end, new PipelineSlice())
  let passed = 0
  for await (const batch of ordered) {
    yield batch.slice(Math.max(0, skip - passed), Math.max(0, end - passed))
    passed += batch.length
    if (passed >= end) return
  }
}

/** The same filter, or one that matches more documents: `$expr` becomes `true`, or `false` within `$nor`. */
function withoutExpressions(filter: BsonDocument, weakest: boolean): BsonDocument {
  let isSame = true
  const fields = filter.fields.map(([name, value]): Field => {
    const inner = weakened(name, value, weakest)
    if (inner !== value) isSame = false
    return [name, inner]
  })
  return isSame ? filter : BsonDocument.of(fields)
}

function weakened(name: string, value: Value, weakest: boolean): Value {
  if (name === '$expr') return bool(weakest)
  if (!['$and', '$or', '$nor'].includes(name) || value.type !== bsonType.array) return value
  const inner = name === '$nor' ? !weakest : weakest
  const elements = value.elements.map(each =>
    each.type === bsonType.document ? withoutExpressions(each, inner) : each,
  )
  return elements.every((each, at) => each === value.elements[at]) ? value : BsonArray.of(elements)
}
