import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from './clock.ts'
import { nextSlice, SharedSlice } from './slices.ts'

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

test('works that begin in one turn share its slice, and each turn has a new one', async t => {
  let nowMs = 0
  t.mock.method(machine, 'monotonicMs', () => nowMs)
  const slice = new SharedSlice()
  assert.equal(slice.isOver, false)
  nowMs = 1.9
  assert.equal(slice.isOver, false)
  nowMs = 2
  assert.equal(slice.isOver, true)
  const ended: number[] = []
  const works = [1, 2, 3, 4, 5].map(async work => {
    if (slice.isOver) await slice.next()
    nowMs += 1
    ended.push(work)
  })
  const endedAfter = []
  for (let turns = 0; turns < 3; turns++) {
    await turn()
    endedAfter.push([...ended])
  }
  assert.deepEqual(endedAfter, [
    [1, 2],
    [1, 2, 3, 4],
    [1, 2, 3, 4, 5],
  ])
  await Promise.all(works)
})
