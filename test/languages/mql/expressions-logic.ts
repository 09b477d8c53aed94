/**
 * Cases of conditions, comparisons, variables and others. Sources: the manual, and MongoDB's own unit tests.
 */

import { Binary, MaxKey, MinKey } from 'bson'
import { caseNow, decimal, double, type ExpressionCases, fails, long, missing, thenName } from './aggregate-case.ts'

export const logicCases: ExpressionCases = {
  $and: [
    [{ $and: [1, 'green'] }, true],
    [{ $and: [] }, true],
    [{ $and: [[null], [false], [0]] }, true],
    [{ $and: [null, true] }, false],
    [{ $and: [{ $gt: ['$qty', 100] }, { $lt: ['$qty', 250] }] }, true, { qty: 200 }],
    [{ $and: '$x' }, false, { x: 0 }],
    [{ $and: [decimal('0'), true] }, false],
    [{ $and: [Number.NaN] }, true],
  ],
  $or: [
    [{ $or: [true, false] }, true],
    [{ $or: [[false], false] }, true],
    [{ $or: [null, 0, '$missing'] }, false],
    [{ $or: [] }, false],
  ],
  $not: [
    [{ $not: [true] }, false],
    [{ $not: [[false]] }, false],
    [{ $not: false }, true],
    [{ $not: [null] }, true],
    [{ $not: '$missing' }, true],
    [{ $not: [1, 2] }, fails(16020)],
  ],
  $cmp: [
    [{ $cmp: ['$qty', 250] }, 1, { qty: 300 }],
    [{ $cmp: [1, long(1)] }, 0],
    [{ $cmp: ['$missing', null] }, -1],
    [
      {
        $cmp: [
          [1, 2],
          [1, 3],
        ],
      },
      -1,
    ],
    [{ $cmp: [1, 'a'] }, -1],
    [{ $cmp: [new MinKey(), new MaxKey()] }, -1],
  ],
  $eq: [
    [{ $eq: ['$qty', 250] }, true, { qty: 250 }],
    [{ $eq: [1, decimal('1.0')] }, true],
    [{ $eq: ['$a', '$b'] }, true],
    [{ $eq: ['$missing', null] }, false],
    [
      {
        $eq: [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      },
      false,
    ],
    [{ $eq: ['é', 'é'] }, true],
    [{ $eq: [1] }, fails(16020)],
  ],
  $ne: [
    [{ $ne: ['$qty', 250] }, true, { qty: 300 }],
    [{ $ne: [1, double(1)] }, false],
    [{ $ne: [null, '$missing'] }, true],
  ],
  $gt: [
    [{ $gt: ['$qty', 250] }, true, { qty: 300 }],
    [{ $gt: ['a', 1] }, true],
    [{ $gt: ['$missing', null] }, false],
  ],
  $gte: [
    [{ $gte: ['$qty', 250] }, true, { qty: 250 }],
    [{ $gte: [[], {}] }, true],
    [{ $gte: [null, 0] }, false],
  ],
  $lt: [
    [{ $lt: ['$qty', 250] }, false, { qty: 250 }],
    [{ $lt: [Number.NaN, Number.NEGATIVE_INFINITY] }, true],
    [{ $lt: ['$missing', null] }, true],
  ],
  $lte: [
    [{ $lte: ['$qty', 250] }, true, { qty: 250 }],
    [{ $lte: [false, true] }, true],
    [{ $lte: ['b', 'a'] }, false],
  ],
  $cond: [
    [{ $cond: { if: { $gte: ['$qty', 250] }, [thenName]: 30, else: 20 } }, 20, { qty: 200 }],
    [{ $cond: [{ $gte: ['$qty', 250] }, 30, 20] }, 30, { qty: 300 }],
    [{ $cond: ['$missing', 'yes', '$missing'] }, missing],
    [{ $cond: { if: true, [thenName]: 1 } }, fails(17082)],
    [{ $cond: { [thenName]: 1, else: 2 } }, fails(17080)],
    [{ $cond: { if: 1, [thenName]: 1, else: 2, other: 3 } }, fails(17083)],
    [{ $cond: [1, 2] }, fails(16020)],
  ],
  $ifNull: [
    [{ $ifNull: ['$description', 'Unspecified'] }, 'Unspecified', { item: 1 }],
    [{ $ifNull: ['$description', '$quantity', 'Unspecified'] }, 200, { description: null, quantity: 200 }],
    [{ $ifNull: ['$a', '$b'] }, missing],
    [{ $ifNull: [0, 1] }, 0],
    [{ $ifNull: ['$a'] }, fails(1257300)],
  ],
  $switch: [
    [{ $switch: { branches: [{ case: { $eq: ['$x', 1] }, [thenName]: 'one' }], default: 'many' } }, 'one', { x: 1 }],
    [{ $switch: { branches: [{ case: '$missing', [thenName]: 1 }], default: 'Did not match' } }, 'Did not match'],
    [{ $switch: { branches: [{ case: '$missing', [thenName]: 1 }] } }, fails(40066)],
    [{ $switch: { branches: [{ case: 1 }] } }, fails(40065)],
    [{ $switch: { branches: 1 } }, fails(40061)],
    [{ $switch: 1 }, fails(40060)],
    [{ $switch: { branches: [], other: 1 } }, fails(40067)],
  ],
}

export const variableCases: ExpressionCases = {
  $let: [
    [
      {
        $let: {
          vars: {
            total: { $add: ['$price', '$tax'] },
            discounted: { $cond: { if: '$applyDiscount', [thenName]: 0.9, else: 1 } },
          },
          in: { $multiply: ['$$total', '$$discounted'] },
        },
      },
      9.450000000000001,
      { price: 10, tax: 0.5, applyDiscount: true },
    ],
    [{ $let: { vars: { a: 1 }, in: { $let: { vars: { a: 2, b: '$$a' }, in: ['$$a', '$$b'] } } } }, [2, 1]],
    [{ $let: { vars: { CURRENT: '$a' }, in: '$b' } }, 5, { a: { b: 5 }, b: 1 }],
    [{ $let: { vars: { a: '$missing' }, in: '$$a' } }, missing],
    [{ $let: { vars: { A: 1 }, in: 1 } }, fails(9)],
    [{ $let: { vars: { a: 1 }, in: '$$b' } }, fails(17276)],
    [{ $let: { in: 1 } }, fails(16876)],
    [{ $let: 1 }, fails(16874)],
  ],
  $literal: [
    [{ $literal: '$price' }, '$price'],
    [{ $literal: { $add: [1, 2] } }, { $add: [1, 2] }],
    [{ $literal: 1 }, 1],
    [{ $eq: [{ $literal: '$1' }, '$price'] }, true, { price: '$1' }],
  ],
  $const: [
    [{ $const: '$a' }, '$a'],
    [{ $const: [1, '$b'] }, [1, '$b']],
    [{ $const: null }, null],
  ],
}

/** Paths, system variables, documents and arrays. */
export const pathCases: ExpressionCases = {
  paths: [
    ['$a', 1, { a: 1 }],
    ['$a.b', 2, { a: { b: 2 } }],
    ['$a.b', [1, [2]], { a: [{ b: 1 }, { c: 1 }, { b: [2] }, 5] }],
    ['$a.0', [], { a: [1, 2] }],
    ['$a.b.c', [[1, 2], [3]], { a: [{ b: [{ c: 1 }, { c: 2 }] }, { b: [{ c: 3 }] }] }],
    ['$a.b', missing, { a: 5 }],
    ['$é.ü', 'ß', { é: { ü: 'ß' } }],
    ['$a.1', 7, { a: { 1: 7 } }],
    ['$', fails(16872)],
    ['$a.', fails(40353)],
    ['$a..b', fails(15998)],
    ['$a.$b', fails(16410)],
    ['plain', 'plain'],
  ],
  variables: [
    ['$$ROOT.a', 1, { a: 1 }],
    ['$$CURRENT', { a: 1 }, { a: 1 }],
    ['$$REMOVE', missing],
    ['$$NOW', caseNow],
    ['$$nothing', fails(17276)],
    ['$$', fails(9)],
    ['$$ROOT.', fails(40353)],
  ],
  documents: [
    [{ a: 1, b: '$x' }, { a: 1, b: 2 }, { x: 2 }],
    [{ a: '$missing' }, {}],
    [{ a: { b: { $add: [1, 1] } } }, { a: { b: 2 } }],
    [['$x', '$missing', 3], [1, null, 3], { x: 1 }],
    [{ 'a.b': 1 }, fails(16412)],
    [{ a: 1, $add: [1] }, fails(16410)],
    [{ $add: [1], a: 1 }, fails(15983)],
    [{ $nothing: 1 }, fails(168)],
    [{}, {}],
  ],
}

export const otherCases: ExpressionCases = {
  $binarySize: [
    [{ $binarySize: '$image' }, 4, { image: new Binary(Buffer.from([1, 2, 3, 4])) }],
    [{ $binarySize: 'cafétéria' }, 11],
    [{ $binarySize: null }, null],
    [{ $binarySize: 1 }, fails(51276)],
  ],
  $bsonSize: [
    [{ $bsonSize: '$$ROOT.d' }, 12, { d: { a: 1 } }],
    [{ $bsonSize: { a: 1 } }, 12],
    [{ $bsonSize: '$missing' }, null],
    [{ $bsonSize: [] }, fails(16020)],
    [{ $bsonSize: 'x' }, fails(31393)],
  ],
  $rand: [
    [{ $lt: [{ $rand: {} }, 1] }, true],
    [{ $gte: [{ $rand: {} }, 0] }, true],
    [{ $rand: 1 }, fails(3040501)],
  ],
  $meta: [
    [{ $meta: 'textScore' }, fails(40218)],
    [{ $meta: 'nothing' }, fails(17308)],
    [{ $meta: 1 }, fails(17307)],
  ],
}

const method = 'approximate'

export const accumulationCases: ExpressionCases = {
  $median: [
    [{ $median: { input: '$a', method } }, double(2), { a: [3, 1, 2] }],
    [{ $median: { input: ['$a', '$b', 5], method } }, double(4), { a: 4, b: 3 }],
    [{ $median: { input: '$a', method } }, null, { a: 'x' }],
    [{ $median: { input: 7, method } }, double(7)],
  ],
  $percentile: [
    [{ $percentile: { input: '$a', p: [0.5, 0.9], method } }, [double(2), double(3)], { a: [3, 1, 2] }],
    [{ $percentile: { input: '$missing', p: [0.5], method } }, [null]],
    [{ $percentile: { input: [1], p: [], method } }, fails(7750301)],
    [{ $percentile: { input: [1], p: [0.5], method: 'other' } }, fails(2)],
  ],
  $sum: [
    [{ $sum: '$quizzes' }, 23, { quizzes: [10, 6, 7] }],
    [{ $sum: ['$final', '$midterm'] }, 155, { final: 80, midterm: 75 }],
    [{ $sum: [1, 'x', null, 2.5] }, 3.5],
    [{ $sum: '$missing' }, 0],
    [{ $sum: [[1, 2], 3] }, 3],
    [{ $sum: [2147483647, 1] }, long(2147483648)],
    [{ $sum: [decimal('0.1'), 1] }, decimal('1.1')],
  ],
  $avg: [
    [{ $avg: '$quizzes' }, 7.666666666666667, { quizzes: [10, 6, 7] }],
    [{ $avg: [1, 2, 'x'] }, 1.5],
    [{ $avg: [] }, null],
    [{ $avg: [decimal('1'), 2] }, decimal('1.5')],
  ],
  $min: [
    [{ $min: '$quizzes' }, 6, { quizzes: [10, 6, 7] }],
    [{ $min: [null, 3, 'a'] }, 3],
    [{ $min: '$missing' }, null],
  ],
  $max: [
    [{ $max: '$quizzes' }, 10, { quizzes: [10, 6, 7] }],
    [{ $max: [1, 'a', []] }, []],
    [{ $max: [null] }, null],
  ],
  $stdDevPop: [
    [{ $stdDevPop: '$scores' }, 7.863841300535, { scores: [95, 86, 89, 72, 80] }],
    [{ $stdDevPop: [1, 1, 1] }, double(0)],
    [{ $stdDevPop: ['x'] }, null],
  ],
  $stdDevSamp: [
    [{ $stdDevSamp: [1, 2, 3, 4] }, 1.2909944487358056],
    [{ $stdDevSamp: [1] }, null],
    [{ $stdDevSamp: '$missing' }, null],
  ],
  $firstN: [
    [{ $firstN: { n: 3, input: '$a' } }, [10, 20, 30], { a: [10, 20, 30, 40] }],
    [{ $firstN: { n: 9, input: [null, 1] } }, [null, 1]],
    [{ $firstN: { n: 1, input: 5 } }, fails(5788200)],
    [{ $firstN: { n: 0, input: [1] } }, fails(5787908)],
    [{ $firstN: { input: [1] } }, fails(5787906)],
  ],
  $lastN: [
    [{ $lastN: { n: 3, input: '$a' } }, [20, 30, 40], { a: [10, 20, 30, 40] }],
    [{ $lastN: { n: long(1), input: [1, 2] } }, [2]],
    [{ $lastN: { n: 1.5, input: [1] } }, fails(5787903)],
  ],
  $maxN: [
    [{ $maxN: { n: 2, input: '$score' } }, [3, 2], { score: [1, 2, 3] }],
    [{ $maxN: { n: 5, input: [null, 1, 'a'] } }, ['a', 1]],
    [{ $maxN: { n: 'x', input: [1] } }, fails(5787902)],
  ],
  $minN: [
    [{ $minN: { n: 2, input: '$score' } }, [1, 2], { score: [3, 1, 2] }],
    [{ $minN: { n: 2, input: [] } }, []],
    [{ $minN: 5 }, fails(5787900)],
  ],
}
