import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeNumber, logNumber } from './positions.ts'

test('a number is itself, and a position with many parts is the lowest of them', () => {
  assert.equal(changeNumber('0'), 0)
  assert.equal(changeNumber('123'), 123)
  assert.equal(changeNumber('ba.b.c'), 10)
  assert.equal(changeNumber('ba..c'), 0)
})

test('the log begins from the beginning behind a position of another kind', () => {
  assert.equal(logNumber('17'), 17)
  assert.equal(logNumber('ba.b.c'), 0)
})

test('what is no position is refused', () => {
  for (const text of ['', 'x', '-1', '1.5', 'b', 'NaN', 'b!', 'bzzzzzzzzzzzz']) {
    assert.throws(() => changeNumber(text), { kind: 'malformed' }, text)
    assert.throws(() => logNumber(text), { kind: 'malformed' }, text)
  }
})
