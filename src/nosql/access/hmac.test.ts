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
    assert.ok(hmac.isDigest(text, reference(key, text), 0), `length ${length}`)
  }
})

test('keys of every length, also beyond a block, give the digest of node:crypto', () => {
  for (let length = 1; length <= 200; length++) {
    const key = randomBytes(length)
    assert.ok(new HmacSha256(key).isDigest('get\ndocs\n', reference(key, 'get\ndocs\n'), 0), `key of ${length}`)
  }
})

test('a text beyond ASCII gives the digest of its UTF-8, and does not affect the next one', () => {
  const key = randomBytes(64)
  const hmac = new HmacSha256(key)
  for (const text of ['größe', '漢字', '😀', 'plain', '\u0080', 'a'.repeat(5000)]) {
    assert.ok(hmac.isDigest(text, reference(key, text), 0))
    assert.ok(hmac.isDigest('plain', reference(key, 'plain'), 0))
  }
})

test('a digest is recognized in place, escaped or not, and every character counts', () => {
  const key = randomBytes(64)
  const hmac = new HmacSha256(key)
  for (let round = 0; round < 200; round++) {
    const digest = reference(key, `text ${round}`)
    const escaped = encodeURIComponent(digest)
    const everything = digest.replace(/./g, unit => `%${unit.charCodeAt(0).toString(16)}`)
    for (const form of [digest, escaped, lowerEscapes(escaped), everything]) {
      assert.ok(hmac.isDigest(`text ${round}`, form, 0), form)
      assert.ok(hmac.isDigest(`text ${round}`, `sig=${form}`, 4), form)
      assert.equal(hmac.isDigest(`text ${round} `, form, 0), false, 'another text')
      assert.equal(hmac.isDigest(`text ${round}`, `${form}=`, 0), false, 'one more')
      for (let at = 0; at < form.length; at++) {
        const other = String.fromCharCode(form.charCodeAt(at) ^ 1)
        // An escape may be written in either case. Flipping the lowest bit never changes only the case.
        assert.equal(
          hmac.isDigest(`text ${round}`, form.slice(0, at) + other + form.slice(at + 1), 0),
          false,
          `${form} at ${at}`,
        )
        assert.equal(hmac.isDigest(`text ${round}`, form.slice(0, at), 0), false, `${form} to ${at}`)
      }
    }
  }
})

function lowerEscapes(text: string): string {
  return text.replace(/%../g, unit => unit.toLowerCase())
}
