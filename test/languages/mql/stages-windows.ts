/** Cases of window functions, `$densify` and `$fill`. Sources: the manual, and MongoDB's own tests. */

import type { Document } from 'bson'
import { date, decimal, double, type Failure, fails, long, type StageCases } from './aggregate-case.ts'

const cakes = [
  { _id: 0, type: 'chocolate', orderDate: date('2020-05-18T14:10:30Z'), state: 'CA', price: 13, quantity: 120 },
  { _id: 1, type: 'chocolate', orderDate: date('2021-03-20T11:30:05Z'), state: 'WA', price: 14, quantity: 140 },
  { _id: 2, type: 'vanilla', orderDate: date('2021-01-11T06:31:15Z'), state: 'CA', price: 12, quantity: 145 },
  { _id: 3, type: 'vanilla', orderDate: date('2020-02-08T13:13:23Z'), state: 'WA', price: 13, quantity: 104 },
  { _id: 4, type: 'strawberry', orderDate: date('2019-05-18T16:09:01Z'), state: 'CA', price: 41, quantity: 162 },
  { _id: 5, type: 'strawberry', orderDate: date('2019-01-08T06:12:03Z'), state: 'WA', price: 43, quantity: 134 },
]

/** The cakes of a state in the order of sale are 4, 0, 2 and 5, 3, 1. */
const byDate = { partitionBy: '$state', sortBy: { orderDate: 1 } }
const shownAs = (output: Document, settings: Document = byDate) => [
  { $setWindowFields: { ...settings, output: { v: output } } },
  { $project: { v: 1 } },
]
const values = (...pairs: readonly (readonly [unknown, unknown])[]) => pairs.map(([_id, v]) => ({ _id, v }))
const documents = (lower: unknown, upper: unknown) => ({ documents: [lower, upper] })

/** A case over the cakes: the results are the values of 4, 0, 2, 5, 3, 1. */
function ofCakes(name: string, output: Document, results: readonly unknown[], settings: Document = byDate) {
  const ids = [4, 0, 2, 5, 3, 1]
  return {
    name,
    pipeline: shownAs(output, settings),
    documents: cakes,
    results: values(...results.map((value, at) => [ids[at], value] as const)),
  }
}

const numbers = (...list: readonly unknown[]) => list.map((n, _id) => (n === undefined ? { _id } : { _id, n }))

/** A case over numbers `n`, in the order of `_id`. */
function ofNumbers(name: string, output: Document, list: readonly unknown[], results: readonly unknown[]) {
  return {
    name,
    pipeline: shownAs(output, { sortBy: { _id: 1 } }),
    documents: numbers(...list),
    results: values(...results.map((value, at) => [at, value] as const)),
  }
}

function refused(name: string, spec: Document, error: Failure, list: readonly Document[] = cakes) {
  return { name, pipeline: [{ $setWindowFields: spec }], documents: list, error }
}

const failedToParse = fails(9)
const moving = (lower: unknown, upper: unknown, output: Document) => ({ ...output, window: documents(lower, upper) })

