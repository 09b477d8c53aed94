/** Cases of accumulators in `$group`. Sources: the manual, and MongoDB's own unit tests. */

import { date, decimal, double, fails, long, type StageCases } from './aggregate-case.ts'

const sales = [
  { _id: 1, item: 'abc', price: 10, quantity: 2, date: date('2014-01-01T08:00:00Z') },
  { _id: 2, item: 'jkl', price: 20, quantity: 1, date: date('2014-02-03T09:00:00Z') },
  { _id: 3, item: 'xyz', price: 5, quantity: 5, date: date('2014-02-03T09:05:00Z') },
  { _id: 4, item: 'abc', price: 10, quantity: 10, date: date('2014-02-15T08:00:00Z') },
  { _id: 5, item: 'xyz', price: 5, quantity: 10, date: date('2014-02-15T09:12:00Z') },
]

const scores = [
  { playerId: 'PlayerA', gameId: 'G1', score: 31 },
  { playerId: 'PlayerB', gameId: 'G1', score: 33 },
  { playerId: 'PlayerC', gameId: 'G1', score: 99 },
  { playerId: 'PlayerD', gameId: 'G1', score: 1 },
  { playerId: 'PlayerA', gameId: 'G2', score: 10 },
  { playerId: 'PlayerB', gameId: 'G2', score: 14 },
  { playerId: 'PlayerC', gameId: 'G2', score: 66 },
  { playerId: 'PlayerD', gameId: 'G2', score: 80 },
]

const numbers = (...values: readonly unknown[]) => values.map((v, index) => ({ _id: index, v }))
const all = (accumulator: object) => [{ $group: { _id: null, r: accumulator } }]
const one = (r: unknown) => [{ _id: null, r }]

const approximate = { method: 'approximate' }
const refusedPercentile = (name: string, argument: unknown, code: number) => ({
  name,
  pipeline: all({ $percentile: argument }),
  documents: numbers(1),
  error: fails(code),
})

