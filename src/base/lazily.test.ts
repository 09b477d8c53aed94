import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lazily } from './lazily.ts'

test('a function is loaded with its first call, and later calls go straight to it', async () => {
  let loads = 0
  const half = lazily(
    async () => {
      loads++
      return { halve: (n: number) => n / 2 }
    },
    ({ halve }) => halve,
  )
  assert.equal(loads, 0)
  const first = half(4)
  assert.ok(first instanceof Promise)
  assert.equal(await first, 2)
  assert.equal(half(6), 3)
  assert.equal(loads, 1)
})

test('a call whose code cannot be loaded fails, and the next one tries again', async () => {
  let isThere = false
  const call = lazily(
    async () => {
      if (!isThere) throw new Error('not there')
      return () => 'there'
    },
    code => code,
  )
  await assert.rejects(async () => call(), { message: 'not there' })
  isThere = true
  assert.equal(await call(), 'there')
})
