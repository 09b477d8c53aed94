/** Cases of replacements and upserts. Sources: the manual, and the server's own tests of upserts. */

import { BSONRegExp, Double, ObjectId, Timestamp } from 'bson'
import { caseMs, caseObjectId, type UpdateCase } from './update-case.ts'

const newId = new ObjectId(caseObjectId)

export const upsertCases: readonly UpdateCase[] = [
  // Replacements
  { name: 'a replacement keeps the _id', before: { _id: 5, a: 1, b: 2 }, update: { c: 3 }, after: { _id: 5, c: 3 } },
  {
    name: 'a replacement may repeat the _id',
    before: { _id: 5, a: 1 },
    update: { c: 3, _id: 5 },
    after: { _id: 5, c: 3 },
  },
  {
    name: 'a replacement may have an equal _id of another type',
    before: { _id: 5, a: 1 },
    update: { _id: new Double(5), c: 3 },
    after: { _id: new Double(5), c: 3 },
  },
  { name: 'an empty replacement', before: { _id: 5, a: 1 }, update: {}, after: { _id: 5 } },
  { name: 'a replacement by the same', before: { _id: 5, a: 1 }, update: { a: 1 }, isUnchanged: true },
  {
    name: 'a replacement keeps the order of its fields',
    before: { a: 1 },
    update: { z: 1, a: 2 },
    after: { z: 1, a: 2 },
  },
  { name: 'a replacement takes names with dots as they are', before: {}, update: { 'a.b': 1 }, after: { 'a.b': 1 } },
  {
    name: 'a replacement sets its empty timestamps',
    before: {},
    update: { a: new Timestamp(0n), b: { c: new Timestamp(0n) } },
    after: { a: new Timestamp({ t: caseMs / 1000, i: 1 }), b: { c: new Timestamp(0n) } },
  },
  {
    name: 'a replacement with another _id',
    before: { _id: 5 },
    update: { _id: 6 },
    error: [66, "After applying the update, the (immutable) field '_id' was found to have been altered to _id: 6"],
  },
  {
    name: 'a replacement with a dollar',
    before: {},
    update: { a: 1, $b: 1 },
    error: [
      52,
      "The dollar ($) prefixed field '$b' in '$b' is not allowed in the context of an update's replacement document.",
    ],
  },
  { name: 'a replacement with a dollar inside', before: {}, update: { a: { $b: 1 } }, after: { a: { $b: 1 } } },
  {
    name: 'a replacement with half a reference',
    before: {},
    update: { a: 1, $id: 1 },
    error: [55, 'Found $id field without a $ref before it'],
  },

  // Upserts
  {
    name: 'an upsert takes equalities from the filter',
    filter: { a: 1, b: { $gt: 5 } },
    update: { $set: { c: 2 } },
    after: { _id: newId, a: 1, c: 2 },
  },
  {
    name: 'an upsert takes the _id from the filter and puts it first',
    filter: { b: 1, _id: 'x' },
    update: { $set: { a: 2 } },
    after: { _id: 'x', b: 1, a: 2 },
  },
  {
    name: 'an upsert takes $eq',
    filter: { _id: { $eq: 7 }, a: { $eq: 1, $lt: 5 } },
    update: { $set: { b: 2 } },
    after: { _id: 7, a: 1, b: 2 },
  },
  {
    name: 'an upsert takes $and',
    filter: { $and: [{ a: 1 }, { $and: [{ b: 2 }] }] },
    update: { $set: { c: 3 } },
    after: { _id: newId, a: 1, b: 2, c: 3 },
  },
  {
    name: 'an upsert takes $or of one',
    filter: { $or: [{ a: 1 }] },
    update: { $set: { c: 3 } },
    after: { _id: newId, a: 1, c: 3 },
  },
  {
    name: 'an upsert does not take $or of two',
    filter: { $or: [{ a: 1 }, { b: 1 }] },
    update: { $set: { c: 3 } },
    after: { _id: newId, c: 3 },
  },
  {
    name: 'an upsert takes $in of one',
    filter: { a: { $in: [1] }, b: { $in: [1, 2] } },
    update: { $set: { c: 3 } },
    after: { _id: newId, a: 1, c: 3 },
  },
  {
    name: 'an upsert takes $all of one',
    filter: { a: { $all: [1] } },
    update: { $set: { c: 3 } },
    after: { _id: newId, a: 1, c: 3 },
  },
  {
    name: 'an upsert creates documents for paths',
    filter: { 'a.c': 1, 'a.b': 2 },
    update: { $set: { 'a.d': 3 } },
    after: { _id: newId, a: { b: 2, c: 1, d: 3 } },
  },
  {
    name: 'an upsert takes whole documents and arrays',
    filter: { a: { x: 1 }, b: [1, 2] },
    update: { $push: { b: 3 } },
    after: { _id: newId, a: { x: 1 }, b: [1, 2, 3] },
  },
  {
    name: 'an upsert takes null',
    filter: { a: null },
    update: { $set: { b: 1 } },
    after: { _id: newId, a: null, b: 1 },
  },
  {
    name: 'an upsert does not take patterns, $ne, $not, $exists, $elemMatch and $nor',
    filter: {
      a: new BSONRegExp('x'),
      b: { $ne: 1 },
      c: { $not: { $eq: 1 } },
      d: { $exists: true },
      e: { $elemMatch: { x: 1 } },
      $nor: [{ f: 1 }],
    },
    update: { $set: { z: 1 } },
    after: { _id: newId, z: 1 },
  },
  {
    name: 'an upsert applies operators to the equalities of the filter',
    filter: { _id: 1, n: 5 },
    update: { $inc: { n: 2, m: 3 } },
    after: { _id: 1, n: 7, m: 3 },
  },
  {
    name: 'an upsert may unset a field of the filter',
    filter: { _id: 1, n: 5 },
    update: { $unset: { n: 1 } },
    after: { _id: 1 },
  },
  {
    name: 'an upsert takes the _id from $set',
    filter: { a: 1 },
    update: { $set: { _id: 9, b: 1 } },
    after: { _id: 9, a: 1, b: 1 },
  },
  {
    name: 'an upsert takes the _id from $setOnInsert',
    filter: { a: 1 },
    update: { $setOnInsert: { _id: 9 } },
    after: { _id: 9, a: 1 },
  },
  { name: 'an upsert with an empty filter', filter: {}, update: { $set: { a: 1 } }, after: { _id: newId, a: 1 } },
  {
    name: 'an upsert may set fields with a dollar',
    filter: { _id: 1 },
    update: { $set: { $a: 1 } },
    after: { _id: 1, $a: 1 },
  },
  {
    name: 'an upsert by a replacement takes only the _id',
    filter: { _id: 3, a: 1 },
    update: { b: 2 },
    after: { _id: 3, b: 2 },
  },
  {
    name: 'an upsert by a replacement may have fields with a dollar',
    filter: { _id: 3 },
    update: { b: 2, $c: 1 },
    after: { _id: 3, b: 2, $c: 1 },
  },
  {
    name: 'an upsert by a replacement without an _id',
    filter: { a: 1 },
    update: { b: 2 },
    after: { _id: newId, b: 2 },
  },
  {
    name: 'an upsert by a replacement with an _id',
    filter: { a: 1 },
    update: { b: 2, _id: 4 },
    after: { _id: 4, b: 2 },
  },
  {
    name: 'an upsert by a replacement with another _id than the filter',
    filter: { _id: 3 },
    update: { _id: 4 },
    error: [66, "'_id'"],
  },
  {
    name: 'an upsert by a replacement with a part of _id in the filter',
    filter: { '_id.x': 3 },
    update: { a: 1 },
    error: [111, "field at '_id' must be exactly specified, field at sub-path '_id.x'found"],
  },
  {
    name: 'an upsert that sets another _id than the filter',
    filter: { _id: 3 },
    update: { $set: { _id: 4 } },
    error: [66, "path '_id'"],
  },
  {
    name: 'an upsert with one path twice',
    filter: { $and: [{ a: 1 }, { a: 2 }] },
    update: { $set: { b: 1 } },
    error: [54, "cannot infer query fields to set, path 'a' is matched twice"],
  },
  {
    name: 'an upsert with $all of two',
    filter: { a: { $all: [1, 2] } },
    update: { $set: { b: 1 } },
    error: [54, "path 'a' is matched twice"],
  },
  {
    name: 'an upsert with a path and one inside it',
    filter: { 'a.b': 1, a: { b: 1 } },
    update: { $set: { c: 1 } },
    error: [54, "cannot infer query fields to set, both paths 'a.b' and 'a' are matched"],
  },
  {
    name: 'an upsert with $expr',
    filter: { $expr: { $eq: ['$a', 1] } },
    update: { $set: { c: 1 } },
    error: [224, '$expr is not allowed in the query predicate for an upsert'],
  },
  {
    name: 'an upsert with an array as _id',
    filter: { a: 1 },
    update: { $set: { _id: [1] } },
    error: [53, "The '_id' value cannot be of type array"],
  },
  {
    name: 'an upsert with a dollar in the _id',
    filter: { a: 1 },
    update: { $set: { _id: { $x: 1 } } },
    error: [52, "_id fields may not contain '$'-prefixed fields"],
  },
  {
    name: 'an upsert that cannot create a path',
    filter: { a: 1 },
    update: { $set: { 'a.b': 1 } },
    error: [28, "Cannot create field 'b' in element {a: 1}"],
  },
]
