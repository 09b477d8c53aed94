import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idProblem, keyProblem, readTtlField, ttlProblem, uniqueKeyProblem } from './input-rules.ts'

test('a field is refused with its reason', () => {
  assert.equal(readTtlField('on', '7 d').defaultTtl, 604_800)
  for (const text of ['0', '-5', '2147483648', 'soon', ''])
    assert.equal(readTtlField('on', text).problem, ttlProblem, text)
  assert.deepEqual([readTtlField('off', 'x').defaultTtl, readTtlField('no default', 'x').defaultTtl], [null, -1])
  for (const id of ['', ' ', 'a/b', 'a?', 'a#', '.', '..', 'x'.repeat(256), 'a ']) assert.ok(idProblem(id), id)
  assert.equal(idProblem('sessions'), undefined)
  for (const path of ['', 'userId', '/', '/a,/b,/c,/d']) assert.ok(keyProblem('nosql', path), path)
  assert.equal(keyProblem('nosql', '/tenant, /user/id'), undefined)
  assert.equal(keyProblem('mongo', ''), undefined)
  for (const paths of ['', ' , ', 'email', '/a, b', '/', Array(17).fill('/a').join()])
    assert.ok(uniqueKeyProblem(paths), paths)
  for (const paths of ['/email', '/name, /address/zip']) assert.equal(uniqueKeyProblem(paths), undefined)
})
