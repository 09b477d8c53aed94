import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layOutJson } from './json-layout.ts'
import { JsonTextError } from './json-reader.ts'

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

test('what is not JSON is refused', () => {
  for (const text of ['', '{', '{"a"}', '[1 2]', '{"a":1}}', 'nul', '"\n"', `${'['.repeat(999)}`]) {
    assert.throws(() => layOutJson(text), JsonTextError, text)
  }
})
