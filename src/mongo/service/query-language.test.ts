/** Large filters: the thread of the requests does not parse what takes it more than a few milliseconds. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Document, serialize } from 'bson'
import { BsonDocument, bool } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { prepareFilter, prepareKnownFilter } from '../../mql/prepare.ts'
import { Arguments } from '../requests/arguments.ts'
import type { CommandCall } from './command.ts'
import { computeElsewhere, TooLongHere } from './elsewhere.ts'
import { compileCallFilter } from './query-language.ts'

const times = (count: number) => Array.from({ length: count }, (_, n) => n)
const fieldsOf = (count: number) => Object.fromEntries(times(count).map(n => [`f${n}`, n]))

function schema(depth: number): Document {
  if (depth === 0) return { properties: { s: { pattern: '^(t|e)+.*5$' } } }
  return { anyOf: [{ allOf: [schema(depth - 1), schema(depth - 1)] }, { not: schema(depth - 1) }] }
}

const large: Readonly<Record<string, Document>> = {
  fields: fieldsOf(100_000),
  'values of $in': { s: { $in: times(400_000) } },
  'alternatives of $or': { $or: times(100_000).map(n => ({ [`f${n}`]: n })) },
  'nested alternatives of $jsonSchema': { $jsonSchema: schema(9) },
  'names that $jsonSchema requires': { $jsonSchema: { required: times(100_000).map(String) } },
  'values that $jsonSchema lists': { $jsonSchema: { properties: { a: { enum: times(100_000) } } } },
  'values of $all': { s: { $all: times(400_000) } },
  'elements that a field is equal to': { s: times(400_000) },
}

/** `results` are what another thread would send. */
function callOf(filter: Document, results: readonly Buffer[] = []): CommandCall {
  const args = Arguments.ofMessage(serialize({ find: 'items', filter, $db: 'shop' }))
  const rows = [...results]
  const service = {
    clock: { nowMs: () => 0 },
    clusterTime: { now: () => ({ value: 0n }) },
    engine: { evaluate: async () => [rows.shift()] },
  }
  const operation = { part: (work: () => unknown) => work(), check: () => {} }
  return { args, database: 'shop', service, operation } as never
}

const filterOf = ({ args }: CommandCall) => args.document('filter')!

for (const [what, filter] of Object.entries(large)) {
  test(`a filter with very many ${what} is parsed elsewhere`, () => {
    const call = callOf(filter)
    assert.throws(() => compileCallFilter(call, filterOf(call), undefined), TooLongHere)
  })
}

const variables = { constants: { now: 0n, random: Math.random, collation: undefined }, let: undefined } as never
const list = { s: { $in: times(20_000).map(n => `text-${n}`) }, n: { $gt: 5 } }

test('when another thread has parsed it, only its small terms are parsed here', async () => {
  const call = callOf({ ...list, ...fieldsOf(20_000) }, [encodeDocument([['hasOrder', bool(false)]])])
  const compile = () => compileCallFilter(call, filterOf(call), undefined)
  try {
    compile()
    assert.fail('it takes too long here')
  } catch (error) {
    assert.ok(error instanceof TooLongHere)
    await computeElsewhere(call, error)
  }
  const { filter } = compile()
  assert.equal(filter.kind === 'and' && filter.of.filter(({ kind }) => kind === 'later').length, 2)
  // The small terms can choose an index.
  assert.ok(filter.kind === 'and' && filter.of.some(term => term.kind === 'field' && term.path === 'n'))
})

test('a filter whose large terms are compiled later lets the same documents through', () => {
  const spec = { filter: BsonDocument.view(serialize(list)), variables, allowsNear: true }
  const [atOnce, later] = [prepareFilter(spec), prepareKnownFilter(spec)]
  for (const document of [
    { s: 'text-1', n: 6 },
    { s: 'text-1', n: 5 },
    { s: 'x', n: 6 },
    { s: ['x', 'text-9'], n: 9 },
  ]) {
    const bytes = serialize(document)
    assert.equal(later.matches(bytes), atOnce.matches(bytes))
    assert.equal(later.position(bytes), atOnce.position(bytes))
  }
})
