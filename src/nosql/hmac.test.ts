import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { HmacSha256 } from './hmac.ts'

function reference(key: Buffer, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('base64')
}

test('every length around the block boundaries gives the digest of node:crypto', () => {
  const key = randomBytes(64)
  const hmac = new HmacSha256(key)
  for (let length = 0; length <= 1200; length++) {
    const text = randomBytes(length)
      .toString('latin1')
      .replace(/[\x80-\xff]/g, 'x')
    assert.equal(hmac.base64(text), reference(key, text), `length ${length}`)
  }
})

test('keys of every length, also beyond a block, give the digest of node:crypto', () => {
  for (let length = 1; length <= 200; length++) {
    const key = randomBytes(length)
    assert.equal(new HmacSha256(key).base64('get\ndocs\n'), reference(key, 'get\ndocs\n'), `key of ${length}`)
  }
})

test('texts beyond ASCII give the digest of their UTF-8, and leave no trace in the next one', () => {
  const key = randomBytes(64)
  const hmac = new HmacSha256(key)
  for (const text of ['größe', '漢字', '😀', 'plain', '\u0080', 'a'.repeat(5000)]) {
    assert.equal(hmac.base64(text), reference(key, text))
    assert.equal(hmac.base64('plain'), reference(key, 'plain'))
  }
})
