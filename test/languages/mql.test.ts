/** The find language by cases (test/support/mql-cases.ts): filters, sort orders and projections. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bsonType } from '../../src/document/bson/types.ts'
import { BsonDocument } from '../../src/document/bson/value.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { MongoError } from '../../src/mql/errors/mongo-error.ts'
import { printDocument } from '../../src/mql/errors/print.ts'
import { VariableScope } from '../../src/mql/expressions/core/scope.ts'
import { expressionTest, expressionValue } from '../../src/mql/expressions/expression.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import { compileSort } from '../../src/mql/paths/sort-order.ts'
import { findProgram } from '../../src/mql/program.ts'
import { compileProjection } from '../../src/mql/projection/projection.ts'
import { type FindCase, operatorsIn, readFindCases } from '../support/mql-cases.ts'

const scope = VariableScope.outermost({ now: 1_700_000_000_000n, random: () => 0.5 })
const options = { expression: expressionTest(scope), compute: expressionValue(scope) }

/** Encodes a document and views its bytes, as for one that a client sent. */
function received(document: BsonDocument): BsonDocument {
  return BsonDocument.view(encodeDocument(document))
}

function run({ filter, sort, projection, skip, limit }: FindCase, documents: readonly Uint8Array[]): Uint8Array[] {
  const program = findProgram({
    matcher: compileFilter(received(filter), options, { isWholeDocument: true, allowsNear: true }),
    sort: sort && compileSort(received(sort)),
    projection: projection && compileProjection(received(projection), options),
    ...(skip !== undefined && { skip }),
    ...(limit !== undefined && { limit }),
  })
  const rows: { row: Uint8Array; sortKey: Uint8Array | undefined }[] = []
  for (const [at, document] of documents.entries()) {
    program.accept({ sequence: at + 1, document }, (row, sortKey) => rows.push({ row: row as Uint8Array, sortKey }) > 0)
  }
  if (program.order === 'sortKey') rows.sort((a, b) => Buffer.compare(a.sortKey!, b.sortKey!))
  return rows.slice(program.first, program.end).map(({ row }) => row)
}

function idOf(document: Uint8Array): number {
  const id = BsonDocument.view(document).get('_id')
  assert.ok(id?.type === bsonType.int32)
  return id.value
}

function check(findCase: FindCase, documents: readonly Uint8Array[]): void {
  const { finds, gives, error, isOrdered } = findCase
  if (error !== undefined) {
    assert.throws(
      () => run(findCase, documents),
      (thrown: unknown) => {
        assert.ok(thrown instanceof MongoError, String(thrown))
        assert.equal(thrown.code, error.code, thrown.message)
        if (error.message !== undefined) assert.equal(thrown.message, error.message)
        return true
      },
    )
    return
  }
  const rows = run(findCase, documents)
  if (gives !== undefined) {
    const show = (each: Uint8Array) => printDocument(BsonDocument.view(each))
    assert.deepEqual(rows.map(show), gives.map(show))
    assert.deepEqual(
      rows.map(row => Buffer.from(row)),
      gives.map(each => Buffer.from(each)),
    )
  }
  if (finds !== undefined) {
    const ids = rows.map(idOf)
    const ascending = (list: readonly number[]) => list.toSorted((a, b) => a - b)
    assert.deepEqual(isOrdered ? ids : ascending(ids), isOrdered ? finds : ascending(finds))
  }
}

const families = readFindCases()

for (const { file, documents, cases } of families) {
  describe(file, () => {
    for (const findCase of cases) test(findCase.name, () => check(findCase, documents))
  })
}

const operators = [
  ...['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$and', '$or', '$nor', '$not', '$exists', '$type'],
  ...['$mod', '$regex', '$options', '$expr', '$comment', '$all', '$elemMatch', '$size', '$slice'],
  ...['$bitsAllSet', '$bitsAllClear', '$bitsAnySet', '$bitsAnyClear'],
  ...['$geoWithin', '$geoIntersects', '$near', '$nearSphere', '$geometry', '$maxDistance'],
]

test('every operator has at least three cases', () => {
  const counts = new Map(operators.map(name => [name, 0]))
  for (const { cases } of families) {
    for (const { filter, projection } of cases) {
      const used = new Set([...operatorsIn(filter), ...(projection === undefined ? [] : operatorsIn(projection))])
      for (const name of used) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
  }
  assert.deepEqual(
    operators.filter(name => counts.get(name)! < 3),
    [],
  )
})
