import assert from 'node:assert/strict'
import test from 'node:test'
import { machine } from '../../base/clock.ts'
import { checkGrant, type Grant, issueToken, readToken } from './resource-token.ts'

const key = Buffer.from('the key of the account').toString('base64')
const path = ['dbs', 'd', 'colls', 'c']
const expires = Math.floor(machine.epochMs() / 1000) + 60
const grant: Grant = { path, mode: 'read', container: 'c', permission: 'p', expires }
const read = { path, method: 'GET', isRead: true, partitionKey: undefined }

test('a token contains its grant, and only the account key can issue it', () => {
  const token = issueToken(key, grant)
  assert.deepEqual(readToken(key, token), grant)
  assert.deepEqual(readToken(key, encodeURIComponent(token)), grant)
  assert.throws(() => readToken(Buffer.from('another').toString('base64'), token), { kind: 'unauthenticated' })
  assert.equal(readToken(key, 'type=master&ver=1.0&sig=x'), undefined)
})

test('a token expires', () => {
  checkGrant(grant, read)
  const ended = { ...grant, expires: Math.floor(machine.epochMs() / 1000) }
  assert.throws(() => checkGrant(ended, read), { kind: 'forbidden', message: /expired/ })
})

test('a path is inside another only by whole names', () => {
  for (const other of [['dbs', 'd', 'colls', 'cc'], ['dbs', 'd', 'colls'], ['dbs', 'D', 'colls', 'c'], ['offers']]) {
    assert.throws(() => checkGrant(grant, { ...read, path: other }), { kind: 'forbidden' })
  }
  checkGrant(grant, { ...read, path: [...path, 'docs', '1'] })
})
