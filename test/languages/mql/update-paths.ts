/** Cases of paths: positional operators, array filters, conflicts, and updates that are refused. */

import type { UpdateCase } from './update-case.ts'

const grades = [
  { grade: 80, mean: 75, std: 6 },
  { grade: 85, mean: 90, std: 4 },
  { grade: 90, mean: 85, std: 6 },
]

export const pathCases: readonly UpdateCase[] = [
  // $
  {
    name: '$ is the element that the filter matched',
    before: { grades: [85, 80, 80] },
    filter: { grades: 80 },
    update: { $set: { 'grades.$': 82 } },
    after: { grades: [85, 82, 80] },
  },
  {
    name: '$ in the middle of a path',
    before: { grades },
    filter: { 'grades.grade': 85 },
    update: { $set: { 'grades.$.std': 6 } },
    after: { grades: [grades[0], { grade: 85, mean: 90, std: 6 }, grades[2]] },
  },
  {
    name: '$ with $elemMatch',
    before: { grades },
    filter: { grades: { $elemMatch: { grade: { $lte: 90 }, mean: { $gt: 80 } } } },
    update: { $inc: { 'grades.$.std': 1 } },
    after: { grades: [grades[0], { grade: 85, mean: 90, std: 5 }, grades[2]] },
  },
  {
    name: '$ with $unset makes null',
    before: { a: [1, 2] },
    filter: { a: 2 },
    update: { $unset: { 'a.$': 1 } },
    after: { a: [1, null] },
  },
  {
    name: '$ and the same element by its number are merged',
    before: { a: [{ b: 1 }, { b: 2 }] },
    filter: { 'a.b': 2 },
    update: { $set: { 'a.$.x': 1, 'a.1.y': 2 } },
    after: { a: [{ b: 1 }, { b: 2, x: 1, y: 2 }] },
  },
  {
    name: '$ and the same field by its number',
    before: { a: [{ b: 1 }] },
    filter: { 'a.b': 1 },
    update: { $set: { 'a.$.x': 1, 'a.0.x': 2 } },
    error: [40, "Update created a conflict at 'a.0.x'"],
  },
  {
    name: '$ in two operators',
    before: { a: [{ b: 1, c: 1 }] },
    filter: { 'a.b': 1 },
    update: { $set: { 'a.$.b': 2 }, $inc: { 'a.$.c': 1 } },
    after: { a: [{ b: 2, c: 2 }] },
  },
  {
    name: '$ where no array was matched',
    before: { a: [1, 2] },
    filter: {},
    update: { $set: { 'a.$': 5 } },
    error: [2, 'The positional operator did not find the match needed from the query.'],
  },
  {
    name: '$ in an upsert',
    filter: { _id: 5 },
    update: { $set: { 'a.$': 5 } },
    error: [2, 'The positional operator did not find the match needed from the query.'],
  },
  {
    name: '$ twice in a path',
    before: {},
    update: { $set: { 'a.$.b.$': 5 } },
    error: [2, "Too many positional (i.e. '$') elements found in path 'a.$.b.$'"],
  },
  {
    name: '$ at the beginning',
    before: {},
    update: { $set: { '$.a': 5 } },
    error: [2, "Cannot have positional (i.e. '$') element in the first position in path '$.a'"],
  },
  {
    name: '$ twice for one path',
    before: { a: [1] },
    filter: { a: 1 },
    update: { $set: { 'a.$': 5 }, $inc: { 'a.$': 1 } },
    error: [40, "Updating the path 'a.$' would create a conflict at 'a.$'"],
  },

  // $[]
  {
    name: '$[] is every element',
    before: { a: [1, 2, 3] },
    update: { $inc: { 'a.$[]': 10 } },
    after: { a: [11, 12, 13] },
  },
  {
    name: '$[] in the middle of a path',
    before: { grades },
    update: { $inc: { 'grades.$[].std': -2 } },
    after: { grades: grades.map(each => ({ ...each, std: each.std - 2 })) },
  },
  { name: '$[] of an empty array', before: { a: [] }, update: { $set: { 'a.$[].b': 1 } }, isUnchanged: true },
  {
    name: '$[] twice',
    before: { a: [[1, 2], [3]] },
    update: { $inc: { 'a.$[].$[]': 1 } },
    after: { a: [[2, 3], [4]] },
  },
  {
    name: '$[] with $unset makes nulls',
    before: { a: [1, 2] },
    update: { $unset: { 'a.$[]': 1 } },
    after: { a: [null, null] },
  },
  {
    name: '$[] with $push',
    before: { a: [{ b: [1] }, {}] },
    update: { $push: { 'a.$[].b': 2 } },
    after: { a: [{ b: [1, 2] }, { b: [2] }] },
  },
  {
    name: '$[] of a number',
    before: { a: 1 },
    update: { $set: { 'a.$[]': 5 } },
    error: [2, 'Cannot apply array updates to non-array element a: 1'],
  },
  {
    name: '$[] of a missing field',
    before: {},
    update: { $set: { 'a.$[]': 5 } },
    error: [2, "The path 'a' must exist in the document in order to apply array updates."],
  },
  {
    name: '$[] of a missing field of a missing one',
    before: {},
    update: { $set: { 'a.b.$[].c': 5 } },
    error: [2, "The path 'a.b' must exist in the document"],
  },
  {
    name: '$[] at the beginning',
    before: {},
    update: { $set: { '$[]': 5 } },
    error: [2, "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '$[]'"],
  },
  {
    name: '$[] and an element by its number',
    before: { a: [1] },
    update: { $set: { 'a.$[]': 5, 'a.0': 1 } },
    error: [40, "conflict at 'a'"],
  },
  {
    name: '$[] in an upsert with the array in the filter',
    filter: { _id: 1, a: [1, 2] },
    update: { $inc: { 'a.$[]': 1 } },
    after: { _id: 1, a: [2, 3] },
  },

  // $[name]
  {
    name: '$[name] is every element that its filter finds',
    before: { a: [95, 102, 90, 110] },
    update: { $set: { 'a.$[e]': 100 } },
    arrayFilters: [{ e: { $gte: 100 } }],
    after: { a: [95, 100, 90, 100] },
  },
  {
    name: '$[name] with a condition on a field',
    before: { grades },
    update: { $set: { 'grades.$[elem].mean': 100 } },
    arrayFilters: [{ 'elem.grade': { $gte: 85 } }],
    after: { grades: [grades[0], { ...grades[1], mean: 100 }, { ...grades[2], mean: 100 }] },
  },
  {
    name: '$[name] with two conditions',
    before: { grades },
    update: { $inc: { 'grades.$[elem].std': -1 } },
    arrayFilters: [{ 'elem.grade': { $gte: 80 }, 'elem.std': { $gte: 5 } }],
    after: { grades: [{ ...grades[0], std: 5 }, grades[1], { ...grades[2], std: 5 }] },
  },
  {
    name: '$[name] with $or',
    before: { a: [1, 2, 3] },
    update: { $set: { 'a.$[e]': 0 } },
    arrayFilters: [{ $or: [{ e: 1 }, { e: 3 }] }],
    after: { a: [0, 2, 0] },
  },
  {
    name: '$[name] of nothing',
    before: { a: [1, 2] },
    update: { $set: { 'a.$[e]': 0 } },
    arrayFilters: [{ e: 5 }],
    isUnchanged: true,
  },
  {
    name: '$[name] within $[]',
    before: { g: [{ q: [10, 8] }, { q: [5] }] },
    update: { $inc: { 'g.$[].q.$[s]': 2 } },
    arrayFilters: [{ s: { $gte: 8 } }],
    after: { g: [{ q: [12, 10] }, { q: [5] }] },
  },
  {
    name: '$[name] within $[name]',
    before: {
      g: [
        { t: 'x', q: [10, 8] },
        { t: 'y', q: [9] },
      ],
    },
    update: { $set: { 'g.$[a].q.$[b]': 0 } },
    arrayFilters: [{ 'a.t': 'x' }, { b: { $gt: 8 } }],
    after: {
      g: [
        { t: 'x', q: [0, 8] },
        { t: 'y', q: [9] },
      ],
    },
  },
  {
    name: 'two filters that find one element are merged',
    before: {
      a: [
        { x: 1, y: 1 },
        { x: 1, y: 2 },
      ],
    },
    update: { $set: { 'a.$[i].p': 1, 'a.$[j].q': 2 } },
    arrayFilters: [{ 'i.x': 1 }, { 'j.y': 1 }],
    after: {
      a: [
        { x: 1, y: 1, p: 1, q: 2 },
        { x: 1, y: 2, p: 1 },
      ],
    },
  },
  {
    name: 'two filters that find one field',
    before: { a: [{ x: 1 }] },
    update: { $set: { 'a.$[i].p': 1, 'a.$[j].p': 2 } },
    arrayFilters: [{ 'i.x': 1 }, { 'j.x': 1 }],
    error: [40, "Update created a conflict at 'a.0.p'"],
  },
  {
    name: 'two filters that find different elements do not conflict',
    before: { a: [1, 2] },
    update: { $set: { 'a.$[i]': 5, 'a.$[j]': 6 } },
    arrayFilters: [{ i: 1 }, { j: 2 }],
    after: { a: [5, 6] },
  },
  {
    name: 'a filter of an array looks at its elements',
    before: { a: [[1, 5], [2]] },
    update: { $set: { 'a.$[e]': 0 } },
    arrayFilters: [{ e: 5 }],
    after: { a: [0, [2]] },
  },
  {
    name: 'a filter that no path names',
    before: { a: [1] },
    update: { $set: { 'a.$[]': 1 } },
    arrayFilters: [{ e: 1 }],
    error: [9, "The array filter for identifier 'e' was not used in the update { $set: { a.$[]: 1 } }"],
  },
  {
    name: 'a name without a filter',
    before: { a: [1] },
    update: { $set: { 'a.$[e]': 1 } },
    error: [2, "No array filter found for identifier 'e' in path 'a.$[e]'"],
  },
  {
    name: 'two filters of one name',
    before: { a: [1] },
    update: { $set: { 'a.$[e]': 1 } },
    arrayFilters: [{ e: 1 }, { e: 2 }],
    error: [9, 'Found multiple array filters with the same top-level field name e'],
  },
  {
    name: 'a filter about two names',
    before: { a: [1] },
    update: { $set: { 'a.$[e]': 1 } },
    arrayFilters: [{ e: 1, f: 2 }],
    error: [9, "Error parsing array filter :: caused by :: Expected a single top-level field name, found 'e' and 'f'"],
  },
  {
    name: 'a filter whose name begins with a capital',
    before: { a: [1] },
    update: { $set: { 'a.$[E]': 1 } },
    arrayFilters: [{ E: 1 }],
    error: [
      2,
      'Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string ' +
        "beginning with a lowercase letter, found 'E'",
    ],
  },
  {
    name: 'a filter about nothing',
    before: { a: [1] },
    update: { $set: { 'a.$[e]': 1 } },
    arrayFilters: [{}],
    error: [9, 'Cannot use an expression without a top-level field name in arrayFilters'],
  },
  {
    name: 'a filter with an unknown operator',
    before: { a: [1] },
    update: { $set: { 'a.$[e]': 1 } },
    arrayFilters: [{ e: { $foo: 1 } }],
    error: [2, 'Error parsing array filter :: caused by ::'],
  },

  // Conflicts
  {
    name: 'one path in two operators',
    before: {},
    update: { $set: { a: 1 }, $inc: { a: 1 } },
    error: [40, "Updating the path 'a' would create a conflict at 'a'"],
  },
  {
    name: 'a path and one inside it',
    before: {},
    update: { $set: { a: 1, 'a.b': 1 } },
    error: [40, "Updating the path 'a.b' would create a conflict at 'a'"],
  },
  {
    name: 'a path and one above it',
    before: {},
    update: { $set: { 'a.b': 1, a: 1 } },
    error: [40, "Updating the path 'a' would create a conflict at 'a'"],
  },
  { name: 'paths that only begin alike', before: {}, update: { $set: { a: 1, ab: 1 } }, after: { a: 1, ab: 1 } },
  {
    name: 'a path and its source of $rename',
    before: {},
    update: { $set: { a: 1 }, $rename: { a: 'b' } },
    error: [40, "conflict at 'a'"],
  },
  {
    name: 'a path and its target of $rename',
    before: {},
    update: { $rename: { a: 'b' }, $unset: { b: 1 } },
    error: [40, "conflict at 'b'"],
  },

  // Updates as a whole
  {
    name: 'an unknown operator',
    before: {},
    update: { $foo: { a: 1 } },
    error: [
      9,
      'Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update specified as an array',
    ],
  },
  {
    name: 'an operator named like a property of every object',
    before: {},
    update: { $constructor: { a: 1 } },
    error: [9, 'Unknown modifier: $constructor'],
  },
  {
    name: 'a field after an operator',
    before: {},
    update: { $set: { a: 1 }, b: 1 },
    error: [9, 'Unknown modifier: b'],
  },
  {
    name: 'the version of the oplog',
    before: {},
    update: { $v: 1, $set: { a: 1 } },
    error: [9, 'The $v update field is only recognized internally'],
  },
  {
    name: '$set and $unset together',
    before: { a: 1, b: 2 },
    update: { $set: { c: 3 }, $unset: { a: 1 } },
    after: { b: 2, c: 3 },
  },
  {
    name: 'many operators together',
    before: { a: 1, b: [1], c: 5, d: 'x' },
    update: {
      $set: { z: 1 },
      $inc: { a: 1 },
      $push: { b: 2 },
      $min: { c: 3 },
      $unset: { d: 1 },
      $rename: { c2: 'c3' },
    },
    after: { a: 2, b: [1, 2], c: 3, z: 1 },
  },
  {
    name: 'names of built-in object properties are ordinary names',
    before: {},
    update: { $set: { constructor: 1, toString: 2, 'a.hasOwnProperty': 3 } },
    after: { a: { hasOwnProperty: 3 }, constructor: 1, toString: 2 },
  },
]
