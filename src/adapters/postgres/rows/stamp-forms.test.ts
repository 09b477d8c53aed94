import assert from 'node:assert/strict'
import { test } from 'node:test'
import { etagForm, etagOf } from '../../../nosql/http/resource-id.ts'
import { fill } from '../../../store/fill.ts'
import type { Draft, StampGap } from '../../../store/item.ts'
import { canBeMarked, closedBody, noBody, type OpenBody, openBody, withMarks } from './stamp-forms.ts'

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
  const unknown = { before: '', number: { kind: 'hexadecimal', digitsMin: 4 } } as const
  assert.equal(openBody({ ...draft, stamps: [stamps[0]!, { ...stamps[1]!, form: unknown }] }), undefined)
  const otherSlash = { before: '', number: { kind: 'base64', bytesBefore: '0102', slash: '_' } } as const
  assert.equal(openBody({ ...draft, stamps: [stamps[0]!, { ...stamps[1]!, form: otherSlash }] }), undefined)
  const bytes = Uint8Array.of(1, 2)
  assert.deepEqual(openBody(bytes), { pieces: [null], forms: [], bytes: Buffer.from(bytes) })
})

test('a text with a character that would be a mark is left to the gateway', () => {
  assert.equal(openBody({ texts: ['{"e":"\x02"}'], stamps: [] }), undefined)
  assert.notEqual(openBody({ texts: ['{\t"e":\r\n1}'], stamps: [] }), undefined)
})

test('the bodies of a call share their marks; sequences have the first', () => {
  const body = (...forms: string[]): OpenBody => ({ pieces: ['<', ...forms.map(() => '.')], forms, bytes: null })
  const bodies = [body('td', 'sb0102', 'sb0102'), noBody, closedBody('{}'), body('vx', 'td')]
  assert.deepEqual(withMarks(bodies), {
    texts: ['<\x02.\x01.\x01.', null, '{}', '<\x03.\x02.'],
    sequenceForm: 'b0102',
    forms: ['td', 'vx'],
  })
  assert.equal(canBeMarked(bodies), true)
  assert.equal(canBeMarked([body('sd'), body('sx')]), false)
  assert.equal(canBeMarked([body('vd', 'vx', 'td', 'tx', 'vb0000', 'tb0000', 'tb0001')]), true)
  assert.equal(canBeMarked([body('vd', 'vx', 'td', 'tx', 'vb0000', 'tb0000', 'tb0001', 'tb0002')]), false)
})
