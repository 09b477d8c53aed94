/**
 * Evaluators of the Mongo language count their steps, so that work can be cut in the middle: at least as many
 * as what is done, and no more than a small multiple where the work is linear.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Document, serialize } from 'bson'
import { type WorkWatch, watched } from '../../src/base/work.ts'
import { BsonDocument, type Value } from '../../src/document/bson/value.ts'
import { Context } from '../../src/mql/expressions/core/scope.ts'
import { compileExpression } from '../../src/mql/expressions/expression.ts'
import { commandScope } from '../../src/mql/pipeline/pipeline.ts'

const constants = { now: 0n, random: () => 0.5 }

/** Counts about as many steps as the work spends. */
class Counter implements WorkWatch {
  steps = 0

  look(stepsAhead: number): void {
    this.steps += Math.max(500, stepsAhead)
  }
}

function counted<T>(work: () => T): { readonly result: T; readonly steps: number } {
  const counter = new Counter()
  return { result: watched(counter, work), steps: counter.steps }
}

function bsonOf(spec: unknown): Value {
  return BsonDocument.view(serialize({ spec })).get('spec')!
}

function evaluated(expression: unknown, document: Document) {
  const evaluate = compileExpression(bsonOf(expression), commandScope({ constants, let: undefined }))
  return counted(() => evaluate(new Context().at(BsonDocument.view(serialize(document)))))
}

const range = (count: number) => ({ $range: [0, { $add: [count, '$_id'] }] })
const again = (work: Document) => ({ $sum: { $map: { input: range(100), in: work } } })
const reduced = (work: Document, initialValue: unknown) => ({
  $reduce: { input: range(100), initialValue, in: work },
})
const fields = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n]))
const list = Array.from({ length: 5000 }, (_, n) => n)
const text = 'a'.repeat(50_000)
const similar = `${'a'.repeat(10_000)}b${'a'.repeat(10_000)}`

/** Elements, fields and characters that are looked at, each of which takes a nanosecond at least. */
const works: Readonly<Record<string, { readonly expression: unknown; readonly looksAt: number }>> = {
  $setField: {
    expression: { $type: reduced({ $setField: { field: 'z', input: '$$value', value: '$$this' } }, '$fields') },
    looksAt: 100 * 5000,
  },
  $unsetField: {
    expression: { $type: reduced({ $unsetField: { field: 'k1', input: { $mergeObjects: ['$fields'] } } }, 0) },
    looksAt: 100 * 5000,
  },
  $slice: { expression: again({ $size: { $slice: ['$list', 5000] } }), looksAt: 100 * 5000 },
  '$slice with a position': { expression: again({ $size: { $slice: ['$list', 1, 5000] } }), looksAt: 100 * 5000 },
  $toLong: {
    expression: again({ $convert: { input: '$digits', to: 'long', onError: 0 } }),
    looksAt: 100 * 50_000,
  },
  $toDouble: {
    expression: again({ $convert: { input: '$digits', to: 'double', onError: 0 } }),
    looksAt: 100 * 50_000,
  },
  'a set of long strings': {
    expression: { $size: { $setUnion: [{ $map: { input: range(100), in: { $concat: ['$text', '$digits'] } } }] } },
    looksAt: 100 * 100_000,
  },
  $indexOfCP: { expression: again({ $indexOfCP: ['$text', 'b'] }), looksAt: 100 * 50_000 },
  $indexOfBytes: { expression: again({ $indexOfBytes: ['$text', 'b'] }), looksAt: 100 * 50_000 },
  $substrCP: { expression: again({ $strLenCP: { $substrCP: ['$text', 49_000, 9] } }), looksAt: 100 * 49_000 },
  $dateToString: {
    expression: again({ $strLenCP: { $dateToString: { date: new Date(0), format: '$text' } } }),
    looksAt: 100 * 50_000,
  },
  'constants beside a variable': {
    expression: again({ $max: ['$$this', { $let: { vars: fields, in: '$$k1' } }, { $size: [[...list, '$$this']] }] }),
    looksAt: 100 * 10_000,
  },
}

