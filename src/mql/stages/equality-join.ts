/**
 * `$lookup` by equality only, for many documents at once. One search finds the matches of a whole chunk; then
 * each document gets the matches that share one of its values.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, type BsonDocument, nullValue, type Value, valueAt } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { indexBoundsMax } from '../../query/demands.ts'
import { valueIdentity } from '../expressions/values/value-identity.ts'
import { documentTest, type ElementTest, pathTest } from '../paths/stored-path.ts'
import { joinFilter, joinValues } from './join-filter.ts'
import { aggregationMemoryBytesMax } from './memory.ts'
import type { Run, Stream } from './stage.ts'

export interface EqualityJoin {
  readonly local: readonly string[]
  readonly foreign: string
  /** Searches the foreign collection. */
  readonly find: (filter: BsonDocument, run: Run) => Stream
  readonly refuseSize: () => Error
  readonly collation: Collation | undefined
}

const identityOfNull = 'null'

/** Filters treat null, undefined and missing as equal. */
function joinIdentity(value: Value, collation: Collation | undefined): string {
  const isNull = value.type === bsonType.null || value.type === bsonType.undefined
  return isNull ? identityOfNull : valueIdentity(value, collation)
}

/** The identities of all values that a filter on the path would compare with. */
function identitiesFinder(
  path: string,
  collation: Collation | undefined,
): (document: Uint8Array) => ReadonlySet<string> {
  let found = new Set<string>()
  const look: ElementTest = (bytes, type, start) => {
    found.add(type === 0 ? identityOfNull : joinIdentity(valueAt(bytes, type, start), collation))
    return false
  }
  const test = documentTest(pathTest(path, look, { entersLastArray: true }))
  return document => {
    found = new Set()
    test(document, 0, undefined)
    return found
  }
}

interface Local {
  readonly document: BsonDocument
  /** Values by identity. */
  readonly values: ReadonlyMap<string, Value>
}

/** Splits the documents into chunks whose values are few enough for an index lookup. */
function* chunks(documents: readonly BsonDocument[], { local, collation }: EqualityJoin): Generator<readonly Local[]> {
  let chunk: Local[] = []
  const wanted = new Set<string>()
  for (const document of documents) {
    const values = joinValues(document, local)
    const byIdentity = new Map(
      (values.length === 0 ? [nullValue] : values).map(value => [joinIdentity(value, collation), value]),
    )
    const added = [...byIdentity.keys()].filter(identity => !wanted.has(identity)).length
    if (chunk.length > 0 && wanted.size + added > indexBoundsMax) {
      yield chunk
      chunk = []
      wanted.clear()
    }
    for (const identity of byIdentity.keys()) wanted.add(identity)
    chunk.push({ document, values: byIdentity })
  }
  if (chunk.length > 0) yield chunk
}

export type Joined = readonly [document: BsonDocument, found: BsonArray]

export function equalityJoiner(
  join: EqualityJoin,
): (batch: readonly BsonDocument[], run: Run) => AsyncGenerator<Joined> {
  const identitiesOf = identitiesFinder(join.foreign, join.collation)

  /** Undefined when all matches together would be too large. */
  async function findFor(chunk: readonly Local[], run: Run): Promise<readonly Joined[] | undefined> {
    const values = new Map(chunk.flatMap(local => [...local.values]))
    const found: BsonDocument[] = []
    const holders = new Map<string, number[]>()
    let bytes = 0
    for await (const batch of join.find(joinFilter(join.foreign, [...values.values()]), run)) {
      for (const document of batch) {
        const { raw } = document
        bytes += raw!.end - raw!.start
        if (bytes > aggregationMemoryBytesMax) return undefined
        for (const identity of identitiesOf(raw!.bytes)) {
          if (!values.has(identity)) continue
          const holding = holders.get(identity)
          if (holding === undefined) holders.set(identity, [found.length])
          else holding.push(found.length)
        }
        found.push(document)
      }
    }
    return chunk.map(({ document, values: own }) => {
      const indexes = [...own.keys()].flatMap(identity => holders.get(identity) ?? [])
      const inOrder = own.size === 1 ? indexes : [...new Set(indexes)].sort((left, right) => left - right)
      return [document, BsonArray.of(inOrder.map(index => found[index]!))]
    })
  }

  return async function* joined(batch, run) {
    for (const chunk of chunks(batch, join)) {
      const together = await findFor(chunk, run)
      if (together !== undefined) {
        yield* together
        continue
      }
      for (const local of chunk) yield* (await findFor([local], run)) ?? throwing(join.refuseSize())
    }
  }
}

function throwing(error: Error): never {
  throw error
}
