/** Patches as data: an item, operations, and the result or the error text. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { JsonTree } from '../json/json-tree.ts'
import { applyPatch, parsePatch } from './patch.ts'

function patched(item: string, ...operations: (object | string)[]): string {
  const texts = operations.map(operation => (typeof operation === 'string' ? operation : JSON.stringify(operation)))
  const tree = new JsonTree(item)
  applyPatch(tree, parsePatch(`[${texts.join(',')}]`).operations)
  return tree.toString()
}

const add = (path: string, value: unknown) => ({ op: 'add', path, value })
const set = (path: string, value: unknown) => ({ op: 'set', path, value })
const replace = (path: string, value: unknown) => ({ op: 'replace', path, value })
const remove = (path: string) => ({ op: 'remove', path })
const incr = (path: string, value: unknown) => ({ op: 'incr', path, value })
const move = (from: string, path: string) => ({ op: 'move', from, path })

const good: readonly [string, string, (object | string)[], string][] = [
  ['add puts a new property after the others', '{"b":1}', [add('/a', 2)], '{"b":1,"a":2}'],
  ['add replaces a property in its place', '{"a":1,"b":2}', [add('/a', [])], '{"a":[],"b":2}'],
  ['add inserts before an element', '{"a":[1,3]}', [add('/a/1', 2)], '{"a":[1,2,3]}'],
  ['add appends at the length', '{"a":[1,2]}', [add('/a/2', 3)], '{"a":[1,2,3]}'],
  ['add appends at -', '{"a":[]}', [add('/a/-', 1), add('/a/-', 2)], '{"a":[1,2]}'],
  ['add goes into objects in arrays', '{"a":[{"b":1}]}', [add('/a/0/c', null)], '{"a":[{"b":1,"c":null}]}'],
  ['- is a name in an object', '{"a":{}}', [add('/a/-', 1)], '{"a":{"-":1}}'],
  ['a number is a name in an object', '{"a":{}}', [add('/a/0', 1)], '{"a":{"0":1}}'],
  ['the empty name is a name', '{}', [add('/', 1)], '{"":1}'],
  ['set creates a property', '{"a":{}}', [set('/a/b', 1)], '{"a":{"b":1}}'],
  ['set replaces an element', '{"a":[1,2,3]}', [set('/a/1', 9)], '{"a":[1,9,3]}'],
  ['set appends at the length and at -', '{"a":[1]}', [set('/a/1', 2), set('/a/-', 3)], '{"a":[1,2,3]}'],
  ['replace needs an existing value', '{"a":1,"b":[1]}', [replace('/a', 2), replace('/b/0', 3)], '{"a":2,"b":[3]}'],
  ['remove deletes a property', '{"a":1,"b":2,"c":3}', [remove('/b')], '{"a":1,"c":3}'],
  ['remove deletes the only property', '{"a":{"b":1}}', [remove('/a/b')], '{"a":{}}'],
  ['remove shifts elements', '{"a":[1,2,3]}', [remove('/a/0'), remove('/a/0')], '{"a":[3]}'],
  ['incr adds and subtracts', '{"a":1,"b":1}', [incr('/a', 2), incr('/b', -0.5)], '{"a":3,"b":0.5}'],
  ['incr begins at 0', '{"a":{}}', [incr('/a/n', 7)], '{"a":{"n":7}}'],
  ['incr reaches elements', '{"a":[1,2]}', [incr('/a/1', 1)], '{"a":[1,3]}'],
  ['incr keeps 64 bits', '{"a":9007199254740993}', [incr('/a', 2)], '{"a":9007199254740995}'],
  ['incr beyond 64 bits is a double', '{"a":9223372036854775807}', [incr('/a', 1)], '{"a":9223372036854776000}'],
  ['move renames', '{"a":1,"b":2}', [move('/a', '/c')], '{"b":2,"c":1}'],
  ['move replaces', '{"a":1,"b":2}', [move('/a', '/b')], '{"b":1}'],
  ['move onto itself', '{"a":1}', [move('/a', '/a')], '{"a":1}'],
  ['move within an array', '{"a":[1,2,3]}', [move('/a/0', '/a/2')], '{"a":[2,3,1]}'],
  ['move out of an array', '{"a":[1,2]}', [move('/a/1', '/b')], '{"a":[1],"b":2}'],
  [
    '~1 is a slash and ~0 a tilde',
    '{"a/b":1,"~c":2,"~1":3}',
    [set('/a~1b', 4), set('/~0c', 5), set('/~01', 6)],
    '{"a/b":4,"~c":5,"~1":6}',
  ],
  ['names beyond ASCII', '{"ä":1}', [set('/ä', 2), add('/😀', 3)], '{"ä":2,"😀":3}'],
  ['an escaped name is its name', '{"\\u0061":1}', [set('/a', 2)], '{"\\u0061":2}'],
  ['__proto__ is a name', '{"a":{}}', [add('/a/__proto__', { x: 1 })], '{"a":{"__proto__":{"x":1}}}'],
  ['the last of two equal names counts', '{"a":1,"a":2}', [incr('/a', 1)], '{"a":1,"a":3}'],
  ['removing a name removes all its members', '{"a":1,"b":0,"a":2}', [remove('/a')], '{"b":0}'],
  [
    'an operation sees the result of the one before',
    '{}',
    [add('/a', {}), add('/a/b', []), add('/a/b/-', 1), incr('/a/b/0', 1)],
    '{"a":{"b":[2]}}',
  ],
  [
    'the text of a value is kept as written',
    '{}',
    ['{"op":"add","path":"/a","value": { "9":1,"1":1.0 } }'],
    '{"a":{ "9":1,"1":1.0 }}',
  ],
  [
    'untouched parts stay as written',
    '{ "x" : 1.00, "9":12345678901234567890,"1": [ 1e5 ],"a":{"b" :1} }',
    [set('/a/c', 2)],
    '{ "x" : 1.00, "9":12345678901234567890,"1": [ 1e5 ],"a":{"b" :1,"c":2}}',
  ],
  ['strings with brackets and commas', '{"a":"},[{","b":1}', [set('/b', 2)], '{"a":"},[{","b":2}'],
  ['strings with escaped quotes', '{"a":"\\",\\"b\\":0","b":1}', [set('/b', 2)], '{"a":"\\",\\"b\\":0","b":2}'],
]

for (const [name, item, operations, expected] of good) {
  test(`A patch: ${name}`, () => {
    assert.equal(patched(item, ...operations), expected)
  })
}

const docs = ' Learn more: https://aka.ms/cosmosdbpatchdocs'
const absentParent = (word: string, name: string) =>
  `${word} Operation can only create a child object of an existing node(array or object) and cannot create path ` +
  `recursively, no path found beyond: '${name}'.${docs}`

const refused: readonly [string, string, (object | string)[], string | RegExp][] = [
  [
    'add without a parent',
    '{}',
    [add('/nonExistentParent/Child', 1)],
    `For Operation(1): ${absentParent('Add', 'nonExistentParent')}`,
  ],
  ['the second operation', '{}', [add('/a', 1), add('/b/c', 1)], `For Operation(2): ${absentParent('Add', 'b')}`],
  ['set without a parent', '{"a":{}}', [set('/a/b/c', 1)], `For Operation(1): ${absentParent('Given', 'b')}`],
  ['add into a number', '{"a":1}', [add('/a/b', 1)], `For Operation(1): ${absentParent('Add', 'a')}`],
  [
    'add beyond the end',
    '{"a":[1]}',
    [add('/a/2', 1)],
    `For Operation(1): Index(2) to operate on is out of array bounds.${docs}`,
  ],
  [
    'add at a name in an array',
    '{"a":[1]}',
    [add('/a/x', 1)],
    `For Operation(1): Index(x) to operate on is out of array bounds.${docs}`,
  ],
  [
    'an index with a leading zero',
    '{"a":[1,2]}',
    [set('/a/01', 1)],
    `For Operation(1): Index(01) to operate on is out of array bounds.${docs}`,
  ],
  [
    'a negative index',
    '{"a":[1,2]}',
    [set('/a/-1', 1)],
    `For Operation(1): Index(-1) to operate on is out of array bounds.${docs}`,
  ],
  ['replace of nothing', '{}', [replace('/a', 1)], `For Operation(1): Node('a') to be replaced is absent.${docs}`],
  [
    'replace beyond the end',
    '{"a":[1]}',
    [replace('/a/1', 1)],
    `For Operation(1): Index(1) to operate on is out of array bounds.${docs}`,
  ],
  [
    'replace at -',
    '{"a":[1]}',
    [replace('/a/-', 1)],
    `For Operation(1): Index(-) to operate on is out of array bounds.${docs}`,
  ],
  [
    'remove of nothing',
    '{}',
    [remove('/a')],
    `For Operation(1): Node('a') to be removed is absent. Note: it may also have been removed earlier in the ` +
      `transaction.${docs}`,
  ],
  [
    'remove twice',
    '{"a":{"b":1}}',
    [remove('/a/b'), remove('/a/b')],
    `For Operation(2): Node('a/b') to be removed is absent. Note: it may also have been removed earlier in the ` +
      `transaction.${docs}`,
  ],
  [
    'remove at the length',
    '{"a":[1]}',
    [remove('/a/1')],
    `For Operation(1): Index(1) to operate on is out of array bounds.${docs}`,
  ],
  ['incr of a string', '{"a":"1"}', [incr('/a', 1)], `For Operation(1): Node('a') is not a number.${docs}`],
  ['incr of null', '{"a":null}', [incr('/a', 1)], `For Operation(1): Node('a') is not a number.${docs}`],
  ['incr of an object', '{"a":{}}', [incr('/a', 1)], `For Operation(1): Node('a') is not a number.${docs}`],
  [
    'incr to infinity',
    '{"a":1.7e308}',
    [incr('/a', 1.7e308)],
    /^For Operation\(1\): Node\('a'\) would leave the range/,
  ],
  ['incr by a string', '{"a":1}', [incr('/a', '1')], 'Invalid patch request: check syntax of patch specification'],
  ['move of nothing', '{}', [move('/a', '/b')], /^For Operation\(1\): Node\('a'\) to be removed is absent/],
  ['move into itself', '{"a":{"b":{}}}', [move('/a', '/a/b')], /^For Operation\(1\): Node\('a'\) cannot be moved/],
  ['a path without a slash', '{}', [add('a', 1)], 'One of the specified inputs is invalid'],
  ['an empty path', '{}', [add('', 1)], 'One of the specified inputs is invalid'],
  ['a lone tilde', '{}', [add('/a~', 1)], 'One of the specified inputs is invalid'],
  ['an unknown escape', '{}', [add('/a~2', 1)], 'One of the specified inputs is invalid'],
  ['no path', '{}', [{ op: 'add', value: 1 }], 'One of the specified inputs is invalid'],
  ['no value', '{}', [{ op: 'add', path: '/a' }], 'Invalid patch request: check syntax of patch specification'],
  ['no op', '{}', [{ path: '/a', value: 1 }], 'Invalid patch request: check syntax of patch specification'],
  [
    'an unknown op',
    '{}',
    [{ op: 'test', path: '/a', value: 1 }],
    'Invalid patch request: check syntax of patch specification',
  ],
  [
    'an op that is not a string',
    '{}',
    [{ op: 1, path: '/a', value: 1 }],
    'Invalid patch request: check syntax of patch specification',
  ],
  ['an operation that is not an object', '{}', ['1'], 'Invalid patch request: check syntax of patch specification'],
  ['no operations', '{}', [], 'Invalid patch request: check syntax of patch specification'],
  [
    'eleven operations',
    '{}',
    Array.from({ length: 11 }, () => add('/a', 1)),
    "The number of patch operations can't exceed '10'",
  ],
  ['the id', '{"id":"1"}', [set('/id', '2')], 'Invalid patch request: Cannot patch system property id.'],
  ...['_ts', '_etag', '_rid', '_self', '_attachments'].flatMap((name): (typeof refused)[number][] => [
    [`set ${name}`, '{}', [set(`/${name}`, 1)], `Invalid patch request: Cannot patch system property ${name}.`],
    [`move ${name}`, '{}', [move(`/${name}`, '/a')], `Invalid patch request: Cannot patch system property ${name}.`],
    [
      `move to ${name}`,
      '{"a":1}',
      [move('/a', `/${name}`)],
      `Invalid patch request: Cannot patch system property ${name}.`,
    ],
  ]),
  [
    'a value that is too deep',
    '{}',
    [`{"op":"add","path":"/a","value":${'['.repeat(128)}${']'.repeat(128)}}`],
    /nested deeper/,
  ],
]

for (const [name, item, operations, message] of refused) {
  test(`A patch is refused: ${name}`, () => {
    assert.throws(() => patched(item, ...operations), { name: 'RequestError', kind: 'malformed', message })
  })
}

test('Nesting depths add up over patches', () => {
  const item = `{"a":${'['.repeat(100)}${']'.repeat(100)}}`
  const path = `/a${'/0'.repeat(98)}/-`
  assert.throws(() => patched(item, add(path, JSON.parse(`${'['.repeat(29)}${']'.repeat(29)}`))), /nested deeper/)
  assert.equal(JSON.parse(patched(item, add(path, 1))).a.flat(Number.POSITIVE_INFINITY)[0], 1)
})

const bodies = [
  '1',
  '"x"',
  'null',
  '{}',
  '{"operations":{}}',
  '{"operations":null}',
  '[1]',
  '{"operations":[],"condition":"x"}',
]
for (const body of [...bodies, '{"operations":[{"op":"remove","path":"/a"}],"condition":1}']) {
  test(`A body is no patch: ${body}`, () => {
    assert.throws(() => parsePatch(body), { message: 'Invalid patch request: check syntax of patch specification' })
  })
}
