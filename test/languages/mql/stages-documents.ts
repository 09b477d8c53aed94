/** Cases of stages that process one document at a time. Sources: the manual, and MongoDB's own tests. */

import { decimal, double, fails, long, type StageCases, thenName } from './aggregate-case.ts'

const scores = [
  { _id: 1, student: 'Maya', homework: [10, 5, 10], quiz: [10, 8], extraCredit: 0 },
  { _id: 2, student: 'Ryan', homework: [5, 6, 5], quiz: [8, 8], extraCredit: 8 },
]

const books = [
  {
    _id: 1,
    title: 'abc123',
    isbn: '0001122223334',
    author: { last: 'zzz', first: 'aaa' },
    copies: 5,
    lastModified: '2016-07-28',
  },
]

const clothing = [
  { _id: 1, item: 'Shirt', sizes: ['S', 'M', 'L'] },
  { _id: 2, item: 'Shorts', sizes: [] },
  { _id: 3, item: 'Hat', sizes: 'M' },
  { _id: 4, item: 'Gloves' },
  { _id: 5, item: 'Scarf', sizes: null },
]

const forecast = {
  _id: 1,
  title: '123 Department Report',
  tags: ['G', 'STLW'],
  year: 2014,
  subsections: [
    { subtitle: 'Section 1: Overview', tags: ['SI', 'G'], content: 'Section 1: This is the content of section 1.' },
    { subtitle: 'Section 2: Analysis', tags: ['STLW'], content: 'Section 2: This is the content of section 2.' },
    {
      subtitle: 'Section 3: Budgeting',
      tags: ['TK'],
      content: { text: 'Section 3: This is the content of section 3.', tags: ['HCS'] },
    },
  ],
}

const account = {
  _id: 1,
  level: 1,
  acct_id: 'xyz123',
  cc: { level: 5, type: 'yy', shipping_addr: [{ level: 3, addr1: '987 XYZ Ave' }] },
  status: 'A',
}

