/** Laws of the aggregation language over random documents, and its limits. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestError } from '../../src/base/error.ts'
import { compareValues, equalValues } from '../../src/document/bson/compare.ts'
import { bsonType } from '../../src/document/bson/types.ts'
import { BsonArray, BsonDocument, int32, string, type Value } from '../../src/document/bson/value.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { MongoError } from '../../src/mql/errors/mongo-error.ts'
import { operatorFamilies } from '../../src/mql/expressions/operators/table.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import { aggregateBytes, bsonValue, shown } from '../support/aggregate.ts'
import { RandomBson } from '../support/random-bson.ts'

const stagesOf = (...stages: readonly object[]) => bsonValue(stages) as BsonArray

/** Documents with a number, and a value of any type or none. */
function randomDocuments(bson: RandomBson, count: number, value: () => Value): Uint8Array[] {
  return Array.from({ length: count }, (_, index) => {
    const fields: [string, Value][] = [['_id', int32(index)]]
    if (bson.random(8) > 0) fields.push(['k', value()])
    fields.push(['n', bson.number()])
    return encodeDocument(fields)
  })
}

const view = (bytes: Uint8Array) => BsonDocument.view(bytes)
const fieldOf = (bytes: Uint8Array, name: string) => view(bytes).get(name)

async function resultsOf(stages: BsonArray, documents: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  return (await aggregateBytes(stages, { documents })).results
}

test('$group makes the same groups as comparing all values pairwise', async () => {
  const bson = new RandomBson(1)
  for (let round = 0; round < 30; round += 1) {
    const documents = randomDocuments(bson, 60, () => bson.value(1))
    const groups: { id: Value; members: Value[] }[] = []
    for (const document of documents) {
      const id = fieldOf(document, 'k') ?? bsonValue(null)
      const known = groups.find(group => equalValues(group.id, id))
      if (known === undefined) groups.push({ id, members: [fieldOf(document, '_id')!] })
      else known.members.push(fieldOf(document, '_id')!)
    }
    const grouped = await resultsOf(
      stagesOf({ $group: { _id: '$k', members: { $push: '$_id' }, n: { $sum: 1 } } }),
      documents,
    )
    const wanted = groups.map(({ id, members }) =>
      encodeDocument([
        ['_id', id],
        ['members', BsonArray.of(members)],
        ['n', int32(members.length)],
      ]),
    )
    assert.deepEqual(grouped.map(hex), wanted.map(hex))
  }
})

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('$sort is ordered and stable, and with a limit it gives the first results', async () => {
  const bson = new RandomBson(2)
  const scalar = (): Value => {
    const value = bson.value(0)
    return value.type === bsonType.undefined ? int32(0) : value
  }
  for (let round = 0; round < 30; round += 1) {
    const documents = randomDocuments(bson, 80, scalar)
    const direction = bson.oneOf([1, -1])
    const all = await resultsOf(stagesOf({ $addFields: {} }, { $sort: { k: direction } }), documents)
    const key = (bytes: Uint8Array) => fieldOf(bytes, 'k') ?? bsonValue(null)
    for (let at = 1; at < all.length; at += 1) {
      const [before, after] = [all[at - 1]!, all[at]!]
      const order = direction * compareValues(key(before), key(after))
      assert.ok(order <= 0, `${shown(before)} before ${shown(after)}`)
      if (order === 0) assert.ok(compareValues(fieldOf(before, '_id'), fieldOf(after, '_id')) < 0)
    }
    assert.equal(all.length, documents.length)
    const limited = await resultsOf(
      stagesOf({ $addFields: {} }, { $sort: { k: direction } }, { $skip: 3 }, { $limit: 9 }),
      documents,
    )
    assert.deepEqual(limited.map(hex), all.slice(3, 12).map(hex))
  }
})

