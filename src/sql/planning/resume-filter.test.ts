import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareQuery } from '../prepare.ts'
import { resumableText } from './resume-filter.ts'

const text = (where: string, order = 'c.n') =>
  `SELECT c._rid, [{"item": c.n}] AS orderByItems, c AS payload FROM c WHERE ${where} ORDER BY ${order}`

const same = (query: string) => resumableText(prepareQuery(query).query, query)

test('the condition that resumes an ORDER BY does not change what a token belongs to', () => {
  const first = same(text('c.a = 1 AND (true)'))
  for (const filter of [
    '(c.n >= 3)',
    "((c.n > 'x' OR IS_ARRAY(c.n)))",
    '(NOT IS_DEFINED(c["n"]) OR c.n > null)',
    '((c.n >= 3 AND c.n != 4))',
  ]) {
    assert.equal(same(text(`c.a = 1 AND ${filter}`)), first, filter)
  }
})

test('any other difference changes it', () => {
  const texts = [
    text('c.a = 1 AND (true)'),
    text('c.a = 2 AND (true)'),
    text('c.a = 1 AND c.m > 2'),
    text('c.a = 1 AND c.n > c.m'),
    text('c.a = 1 AND EXISTS(SELECT VALUE 1 FROM x IN c.n)'),
    text('c.a = 1 AND (true)', 'c.n DESC'),
    'SELECT c._rid FROM c WHERE c.a = 1 AND (true) ORDER BY c.n',
    'SELECT c._rid FROM c WHERE c.a = 1 AND (c.n > 2) ORDER BY c.n',
  ]
  assert.equal(new Set(texts.map(same)).size, texts.length)
})
