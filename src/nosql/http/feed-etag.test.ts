import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeFeedEtag, encodeFeedEtag, type FeedMode } from './feed-etag.ts'

/** As PostgreSQL has them: a version for each bucket. */
const versions = Array.from({ length: 64 }, (_, bucket) => (bucket % 3 === 0 ? '' : (bucket * 987_654).toString(36)))
const vector = `b${versions.join('.')}`

test('Every position comes back, from digits only', () => {
  for (const mode of ['latest', 'all'] as const satisfies FeedMode[]) {
    for (const position of ['0', '17', '9007199254740991', vector]) {
      for (const place of [{ position }, { position, since: 0 }, { position, since: 1_800_000_000 }]) {
        const etag = encodeFeedEtag(mode, place)
        assert.match(etag, /^"\d+"$/)
        assert.deepEqual(decodeFeedEtag(mode, etag), place)
        assert.deepEqual(decodeFeedEtag(mode, etag.slice(1, -1)), place)
      }
    }
  }
})

test('An etag is a small number only where it is the number of a change', () => {
  assert.equal(encodeFeedEtag('latest', { position: '17' }), '"17"')
  for (const etag of [
    encodeFeedEtag('latest', { position: '1', since: 1 }),
    encodeFeedEtag('all', { position: '17' }),
    encodeFeedEtag('latest', { position: vector }),
  ]) {
    assert.ok(BigInt(etag.slice(1, -1)) > 2n ** 63n)
  }
})

test('An etag of the other mode is refused', () => {
  for (const position of ['17', vector]) {
    assert.throws(() => decodeFeedEtag('all', encodeFeedEtag('latest', { position })), /Invalid Continuation Token/)
    assert.throws(() => decodeFeedEtag('latest', encodeFeedEtag('all', { position })), /Invalid Continuation Token/)
  }
})

test('A position with a character that an etag cannot hold is a bug, and is not printed as another one', () => {
  assert.throws(() => encodeFeedEtag('latest', { position: 'b1_2' }), { code: 'ERR_ASSERTION' })
})

test('An etag of the earlier form, JSON with a signature, still continues', () => {
  const earlier = (found: unknown) => `"${Buffer.from(JSON.stringify(found)).toString('base64url')}.c2lnbmF0dXJl"`
  for (const mode of ['latest', 'all'] as const) {
    for (const place of [{ position: '600' }, { position: vector }, { position: '7', since: 1_800_000_000 }]) {
      assert.deepEqual(decodeFeedEtag(mode, earlier(place)), place)
    }
    for (const nonsense of [{}, null, 7, { position: 7 }, { position: '../x' }, { position: '7', since: 'x' }]) {
      assert.throws(() => decodeFeedEtag(mode, earlier(nonsense)), /Invalid Continuation Token/)
    }
    for (const text of ['', '.', 'x.y', '"eyJ.']) {
      assert.throws(() => decodeFeedEtag(mode, text), /Invalid Continuation Token/, text)
    }
  }
})