test('a pipeline that begins as a find gives the same results as its stages alone', async () => {
  const bson = new RandomBson(3)
  for (let round = 0; round < 200; round += 1) {
    const documents = randomDocuments(bson, 30, () => int32(bson.random(6)))
    const stages = Array.from({ length: 1 + bson.random(5) }, () =>
      bson.oneOf<object>([
        { $match: { k: { $lt: bson.random(6) } } },
        { $match: { $expr: { $gt: ['$_id', bson.random(20)] } } },
        { $sort: { k: 1 } },
        { $sort: { n: -1, _id: 1 } },
        { $skip: bson.random(6) },
        { $limit: 1 + bson.random(20) },
        { $project: { n: 0 } },
      ]),
    )
    const asFind = await resultsOf(stagesOf(...stages), documents)
    const asStages = await resultsOf(stagesOf({ $addFields: {} }, ...stages), documents)
    assert.deepEqual(asFind.map(hex), asStages.map(hex), JSON.stringify(stages))
  }
})

test('$facet gives the same results as its pipelines alone', async () => {
  const bson = new RandomBson(4)
  const facets: Record<string, object[]> = {
    counted: [{ $count: 'n' }],
    first: [{ $limit: 3 }],
    sorted: [{ $sort: { n: 1, _id: 1 } }, { $limit: 5 }],
    grouped: [{ $sortByCount: '$k' }, { $sort: { count: -1, _id: 1 } }],
    none: [{ $match: { _id: -1 } }],
  }
  for (const count of [0, 1, 700]) {
    const documents = randomDocuments(bson, count, () => int32(bson.random(9)))
    const [together] = await resultsOf(stagesOf({ $facet: facets }), documents)
    for (const [name, stages] of Object.entries(facets)) {
      const alone = await resultsOf(stagesOf(...stages), documents)
      const { elements } = fieldOf(together!, name) as BsonArray
      assert.deepEqual(
        elements.map(each => hex(encodeDocument(each as BsonDocument))),
        alone.map(hex),
        name,
      )
    }
  }
})

test('$unwind is undone by $push', async () => {
  const bson = new RandomBson(5)
  const list = () => BsonArray.of(Array.from({ length: 1 + bson.random(5) }, () => bson.value(1)))
  const documents = Array.from({ length: 300 }, (_, index) =>
    encodeDocument([
      ['_id', int32(index)],
      ['list', list()],
    ]),
  )
  const stages = stagesOf({ $unwind: '$list' }, { $group: { _id: '$_id', list: { $push: '$list' } } })
  assert.deepEqual((await resultsOf(stages, documents)).map(hex), documents.map(hex))
})

test('$lookup finds the same documents as a filter with each value', async () => {
  const bson = new RandomBson(6)
  const value = () => bson.oneOf<() => Value>([() => bson.value(1), () => int32(bson.random(4))])()
  for (let round = 0; round < 20; round += 1) {
    const documents = randomDocuments(bson, 12, value)
    const foreign = randomDocuments(bson, 12, value)
    const stages = stagesOf({ $lookup: { from: 'foreign', localField: 'k', foreignField: 'k', as: 'found' } })
    const { results } = await aggregateBytes(stages, { documents, others: { foreign } })
    for (const result of results) {
      const local = fieldOf(result, 'k')
      const values = local?.type === bsonType.array ? local.elements : local === undefined ? [] : [local]
      const wanted = values.length === 0 ? [bsonValue(null)] : values
      const matchers = wanted.map(each => {
        const operand = each.type === bsonType.undefined ? bsonValue(null) : each
        return compileFilter(BsonDocument.of([['k', BsonDocument.of([['$eq', operand]])]]))
      })
      const expected = foreign.filter(bytes => matchers.some(matcher => matcher.matches(bytes)))
      const { elements } = fieldOf(result, 'found') as BsonArray
      assert.deepEqual(
        elements.map(each => hex(encodeDocument(each as BsonDocument))),
        expected.map(hex),
      )
    }
  }
})

