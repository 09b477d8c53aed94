import assert from 'node:assert/strict'
import { test } from 'node:test'
import { etagForm, etagOf } from '../../nosql/resource-id.ts'
import type { Draft, StampGap } from '../port.ts'
import { fill, openBody } from './stamp-forms.ts'

test('a draft is taken apart into pieces and forms, or not at all', () => {
  const stamps: StampGap[] = [
    { name: 'version', print: version => etagOf(1, version), form: etagForm(1) },
    { name: 'ts', print: String, form: { before: '', number: 'decimal' } },
  ]
  const draft: Draft = { texts: ['{"e":"', '","t":', '}'], stamps }
  assert.deepEqual(openBody(draft), {
    pieces: ['{"e":"00000001-0000-0000-0000-', '","t":', '}'],
    forms: ['vx', 'td'],
    bytes: null,
  })
  assert.equal(
    fill(draft, { sequence: 1, version: 255, ts: 7 as never }),
    '{"e":"00000001-0000-0000-0000-0000000000ff","t":7}',
  )
  assert.equal(openBody({ ...draft, stamps: [stamps[0]!, { name: 'ts', print: String }] }), undefined)
  const bytes = Uint8Array.of(1, 2)
  assert.deepEqual(openBody(bytes), { pieces: [null], forms: [], bytes: Buffer.from(bytes) })
})