export const documentStageCases: StageCases = {
  $addFields: [
    {
      name: 'fields that are computed from each other in two stages',
      pipeline: [
        { $addFields: { totalHomework: { $sum: '$homework' }, totalQuiz: { $sum: '$quiz' } } },
        { $addFields: { totalScore: { $add: ['$totalHomework', '$totalQuiz', '$extraCredit'] } } },
      ],
      documents: scores,
      results: [
        { ...scores[0]!, totalHomework: 25, totalQuiz: 18, totalScore: 43 },
        { ...scores[1]!, totalHomework: 16, totalQuiz: 16, totalScore: 40 },
      ],
    },
    {
      name: 'an embedded field',
      pipeline: [{ $addFields: { 'specs.fuel_type': 'unleaded' } }],
      documents: [
        { _id: 1, type: 'car', specs: { doors: 4, wheels: 4 } },
        { _id: 2, type: 'jet ski' },
      ],
      results: [
        { _id: 1, type: 'car', specs: { doors: 4, wheels: 4, fuel_type: 'unleaded' } },
        { _id: 2, type: 'jet ski', specs: { fuel_type: 'unleaded' } },
      ],
    },
    {
      name: 'a field keeps its place',
      pipeline: [{ $addFields: { a: '$b' } }],
      documents: [{ _id: 1, a: 1, b: 2 }],
      results: [{ _id: 1, a: 2, b: 2 }],
    },
    {
      name: 'every element of an array; one that is no document becomes one',
      pipeline: [{ $addFields: { 'a.x': 1 } }],
      documents: [{ a: [{ y: 1 }, 5, [{ z: 1 }]] }],
      results: [{ a: [{ y: 1, x: 1 }, { x: 1 }, [{ z: 1, x: 1 }]] }],
    },
    {
      name: '$$REMOVE and missing values remove the field',
      pipeline: [{ $addFields: { a: '$$REMOVE', b: '$none' } }],
      documents: [{ _id: 1, a: 1, b: 2, c: 3 }],
      results: [{ _id: 1, c: 3 }],
    },
    {
      name: 'an empty document is a value',
      pipeline: [{ $addFields: { a: {} } }],
      documents: [{ _id: 1 }],
      results: [{ _id: 1, a: {} }],
    },
    {
      name: 'a document lists fields to add to the existing document',
      pipeline: [{ $addFields: { a: { b: 1 } } }],
      documents: [{ a: { c: 2 } }],
      results: [{ a: { c: 2, b: 1 } }],
    },
    { name: 'no documents', pipeline: [{ $addFields: { a: 1 } }], results: [] },
    { name: 'must be a document', pipeline: [{ $addFields: 1 }], error: fails(40272) },
    { name: 'a path twice', pipeline: [{ $addFields: { a: 1, 'a.b': 1 } }], error: fails(40176) },
    { name: 'a path within itself', pipeline: [{ $addFields: { 'a.b': 1, a: 1 } }], error: fails(40176) },
    { name: 'dots in an embedded name', pipeline: [{ $addFields: { a: { 'b.c': 1 } } }], error: fails(40183) },
    { name: 'fields beside an operator', pipeline: [{ $addFields: { a: { $add: [1], b: 1 } } }], error: fails(40181) },
    { name: 'a name with a dollar sign', pipeline: [{ $addFields: { $a: 1 } }], error: fails(16410) },
  ],
  $set: [
    {
      name: 'an element is added to an array',
      pipeline: [{ $match: { _id: 1 } }, { $set: { homework: { $concatArrays: ['$homework', [7]] } } }],
      documents: scores,
      results: [{ ...scores[0]!, homework: [10, 5, 10, 7] }],
    },
    {
      name: 'a literal',
      pipeline: [{ $set: { a: { $literal: '$x' } } }],
      documents: [{ _id: 1 }],
      results: [{ _id: 1, a: '$x' }],
    },
    { name: 'must be a document', pipeline: [{ $set: 'x' }], error: fails(40272) },
  ],
  $project: [
    {
      name: 'certain fields',
      pipeline: [{ $project: { title: 1, author: 1 } }],
      documents: books,
      results: [{ _id: 1, title: 'abc123', author: { last: 'zzz', first: 'aaa' } }],
    },
    {
      name: 'without _id',
      pipeline: [{ $project: { _id: 0, title: 1 } }],
      documents: books,
      results: [{ title: 'abc123' }],
    },
    {
      name: 'all but some',
      pipeline: [{ $project: { 'author.first': 0, lastModified: 0 } }],
      documents: books,
      results: [{ _id: 1, title: 'abc123', isbn: '0001122223334', author: { last: 'zzz' }, copies: 5 }],
    },
    {
      name: 'computed fields come after the others, in their order',
      pipeline: [
        {
          $project: {
            title: 1,
            isbn: { prefix: { $substr: ['$isbn', 0, 3] }, group: { $substr: ['$isbn', 3, 2] } },
            lastName: '$author.last',
            copiesSold: '$copies',
          },
        },
      ],
      documents: books,
      results: [{ _id: 1, title: 'abc123', isbn: { prefix: '000', group: '11' }, lastName: 'zzz', copiesSold: 5 }],
    },
    {
      name: 'embedded fields in both notations',
      pipeline: [{ $project: { stop: { title: 1 }, 'go.on': 1 } }],
      documents: [
        { _id: 1, stop: { title: 'a', x: 1 }, go: { on: 1, off: 2 } },
        { _id: 2, stop: [{ title: 'b' }, 3] },
      ],
      results: [
        { _id: 1, stop: { title: 'a' }, go: { on: 1 } },
        { _id: 2, stop: [{ title: 'b' }] },
      ],
    },
    {
      name: 'a field that is computed only where it is needed',
      pipeline: [
        {
          $project: {
            title: 1,
            'author.middle': { $cond: [{ $eq: ['', '$author.middle'] }, '$$REMOVE', '$author.middle'] },
          },
        },
      ],
      documents: [
        { _id: 1, title: 'a', author: { middle: '' } },
        { _id: 2, title: 'b', author: { middle: 'm', x: 1 } },
      ],
      results: [
        { _id: 1, title: 'a', author: {} },
        { _id: 2, title: 'b', author: { middle: 'm' } },
      ],
    },
    {
      name: 'an array of fields',
      pipeline: [{ $project: { myArray: ['$x', '$y', '$someField'] } }],
      documents: [{ _id: 1, x: 1, y: 1 }],
      results: [{ _id: 1, myArray: [1, 1, null] }],
    },
    {
      name: 'something computed in every element of an array',
      pipeline: [{ $project: { 'a.b': { $add: [1, 1] } } }],
      documents: [{ _id: 1, a: [1, { c: 1 }] }],
      results: [{ _id: 1, a: [{ b: 2 }, { b: 2 }] }],
    },
    { name: 'only _id', pipeline: [{ $project: { _id: 1 } }], documents: books, results: [{ _id: 1 }] },
    { name: 'a new _id', pipeline: [{ $project: { _id: '$title' } }], documents: books, results: [{ _id: 'abc123' }] },
    {
      name: 'a string is a literal',
      pipeline: [{ $project: { a: 'x' } }],
      documents: [{ _id: 1 }],
      results: [{ _id: 1, a: 'x' }],
    },
    { name: 'must be a document', pipeline: [{ $project: 1 }], error: fails(15969) },
    { name: 'must not be empty', pipeline: [{ $project: {} }], error: fails(51272) },
    { name: 'inclusion beside exclusion', pipeline: [{ $project: { a: 1, b: 0 } }], error: fails(31254) },
    { name: 'exclusion beside inclusion', pipeline: [{ $project: { a: 0, b: 1 } }], error: fails(31253) },
    {
      name: 'exclusion beside an expression',
      pipeline: [{ $project: { a: 0, b: { $add: [1] } } }],
      error: fails(31252),
    },
    { name: 'exclusion beside a path', pipeline: [{ $project: { a: 0, b: '$x' } }], error: fails(31310) },
    { name: 'a path twice', pipeline: [{ $project: { a: 1, 'a.b': 1 } }], error: fails(31249) },
    { name: 'a path within itself', pipeline: [{ $project: { 'a.b': 1, a: 1 } }], error: fails(31250) },
    { name: 'an empty document', pipeline: [{ $project: { a: {} } }], error: fails(51270) },
    { name: 'an unknown operator', pipeline: [{ $project: { a: { $nothing: 1 } } }], error: fails(31325) },
    { name: 'an operator that only find has', pipeline: [{ $project: { 'a.$': 1 } }], error: fails(31324) },
  ],
  $unset: [
    {
      name: 'one field',
      pipeline: [{ $unset: 'copies' }],
      documents: books,
      results: [
        {
          _id: 1,
          title: 'abc123',
          isbn: '0001122223334',
          author: { last: 'zzz', first: 'aaa' },
          lastModified: '2016-07-28',
        },
      ],
    },
    {
      name: 'several fields, also embedded ones in arrays',
      pipeline: [{ $unset: ['isbn', 'author.first', 'copies.warehouse', 'lastModified'] }],
      documents: [
        {
          ...books[0]!,
          copies: [
            { warehouse: 'A', qty: 5 },
            { warehouse: 'B', qty: 15 },
          ],
        },
      ],
      results: [{ _id: 1, title: 'abc123', author: { last: 'zzz' }, copies: [{ qty: 5 }, { qty: 15 }] }],
    },
    { name: 'a missing field', pipeline: [{ $unset: 'x' }], documents: [{ _id: 1 }], results: [{ _id: 1 }] },
    { name: 'must be strings', pipeline: [{ $unset: [1] }], error: fails(31120) },
    { name: 'must be something', pipeline: [{ $unset: [] }], error: fails(31119) },
    { name: 'must be a string or an array', pipeline: [{ $unset: { a: 1 } }], error: fails(31002) },
  ],
  $unwind: [
    {
      name: 'one document for every element',
      pipeline: [{ $match: { _id: 1 } }, { $unwind: '$sizes' }],
      documents: clothing,
      results: [
        { _id: 1, item: 'Shirt', sizes: 'S' },
        { _id: 1, item: 'Shirt', sizes: 'M' },
        { _id: 1, item: 'Shirt', sizes: 'L' },
      ],
    },
    {
      name: 'a scalar is one element; empty, null and missing give none',
      pipeline: [{ $unwind: { path: '$sizes' } }, { $match: { _id: { $ne: 1 } } }],
      documents: clothing,
      results: [{ _id: 3, item: 'Hat', sizes: 'M' }],
    },
    {
      name: 'with preserveNullAndEmptyArrays',
      pipeline: [{ $unwind: { path: '$sizes', preserveNullAndEmptyArrays: true } }, { $match: { _id: { $ne: 1 } } }],
      documents: clothing,
      results: [
        { _id: 2, item: 'Shorts' },
        { _id: 3, item: 'Hat', sizes: 'M' },
        { _id: 4, item: 'Gloves' },
        { _id: 5, item: 'Scarf', sizes: null },
      ],
    },
    {
      name: 'with includeArrayIndex',
      pipeline: [{ $unwind: { path: '$sizes', includeArrayIndex: 'i' } }],
      documents: clothing,
      results: [
        { _id: 1, item: 'Shirt', sizes: 'S', i: long(0) },
        { _id: 1, item: 'Shirt', sizes: 'M', i: long(1) },
        { _id: 1, item: 'Shirt', sizes: 'L', i: long(2) },
        { _id: 3, item: 'Hat', sizes: 'M', i: null },
      ],
    },
    {
      name: 'an embedded array',
      pipeline: [{ $unwind: '$a.b' }],
      documents: [{ _id: 1, a: { x: 0, b: ['ü', null], y: 1 } }],
      results: [
        { _id: 1, a: { x: 0, b: 'ü', y: 1 } },
        { _id: 1, a: { x: 0, b: null, y: 1 } },
      ],
    },
    { name: 'must be a path', pipeline: [{ $unwind: 'a' }], error: fails(28818) },
    { name: 'must be something', pipeline: [{ $unwind: '' }], error: fails(28812) },
    { name: 'must be a string or a document', pipeline: [{ $unwind: 1 }], error: fails(15981) },
    { name: 'an unknown option', pipeline: [{ $unwind: { path: '$a', x: 1 } }], error: fails(28811) },
    {
      name: 'an option of the wrong type',
      pipeline: [{ $unwind: { path: '$a', preserveNullAndEmptyArrays: 1 } }],
      error: fails(28809),
    },
    {
      name: 'an index with a dollar sign',
      pipeline: [{ $unwind: { path: '$a', includeArrayIndex: '$i' } }],
      error: fails(28822),
    },
  ],
  $replaceRoot: [
    {
      name: 'an embedded document',
      pipeline: [{ $replaceRoot: { newRoot: { $mergeObjects: [{ dogs: 0, cats: 0 }, '$pets'] } } }],
      documents: [
        { _id: 1, name: 'Arlene', pets: { dogs: 2, cats: 1 } },
        { _id: 2, name: 'Sam', pets: { cats: 1 } },
        { _id: 4 },
      ],
      results: [
        { dogs: 2, cats: 1 },
        { dogs: 0, cats: 1 },
        { dogs: 0, cats: 0 },
      ],
    },
    {
      name: 'a new document',
      pipeline: [{ $replaceRoot: { newRoot: { full_name: { $concat: ['$first', ' ', '$last'] } } } }],
      documents: [{ _id: 1, first: 'Gary', last: 'Sheffield' }],
      results: [{ full_name: 'Gary Sheffield' }],
    },
    {
      name: 'must give a document',
      pipeline: [{ $replaceRoot: { newRoot: '$a' } }],
      documents: [{ a: 1 }],
      error: fails(40228),
    },
    {
      name: 'must give something',
      pipeline: [{ $replaceRoot: { newRoot: '$none' } }],
      documents: [{ a: 1 }],
      error: fails(40228),
    },
    { name: 'must be a document', pipeline: [{ $replaceRoot: '$a' }], error: fails(40229) },
    { name: 'must have newRoot', pipeline: [{ $replaceRoot: {} }], error: fails(40414) },
    { name: 'must have nothing else', pipeline: [{ $replaceRoot: { newRoot: {}, a: 1 } }], error: fails(40415) },
  ],
  $replaceWith: [
    {
      name: 'an embedded document',
      pipeline: [{ $replaceWith: '$a' }],
      documents: [{ a: { b: 1 } }],
      results: [{ b: 1 }],
    },
    {
      name: 'merged with the existing document',
      pipeline: [{ $replaceWith: { $mergeObjects: [{ _id: '', name: '' }, '$$ROOT'] } }],
      documents: [{ _id: 1, x: 1 }],
      results: [{ _id: 1, name: '', x: 1 }],
    },
    { name: 'must give a document', pipeline: [{ $replaceWith: '$a' }], documents: [{ a: [] }], error: fails(40228) },
  ],
  $redact: [
    {
      name: 'every level is evaluated',
      pipeline: [
        {
          $redact: {
            $cond: {
              if: { $gt: [{ $size: { $setIntersection: ['$tags', ['STLW', 'G']] } }, 0] },
              [thenName]: '$$DESCEND',
              else: '$$PRUNE',
            },
          },
        },
      ],
      documents: [forecast],
      results: [{ ...forecast, subsections: forecast.subsections.slice(0, 2) }],
    },
    {
      name: 'a pruned document is dropped with its content',
      pipeline: [{ $redact: { $cond: { if: { $eq: ['$level', 5] }, [thenName]: '$$PRUNE', else: '$$DESCEND' } } }],
      documents: [account],
      results: [{ _id: 1, level: 1, acct_id: 'xyz123', status: 'A' }],
    },
    {
      name: 'a kept document is kept whole',
      pipeline: [{ $redact: { $cond: [{ $eq: ['$level', 1] }, '$$KEEP', '$$PRUNE'] } }],
      documents: [account, { ...account, _id: 2, level: 2 }],
      results: [account],
    },
    {
      name: '$$ROOT is the whole document on every level',
      pipeline: [{ $redact: { $cond: [{ $lte: ['$level', '$$ROOT.max'] }, '$$DESCEND', '$$PRUNE'] } }],
      documents: [{ max: 2, level: 1, a: { level: 2 }, b: [{ level: 3 }, [{ level: 1 }], 7] }],
      results: [{ max: 2, level: 1, a: { level: 2 }, b: [[{ level: 1 }], 7] }],
    },
    { name: 'other answers', pipeline: [{ $redact: 'x' }], documents: [{}], error: fails(17053) },
  ],
  $match: [
    {
      name: 'a filter',
      pipeline: [{ $match: { $or: [{ score: { $gt: 70, $lt: 90 } }, { views: { $gte: 1000 } }] } }],
      documents: [
        { _id: 1, score: 80, views: 100 },
        { _id: 2, score: 10, views: 5000 },
        { _id: 3, score: 90 },
      ],
      results: [
        { _id: 1, score: 80, views: 100 },
        { _id: 2, score: 10, views: 5000 },
      ],
    },
    {
      name: 'after other stages',
      pipeline: [{ $addFields: { b: { $multiply: ['$a', 2] } } }, { $match: { b: { $gt: 2 } } }],
      documents: [{ a: 1 }, { a: 2 }],
      results: [{ a: 2, b: 4 }],
    },
    {
      name: 'an expression with a variable of the command',
      pipeline: [{ $match: { $expr: { $eq: ['$a', '$$wanted'] } } }],
      let: { wanted: { $add: [1, 1] } },
      documents: [{ a: 1 }, { a: 2 }, { a: double(2) }],
      results: [{ a: 2 }, { a: double(2) }],
    },
    {
      name: 'variables of the command that need each other',
      pipeline: [{ $project: { _id: 0, a: '$$a', b: '$$b', c: '$$c' } }],
      let: {
        a: 20,
        b: { $add: ['$$a', 2] },
        c: { $let: { vars: { x: { $multiply: ['$$b', 2] } }, in: { $add: ['$$x', 1] } } },
      },
      documents: [{ _id: 1 }],
      results: [{ a: 20, b: 22, c: 45 }],
    },
    { name: 'chance', pipeline: [{ $match: { $sampleRate: 1 } }], documents: [{ a: 1 }], results: [{ a: 1 }] },
    { name: 'no chance', pipeline: [{ $match: { $sampleRate: 0 } }], documents: [{ a: 1 }], results: [] },
    { name: 'nothing', pipeline: [{ $match: {} }], results: [] },
    { name: 'must be a document', pipeline: [{ $match: 1 }], error: fails(15959) },
    { name: 'an unknown operator', pipeline: [{ $match: { a: { $nothing: 1 } } }], error: fails(2) },
    {
      name: 'a wrong filter after other stages',
      pipeline: [{ $limit: 1 }, { $match: { $nothing: 1 } }],
      error: fails(2),
    },
    { name: 'a variable of the command that needs a document', pipeline: [], let: { a: '$x' }, error: fails(4890500) },
  ],
  $limit: [
    {
      name: 'the first',
      pipeline: [{ $limit: 2 }],
      documents: [{ a: 1 }, { a: 2 }, { a: 3 }],
      results: [{ a: 1 }, { a: 2 }],
    },
    { name: 'more than there are', pipeline: [{ $limit: long(5) }], documents: [{ a: 1 }], results: [{ a: 1 }] },
    {
      name: 'after a stage',
      pipeline: [{ $unwind: '$a' }, { $limit: double(3) }],
      documents: [{ a: [1, 2, 3, 4] }],
      results: [{ a: 1 }, { a: 2 }, { a: 3 }],
    },
    { name: 'must be positive', pipeline: [{ $limit: 0 }], error: fails(15958) },
    { name: 'must not be negative', pipeline: [{ $limit: -1 }], error: fails(5107201) },
    { name: 'must be an integer', pipeline: [{ $limit: 1.5 }], error: fails(5107201) },
    { name: 'must be a number', pipeline: [{ $limit: 'x' }], error: fails(5107201) },
  ],
  $skip: [
    { name: 'the first', pipeline: [{ $skip: 2 }], documents: [{ a: 1 }, { a: 2 }, { a: 3 }], results: [{ a: 3 }] },
    { name: 'none', pipeline: [{ $skip: 0 }], documents: [{ a: 1 }], results: [{ a: 1 }] },
    {
      name: 'after a limit',
      pipeline: [{ $limit: 3 }, { $skip: 1 }],
      documents: [{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }],
      results: [{ a: 2 }, { a: 3 }],
    },
    {
      name: 'more than the limit',
      pipeline: [{ $limit: 1 }, { $skip: 1 }],
      documents: [{ a: 1 }, { a: 2 }],
      results: [],
    },
    {
      name: 'after a stage',
      pipeline: [{ $unwind: '$a' }, { $skip: 3 }],
      documents: [{ a: [1, 2, 3, 4] }],
      results: [{ a: 4 }],
    },
    { name: 'must not be negative', pipeline: [{ $skip: -1 }], error: fails(5107200) },
    { name: 'must be a number', pipeline: [{ $skip: null }], error: fails(5107200) },
  ],
  $documents: [
    {
      name: 'without a collection',
      pipeline: [{ $documents: [{ x: 10 }, { x: { $add: [1, 1] } }] }, { $match: { x: { $lt: 5 } } }],
      documents: [{ a: 1 }],
      results: [{ x: 2 }],
    },
    { name: 'none', pipeline: [{ $documents: [] }], results: [] },
    { name: 'must be documents', pipeline: [{ $documents: [1] }], error: fails(40228) },
    { name: 'must be an array', pipeline: [{ $documents: { a: 1 } }], error: fails(5858203) },
    { name: 'must come first', pipeline: [{ $limit: 1 }, { $documents: [] }], error: fails(40602) },
  ],
  'all stages': [
    { name: 'no stage at all', pipeline: [], documents: [{ a: decimal('1.0') }], results: [{ a: decimal('1.0') }] },
    { name: 'an unknown stage', pipeline: [{ $nothing: 1 }], error: fails(40324) },
    { name: 'two stages in one', pipeline: [{ $limit: 1, $skip: 1 }], error: fails(40323) },
    { name: 'an empty stage', pipeline: [{}], error: fails(40323) },
    { name: 'a stage that is known and not supported', pipeline: [{ $search: {} }], error: fails(31082) },
    {
      name: 'a find with all its options',
      pipeline: [
        { $match: { a: { $gt: 0 } } },
        { $sort: { a: -1 } },
        { $match: { a: { $lt: 9 } } },
        { $skip: 1 },
        { $limit: 2 },
        { $project: { _id: 0 } },
      ],
      documents: [5, 0, 9, 3, 7, 1].map(a => ({ _id: a, a })),
      results: [{ a: 5 }, { a: 3 }],
    },
  ],
}