test('the index hints derived from an expression lose no document', async () => {
  const bson = new RandomBson(9)
  const value = () =>
    bson.oneOf<() => Value>([() => bson.value(1), () => int32(bson.random(3)), () => bson.document(1)])()
  for (let round = 0; round < 60; round += 1) {
    const documents = randomDocuments(bson, 15, value)
    for (const path of ['$k', '$k.a', '$k.a.b']) {
      const wanted = BsonDocument.of([['$literal', value()]])
      const known = bson.random(2) === 0
      const condition = BsonDocument.of([['$eq', BsonArray.of([string(path), known ? string('$$x') : wanted])]])
      const match = BsonDocument.of([['$match', BsonDocument.of([['$expr', condition]])]])
      const blocked = bsonValue({ $addFields: {} })
      const options = { documents, let: BsonDocument.of([['x', wanted]]) }
      const hinted = await aggregateBytes(BsonArray.of([match]), options)
      const plain = await aggregateBytes(BsonArray.of([blocked, match]), options)
      assert.deepEqual(hinted.results.map(hex), plain.results.map(hex))
    }
  }
})

/** The bytes of a result, or the code of an error. */
async function outcome(expression: Value, document: Uint8Array): Promise<string> {
  const stages = BsonArray.of([BsonDocument.of([['$replaceWith', BsonDocument.of([['v', expression]])]])])
  try {
    const [result] = await resultsOf(stages, [document])
    return hex(result!)
  } catch (error) {
    assert.ok(error instanceof RequestError, error instanceof Error ? error.stack : String(error))
    return error instanceof MongoError ? String(error.code) : error.kind
  }
}

test('an operator returns or refuses for any operand, and alike for literals and fields', async () => {
  const bson = new RandomBson(7)
  const names = Object.values(operatorFamilies).flatMap(Object.keys)
  for (const name of names) {
    // $rand varies, and $literal does not evaluate paths.
    const isComparable = !['$rand', '$literal', '$const'].includes(name)
    for (let round = 0; round < 25; round += 1) {
      const values = Array.from({ length: 1 + bson.random(4) }, () => bson.value(2))
      const fields = values.map((value, index): [string, Value] => [`f${index}`, value])
      const literal = (value: Value) => BsonDocument.of([['$literal', value]])
      const asLiterals = BsonDocument.of([[name, BsonArray.of(values.map(literal))]])
      const asFields = BsonDocument.of([[name, BsonArray.of(fields.map(([field]) => string(`$${field}`)))]])
      const document = encodeDocument(fields)
      const [first, second] = [await outcome(asLiterals, document), await outcome(asFields, document)]
      if (isComparable && first !== second) {
        // Some operators need a constant, which a field is not.
        assert.match(
          second,
          /^(?:5654600|5654601|4161106|4161108|4940400)$/,
          `${name} ${shown(document)}: ${first}, ${second}`,
        )
      }
    }
  }
})

test('operators with named arguments return or refuse for any operand', async () => {
  const bson = new RandomBson(8)
  const named: Readonly<Record<string, readonly string[]>> = {
    $cond: ['if', 'then', 'else'],
    $filter: ['input', 'cond', 'limit'],
    $map: ['input', 'in'],
    $reduce: ['input', 'initialValue', 'in'],
    $zip: ['inputs', 'defaults', 'useLongestLength'],
    $sortArray: ['input', 'sortBy'],
    $convert: ['input', 'to', 'onError', 'onNull'],
    $trim: ['input', 'chars'],
    $replaceAll: ['input', 'find', 'replacement'],
    $regexFindAll: ['input', 'regex', 'options'],
    $dateAdd: ['startDate', 'unit', 'amount', 'timezone'],
    $dateDiff: ['startDate', 'endDate', 'unit', 'timezone', 'startOfWeek'],
    $dateTrunc: ['date', 'unit', 'binSize', 'timezone', 'startOfWeek'],
    $dateFromParts: ['year', 'month', 'day', 'hour', 'minute', 'second', 'millisecond', 'timezone'],
    $dateToParts: ['date', 'timezone', 'iso8601'],
    $dateToString: ['date', 'format', 'timezone', 'onNull'],
    $dateFromString: ['dateString', 'format', 'timezone', 'onNull', 'onError'],
    $firstN: ['n', 'input'],
    $maxN: ['n', 'input'],
    $getField: ['field', 'input'],
    $setField: ['field', 'input', 'value'],
  }
  const likely = [
    bsonValue('day'),
    bsonValue('Europe/Paris'),
    bsonValue('%Y-%m-%d'),
    bsonValue('2020-01-01'),
    bsonValue(new Date(0)),
    bsonValue([3, 1]),
    bsonValue(2),
  ]
  for (const [name, parts] of Object.entries(named)) {
    for (let round = 0; round < 40; round += 1) {
      const given = parts.filter(() => bson.random(10) > 0)
      const fields = given.map((part): [string, Value] => {
        const value = bson.random(2) === 0 ? bson.oneOf(likely) : bson.value(2)
        return [part, BsonDocument.of([['$literal', value]])]
      })
      await outcome(BsonDocument.of([[name, BsonDocument.of(fields)]]), encodeDocument([]))
    }
  }
})