export const accumulatorCases: StageCases = {
  $median: [
    {
      name: 'of a list',
      pipeline: all({ $median: { input: '$v', ...approximate } }),
      documents: numbers(78, 94, 65, 'x', null, Number.NaN),
      results: one(double(78)),
    },
    {
      name: 'of two values it is the lower one',
      pipeline: all({ $median: { input: '$v', ...approximate } }),
      documents: numbers(2, decimal('1')),
      results: one(double(1)),
    },
    {
      name: 'of nothing',
      pipeline: all({ $median: { input: '$v', ...approximate } }),
      documents: numbers('x'),
      results: one(null),
    },
    {
      name: 'with a percentile',
      pipeline: all({ $median: { input: '$v', p: [0.5], ...approximate } }),
      documents: numbers(1),
      error: fails(40415),
    },
    { name: 'no document', pipeline: all({ $median: '$v' }), documents: numbers(1), error: fails(7436100) },
  ],
  $percentile: [
    {
      name: 'of the tests of the manual',
      pipeline: all({ $percentile: { input: '$v', p: [0.95], ...approximate } }),
      documents: numbers(62, 60, 85, 78, 90),
      results: one([double(90)]),
    },
    {
      name: 'several, in the order that was asked for',
      pipeline: all({ $percentile: { input: '$v', p: [1, 0.5, 0], ...approximate } }),
      documents: numbers(3, 1, 2, 4, Number.POSITIVE_INFINITY),
      results: one([double(Number.POSITIVE_INFINITY), double(3), double(1)]),
    },
    {
      name: 'of nothing',
      pipeline: all({ $percentile: { input: '$v', p: [0.1, 0.2], ...approximate } }),
      documents: numbers(null),
      results: one([null, null]),
    },
    refusedPercentile('no document', '$v', 7429703),
    refusedPercentile('without p', { input: '$v', ...approximate }, 40414),
    refusedPercentile('with p as a number', { input: '$v', p: 0.5, ...approximate }, 7750301),
    refusedPercentile('with p from documents', { input: '$v', p: ['$v'], ...approximate }, 7750300),
    refusedPercentile('with words in p', { input: '$v', p: ['a'], ...approximate }, 7750302),
    refusedPercentile('with p above one', { input: '$v', p: [1.1], ...approximate }, 7750303),
    refusedPercentile('with another method', { input: '$v', p: [0.5], method: 'exact' }, 2),
  ],
  $addToSet: [
    {
      name: 'each value once',
      pipeline: [{ $group: { _id: { $year: '$date' }, items: { $addToSet: '$item' } } }],
      documents: sales,
      results: [{ _id: 2014, items: ['abc', 'jkl', 'xyz'] }],
    },
    {
      name: 'equal numbers of different types are one value; the first stays',
      pipeline: all({ $addToSet: '$v' }),
      documents: numbers(1, long(1), double(1), decimal('1.0'), 2),
      results: one([1, 2]),
    },
    {
      name: 'null is added, a missing value is not',
      pipeline: all({ $addToSet: '$v' }),
      documents: [{ v: null }, {}, { v: [1, 2] }, { v: [1, 2] }],
      results: one([null, [1, 2]]),
    },
    { name: 'takes one argument', pipeline: all({ $addToSet: ['$a', '$b'] }), error: fails(40237) },
  ],
  $avg: [
    {
      name: 'only numbers count',
      pipeline: all({ $avg: '$v' }),
      documents: numbers(1, 'x', 2, null, long(6)),
      results: one(double(3)),
    },
    { name: 'of nothing is null', pipeline: all({ $avg: '$w' }), documents: numbers(1), results: one(null) },
    {
      name: 'with a decimal is a decimal',
      pipeline: all({ $avg: '$v' }),
      documents: numbers(decimal('1'), 2),
      results: one(decimal('1.5')),
    },
    {
      name: 'of amounts',
      pipeline: [
        { $group: { _id: '$item', avgAmount: { $avg: { $multiply: ['$price', '$quantity'] } } } },
        { $sort: { _id: 1 } },
      ],
      documents: sales,
      results: [
        { _id: 'abc', avgAmount: double(60) },
        { _id: 'jkl', avgAmount: double(20) },
        { _id: 'xyz', avgAmount: 37.5 },
      ],
    },
  ],
  $bottom: [
    {
      name: 'the last in sort order',
      pipeline: [
        { $match: { gameId: 'G1' } },
        { $group: { _id: '$gameId', p: { $bottom: { output: ['$playerId', '$score'], sortBy: { score: -1 } } } } },
      ],
      documents: scores,
      results: [{ _id: 'G1', p: ['PlayerD', 1] }],
    },
    {
      name: 'a missing output is null',
      pipeline: all({ $bottom: { output: '$none', sortBy: { v: 1 } } }),
      documents: numbers(1),
      results: one(null),
    },
    { name: 'needs an order', pipeline: all({ $bottom: { output: '$v' } }), error: fails(5788005) },
  ],
  $bottomN: [
    {
      name: 'the last in sort order, sorted',
      pipeline: [
        {
          $group: { _id: '$gameId', p: { $bottomN: { output: ['$playerId', '$score'], sortBy: { score: -1 }, n: 3 } } },
        },
        { $sort: { _id: 1 } },
      ],
      documents: scores,
      results: [
        {
          _id: 'G1',
          p: [
            ['PlayerB', 33],
            ['PlayerA', 31],
            ['PlayerD', 1],
          ],
        },
        {
          _id: 'G2',
          p: [
            ['PlayerC', 66],
            ['PlayerB', 14],
            ['PlayerA', 10],
          ],
        },
      ],
    },
    {
      name: 'fewer than asked for',
      pipeline: all({ $bottomN: { output: '$v', sortBy: { v: 1 }, n: 5 } }),
      documents: numbers(2, 1),
      results: one([1, 2]),
    },
    { name: 'needs a number', pipeline: all({ $bottomN: { output: '$v', sortBy: { v: 1 } } }), error: fails(5788003) },
  ],
  $count: [
    { name: 'counts', pipeline: all({ $count: {} }), documents: numbers(1, 2, 3), results: one(3) },
    {
      name: 'by group',
      pipeline: [{ $group: { _id: '$item', n: { $count: {} } } }, { $sort: { _id: 1 } }],
      documents: sales,
      results: [
        { _id: 'abc', n: 2 },
        { _id: 'jkl', n: 1 },
        { _id: 'xyz', n: 2 },
      ],
    },
    { name: 'takes no argument', pipeline: all({ $count: 1 }), error: fails(14) },
  ],
  $first: [
    {
      name: 'of sorted documents',
      pipeline: [
        { $sort: { item: 1, date: 1 } },
        { $group: { _id: '$item', firstSale: { $first: '$date' } } },
        { $sort: { _id: 1 } },
      ],
      documents: sales,
      results: [
        { _id: 'abc', firstSale: date('2014-01-01T08:00:00Z') },
        { _id: 'jkl', firstSale: date('2014-02-03T09:00:00Z') },
        { _id: 'xyz', firstSale: date('2014-02-03T09:05:00Z') },
      ],
    },
    { name: 'null stays null', pipeline: all({ $first: '$v' }), documents: numbers(null, 1), results: one(null) },
    { name: 'missing becomes null', pipeline: all({ $first: '$v' }), documents: [{}, { v: 1 }], results: one(null) },
  ],
  $firstN: [
    {
      name: 'missing becomes null',
      pipeline: all({ $firstN: { input: '$v', n: 3 } }),
      documents: [{ v: 1 }, {}, { v: null }, { v: 4 }],
      results: one([1, null, null]),
    },
    {
      name: 'the number may depend on the group',
      pipeline: [
        {
          $group: {
            _id: { g: '$gameId' },
            p: { $firstN: { input: '$playerId', n: { $cond: [{ $eq: ['$g', 'G2'] }, 1, 2] } } },
          },
        },
        { $sort: { _id: 1 } },
      ],
      documents: scores,
      results: [
        { _id: { g: 'G1' }, p: ['PlayerA', 'PlayerB'] },
        { _id: { g: 'G2' }, p: ['PlayerA'] },
      ],
    },
    {
      name: 'n is positive',
      pipeline: all({ $firstN: { input: '$v', n: -1 } }),
      documents: [{}],
      error: fails(5787908),
    },
  ],
  $last: [
    {
      name: 'of sorted documents',
      pipeline: [{ $sort: { date: 1 } }, { $group: { _id: null, r: { $last: '$item' } } }],
      documents: sales,
      results: one('xyz'),
    },
    { name: 'missing becomes null', pipeline: all({ $last: '$v' }), documents: [{ v: 1 }, {}], results: one(null) },
    { name: 'a document', pipeline: all({ $last: '$v' }), documents: [{ v: { a: 1 } }], results: one({ a: 1 }) },
  ],
  $lastN: [
    {
      name: 'in order of arrival',
      pipeline: all({ $lastN: { input: '$v', n: 2 } }),
      documents: numbers(1, 2, 3, 4, 5),
      results: one([4, 5]),
    },
    { name: 'fewer', pipeline: all({ $lastN: { input: '$v', n: 9 } }), documents: numbers(1, 2), results: one([1, 2]) },
    {
      name: 'refuses unknown arguments',
      pipeline: all({ $lastN: { input: '$v', n: 1, x: 1 } }),
      error: fails(5787901),
    },
  ],
  $max: [
    {
      name: 'of all types',
      pipeline: all({ $max: '$v' }),
      documents: numbers(3, 'a', [1], null),
      results: one([1]),
    },
    { name: 'of nothing is null', pipeline: all({ $max: '$v' }), documents: [{}, { v: null }], results: one(null) },
    {
      name: 'the first of equal numbers',
      pipeline: all({ $max: '$v' }),
      documents: numbers(2, double(2)),
      results: one(2),
    },
  ],
  $maxN: [
    {
      name: 'the largest first',
      pipeline: all({ $maxN: { input: '$v', n: 2 } }),
      documents: numbers(5, 9, null, 7, 1),
      results: one([9, 7]),
    },
    {
      name: 'of arrays as values',
      pipeline: all({ $maxN: { input: '$v', n: 1 } }),
      documents: numbers([9], [1, 2]),
      results: one([[9]]),
    },
    { name: 'of nothing', pipeline: all({ $maxN: { input: '$none', n: 1 } }), documents: numbers(1), results: one([]) },
  ],
  $mergeObjects: [
    {
      name: 'later fields win',
      pipeline: [{ $group: { _id: '$item', mergedSales: { $mergeObjects: '$quantity' } } }, { $sort: { _id: 1 } }],
      documents: [
        { _id: 1, year: 2017, item: 'A', quantity: { '2017Q1': 500, '2017Q2': 500 } },
        { _id: 2, year: 2016, item: 'A', quantity: { '2016Q1': 400, '2016Q2': 300, '2016Q3': 0, '2016Q4': 0 } },
        { _id: 3, year: 2017, item: 'B', quantity: { '2017Q1': 300 } },
        { _id: 4, year: 2016, item: 'B', quantity: { '2016Q3': 100, '2016Q4': 250 } },
      ],
      results: [
        {
          _id: 'A',
          mergedSales: { '2017Q1': 500, '2017Q2': 500, '2016Q1': 400, '2016Q2': 300, '2016Q3': 0, '2016Q4': 0 },
        },
        { _id: 'B', mergedSales: { '2017Q1': 300, '2016Q3': 100, '2016Q4': 250 } },
      ],
    },
    {
      name: 'null does not count',
      pipeline: all({ $mergeObjects: '$v' }),
      documents: [{ v: null }, {}, { v: { a: 1 } }],
      results: one({ a: 1 }),
    },
    { name: 'takes documents', pipeline: all({ $mergeObjects: '$v' }), documents: numbers(1), error: fails(40400) },
  ],
  $min: [
    { name: 'of all types', pipeline: all({ $min: '$v' }), documents: numbers('a', 3, [1], null), results: one(3) },
    {
      name: 'of decimals',
      pipeline: all({ $min: '$v' }),
      documents: numbers(decimal('1.5'), 2, 1.25),
      results: one(1.25),
    },
    { name: 'of nothing is null', pipeline: all({ $min: '$none' }), documents: numbers(1), results: one(null) },
  ],
  $minN: [
    {
      name: 'the smallest first',
      pipeline: all({ $minN: { input: '$v', n: 2 } }),
      documents: numbers(5, 9, null, 7, 1),
      results: one([1, 5]),
    },
    {
      name: 'repeated values count',
      pipeline: all({ $minN: { input: '$v', n: 3 } }),
      documents: numbers(1, 1, 2),
      results: one([1, 1, 2]),
    },
    { name: 'needs n', pipeline: all({ $minN: { input: '$v' } }), error: fails(5787906) },
  ],
  $push: [
    {
      name: 'all values in their order',
      pipeline: [
        { $sort: { date: 1, item: 1 } },
        {
          $group: { _id: { day: { $dayOfYear: '$date' } }, items: { $push: { item: '$item', quantity: '$quantity' } } },
        },
        { $sort: { '_id.day': 1 } },
      ],
      documents: sales,
      results: [
        { _id: { day: 1 }, items: [{ item: 'abc', quantity: 2 }] },
        {
          _id: { day: 34 },
          items: [
            { item: 'jkl', quantity: 1 },
            { item: 'xyz', quantity: 5 },
          ],
        },
        {
          _id: { day: 46 },
          items: [
            { item: 'abc', quantity: 10 },
            { item: 'xyz', quantity: 10 },
          ],
        },
      ],
    },
    {
      name: 'null is pushed, a missing value is not',
      pipeline: all({ $push: '$v' }),
      documents: [{ v: null }, {}, { v: 1 }],
      results: one([null, 1]),
    },
    {
      name: 'whole documents',
      pipeline: all({ $push: '$$ROOT' }),
      documents: [{ a: 'é' }, { b: 1 }],
      results: one([{ a: 'é' }, { b: 1 }]),
    },
  ],
  $stdDevPop: [
    {
      name: 'of a population',
      pipeline: all({ $stdDevPop: '$v' }),
      documents: numbers(85, 90, 71),
      results: one(8.04155872120988),
    },
    { name: 'of one is zero', pipeline: all({ $stdDevPop: '$v' }), documents: numbers(5), results: one(double(0)) },
    { name: 'of none is null', pipeline: all({ $stdDevPop: '$v' }), documents: numbers('x'), results: one(null) },
  ],
  $stdDevSamp: [
    {
      name: 'of a sample',
      pipeline: all({ $stdDevSamp: '$v' }),
      documents: numbers(20, 30, 40),
      results: one(double(10)),
    },
    { name: 'of one is null', pipeline: all({ $stdDevSamp: '$v' }), documents: numbers(5), results: one(null) },
    {
      name: 'of other values too',
      pipeline: all({ $stdDevSamp: '$v' }),
      documents: numbers(1, 'x', 2, null, 3),
      results: one(double(1)),
    },
  ],
  $sum: [
    {
      name: 'of amounts',
      pipeline: [
        {
          $group: {
            _id: { day: { $dayOfYear: '$date' }, year: { $year: '$date' } },
            totalAmount: { $sum: { $multiply: ['$price', '$quantity'] } },
            count: { $sum: 1 },
          },
        },
        { $sort: { '_id.day': 1 } },
      ],
      documents: sales,
      results: [
        { _id: { day: 1, year: 2014 }, totalAmount: 20, count: 1 },
        { _id: { day: 34, year: 2014 }, totalAmount: 45, count: 2 },
        { _id: { day: 46, year: 2014 }, totalAmount: 150, count: 2 },
      ],
    },
    {
      name: 'arrays and strings count nothing',
      pipeline: all({ $sum: '$v' }),
      documents: numbers([1, 2], 'x', 3),
      results: one(3),
    },
    { name: 'of nothing is zero', pipeline: all({ $sum: '$none' }), documents: numbers(1), results: one(0) },
    {
      name: 'int32s become an int64',
      pipeline: all({ $sum: '$v' }),
      documents: numbers(2147483647, 1),
      results: one(long(2147483648)),
    },
    {
      name: 'int64s stay exact',
      pipeline: all({ $sum: '$v' }),
      documents: numbers(long('9007199254740993'), long('-9007199254740992')),
      results: one(long(1)),
    },
    {
      name: 'int64s that overflow become a double',
      pipeline: all({ $sum: '$v' }),
      documents: numbers(long('9223372036854775807'), 1),
      results: one(double(2 ** 63)),
    },
    {
      name: 'doubles keep small addends',
      pipeline: all({ $sum: '$v' }),
      documents: numbers(0.1, 0.2, 0.3, -0.3, -0.2, -0.1),
      results: one(double(0)),
    },
    {
      name: 'a decimal makes a decimal',
      pipeline: all({ $sum: '$v' }),
      documents: numbers(decimal('0.10'), 1),
      results: one(decimal('1.10')),
    },
    {
      name: 'infinities',
      pipeline: all({ $sum: '$v' }),
      documents: numbers(Number.POSITIVE_INFINITY, 1),
      results: one(Number.POSITIVE_INFINITY),
    },
  ],
  $top: [
    {
      name: 'the first in sort order',
      pipeline: [
        { $group: { _id: '$gameId', p: { $top: { output: ['$playerId', '$score'], sortBy: { score: -1 } } } } },
        { $sort: { _id: 1 } },
      ],
      documents: scores,
      results: [
        { _id: 'G1', p: ['PlayerC', 99] },
        { _id: 'G2', p: ['PlayerD', 80] },
      ],
    },
    {
      name: 'of equal ones the first to arrive',
      pipeline: all({ $top: { output: '$_id', sortBy: { v: 1 } } }),
      documents: numbers(1, 1, 2),
      results: one(0),
    },
    {
      name: 'refuses unknown arguments',
      pipeline: all({ $top: { output: 1, sortBy: { v: 1 }, n: 1 } }),
      error: fails(5788002),
    },
  ],
  $topN: [
    {
      name: 'the first in sort order, sorted',
      pipeline: [
        { $match: { gameId: 'G1' } },
        { $group: { _id: '$gameId', p: { $topN: { output: ['$playerId', '$score'], sortBy: { score: -1 }, n: 3 } } } },
      ],
      documents: scores,
      results: [
        {
          _id: 'G1',
          p: [
            ['PlayerC', 99],
            ['PlayerB', 33],
            ['PlayerA', 31],
          ],
        },
      ],
    },
    {
      name: 'by several fields',
      pipeline: all({ $topN: { output: '$_id', sortBy: { 'v.a': 1, 'v.b': -1 }, n: 2 } }),
      documents: numbers({ a: 1, b: 1 }, { a: 1, b: 2 }, { a: 0 }),
      results: one([2, 1]),
    },
    {
      name: 'n is an integer',
      pipeline: all({ $topN: { output: 1, sortBy: { v: 1 }, n: 1.5 } }),
      documents: numbers(1),
      error: fails(5787903),
    },
  ],
}
