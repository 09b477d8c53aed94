/** Reports on documents that fail a validator. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BSON, type Document } from 'mongodb'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { Validator } from './validator.ts'

const constants = () => ({ now: 0n, random: () => 0 })

function validatorOf(filter: Document): Validator {
  return new Validator(BsonDocument.view(BSON.serialize(filter)))
}

function detailsOf(filter: Document, document: Document): Document {
  const validator = validatorOf(filter)
  const bytes = BSON.serialize({ _id: 1, ...document })
  assert.equal(validator.matches(bytes, constants), false)
  return BSON.deserialize(encodeDocument(validator.report(bytes, constants))).details
}

function rulesOf(schema: Document, document: Document): Document[] {
  return detailsOf({ $jsonSchema: schema }, document).schemaRulesNotSatisfied
}

test('Below a negation a clause says why it matches', () => {
  assert.deepEqual(detailsOf({ a: { $ne: 1 } }, { a: [1, 2] }), {
    operatorName: '$ne',
    specifiedAs: { a: { $ne: 1 } },
    reason: 'comparison succeeded',
    consideredValues: [1, 2],
  })
  assert.deepEqual(detailsOf({ a: { $exists: false } }, { a: 1 }).reason, 'path does exist')
  assert.deepEqual(detailsOf({ $nor: [{ a: { $not: { $gt: 5 } } }] }, { a: 1 }).clausesSatisfied, [
    {
      index: 0,
      details: {
        operatorName: '$not',
        details: {
          operatorName: '$gt',
          specifiedAs: { a: { $gt: 5 } },
          reason: 'comparison failed',
          consideredValue: 1,
        },
      },
    },
  ])
})

test('A missing field, a wrong type and many values are told apart', () => {
  assert.equal(detailsOf({ 'a.b': { $gt: 1 } }, { a: 1 }).reason, 'field was missing')
  assert.deepEqual(detailsOf({ a: { $mod: [2, 0] } }, { a: ['x', true] }), {
    operatorName: '$mod',
    specifiedAs: { a: { $mod: [2, 0] } },
    reason: 'type did not match',
    consideredTypes: ['bool', 'string'],
    expectedTypes: ['decimal', 'double', 'int', 'long'],
    consideredValues: ['x', true],
  })
  const many = detailsOf({ a: 1000 }, { a: Array.from({ length: 20 }, (_, n) => n) })
  assert.equal(many.consideredValues.length, 10)
  assert.equal(many.consideredValuesTruncated, true)
})

test('Schemas within schemas are reported by their index, item or property', () => {
  assert.deepEqual(
    rulesOf({ properties: { a: { anyOf: [{ type: 'string' }, { minimum: 5, title: 'big' }] } } }, { a: 1 }),
    [
      {
        operatorName: 'properties',
        propertiesNotSatisfied: [
          {
            propertyName: 'a',
            details: [
              {
                operatorName: 'anyOf',
                schemasNotSatisfied: [
                  {
                    index: 0,
                    details: [
                      {
                        operatorName: 'type',
                        specifiedAs: { type: 'string' },
                        reason: 'type did not match',
                        consideredValue: 1,
                        consideredType: 'int',
                      },
                    ],
                  },
                  {
                    index: 1,
                    title: 'big',
                    details: [
                      {
                        operatorName: 'minimum',
                        specifiedAs: { minimum: 5 },
                        reason: 'comparison failed',
                        consideredValue: 1,
                      },
                    ],
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  )
  assert.deepEqual(rulesOf({ oneOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1, b: 1 }), [
    { operatorName: 'oneOf', reason: 'more than one subschema matched', matchingSchemaIndexes: [0, 1] },
  ])
  assert.deepEqual(rulesOf({ dependencies: { a: ['b', 'c'], d: { minProperties: 9 } } }, { a: 1, b: 1, d: 1 }), [
    {
      operatorName: 'dependencies',
      failingDependencies: [
        { conditionalProperty: 'a', missingProperties: ['c'] },
        {
          conditionalProperty: 'd',
          details: [
            {
              operatorName: 'minProperties',
              specifiedAs: { minProperties: 9 },
              reason: 'specified number of properties was not satisfied',
              numberOfProperties: 4,
            },
          ],
        },
      ],
    },
  ])
})

test('Only required says that a property is missing', () => {
  const schema = { required: ['a'], properties: { a: { bsonType: 'int', minimum: 2, enum: [3] } } }
  assert.deepEqual(
    rulesOf(schema, {}).map(({ operatorName }) => operatorName),
    ['required'],
  )
})

test('A report nests no deeper than an answer may', () => {
  let schema: Document = { type: 'string' }
  let document: Document = { a: 1 }
  for (let level = 0; level < 60; level++) {
    schema = { properties: { a: schema } }
    if (level > 0) document = { a: document }
  }
  const validator = validatorOf({ $jsonSchema: schema })
  const bytes = BSON.serialize(document)
  assert.equal(validator.matches(bytes, constants), false)
  assert.deepEqual(BSON.deserialize(encodeDocument(validator.report(bytes, constants))), {
    reason: 'generated error was too deeply nested',
    truncated: true,
  })
})

test('A validator is compiled once, unless it depends on the time', () => {
  const bytes = BSON.serialize({ _id: 1, at: new Date(5) })
  let asked = 0
  const at = (now: bigint) => () => {
    asked++
    return { now, random: () => 0 }
  }
  const plain = validatorOf({ $expr: { $gt: ['$at', 0] } })
  for (const now of [1n, 2n, 3n]) assert.equal(plain.matches(bytes, at(now)), true)
  assert.equal(asked, 1)
  const timed = validatorOf({ $expr: { $lt: ['$at', '$$NOW'] } })
  assert.deepEqual(
    [4n, 6n].map(now => timed.matches(bytes, at(now))),
    [false, true],
  )
})
