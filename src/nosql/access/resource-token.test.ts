import assert from 'node:assert/strict'
import test from 'node:test'
import { AccountKeys } from '../../base/account-keys.ts'
import { machine } from '../../base/clock.ts'
import { checkGrant, type Grant, issueToken, readToken } from './resource-token.ts'

const key = (name: string) => ({ text: Buffer.from(name).toString('base64'), isReadOnly: false })
const keys = new AccountKeys([key('the key of the account')])
const path = ['dbs', 'd', 'colls', 'c']
const expires = Math.floor(machine.epochMs() / 1000) + 60
const grant: Grant = { path, mode: 'read', container: 'c', permission: 'p', expires }
const read = { path, method: 'GET', isRead: true, partitionKey: undefined }

test('a token contains its grant, and only the account key can issue it', () => {
  const token = issueToken(keys, grant)
  assert.deepEqual(readToken(keys, token)?.grant, grant)
  assert.deepEqual(readToken(keys, encodeURIComponent(token))?.grant, grant)
  assert.throws(() => readToken(new AccountKeys([key('another')]), token), { kind: 'unauthenticated' })
  assert.equal(readToken(keys, 'type=master&ver=1.0&sig=x'), undefined)
})

test('a token is valid as long as the key that signed it', () => {
  const rotated = new AccountKeys([key('old')])
  const token = issueToken(rotated, grant)
  rotated.replace([key('new'), key('old')])
  assert.deepEqual(readToken(rotated, token)?.grant, grant)
  rotated.replace([key('new'), { ...key('old'), isReadOnly: true }])
  assert.throws(() => readToken(rotated, token), { kind: 'unauthenticated' })
  rotated.replace([key('new')])
  assert.throws(() => readToken(rotated, token), { kind: 'unauthenticated' })
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