test('a document that no stage changes keeps its bytes', async () => {
  const document = encodeDocument([
    ['_id', int32(1)],
    ['a', string('x')],
  ])
  const stages = stagesOf({ $addFields: {} }, { $match: { a: 'x' } }, { $sort: { a: 1 } }, { $skip: 0 }, { $limit: 5 })
  assert.equal((await resultsOf(stages, [document]))[0], document)
})

test('stages that hold all documents are refused when they hold too much', async () => {
  const text = 'x'.repeat(1024 * 1024)
  const documents = Array.from({ length: 110 }, (_, index) =>
    encodeDocument([
      ['_id', int32(index)],
      ['t', string(text)],
    ]),
  )
  const refused = async (code: number, ...stages: readonly object[]) =>
    assert.rejects(
      resultsOf(stagesOf(...stages), documents),
      (error: unknown) => error instanceof MongoError && error.code === code,
    )
  await refused(292, { $group: { _id: null, all: { $push: '$t' } } })
  await refused(292, { $group: { _id: '$_id', t: { $first: '$t' } } })
  await refused(292, { $addFields: {} }, { $sort: { _id: 1 } })
  await refused(292, { $bucketAuto: { groupBy: '$_id', buckets: 2 } })
  await refused(4031700, { $facet: { all: [] } })
  await refused(10334, { $limit: 40 }, { $group: { _id: null, all: { $push: '$t' } } })
  // With a limit only that many documents are kept.
  const first = await resultsOf(stagesOf({ $addFields: {} }, { $sort: { _id: -1 } }, { $limit: 1 }), documents)
  assert.deepEqual(fieldOf(first[0]!, '_id'), int32(109))
})

test('values that expressions build are limited in size', async () => {
  const doubling = (initialValue: unknown, inside: unknown) => ({
    $reduce: { input: { $range: [0, 64] }, initialValue, in: inside },
  })
  const document = encodeDocument([])
  const tooMany = [
    doubling('x', { $concat: ['$$value', '$$value'] }),
    doubling([1], { $concatArrays: ['$$value', '$$value'] }),
    doubling([1], ['$$value', '$$value']),
    { $reduce: { input: { $range: [0, 500] }, initialValue: 1, in: { a: '$$value' } } },
    { $map: { input: { $range: [0, 6000] }, in: { $map: { input: { $range: [0, 6000] }, in: 1 } } } },
    {
      $replaceAll: {
        input: { $reduce: { input: { $range: [0, 20] }, initialValue: 'x', in: { $concat: ['$$value', '$$value'] } } },
        find: 'x',
        replacement: 'y'.repeat(1000),
      },
    },
  ]
  for (const expression of tooMany) {
    const result = await outcome(bsonValue(expression), document)
    assert.match(result, /^(?:\d{1,8}|malformed|too_large)$/, JSON.stringify(expression))
  }
})

test('a long run yields to the event loop', async () => {
  const documents = Array.from({ length: 20_000 }, (_, index) => encodeDocument([['_id', int32(index)]]))
  let turns = 0
  let isRunning = true
  const turn = () => {
    turns += 1
    if (isRunning) setImmediate(turn)
  }
  setImmediate(turn)
  await resultsOf(
    stagesOf(
      { $addFields: { a: { $range: [0, 20] } } },
      { $group: { _id: { $mod: ['$_id', 100] }, n: { $sum: { $sum: '$a' } } } },
    ),
    documents,
  )
  isRunning = false
  assert.ok(turns > 10, String(turns))
})
