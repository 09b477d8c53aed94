/** Fuzzing: any text is answered or refused quickly, and only a RequestError is thrown. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { machine } from '../../src/base/clock.ts'
import { RequestError } from '../../src/base/error.ts'
import { functionFamilies } from '../../src/sql/functions/table.ts'
import { featuresOf } from '../../src/sql/planning/features.ts'
import { makeQueryPlan } from '../../src/sql/planning/query-plan.ts'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { runQueryOver } from '../../src/sql/run.ts'
import { keywords, signs } from '../../src/sql/syntax/token.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { fc } from '../support/property.ts'

const items: readonly SqlValue[] = [
  { id: 'a', n: 1, s: 'text', list: [1, 'two', null, { x: 1 }], o: { p: { q: [true] } } },
  JSON.parse('{"id": "b", "__proto__": {"n": 2}, "constructor": [], "toString": "no"}') as SqlValue,
  { id: 'c', n: null, s: '', list: [], date: '2020-02-29T12:00:00.0000000Z', '😀': '日本' },
]
const parameters = new Map<string, SqlValue>([
  ['@p', 'a'],
  ['@n', 2],
])

/** Returns how long it took. */
function answerOrRefuse(text: string): number {
  const start = machine.monotonicMs()
  try {
    const prepared = prepareQuery(text)
    featuresOf(prepared.query)
    JSON.stringify(runQueryOver(prepared, { momentMs: 1_700_000_000_000, parameters }, items))
    makeQueryPlan(prepared.query, { parameters })
  } catch (error) {
    assert.ok(error instanceof RequestError, `${text}\n${error instanceof Error ? error.stack : error}`)
    assert.ok(error.message.length < 100_000)
  }
  return machine.monotonicMs() - start
}

/** Generous, because the machine may be busy. The bugs it should catch take seconds or never end. */
const durationMsMax = 1000

function isQuick(text: string): void {
  assert.ok(answerOrRefuse(text) < durationMsMax, text.slice(0, 200))
}

const functionNames = Object.values(functionFamilies).flatMap(family =>
  Object.keys(family).flatMap(names => names.split(' ')),
)
const word = fc.oneof(
  fc.constantFrom(...keywords),
  fc.constantFrom(...signs),
  fc.constantFrom(...functionNames).map(name => `${name}(`),
  fc.constantFrom(
    'c',
    'c.n',
    'c.s',
    'c.list',
    'x',
    '@p',
    '@n',
    'udf.f(',
    'true',
    'null',
    'undefined',
    'c["__proto__"]',
  ),
  fc.constantFrom('1', '-1', '1e308', '0.5', '"a"', "'%a_'", '"2020-01-01"', '""', 'LET', 'RANK', 'ALL', 'FIRST'),
)

test('random words', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), words => isQuick(words.join(' '))),
    { numRuns: 3000 },
  )
})

test('a query with random words in it', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), fc.array(word, { maxLength: 8 }), (selected, filtered) => {
      isQuick(`SELECT VALUE ${selected.join(' ')} FROM c JOIN x IN c.list WHERE ${filtered.join(' ')}`)
    }),
    { numRuns: 3000 },
  )
})

test('any characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), text => isQuick(text)),
    { numRuns: 2000 },
  )
})

test('the queries of the cases with a piece cut out, doubled or replaced', () => {
  const folder = new URL('./sql/', import.meta.url)
  const texts = readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .flatMap(name => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as { query?: string; value?: string }[])
    .map(({ query, value }) => query ?? `SELECT VALUE ${value}`)
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.nat(), fc.nat(20), word, fc.nat(2), (text, at, length, other, change) => {
      const start = at % (text.length + 1)
      const piece = text.slice(start, start + length)
      const inserted = ['', piece + piece, ` ${other} `][change]
      isQuick(text.slice(0, start) + inserted + text.slice(start + length))
    }),
    { numRuns: 4000 },
  )
})

test('every function with any arguments', () => {
  const argument = fc.oneof(
    fc.constantFrom('undefined', 'null', 'true', '[]', '{}', '[1, 2]', '["a", "b"]', 'c', 'c.list', 'c.missing'),
    fc.constantFrom('0', '-1', '1.5', '1e308', '9007199254740993', '""', '"a"', '"dd"', '"[[1"', '"("', "'😀'"),
    fc.constantFrom('"2020-02-29T12:00:00.0000000Z"', '"9999-12-31"', '{"type": "Point", "coordinates": [1, 2]}'),
  )
  fc.assert(
    fc.property(fc.constantFrom(...functionNames), fc.array(argument, { maxLength: 5 }), (name, values) => {
      isQuick(`SELECT VALUE ${name}(${values.join(', ')}) FROM c`)
    }),
    { numRuns: 4000 },
  )
})