describe('the steps of an evaluator grow with what it looks at', () => {
  for (const [name, { expression, looksAt }] of Object.entries(works)) {
    test(name, () => {
      const document = { _id: 0, fields, list, text, digits: '1'.repeat(50_000) }
      const { steps } = evaluated(expression, document)
      assert.ok(steps > looksAt / 20, `${steps} steps for ${looksAt} elements`)
    })
  }
})

describe('a search for a similar string is linear', () => {
  const searches: Readonly<Record<string, readonly [unknown, unknown]>> = {
    $indexOfBytes: [{ $indexOfBytes: ['$text', '$similar'] }, -1],
    $indexOfCP: [{ $indexOfCP: ['$text', '$similar'] }, -1],
    $split: [{ $size: { $split: ['$text', '$similar'] } }, 1],
    $replaceOne: [{ $strLenCP: { $replaceOne: { input: '$text', find: '$similar', replacement: '' } } }, text.length],
    $replaceAll: [{ $strLenCP: { $replaceAll: { input: '$text', find: '$similar', replacement: '' } } }, text.length],
  }
  for (const [name, [expression, expected]] of Object.entries(searches)) {
    test(name, () => {
      const { result, steps } = evaluated(expression, { text, similar })
      assert.equal((result as { readonly value: number }).value, expected)
      // The engine would compare each character of the one with each of the other, and count nothing.
      assert.ok(steps > text.length && steps < 10 * text.length, `${steps} steps`)
    })
  }
})

test('long strings of one length are told apart by their digests', () => {
  const tail = { $concat: ['$text', { $toString: { $add: [100, '$$this'] } }] }
  const { result } = evaluated(
    { $size: { $setUnion: [{ $map: { input: range(300), in: tail } }, { $map: { input: range(200), in: tail } }] } },
    { _id: 0, text },
  )
  assert.equal((result as { readonly value: number }).value, 300)
})

test('a whole number of many digits overflows at once, whatever zeros stand before it', () => {
  const convert = (input: string) => ({ $convert: { input, to: 'long', onError: 'overflow' } })
  const value = (input: string) => String((evaluated(convert(input), {}).result as { readonly value: unknown }).value)
  assert.equal(value('9'.repeat(1_000_000)), 'overflow')
  assert.equal(value(`-${'0'.repeat(100_000)}9223372036854775808`), '-9223372036854775808')
  assert.equal(value('+000'), '0')
  assert.equal(value('9223372036854775808'), 'overflow')
})

test('the message about a value that contains itself a million times is short', () => {
  const doubled = { $reduce: { input: range(60), initialValue: [1], in: ['$$value', '$$value'] } }
  assert.throws(
    () => evaluated({ $dateFromString: { dateString: doubled } }, { _id: 0 }),
    (error: Error) => /be a string/.test(error.message) && error.message.length < 2500,
  )
})

test('compiling takes steps for each variable and each part, and a command defines so many variables', () => {
  const variables = (count: number) =>
    BsonDocument.view(serialize(Object.fromEntries(Array.from({ length: count }, (_, n) => [`v${n}`, `$$v${n - 1}`]))))
  const chain = (count: number) => {
    const given = variables(count).fields.map(([name, spec], n) => [name, n === 0 ? bsonOf(1) : spec] as const)
    return counted(() => commandScope({ constants, let: BsonDocument.of(given) }))
  }
  const { result, steps } = chain(1000)
  assert.deepEqual(result.find('v999'), { value: bsonOf(1) })
  assert.ok(steps >= 1000 * 20, `${steps} steps`)
  assert.throws(() => chain(1001), { code: 2, message: "'let' defines more than 1000 variables" })

  const inner = (depth: number): unknown =>
    depth === 0 ? '$x' : { $let: { vars: { [`x${depth}`]: '$$ROOT' }, in: inner(depth - 1) } }
  const many = Array.from({ length: 300 }, () => inner(40))
  const scope = commandScope({ constants, let: undefined })
  const compiled = counted(() => compileExpression(bsonOf(many), scope)).steps
  assert.ok(compiled > 300 * 40 && compiled < 300 * 40 * 200, `${compiled} steps`)
})
