/** Tests of the cost of operations, at the points that the service documents and between them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deleteRu, pageRu, readRu, writeRu } from './cost.ts'

const KiB = 1024

test('a point read of 1 KB costs 1 RU and of 100 KB about 10', () => {
  assert.equal(readRu(1 * KiB), 1)
  assert.equal(readRu(100 * KiB), 10)
})

test('a write of 1 KB costs 5 RU and of 100 KB about 50', () => {
  assert.equal(writeRu(1 * KiB), 5)
  assert.equal(writeRu(100 * KiB), 50)
})

test('nothing costs less than its first kilobyte', () => {
  for (const bytes of [0, 1, 1023]) {
    assert.equal(readRu(bytes), 1)
    assert.equal(writeRu(bytes), 5)
  }
  assert.ok(readRu(1 * KiB + 100) > 1)
  assert.ok(writeRu(1 * KiB + 100) > 5)
})

test('more bytes never cost less, up to the largest item', () => {
  for (let bytes = 0; bytes < 2 * KiB * KiB; bytes += 997) {
    assert.ok(readRu(bytes + 997) >= readRu(bytes))
    assert.ok(writeRu(bytes + 997) >= writeRu(bytes))
  }
})

test('charges have at most two decimals, as the service reports them', () => {
  for (let bytes = 0; bytes < 200_000; bytes += 1_237) {
    for (const ru of [readRu(bytes), writeRu(bytes), pageRu(7, bytes)]) assert.equal(ru, Number(ru.toFixed(2)))
  }
})

test('a page costs something when it is empty, and more with each row and byte', () => {
  assert.equal(pageRu(0, 0), 2)
  assert.equal(pageRu(100, 0), 3)
  assert.equal(pageRu(0, 100 * KiB), 5)
  assert.equal(pageRu(100, 100 * KiB), 6)
})

test('removing costs as much as the smallest write, for a client and for the purger', () => {
  assert.equal(deleteRu, writeRu(0))
})
