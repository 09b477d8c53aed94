import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from '../../base/clock.ts'
import { MiB } from '../../base/limits.ts'
import { MemoryAccount } from '../../base/memory-account.ts'
import { saveWhenLarge } from './save-when-large.ts'

test('heaps are kept small while the server has grown by three quarters of its budget', t => {
  let look = () => {}
  let nowMs = 0
  t.mock.method(machine, 'monotonicMs', () => nowMs)
  t.mock.method(machine, 'setTimeout', (work: () => void) => {
    look = work
    return setTimeout(() => {}, 0)
  })
  let bytes = 90 * MiB
  let saving = 0
  let collections = 0
  const saver = saveWhenLarge({
    memory: MemoryAccount.ofBudget(200 * MiB),
    size: () => bytes,
    save: () => {
      saving++
      return { [Symbol.dispose]: () => saving-- }
    },
    collect: () => collections++,
  })
  const savingAt = (mib: number) => {
    bytes = mib * MiB
    look()
    return saving
  }
  assert.equal(savingAt(90), 0)
  assert.equal(savingAt(50), 0, 'the least size counts')
  assert.equal(savingAt(199), 0)
  assert.equal(collections, 0)
  assert.equal(savingAt(201), 1)
  assert.equal(collections, 1, 'a collection begins at once')
  assert.equal(savingAt(190), 1, 'it does not end at the same limit')
  assert.equal(savingAt(300), 1)
  assert.equal(savingAt(184), 0)
  nowMs += 1000
  assert.equal(savingAt(300), 1)
  assert.equal(collections, 1, 'not again and again')
  nowMs += 5000
  assert.equal(savingAt(300), 1)
  assert.equal(collections, 2, 'but later, if the server is still large')
  assert.equal(savingAt(300), 1)
  assert.equal(collections, 2)
  saver[Symbol.dispose]()
  assert.equal(saving, 0, 'it ends with the server')
})
