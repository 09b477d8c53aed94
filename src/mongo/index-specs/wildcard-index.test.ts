import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BsonDocument, bool, int32, string, type Value } from '../../document/bson/value.ts'
import { parseIndexSpec } from './index-spec.ts'
import { promising } from './wildcard-index.ts'

type Plain = { readonly [name: string]: number | boolean | string | Plain }

function documentOf(plain: Plain): BsonDocument {
  const asValue = (value: Plain[string]): Value => {
    if (typeof value === 'object') return documentOf(value)
    if (typeof value === 'string') return string(value)
    return typeof value === 'number' ? int32(value) : bool(value)
  }
  return BsonDocument.of(Object.entries(plain).map(([name, value]) => [name, asValue(value)]))
}

const all = { '$**': 1 }

for (const [spec, promised, not] of [
  [{ key: all }, ['n', 'deep.x'], ['_id', '_id.a']],
  [{ key: { 'deep.$**': 1 } }, ['deep', 'deep.x', 'deep.y.z'], ['n', 'deeper']],
  [{ key: all, wildcardProjection: { n: 1, 'deep.y': true } }, ['n', 'deep.y', 'deep.y.z'], ['deep.x', 'a', '_id']],
  [{ key: all, wildcardProjection: { deep: { y: 1 } } }, ['deep.y.z'], ['deep.x', 'n']],
  [{ key: all, wildcardProjection: { deep: 0 } }, ['n', 'deeper'], ['deep', 'deep.x', '_id']],
  [{ key: all, wildcardProjection: { deep: 0, _id: 1 } }, ['n', '_id'], ['deep.x']],
  [{ key: all, wildcardProjection: { n: 1, _id: 0 } }, ['n'], ['_id', 'm']],
  [{ key: all, hidden: true }, [], ['n']],
  [{ key: all, partialFilterExpression: { n: 1 } }, [], ['n']],
  [{ key: { n: 1 } }, [], ['n']],
] as const satisfies readonly (readonly [Plain, readonly string[], readonly string[]])[]) {
  test(`${JSON.stringify(spec)} promises what lies below its path and within its projection`, () => {
    const index = parseIndexSpec(documentOf({ name: 'w', ...spec }))
    for (const field of promised) assert.equal(promising([index], field.split('.')), index, field)
    for (const field of not) assert.equal(promising([index], field.split('.')), undefined, field)
  })
}