export const windowStageCases: StageCases = {
  $setWindowFields: [
    ofCakes(
      'a running sum in each partition',
      moving('unbounded', 'current', { $sum: '$quantity' }),
      [162, 282, 427, 134, 238, 378],
    ),
    {
      name: 'partitions by an expression',
      pipeline: shownAs(moving('unbounded', 'current', { $sum: '$quantity' }), {
        partitionBy: { $year: '$orderDate' },
        sortBy: { orderDate: 1 },
      }),
      documents: cakes,
      results: values([5, 134], [4, 296], [3, 104], [0, 224], [2, 145], [1, 285]),
    },
    {
      name: 'several fields, also nested and in place of others',
      pipeline: [
        {
          $setWindowFields: {
            partitionBy: '$state',
            sortBy: { orderDate: 1 },
            output: {
              'stats.total': { $sum: '$quantity' },
              'stats.n': { $count: {} },
              price: { $max: '$price' },
            },
          },
        },
        { $match: { state: 'CA' } },
        { $project: { stats: 1, price: 1 } },
      ],
      documents: cakes,
      results: [4, 0, 2].map(_id => ({ _id, price: 41, stats: { total: 427, n: 3 } })),
    },
    {
      name: 'a range of numbers',
      pipeline: shownAs(
        { $sum: '$quantity', window: { range: [-10, 10] } },
        { partitionBy: '$state', sortBy: { price: 1 } },
      ),
      documents: cakes,
      results: values([2, 265], [0, 265], [4, 162], [3, 244], [1, 244], [5, 134]),
    },
    {
      name: 'a range of months',
      pipeline: shownAs(
        { $push: '$_id', window: { range: ['unbounded', 10], unit: 'month' } },
        { partitionBy: '$state', sortBy: { orderDate: 1 } },
      ),
      documents: cakes,
      results: values([4, [4]], [0, [4, 0, 2]], [2, [4, 0, 2]], [5, [5]], [3, [5, 3]], [1, [5, 3, 1]]),
    },
    {
      name: 'a range into the past',
      pipeline: shownAs(
        { $push: '$_id', window: { range: ['unbounded', -10], unit: 'month' } },
        { partitionBy: '$state', sortBy: { orderDate: 1 } },
      ),
      documents: cakes,
      results: values([4, []], [0, [4]], [2, [4]], [5, []], [3, [5]], [1, [5, 3]]),
    },
    ofNumbers(
      'current in a range is the document alone',
      { $sum: '$_id', window: { range: ['current', 1] } },
      [1, 2, 3],
      [1, 3, 2],
    ),
    {
      name: 'a range of fractions is exact',
      pipeline: shownAs({ $push: '$_id', window: { range: [0, 0.2] } }, { sortBy: { x: 1 } }),
      documents: [
        { _id: 1, x: 0.1 },
        { _id: 2, x: 0.3 },
      ],
      results: values([1, [1, 2]], [2, [2]]),
    },
    {
      name: 'missing and null make one partition, and no sort keeps the order',
      pipeline: shownAs({ $push: '$_id' }, { partitionBy: '$p' }),
      documents: [{ _id: 1 }, { _id: 2, p: 1 }, { _id: 3, p: null }],
      results: values([1, [1, 3]], [3, [1, 3]], [2, [2]]),
    },
    {
      name: 'without partitions and order',
      pipeline: shownAs({ $sum: '$n' }, {}),
      documents: numbers(1, 2),
      results: values([0, 3], [1, 3]),
    },
    {
      name: 'an empty output only sorts',
      pipeline: [{ $setWindowFields: { sortBy: { _id: -1 }, output: {} } }],
      documents: [{ _id: 1 }, { _id: 2 }],
      results: [{ _id: 2 }, { _id: 1 }],
    },
    {
      name: 'within arrays, like $addFields',
      pipeline: [{ $setWindowFields: { output: { 'a.n': { $count: {} } } } }],
      documents: [{ _id: 1, a: [{ b: 1 }, { b: 2 }] }],
      results: [
        {
          _id: 1,
          a: [
            { b: 1, n: 1 },
            { b: 2, n: 1 },
          ],
        },
      ],
    },
    { name: 'no document', pipeline: [{ $setWindowFields: 5 }], documents: cakes, error: failedToParse },
    refused('no output', { sortBy: { a: 1 } }, fails(40414)),
    refused('an unknown field', { output: {}, nonsense: 1 }, fails(40415)),
    refused('a sort that is no document', { sortBy: 1, output: {} }, fails(14)),
    refused('conflicting paths', { output: { a: { $sum: 1 }, 'a.b': { $sum: 1 } } }, fails(6307900)),
    refused('an invalid path', { output: { $a: { $sum: 1 } } }, fails(16410)),
    refused('a function that is none', { output: { v: { $summ: 1 } } }, failedToParse),
    refused('an accumulator that is none', { output: { v: { $mergeObjects: '$a' } } }, failedToParse),
    refused('no function', { output: { v: { window: {} } } }, failedToParse),
    refused('a value in place of a function', { output: { v: 5 } }, failedToParse),
    refused('two functions', { output: { v: { $sum: 1, $avg: 1 } } }, failedToParse),
    refused('an unknown argument', { output: { v: { $sum: 1, windoww: {} } } }, failedToParse),
    refused('partitions by a constant array', { partitionBy: [1], output: {} }, fails(14)),
    refused('partitions by arrays', { partitionBy: '$a', output: {} }, fails(14), [{ a: [1] }]),
    refused(
      'bounds in the wrong order',
      { sortBy: { a: 1 }, output: { v: moving(1, -1, { $sum: 1 }) } },
      fails(5339900),
    ),
    refused('document bounds without an order', { output: { v: moving(-1, 0, { $sum: 1 }) } }, fails(5339901)),
    refused(
      'a fraction of a document',
      { sortBy: { a: 1 }, output: { v: moving(-1.5, 0, { $sum: 1 }) } },
      failedToParse,
    ),
    refused(
      'three bounds',
      { sortBy: { a: 1 }, output: { v: { $sum: 1, window: { documents: [1, 2, 3] } } } },
      failedToParse,
    ),
    refused(
      'a bound that varies',
      { sortBy: { a: 1 }, output: { v: moving(0, { $add: ['$a', 1] }, { $sum: 1 }) } },
      failedToParse,
    ),
    refused('a word as a bound', { sortBy: { a: 1 }, output: { v: moving('nowhere', 0, { $sum: 1 }) } }, failedToParse),
    refused(
      'documents and a range',
      { sortBy: { a: 1 }, output: { v: { $sum: 1, window: { documents: [0, 0], range: [0, 0] } } } },
      failedToParse,
    ),
    refused(
      'a range of two fields',
      { sortBy: { a: 1, b: 1 }, output: { v: { $sum: 1, window: { range: [0, 0] } } } },
      fails(5339902),
    ),
    refused(
      'a range downwards',
      { sortBy: { a: -1 }, output: { v: { $sum: 1, window: { range: [0, 0] } } } },
      fails(8947401),
    ),
    refused(
      'a range of dates without a unit',
      { sortBy: { orderDate: 1 }, output: { v: { $sum: 1, window: { range: [0, 0] } } } },
      fails(5429413),
    ),
    refused(
      'a range of strings',
      { sortBy: { type: 1 }, output: { v: { $sum: 1, window: { range: [0, 0] } } } },
      fails(5429414),
    ),
    refused(
      'a unit for numbers',
      { sortBy: { price: 1 }, output: { v: { $sum: 1, window: { range: [0, 0], unit: 'day' } } } },
      fails(5429513),
    ),
    refused(
      'a unit that is none',
      { sortBy: { price: 1 }, output: { v: { $sum: 1, window: { range: [0, 0], unit: 'eon' } } } },
      failedToParse,
    ),
  ],
  $densify: [
    {
      name: 'hours between dates',
      pipeline: [
        {
          $densify: {
            field: 'timestamp',
            range: { step: 1, unit: 'hour', bounds: [date('2021-05-18T00:00:00Z'), date('2021-05-18T08:00:00Z')] },
          },
        },
        { $project: { _id: 0, timestamp: 1, temp: 1 } },
      ],
      documents: [
        { _id: 1, timestamp: date('2021-05-18T00:00:00Z'), temp: 12 },
        { _id: 2, timestamp: date('2021-05-18T04:00:00Z'), temp: 11 },
        { _id: 3, timestamp: date('2021-05-18T08:00:00Z'), temp: 11 },
        { _id: 4, timestamp: date('2021-05-18T12:00:00Z'), temp: 12 },
      ],
      results: [
        { timestamp: date('2021-05-18T00:00:00Z'), temp: 12 },
        { timestamp: date('2021-05-18T01:00:00Z') },
        { timestamp: date('2021-05-18T02:00:00Z') },
        { timestamp: date('2021-05-18T03:00:00Z') },
        { timestamp: date('2021-05-18T04:00:00Z'), temp: 11 },
        { timestamp: date('2021-05-18T05:00:00Z') },
        { timestamp: date('2021-05-18T06:00:00Z') },
        { timestamp: date('2021-05-18T07:00:00Z') },
        { timestamp: date('2021-05-18T08:00:00Z'), temp: 11 },
        { timestamp: date('2021-05-18T12:00:00Z'), temp: 12 },
      ],
    },
    {
      name: 'full, with partitions',
      pipeline: [
        { $densify: { field: 'altitude', partitionByFields: ['variety'], range: { bounds: 'full', step: 200 } } },
        { $project: { _id: 0 } },
      ],
      documents: [
        { _id: 1, variety: 'Arabica', altitude: 600 },
        { _id: 2, variety: 'Arabica', altitude: 750 },
        { _id: 3, variety: 'Arabica', altitude: 950 },
        { _id: 4, variety: 'Gesha', altitude: 1250 },
        { _id: 5, variety: 'Gesha', altitude: 1700 },
      ],
      results: [
        { variety: 'Arabica', altitude: 600 },
        { variety: 'Arabica', altitude: 750 },
        { variety: 'Arabica', altitude: 800 },
        { variety: 'Arabica', altitude: 950 },
        { variety: 'Gesha', altitude: 600 },
        { variety: 'Gesha', altitude: 800 },
        { variety: 'Gesha', altitude: 1000 },
        { variety: 'Gesha', altitude: 1200 },
        { variety: 'Gesha', altitude: 1250 },
        { variety: 'Gesha', altitude: 1400 },
        { variety: 'Gesha', altitude: 1600 },
        { variety: 'Gesha', altitude: 1700 },
        { variety: 'Arabica', altitude: 1000 },
        { variety: 'Arabica', altitude: 1200 },
        { variety: 'Arabica', altitude: 1400 },
        { variety: 'Arabica', altitude: 1600 },
      ],
    },
    {
      name: 'each partition',
      pipeline: [
        { $densify: { field: 'n', partitionByFields: ['p'], range: { bounds: 'partition', step: 2 } } },
        { $project: { _id: 0 } },
      ],
      documents: [
        { _id: 1, p: 'a', n: 1 },
        { _id: 2, p: 'a', n: 6 },
        { _id: 3, p: 'b', n: 10 },
        { _id: 4, p: 'b', n: 12 },
      ],
      results: [
        { p: 'a', n: 1 },
        { p: 'a', n: 3 },
        { p: 'a', n: 5 },
        { p: 'a', n: 6 },
        { p: 'b', n: 10 },
        { p: 'b', n: 12 },
      ],
    },
    {
      name: 'no document at all has an explicit range to fill',
      pipeline: [{ $densify: { field: 'a.n', range: { bounds: [0, 3], step: 1 } } }],
      documents: [],
      results: [{ a: { n: 0 } }, { a: { n: 1 } }, { a: { n: 2 } }],
    },
    {
      name: 'documents without the field, below and above the range pass',
      pipeline: [{ $densify: { field: 'n', range: { bounds: [2, 4], step: 1 } } }, { $project: { _id: 0 } }],
      documents: [{ _id: 1 }, { _id: 2, n: null }, { _id: 3, n: 0 }, { _id: 4, n: 9 }],
      results: [{}, { n: null }, { n: 0 }, { n: 2 }, { n: 3 }, { n: 9 }],
    },
    {
      name: 'months of different lengths',
      pipeline: [
        { $densify: { field: 'd', range: { bounds: 'full', step: 1, unit: 'month' } } },
        { $project: { _id: 0 } },
      ],
      documents: [
        { _id: 1, d: date('2021-01-31T00:00:00Z') },
        { _id: 2, d: date('2021-04-10T00:00:00Z') },
      ],
      results: ['2021-01-31', '2021-02-28', '2021-03-28', '2021-04-10'].map(day => ({ d: date(`${day}T00:00:00Z`) })),
    },
    {
      name: 'partitions in an explicit range are finished at the end',
      pipeline: [
        { $densify: { field: 'n', partitionByFields: ['p'], range: { bounds: [0, 2], step: 1 } } },
        { $project: { _id: 0 } },
      ],
      documents: [
        { _id: 1, p: 'a', n: 0 },
        { _id: 2, p: 'b', n: 1 },
      ],
      results: [
        { p: 'a', n: 0 },
        { p: 'b', n: 0 },
        { p: 'b', n: 1 },
        { p: 'a', n: 1 },
      ],
    },
    ...(
      [
        ['no document', 5, 9],
        ['no range', { field: 'n' }, 40414],
        ['no step', { field: 'n', range: { bounds: 'full' } }, 40414],
        ['an unknown field', { field: 'n', range: { bounds: 'full', step: 1 }, x: 1 }, 40415],
        ['a step of zero', { field: 'n', range: { bounds: 'full', step: 0 } }, 5733401],
        ['a step that is no number', { field: 'n', range: { bounds: 'full', step: 'a' } }, 5733401],
        ['a fraction of a day', { field: 'n', range: { bounds: 'full', step: 1.5, unit: 'day' } }, 6586400],
        ['bounds that are no word', { field: 'n', range: { bounds: 'all', step: 1 } }, 5946802],
        ['a number as bounds', { field: 'n', range: { bounds: 5, step: 1 } }, 5733404],
        ['one bound', { field: 'n', range: { bounds: [1], step: 1 } }, 5733403],
        ['descending bounds', { field: 'n', range: { bounds: [2, 1], step: 1 } }, 5733402],
        ['different bounds', { field: 'n', range: { bounds: [1, 'a'], step: 1 } }, 5733406],
        ['bounds of different types', { field: 'n', range: { bounds: [1, long(2)], step: 1 } }, 5876900],
        ['words as bounds', { field: 'n', range: { bounds: ['a', 'b'], step: 1 } }, 5946800],
        ['partition without fields', { field: 'n', range: { bounds: 'partition', step: 1 } }, 5733408],
        ['numbers with a unit', { field: 'n', range: { bounds: [1, 2], step: 1, unit: 'day' } }, 5733409],
        [
          'dates without a unit',
          { field: 'n', range: { bounds: [date('2021-01-01T00:00:00Z'), date('2021-01-02T00:00:00Z')], step: 1 } },
          5733410,
        ],
        ['a value that is no number', { field: 'text', range: { bounds: 'full', step: 1 } }, 5733201],
        ['too many documents', { field: 'n', range: { bounds: [0, 1_000_000], step: 1 } }, 5897900],
      ] as const
    ).map(([name, spec, code]) => ({
      name,
      pipeline: [{ $densify: spec }],
      documents: [{ _id: 1, n: 1, text: 'x' }],
      error: fails(code),
    })),
  ],
  $fill: [
    {
      name: 'with constants',
      pipeline: [{ $fill: { output: { a: { value: 0 }, b: { value: { $add: ['$_id', 1] } } } } }],
      documents: [
        { _id: 1, a: null },
        { _id: 2, a: 5, b: 6 },
      ],
      results: [
        { _id: 1, a: 0, b: 2 },
        { _id: 2, a: 5, b: 6 },
      ],
    },
    {
      name: 'with the last value and along a line',
      pipeline: [{ $fill: { sortBy: { _id: 1 }, output: { a: { method: 'locf' }, b: { method: 'linear' } } } }],
      documents: [
        { _id: 1, a: 1, b: 10 },
        { _id: 2, b: null },
        { _id: 3, a: null },
        { _id: 5, a: 7, b: 50 },
        { _id: 6 },
      ],
      results: [
        { _id: 1, a: 1, b: 10 },
        { _id: 2, b: double(20), a: 1 },
        { _id: 3, a: 1, b: double(30) },
        { _id: 5, a: 7, b: 50 },
        { _id: 6, a: 7, b: null },
      ],
    },
    {
      name: 'in partitions of fields',
      pipeline: [
        { $fill: { partitionByFields: ['p'], sortBy: { _id: 1 }, output: { a: { method: 'locf' } } } },
        { $project: { p: 0 } },
      ],
      documents: [
        { _id: 1, p: 1, a: 1 },
        { _id: 2, p: 2 },
        { _id: 3, p: 1 },
      ],
      results: [
        { _id: 1, a: 1 },
        { _id: 3, a: 1 },
        { _id: 2, a: null },
      ],
    },
    ...(
      [
        ['no document', 5, 9],
        ['no output', {}, 40414],
        ['an empty output', { output: {} }, 6050203],
        ['a value in place of a method', { output: { a: 1 } }, 6050200],
        ['method and value', { output: { a: { method: 'locf', value: 1 } } }, 6050201],
        ['an unknown method', { output: { a: { method: 'magic' } } }, 6050202],
        [
          'two kinds of partitions',
          { partitionBy: '$a', partitionByFields: ['a'], output: { a: { method: 'locf' } } },
          6050204,
        ],
        ['a line without an order', { output: { a: { method: 'linear' } } }, 605001],
      ] as const
    ).map(([name, spec, code]) => ({
      name,
      pipeline: [{ $fill: spec }],
      documents: [{ _id: 1 }],
      error: fails(code),
    })),
  ],
}

