import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ends, goneSentence, plainText, previewSentence, saveLabel } from './ttl-preview.ts'

const preview = { now: 1204, within1h: 310, within24h: 15_000, later: 2, never: 88, isAbout: false }

test('a change says how many die now, within the hour, later and never', () => {
  assert.equal(
    plainText(previewSentence(preview, 'nosql', true)),
    'If you save this, 1,204 items die now, 310 within the hour, 15,002 later, 88 never.',
  )
  assert.equal(
    plainText(previewSentence({ ...preview, now: 0 }, 'nosql', true)),
    'If you save this, nothing dies now, 310 within the hour, 15,002 later, 88 never.',
  )
  assert.equal(
    plainText(previewSentence({ ...preview, now: 1, isAbout: true }, 'mongo', true)),
    'If you save this, about 1 document dies now, about 310 within the hour, about 15,002 later, about 88 never.',
  )
})

test('no change says so', () => {
  assert.equal(
    plainText(previewSentence({ ...preview, now: 0 }, 'mongo', false)),
    'With this setting 0 documents die now, 310 within the hour, 15,002 later, 88 never. No change.',
  )
})

test('the button carries its number', () => {
  assert.equal(saveLabel(preview), 'Save, 1,204 die now')
  assert.equal(saveLabel({ ...preview, now: 1 }), 'Save, 1 dies now')
  assert.equal(saveLabel({ ...preview, now: 0 }), 'Save')
  assert.equal(saveLabel(undefined), 'Save')
  assert.equal(goneSentence(preview, 'nosql'), '1,204 items are gone from every read the moment you save.')
})

test('how items end depends on the default and on their own ttl', () => {
  assert.equal(ends(null).own, 'never dies')
  assert.equal(ends(-1).none, 'never dies')
  assert.equal(ends(604_800).none, 'dies 7 d after its last write')
})
