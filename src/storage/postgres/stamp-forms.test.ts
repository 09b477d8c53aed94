import assert from 'node:assert/strict'
import { test } from 'node:test'
import { etagOf, itemRid } from '../../nosql/resource-id.ts'
import type { ContainerRecord, Draft } from '../port.ts'
import { fill, formOf, openBody } from './stamp-forms.ts'

const container = { rid: 0xfffefdfc, database: { rid: 0x3ffbef00 } } as ContainerRecord

test('decimal numbers, etags and resource ids are recognised, and nothing else is', () => {
  assert.deepEqual(formOf(String), { before: '', code: 'd' })
  assert.deepEqual(
    formOf(n => `#${n}`),
    { before: '#', code: 'd' },
  )
  assert.deepEqual(
    formOf(n => etagOf(0xab, n)),
    { before: '000000ab-0000-0000-0000-', code: 'x' },
  )
  assert.match(formOf(n => itemRid(container, n))!.code, /^b[0-9a-f]{4}$/)
  for (const odd of [
    (n: number) => n.toString(16),
    (n: number) => String(n % 1000),
    (n: number) => `${n}!`,
    (n: number) => String(n + 1),
    () => '0',
    () => '',
  ]) {
    assert.equal(formOf(odd), undefined)
  }
})

test('a draft is taken apart into pieces and forms, or not at all', () => {
  const stamps = [
    { name: 'version', print: (n: number) => etagOf(1, n) },
    { name: 'ts', print: String },
  ] as const
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
  assert.equal(openBody({ ...draft, stamps: [stamps[0], { name: 'ts', print: n => n.toFixed(1) }] }), undefined)
  const bytes = Uint8Array.of(1, 2)
  assert.deepEqual(openBody(bytes), { pieces: [null], forms: [], bytes: Buffer.from(bytes) })
})
