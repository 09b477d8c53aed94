import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOutJson } from './json-layout.ts'
import { JsonReader, JsonTextError } from './json-reader.ts'

test('text is laid out and nothing in it changes', () => {
  const text = '{"2":1.50,"1":[ ],"a\\u0062":{"x":12345678901234567890,"x":[true,null,{}]},"s":" a : b , "}'
  assert.equal(
    layOutJson(text),
    [
      '{',
      '  "2": 1.50,',
      '  "1": [],',
      '  "a\\u0062": {',
      '    "x": 12345678901234567890,',
      '    "x": [',
      '      true,',
      '      null,',
      '      {}',
      '    ]',
      '  },',
      '  "s": " a : b , "',
      '}',
    ].join('\n'),
  )
  assert.deepEqual(JSON.parse(layOutJson(text)), JSON.parse(text))
})

test('members of the object itself can be left out', () => {
  const leftOut: string[] = []
  const text = layOutJson('{"_ts": 5 ,"a":{"_ts":6},"_etag":"\\"x\\""}', {
    without: new Set(['_ts', '_etag']),
    onLeftOut: (name, value) => leftOut.push(`${name}=${value}`),
  })
  assert.equal(text, '{\n  "a": {\n    "_ts": 6\n  }\n}')
  assert.deepEqual(leftOut, ['_ts=5', '_etag="\\"x\\""'])
})

test('a comma too many is to be removed, and its place is told', () => {
  for (const [text, place] of [
    ['{"a": 1,}', 'line 1, column 8'],
    ['{\n  "a": [1, 2 ,\n ]\n}', 'line 2, column 14'],
  ] as const)
    assert.throws(() => layOutJson(text), { message: `remove this comma: nothing follows it (${place})` })
})

test('what is skipped may be nested, but not so deep that the stack ends', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.equal(new JsonReader(nested(500)).skip(), nested(500))
  for (const depth of [502, 100_000]) {
    assert.throws(() => new JsonReader(nested(depth)).skip(), /nested deeper than 500 levels \(line 1, column 502\)$/)
  }
})

test('what is not JSON is refused', () => {
  for (const text of ['', '{', '{"a"}', '[1 2]', '{"a":1}}', 'nul', '"\n"', `${'['.repeat(999)}`]) {
    assert.throws(() => layOutJson(text), JsonTextError, text)
  }
})
