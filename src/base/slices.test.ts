import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from './clock.ts'
import { nextSlice } from './slices.ts'

const turn = () => new Promise<void>(resolve => machine.setImmediate(resolve))

test('of many works, one has a slice in each turn, and all have theirs in order', async () => {
  const slices: number[] = []
  const ends: Promise<void>[] = []
  for (let work = 0; work < 20; work++) {
    const run = async () => {
      for (let slice = 0; slice < 3; slice++) {
        await nextSlice()
        slices.push(work)
      }
    }
    ends.push(run())
  }
  for (let turns = 1; turns <= 60; turns++) {
    await turn()
    assert.equal(slices.length, turns)
  }
  await Promise.all(ends)
  const all = Array.from({ length: 20 }, (_, work) => work)
  assert.deepEqual(slices, [...all, ...all, ...all])
})

test('work that is alone goes on in every turn', async () => {
  let slices = 0
  const work = (async () => {
    for (; slices < 10; slices++) await nextSlice()
  })()
  for (let turns = 0; turns < 10; turns++) await turn()
  assert.equal(slices, 10)
  await work
})
