import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deathSayer } from './death-sayer.ts'

test('deaths are said at once, and then as a sum every 10 s at most', context => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const said: string[] = []
  const add = deathSayer(text => said.push(text))
  add(1)
  add(4)
  add(7)
  assert.deepEqual(said, ['1 item died'])
  context.mock.timers.tick(9_999)
  assert.equal(said.length, 1)
  context.mock.timers.tick(1)
  assert.deepEqual(said, ['1 item died', '11 items died'])
  context.mock.timers.tick(10_000)
  assert.equal(said.length, 2, 'nobody died')
  add(2)
  assert.deepEqual(said.at(-1), '2 items died')
})
