import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from '../base/clock.ts'
import { MiB } from '../base/limits.ts'
import { silentLog } from '../base/log.ts'
import { MemoryAccount } from '../base/memory-account.ts'
import { giveBackWhenQuiet } from './give-back.ts'

test('a server that has grown collects when it holds little and is quiet, and not for nothing', async t => {
  let look = () => {}
  t.mock.method(machine, 'setInterval', (work: () => void) => {
    look = work
    return setTimeout(() => {}, 0)
  })
  const memory = new MemoryAccount(100 * MiB)
  let [heapBytes, requests, collected, restBytes] = [50 * MiB, 0, 0, 55 * MiB]
  using _ = giveBackWhenQuiet({
    memory,
    activity: () => requests,
    log: silentLog,
    heapBytes: () => heapBytes,
    collect: async () => {
      collected++
      heapBytes = restBytes
    },
  })
  const looks = async (times: number) => {
    for (let n = 0; n < times; n++) {
      look()
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  heapBytes = 56 * MiB
  await looks(3)
  assert.equal(collected, 0, 'it has hardly grown')
  heapBytes = 200 * MiB
  {
    using lease = memory.share().hold('work')
    lease.add(40 * MiB)
    await looks(3)
    assert.equal(collected, 0, 'it still holds much')
  }
  requests++
  await looks(1)
  assert.equal(collected, 0, 'it is not quiet')
  await looks(1)
  assert.equal(collected, 1)
  await looks(10)
  assert.equal(collected, 1, 'nothing more to get')
  heapBytes = 200 * MiB
  restBytes = 190 * MiB
  for (let n = 0; n < 20; n++) {
    requests++
    await looks(1)
  }
  assert.equal(collected, 2, 'a server that is never quiet collects once, and not again for nothing')
})
