/** Tests of how long change streams wait, and of what waits for them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Streams } from './streams.ts'

test('a stream waits for a second, and longer where many wait', async () => {
  const streams = new Streams()
  const { promise, resolve } = Promise.withResolvers<void>()
  const waiting: Promise<void>[] = []
  const addUpTo = (count: number) => {
    while (waiting.length < count) waiting.push(streams.wait(promise))
  }
  addUpTo(50)
  assert.equal(streams.waitMs(), 1000)
  addUpTo(500)
  const times = Array.from({ length: 100 }, () => streams.waitMs())
  assert.ok(Math.max(...times) <= 28_000 && Math.min(...times) >= 25_000)
  assert.ok(new Set(times).size > 10, 'they do not come back together')
  resolve()
  await Promise.all(waiting)
  assert.equal(streams.waitMs(), 1000)
})

test('commands wait until all streams are open that have arrived, also if one fails', async () => {
  const streams = new Streams()
  assert.deepEqual([streams.opened], [undefined])
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const held = [streams.hold(first.promise), streams.hold(second.promise).catch(error => error)]
  let isOpen = false
  const waiting = streams.opened!.then(() => {
    isOpen = true
  })
  first.resolve()
  await held[0]
  assert.equal(isOpen, false)
  second.reject(new Error('refused'))
  assert.match(String(await held[1]), /refused/)
  await waiting
  assert.equal(streams.opened, undefined)
})
