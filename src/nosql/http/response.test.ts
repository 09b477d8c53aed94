/** Tests of header lines: no value can end its line. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { InvariantError } from '../../base/error.ts'
import { header } from './response.ts'

test('a header is one line', () => {
  assert.equal(header('etag', '"a b~"'), 'etag: "a b~"\r\n')
  assert.equal(header('lsn', 7), 'lsn: 7\r\n')
})

test('a value that could end its line is refused', () => {
  // In latin1, U+010D and U+010A are written as CR and LF.
  for (const character of ['\r', '\n', '\r\nx: y', '\0', '\t', '\x7f', '\x80', 'é', '\u010d', '\u010a', '\u2028']) {
    for (const value of [character, `a${character}`, `${character}b`]) {
      assert.throws(() => header('etag', value), InvariantError, JSON.stringify(value))
    }
  }
})