const point = (x: unknown, y: unknown) => ({ x, y })

export const windowFunctionCases: StageCases = {
  $sum: [
    ofNumbers('a moving sum', moving(-1, 0, { $sum: '$n' }), [1, 2, 'x', 4], [1, 3, 2, 4]),
    ofNumbers(
      'integers stay exact',
      moving(-1, 0, { $sum: '$n' }),
      [long('9007199254740993'), long(1), 1],
      [long('9007199254740993'), long('9007199254740994'), long(2)],
    ),
    ofNumbers(
      'infinities and NaN leave no trace',
      moving(0, 0, { $sum: '$n' }),
      [Number.POSITIVE_INFINITY, 1, Number.NaN, 2],
      [Number.POSITIVE_INFINITY, 1, Number.NaN, 2],
    ),
    ofNumbers(
      'decimals',
      moving(-1, 0, { $sum: '$n' }),
      [decimal('0.1'), 0.25, 2],
      [decimal('0.1'), decimal('0.3500000000000000000000000000000000'), double(2.25)],
    ),
    ofNumbers('an empty window', moving(5, 6, { $sum: '$n' }), [1, 2], [0, 0]),
  ],
  $avg: [
    ofNumbers('a moving average', moving(-1, 1, { $avg: '$n' }), [1, 2, 6], [double(1.5), double(3), double(4)]),
    ofNumbers('of nothing', moving(1, 1, { $avg: '$n' }), [1, 2], [double(2), null]),
  ],
  $count: [
    ofNumbers('the documents of a window', moving(-1, 1, { $count: {} }), [1, 1, 1], [2, 3, 2]),
    refused('with an argument', { output: { v: { $count: 1 } } }, failedToParse),
  ],
  $min: [
    ofNumbers('of a moving window', moving(-1, 1, { $min: '$n' }), [3, 1, null, 2, 5], [1, 1, 1, 2, 2]),
    ofNumbers('of nothing', moving(1, 1, { $min: '$n' }), [3], [null]),
  ],
  $max: [ofNumbers('of a moving window', moving(-1, 0, { $max: '$n' }), [3, 5, 4, 1, 'a'], [3, 5, 5, 4, 'a'])],
  $push: [
    ofNumbers('missing values are left out', moving(-1, 0, { $push: '$n' }), [1, undefined, null], [[1], [1], [null]]),
    ofNumbers('growing', moving('unbounded', 'current', { $push: '$n' }), [1, 2, 3], [[1], [1, 2], [1, 2, 3]]),
  ],
  $addToSet: [
    ofNumbers('of a moving window', moving(-1, 0, { $addToSet: '$n' }), [1, 1, 2, 2], [[1], [1], [1, 2], [2]]),
  ],
  $first: [
    ofNumbers('of a moving window', moving(-1, 1, { $first: '$n' }), [1, 2, 3], [1, 1, 2]),
    ofNumbers('of an empty window', moving(1, 2, { $first: '$n' }), [1, 2], [2, null]),
  ],
  $last: [ofNumbers('of a moving window', moving(-1, 1, { $last: '$n' }), [1, 2, undefined], [2, null, null])],
  $firstN: [
    ofNumbers(
      'two of three',
      moving(-1, 1, { $firstN: { n: 2, input: '$n' } }),
      [1, 2, 3],
      [
        [1, 2],
        [1, 2],
        [2, 3],
      ],
    ),
    refused('of none', { output: { v: { $firstN: { n: 0, input: '$n' } } } }, fails(5787908)),
  ],
  $lastN: [
    ofNumbers(
      'two of three',
      moving(-1, 1, { $lastN: { n: 2, input: '$n' } }),
      [1, 2, 3],
      [
        [1, 2],
        [2, 3],
        [2, 3],
      ],
    ),
  ],
  $minN: [
    ofNumbers(
      'of a moving window',
      moving(-2, 0, { $minN: { n: 2, input: '$n' } }),
      [5, 3, null, 4, 1],
      [[5], [3, 5], [3, 5], [3, 4], [1, 4]],
    ),
  ],
  $maxN: [
    ofNumbers('of a moving window', moving(-1, 0, { $maxN: { n: 2, input: '$n' } }), [5, 3, 4], [[5], [5, 3], [4, 3]]),
  ],
  $top: [
    ofNumbers(
      'of a moving window',
      moving(-1, 0, { $top: { sortBy: { n: -1 }, output: '$_id' } }),
      [1, 3, 2, 2],
      [0, 1, 1, 2],
    ),
  ],
  $bottom: [
    ofNumbers(
      'of a moving window',
      moving(-1, 0, { $bottom: { sortBy: { n: -1 }, output: '$_id' } }),
      [1, 3, 2],
      [0, 0, 2],
    ),
  ],
  $topN: [
    ofNumbers(
      'of a moving window',
      moving(-2, 0, { $topN: { n: 2, sortBy: { n: 1 }, output: '$n' } }),
      [3, 1, 2, 5],
      [[3], [1, 3], [1, 2], [1, 2]],
    ),
  ],
  $bottomN: [
    ofNumbers(
      'of a moving window',
      moving(-2, 0, { $bottomN: { n: 2, sortBy: { n: 1 }, output: '$n' } }),
      [3, 1, 2, 5],
      [[3], [1, 3], [2, 3], [2, 5]],
    ),
  ],
  $stdDevPop: [
    ofNumbers(
      'of a moving window',
      moving(-1, 0, { $stdDevPop: '$n' }),
      [2, 4, 'x', 8],
      [double(0), double(1), double(0), double(0)],
    ),
  ],
  $stdDevSamp: [
    ofNumbers('of a moving window', moving(-1, 1, { $stdDevSamp: '$n' }), [1, 1, 1], [double(0), double(0), double(0)]),
    ofNumbers('of one value', moving(0, 0, { $stdDevSamp: '$n' }), [1], [null]),
  ],
  $covariancePop: [
    ofNumbers(
      'of a moving window',
      moving(-1, 0, { $covariancePop: ['$_id', '$n'] }),
      [1, 3, 9],
      [double(0), double(0.5), double(1.5)],
    ),
  ],
  $covarianceSamp: [
    ofNumbers(
      'of a running window',
      moving('unbounded', 'current', { $covarianceSamp: ['$_id', '$n'] }),
      [0, 2, 4],
      [null, double(1), double(2)],
    ),
  ],
  $median: [
    ofNumbers(
      'of a moving window',
      moving(-2, 0, { $median: { input: '$n', method: 'approximate' } }),
      [5, 1, 'x', 3, 9],
      [double(5), double(1), double(1), double(1), double(3)],
    ),
    ofNumbers('of nothing', moving(1, 1, { $median: { input: '$n', method: 'approximate' } }), [1], [null]),
  ],
  $percentile: [
    ofNumbers(
      'of a moving window',
      moving(-3, 0, { $percentile: { input: '$n', p: [0, 0.5, 1], method: 'approximate' } }),
      [4, 2, 8, 6, 1],
      [
        [double(4), double(4), double(4)],
        [double(2), double(2), double(4)],
        [double(2), double(4), double(8)],
        [double(2), double(4), double(8)],
        [double(1), double(2), double(8)],
      ],
    ),
  ],
  $derivative: [
    {
      name: 'miles per hour',
      pipeline: shownAs(
        { $derivative: { input: '$miles', unit: 'hour' }, window: { range: [-30, 0], unit: 'second' } },
        { sortBy: { at: 1 } },
      ),
      documents: [
        { _id: 1, at: date('2020-05-18T14:10:30Z'), miles: 1295.1 },
        { _id: 2, at: date('2020-05-18T14:11:00Z'), miles: 1295.6 },
      ],
      results: values([1, null], [2, double(60)]),
    },
    {
      name: 'of numbers',
      pipeline: shownAs(moving(-1, 0, { $derivative: { input: '$y' } }), { sortBy: { x: 1 } }),
      documents: [
        { _id: 1, ...point(0, 0) },
        { _id: 2, ...point(2, 8) },
      ],
      results: values([1, null], [2, double(4)]),
    },
    refused(
      'without a window',
      { sortBy: { price: 1 }, output: { v: { $derivative: { input: '$quantity' } } } },
      failedToParse,
    ),
    refused(
      'without an order',
      { output: { v: moving('unbounded', 'unbounded', { $derivative: { input: '$price' } }) } },
      failedToParse,
    ),
    refused(
      'in months',
      { sortBy: { orderDate: 1 }, output: { v: moving(-1, 0, { $derivative: { input: '$price', unit: 'month' } }) } },
      fails(5490710),
    ),
    refused(
      'of dates without a unit',
      { sortBy: { orderDate: 1 }, output: { v: moving(-1, 0, { $derivative: { input: '$price' } }) } },
      fails(5624901),
    ),
    refused(
      'of numbers with a unit',
      { sortBy: { price: 1 }, output: { v: moving(-1, 0, { $derivative: { input: '$price', unit: 'day' } }) } },
      fails(5624900),
    ),
    refused(
      'of nothing',
      { sortBy: { price: 1 }, output: { v: moving(-1, 0, { $derivative: { input: '$none' } }) } },
      fails(5624903),
    ),
  ],
  $integral: [
    {
      name: 'kilowatt hours',
      pipeline: shownAs(
        { $integral: { input: '$kw', unit: 'hour' }, window: { range: ['unbounded', 'current'], unit: 'hour' } },
        { sortBy: { at: 1 } },
      ),
      documents: [
        { _id: 1, at: date('2020-05-18T14:00:00Z'), kw: 2.95 },
        { _id: 2, at: date('2020-05-18T15:00:00Z'), kw: 2.05 },
        { _id: 3, at: date('2020-05-18T17:00:00Z'), kw: 1.95 },
      ],
      results: values([1, double(0)], [2, double(2.5)], [3, double(6.5)]),
    },
    {
      name: 'of a moving window',
      pipeline: shownAs(moving(-1, 0, { $integral: { input: '$y' } }), { sortBy: { x: 1 } }),
      documents: [
        { _id: 1, ...point(0, 0) },
        { _id: 2, ...point(1, 2) },
        { _id: 3, ...point(3, 2) },
      ],
      results: values([1, 0], [2, double(1)], [3, double(4)]),
    },
    refused('of strings', { sortBy: { price: 1 }, output: { v: { $integral: { input: '$type' } } } }, fails(5423900)),
    refused(
      'of dates without a unit',
      { sortBy: { orderDate: 1 }, output: { v: { $integral: { input: '$price' } } } },
      fails(5423902),
    ),
  ],
  $expMovingAvg: [
    ofNumbers(
      'with N',
      { $expMovingAvg: { input: '$n', N: 2 } },
      [13, 15.4, 'x', 12],
      [double(13), double(14.6), double(14.6), double(12.866666666666667)],
    ),
    ofNumbers(
      'with alpha',
      { $expMovingAvg: { input: '$n', alpha: 0.75 } },
      [null, 13, 15.4],
      [null, double(13), double(14.8)],
    ),
    ...(
      [
        ['with neither', { input: '$n' }],
        ['with a fraction as N', { input: '$n', N: 1.5 }],
        ['with N below one', { input: '$n', N: 0 }],
        ['with an alpha of one', { input: '$n', alpha: 1 }],
        ['with something else', { input: '$n', beta: 1 }],
      ] as const
    ).map(([name, $expMovingAvg]) =>
      refused(name, { sortBy: { _id: 1 }, output: { v: { $expMovingAvg } } }, failedToParse),
    ),
    refused('without an order', { output: { v: { $expMovingAvg: { input: '$n', N: 1 } } } }, failedToParse),
  ],
  $rank: [
    {
      name: 'with ties',
      pipeline: shownAs({ $rank: {} }, { sortBy: { n: -1 } }),
      documents: numbers(5, 7, 5, 1),
      results: values([1, long(1)], [0, long(2)], [2, long(2)], [3, long(4)]),
    },
    refused('without an order', { output: { v: { $rank: {} } } }, fails(5371602)),
    refused('with two orders', { sortBy: { a: 1, b: 1 }, output: { v: { $rank: {} } } }, fails(5371602)),
    refused('with an argument', { sortBy: { a: 1 }, output: { v: { $rank: '$a' } } }, fails(5371603)),
    refused('with a window', { sortBy: { a: 1 }, output: { v: { $rank: {}, window: {} } } }, fails(5371601)),
  ],
  $denseRank: [
    {
      name: 'with ties',
      pipeline: shownAs({ $denseRank: {} }, { sortBy: { n: -1 } }),
      documents: numbers(5, 7, 5, 1),
      results: values([1, long(1)], [0, long(2)], [2, long(2)], [3, long(3)]),
    },
  ],
  $documentNumber: [
    {
      name: 'in each partition',
      pipeline: shownAs({ $documentNumber: {} }, { partitionBy: '$n', sortBy: { _id: 1 } }),
      documents: numbers(5, 7, 5),
      results: values([0, long(1)], [2, long(2)], [1, long(1)]),
    },
  ],
  $shift: [
    ofNumbers('forwards', { $shift: { output: '$n', by: 1, default: 'none' } }, [1, 2, 3], [2, 3, 'none']),
    ofNumbers('backwards', { $shift: { output: '$n', by: -2 } }, [1, 2, 3], [null, null, 1]),
    refused('without an order', { output: { v: { $shift: { output: '$n', by: 1 } } } }, failedToParse),
    refused('by a fraction', { sortBy: { a: 1 }, output: { v: { $shift: { output: '$n', by: 1.5 } } } }, failedToParse),
    refused(
      'with a default that varies',
      { sortBy: { a: 1 }, output: { v: { $shift: { output: '$n', by: 1, default: '$n' } } } },
      failedToParse,
    ),
    refused(
      'with a window',
      { sortBy: { a: 1 }, output: { v: { $shift: { output: '$n', by: 1 }, window: {} } } },
      failedToParse,
    ),
  ],
  $locf: [
    ofNumbers('carries values on', { $locf: '$n' }, [null, 1, undefined, null, 2], [null, 1, 1, 1, 2]),
    refused('with a window', { sortBy: { a: 1 }, output: { v: { $locf: '$n', window: {} } } }, failedToParse),
  ],
  $linearFill: [
    ofNumbers(
      'between known values',
      { $linearFill: '$n' },
      [null, 1, null, undefined, 7, null],
      [null, 1, double(3), double(5), 7, null],
    ),
    refused('of strings', { sortBy: { price: 1 }, output: { v: { $linearFill: '$type' } } }, fails(14)),
    refused('along strings', { sortBy: { type: 1 }, output: { v: { $linearFill: '$price' } } }, fails(14)),
    refused(
      'along repeated values',
      { sortBy: { price: 1 }, output: { v: { $linearFill: '$quantity' } } },
      fails(6050106),
    ),
    refused('without an order', { output: { v: { $linearFill: '$quantity' } } }, fails(605001)),
  ],
}
