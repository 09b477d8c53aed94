/** Cases of operators that change arrays. Source: the manual's operator pages. */

import { BSONRegExp, Decimal128, Double, Long } from 'bson'
import type { UpdateCase } from './update-case.ts'

const long = (value: number): Long => Long.fromNumber(value)
const quiz = (id: number, score: number): object => ({ id, score })

export const arrayCases: readonly UpdateCase[] = [
  // $addToSet
  { name: '$addToSet adds a value', before: { a: ['x'] }, update: { $addToSet: { a: 'y' } }, after: { a: ['x', 'y'] } },
  {
    name: '$addToSet does not add an existing value',
    before: { a: ['x', 'y'] },
    update: { $addToSet: { a: 'y' } },
    isUnchanged: true,
  },
  { name: '$addToSet makes an array', before: {}, update: { $addToSet: { 'a.b': 1 } }, after: { a: { b: [1] } } },
  {
    name: '$addToSet adds an array as one element',
    before: { a: ['x'] },
    update: { $addToSet: { a: ['x', 'y'] } },
    after: { a: ['x', ['x', 'y']] },
  },
  {
    name: '$addToSet with $each',
    before: { a: [1, 2] },
    update: { $addToSet: { a: { $each: [2, 3, 3, 1, 4] } } },
    after: { a: [1, 2, 3, 4] },
  },
  {
    name: '$addToSet with $each keeps the order it is given',
    before: { a: [] },
    update: { $addToSet: { a: { $each: ['z', 'a', 'm'] } } },
    after: { a: ['z', 'a', 'm'] },
  },
  {
    name: '$addToSet with $each of nothing makes an empty array',
    before: {},
    update: { $addToSet: { a: { $each: [] } } },
    after: { a: [] },
  },
  {
    name: '$addToSet with $each on a missing field drops duplicates',
    before: {},
    update: { $addToSet: { a: { $each: [1, long(1), 2] } } },
    after: { a: [1, 2] },
  },
  {
    name: '$addToSet compares numbers by value',
    before: { a: [1] },
    update: { $addToSet: { a: { $each: [new Double(1), long(1), Decimal128.fromString('1.0')] } } },
    isUnchanged: true,
  },
  {
    name: '$addToSet leaves existing duplicates',
    before: { a: [1, 1] },
    update: { $addToSet: { a: 2 } },
    after: { a: [1, 1, 2] },
  },
  {
    name: '$addToSet compares documents with the order of their fields',
    before: { a: [{ x: 1, y: 2 }] },
    update: {
      $addToSet: {
        a: {
          $each: [
            { y: 2, x: 1 },
            { x: 1, y: 2 },
          ],
        },
      },
    },
    after: {
      a: [
        { x: 1, y: 2 },
        { y: 2, x: 1 },
      ],
    },
  },
  {
    name: '$addToSet adds a document with $each in second place',
    before: { a: [] },
    update: { $addToSet: { a: { x: 1, $each: [1] } } },
    after: { a: [{ x: 1, $each: [1] }] },
  },
  {
    name: '$addToSet to a number',
    before: { a: 1 },
    update: { $addToSet: { a: 1 } },
    error: [2, "Cannot apply $addToSet to non-array field. Field named 'a' has non-array type int"],
  },
  {
    name: '$addToSet with $each of no array',
    before: { a: [] },
    update: { $addToSet: { a: { $each: 1 } } },
    error: [14, 'The argument to $each in $addToSet must be an array but it was of type int'],
  },
  {
    name: '$addToSet with more than $each',
    before: { a: [] },
    update: { $addToSet: { a: { $each: [1], $slice: 1 } } },
    error: [2, 'Found unexpected fields after $each in $addToSet: { $each: [ 1 ], $slice: 1 }'],
  },

  // $pop
  { name: '$pop takes the last element', before: { a: [8, 9, 10] }, update: { $pop: { a: 1 } }, after: { a: [8, 9] } },
  {
    name: '$pop takes the first element',
    before: { a: [8, 9, 10] },
    update: { $pop: { a: -1 } },
    after: { a: [9, 10] },
  },
  {
    name: '$pop of the only element',
    before: { a: { b: [1] } },
    update: { $pop: { 'a.b': new Double(1) } },
    after: { a: { b: [] } },
  },
  { name: '$pop of an empty array', before: { a: [] }, update: { $pop: { a: 1 } }, isUnchanged: true },
  { name: '$pop of a missing field', before: {}, update: { $pop: { a: 1 } }, isUnchanged: true },
  { name: '$pop beyond the end of an array', before: { a: [] }, update: { $pop: { 'a.3': 1 } }, isUnchanged: true },
  {
    name: '$pop of a string',
    before: { a: 'x' },
    update: { $pop: { a: 1 } },
    error: [14, "Path 'a' contains an element of non-array type 'string'"],
  },
  {
    name: '$pop in a string',
    before: { a: 'x' },
    update: { $pop: { 'a.b': 1 } },
    error: [28, 'Cannot use the part (b) of (a.b) to traverse the element ({a: "x"})'],
  },
  { name: '$pop of two', before: { a: [1] }, update: { $pop: { a: 2 } }, error: [9, '$pop expects 1 or -1, found: 2'] },
  {
    name: '$pop with a string',
    before: { a: [1] },
    update: { $pop: { a: 'x' } },
    error: [9, 'Expected a number in: a: "x"'],
  },
  {
    name: '$pop with a half',
    before: { a: [1] },
    update: { $pop: { a: 1.5 } },
    error: [9, 'Expected an integer: a: 1.5'],
  },

  // $pull
  { name: '$pull of a value', before: { a: [1, 2, 1, 3] }, update: { $pull: { a: 1 } }, after: { a: [2, 3] } },
  {
    name: '$pull compares numbers by value',
    before: { a: [1, long(1), new Double(1), 2] },
    update: { $pull: { a: 1 } },
    after: { a: [2] },
  },
  {
    name: '$pull with a condition',
    before: { a: [1, 9, 4, 6] },
    update: { $pull: { a: { $gte: 6 } } },
    after: { a: [1, 4] },
  },
  {
    name: '$pull with two conditions',
    before: { a: [1, 9, 4, 6] },
    update: { $pull: { a: { $gte: 4, $lt: 9 } } },
    after: { a: [1, 9] },
  },
  {
    name: '$pull with $in',
    before: { fruits: ['apples', 'pears', 'oranges', 'grapes'], v: ['carrots'] },
    update: { $pull: { fruits: { $in: ['apples', 'oranges'] }, v: 'carrots' } },
    after: { fruits: ['pears', 'grapes'], v: [] },
  },
  {
    name: '$pull of documents that match',
    before: {
      r: [
        { item: 'A', score: 5 },
        { item: 'B', score: 8 },
      ],
    },
    update: { $pull: { r: { score: 8, item: 'B' } } },
    after: { r: [{ item: 'A', score: 5 }] },
  },
  {
    name: '$pull of documents with a condition in them',
    before: { r: [{ q: [{ a: 5 }, { a: 9 }] }, { q: [{ a: 7 }] }] },
    update: { $pull: { r: { q: { $elemMatch: { a: { $gte: 8 } } } } } },
    after: { r: [{ q: [{ a: 7 }] }] },
  },
  {
    name: '$pull of documents with $or',
    before: { a: [{ x: 1 }, { y: 2 }, { z: 3 }] },
    update: { $pull: { a: { $or: [{ x: 1 }, { z: 3 }] } } },
    after: { a: [{ y: 2 }] },
  },
  {
    name: '$pull with a document leaves other elements',
    before: { a: [1, 'x', { b: 1 }] },
    update: { $pull: { a: { b: { $exists: false } } } },
    isUnchanged: true,
  },
  {
    name: '$pull with an empty document takes all documents',
    before: { a: [1, {}, { b: 1 }] },
    update: { $pull: { a: {} } },
    after: { a: [1] },
  },
  {
    name: '$pull with a pattern',
    before: { a: ['apple', 'pear', 5] },
    update: { $pull: { a: new BSONRegExp('^A', 'i') } },
    after: { a: ['pear', 5] },
  },
  {
    name: '$pull of an array needs the same elements',
    before: { a: [[1, 2], [2, 1], 1] },
    update: { $pull: { a: [1, 2] } },
    after: { a: [[2, 1], 1] },
  },
  { name: '$pull of null', before: { a: [null, 1, null] }, update: { $pull: { a: null } }, after: { a: [1] } },
  { name: '$pull of a missing value', before: { a: [1] }, update: { $pull: { a: 5 } }, isUnchanged: true },
  { name: '$pull of a missing field', before: {}, update: { $pull: { a: 5, 'b.c': 1 } }, isUnchanged: true },
  {
    name: '$pull inside of elements',
    before: { r: [{ a: [1, 2] }, { a: [2] }] },
    update: { $pull: { 'r.$[].a': 2 } },
    after: { r: [{ a: [1] }, { a: [] }] },
  },
  {
    name: '$pull from a number',
    before: { a: 1 },
    update: { $pull: { a: 1 } },
    error: [2, 'Cannot apply $pull to a non-array value'],
  },
  {
    name: '$pull in a number',
    before: { a: 1 },
    update: { $pull: { 'a.b': 1 } },
    error: [28, 'Cannot use the part (b) of (a.b) to traverse the element ({a: 1})'],
  },
  {
    name: '$pull with an unknown condition',
    before: { a: [1] },
    update: { $pull: { a: { $foo: 1 } } },
    error: [2, '$foo'],
  },

  // $pullAll
  {
    name: '$pullAll takes all values of a list',
    before: { a: [0, 2, 5, 5, 1, 0] },
    update: { $pullAll: { a: [0, 5] } },
    after: { a: [2, 1] },
  },
  {
    name: '$pullAll needs equal documents',
    before: { a: [{ x: 1, y: 1 }, { x: 1 }] },
    update: { $pullAll: { a: [{ x: 1 }] } },
    after: { a: [{ x: 1, y: 1 }] },
  },
  { name: '$pullAll of nothing', before: { a: [1] }, update: { $pullAll: { a: [] } }, isUnchanged: true },
  { name: '$pullAll of a missing field', before: {}, update: { $pullAll: { a: [1] } }, isUnchanged: true },
  {
    name: '$pullAll with a value',
    before: { a: [1] },
    update: { $pullAll: { a: 1 } },
    error: [2, '$pullAll requires an array argument but was given a int'],
  },
  {
    name: '$pullAll from a string',
    before: { a: 'x' },
    update: { $pullAll: { a: ['x'] } },
    error: [2, 'Cannot apply $pull to a non-array value'],
  },

  // $push
  { name: '$push adds a value', before: { a: [1] }, update: { $push: { a: 1 } }, after: { a: [1, 1] } },
  { name: '$push makes an array', before: {}, update: { $push: { 'a.b': 1 } }, after: { a: { b: [1] } } },
  {
    name: '$push adds an array as one element',
    before: { a: [1] },
    update: { $push: { a: [2, 3] } },
    after: { a: [1, [2, 3]] },
  },
  {
    name: '$push adds a document without $each as it is',
    before: { a: [] },
    update: { $push: { a: { $slice: 1 } } },
    after: { a: [{ $slice: 1 }] },
  },
  {
    name: '$push with $each',
    before: { a: [1] },
    update: { $push: { a: { $each: [2, 3] } } },
    after: { a: [1, 2, 3] },
  },
  {
    name: '$push with $each of nothing',
    before: { a: [1] },
    update: { $push: { a: { $each: [] } } },
    isUnchanged: true,
  },
  {
    name: '$push with $each of nothing makes an empty array',
    before: {},
    update: { $push: { a: { $each: [] } } },
    after: { a: [] },
  },
  {
    name: '$push at the front',
    before: { a: [1] },
    update: { $push: { a: { $each: [2, 3], $position: 0 } } },
    after: { a: [2, 3, 1] },
  },
  {
    name: '$push in the middle',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3], $position: 1 } } },
    after: { a: [1, 3, 2] },
  },
  {
    name: '$push before the last',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3, 4], $position: -1 } } },
    after: { a: [1, 3, 4, 2] },
  },
  {
    name: '$push far before the front',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3], $position: -9 } } },
    after: { a: [3, 1, 2] },
  },
  {
    name: '$push far beyond the end',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3], $position: long(9) } } },
    after: { a: [1, 2, 3] },
  },
  {
    name: '$push with $slice keeps the first',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3, 4], $slice: 3 } } },
    after: { a: [1, 2, 3] },
  },
  {
    name: '$push with a negative $slice keeps the last',
    before: { a: [40, 50, 60] },
    update: { $push: { a: { $each: [80, 78, 86], $slice: -5 } } },
    after: { a: [50, 60, 80, 78, 86] },
  },
  {
    name: '$push with $slice of zero',
    before: { a: [1] },
    update: { $push: { a: { $each: [2], $slice: 0 } } },
    after: { a: [] },
  },
  {
    name: '$push with $slice alone',
    before: { a: [89, 70, 100, 20] },
    update: { $push: { a: { $each: [], $slice: -2 } } },
    after: { a: [100, 20] },
  },
  {
    name: '$push with $slice as a double',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [3], $slice: new Double(-2) } } },
    after: { a: [2, 3] },
  },
  {
    name: '$push with $sort of values',
    before: { a: [89, 70, 89, 50] },
    update: { $push: { a: { $each: [40, 60], $sort: 1 } } },
    after: { a: [40, 50, 60, 70, 89, 89] },
  },
  {
    name: '$push with descending $sort',
    before: { a: [89, 70, 100, 20] },
    update: { $push: { a: { $each: [], $sort: -1 } } },
    after: { a: [100, 89, 70, 20] },
  },
  {
    name: '$push with $sort of a sorted array',
    before: { a: [1, 2] },
    update: { $push: { a: { $each: [], $sort: 1 } } },
    isUnchanged: true,
  },
  {
    name: '$push with $sort of mixed types',
    before: { a: ['x', 5, null] },
    update: { $push: { a: { $each: [true, [1], { b: 1 }], $sort: 1 } } },
    after: { a: [null, 5, 'x', { b: 1 }, [1], true] },
  },
  {
    name: '$push with $sort by a field',
    before: { quizzes: [quiz(1, 6), quiz(2, 9)] },
    update: { $push: { quizzes: { $each: [quiz(3, 8), quiz(4, 7), quiz(5, 6)], $sort: { score: 1 } } } },
    after: { quizzes: [quiz(1, 6), quiz(5, 6), quiz(4, 7), quiz(3, 8), quiz(2, 9)] },
  },
  {
    name: '$push with all of its clauses: position, then sort, then slice',
    before: {
      quizzes: [
        { wk: 1, score: 10 },
        { wk: 2, score: 8 },
        { wk: 3, score: 5 },
        { wk: 4, score: 6 },
      ],
    },
    update: {
      $push: {
        quizzes: {
          $each: [
            { wk: 5, score: 8 },
            { wk: 6, score: 7 },
            { wk: 7, score: 6 },
          ],
          $sort: { score: -1 },
          $slice: 3,
          $position: 0,
        },
      },
    },
    after: {
      quizzes: [
        { wk: 1, score: 10 },
        { wk: 5, score: 8 },
        { wk: 2, score: 8 },
      ],
    },
  },
  {
    name: '$push with $sort by an embedded field',
    before: { a: [{ b: { c: 2 } }, { b: { c: 1 } }, {}, 5] },
    update: { $push: { a: { $each: [], $sort: { 'b.c': 1 } } } },
    after: { a: [{}, 5, { b: { c: 1 } }, { b: { c: 2 } }] },
  },
  {
    name: '$push with $sort by two fields',
    before: {
      a: [
        { x: 1, y: 1 },
        { x: 2, y: 1 },
        { x: 1, y: 2 },
      ],
    },
    update: { $push: { a: { $each: [], $sort: { x: 1, y: -1 } } } },
    after: {
      a: [
        { x: 1, y: 2 },
        { x: 1, y: 1 },
        { x: 2, y: 1 },
      ],
    },
  },
  {
    name: '$push with $sort and $slice',
    before: { a: [3] },
    update: { $push: { a: { $each: [1, 2], $sort: 1, $slice: 2 } } },
    after: { a: [1, 2] },
  },
  {
    name: '$push with $sort and $slice on a missing field',
    before: {},
    update: { $push: { a: { $each: [3, 1, 2], $sort: 1, $slice: -2 } } },
    after: { a: [2, 3] },
  },
  {
    name: '$push to a string',
    before: { a: 'x' },
    update: { $push: { a: 1 } },
    error: [2, "The field 'a' must be an array but is of type string in document {_id: 1}"],
  },
  {
    name: '$push in a string',
    before: { a: 'x' },
    update: { $push: { 'a.b': 1 } },
    error: [28, "Cannot create field 'b' in element"],
  },
  {
    name: '$push with $each of no array',
    before: {},
    update: { $push: { a: { $each: 1 } } },
    error: [2, 'The argument to $each in $push must be an array but it was of type: int'],
  },
  {
    name: '$push with an unknown clause',
    before: {},
    update: { $push: { a: { $each: [1], $foo: 1 } } },
    error: [2, 'Unrecognized clause in $push: $foo'],
  },
  {
    name: '$push with $slice of a string',
    before: {},
    update: { $push: { a: { $each: [1], $slice: 'x' } } },
    error: [2, 'The value for $slice must be an integer value but was given type: string'],
  },
  {
    name: '$push with $slice of a half',
    before: {},
    update: { $push: { a: { $each: [1], $slice: 1.5 } } },
    error: [2, 'The value for $slice must be an integer value but was given type: double'],
  },
  {
    name: '$push with $position of a string',
    before: {},
    update: { $push: { a: { $each: [1], $position: 'x' } } },
    error: [2, 'The value for $position must be an integer value, not of type: string'],
  },
  {
    name: '$push with $sort of two',
    before: {},
    update: { $push: { a: { $each: [1], $sort: 2 } } },
    error: [2, 'The $sort element value must be either 1 or -1'],
  },
  {
    name: '$push with $sort of a string',
    before: {},
    update: { $push: { a: { $each: [1], $sort: 'x' } } },
    error: [2, 'The $sort is invalid: use 1/-1 to sort the whole element'],
  },
  {
    name: '$push with an empty $sort',
    before: {},
    update: { $push: { a: { $each: [1], $sort: {} } } },
    error: [2, 'The sort pattern is empty when it should be a set of fields.'],
  },
  {
    name: '$push with $sort by two of a field',
    before: {},
    update: { $push: { a: { $each: [1], $sort: { b: 2 } } } },
    error: [2, 'The sort element value must be either 1 or -1'],
  },
  {
    name: '$push with $sort by a path with an empty part',
    before: {},
    update: { $push: { a: { $each: [1], $sort: { 'b..c': 1 } } } },
    error: [2, 'has an empty part: b..c'],
  },
]
