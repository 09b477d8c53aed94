import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from '../../base/clock.ts'
import { MiB } from '../../base/limits.ts'
import { silentLog } from '../../base/log.ts'
import { MemoryAccount } from '../../base/memory-account.ts'
import { giveBackWhenQuiet } from './give-back.ts'

test('a server collects after its start and when it has grown, if it is quiet, and not for nothing', async t => {
  let look = () => {}
  t.mock.method(machine, 'setTimeout', (work: () => void) => {
    look = work
    return setTimeout(() => {}, 0)
  })
  const memory = new MemoryAccount(100 * MiB)
  let [heapBytes, requests, collected, restBytes] = [70 * MiB, 0, 0, 50 * MiB]
  using _ = giveBackWhenQuiet({
    memory,
    activity: () => requests,
    log: silentLog,
    size: () => heapBytes,
    shrink: async () => {
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
  requests += 1000
  await looks(1)
  assert.equal(collected, 0, 'it was busy since the start')
  await looks(3)
  assert.equal(collected, 1, 'what the start has left')
  heapBytes = 56 * MiB
  await looks(3)
  assert.equal(collected, 1, 'it has hardly grown')
  heapBytes = 200 * MiB
  {
    using lease = memory.share().hold('work')
    lease.add(40 * MiB)
    await looks(3)
    assert.equal(collected, 1, 'it still holds much')
  }
  requests += 1000
  await looks(1)
  assert.equal(collected, 1, 'it is not quiet')
  requests++
  await looks(1)
  assert.equal(collected, 2)
  await looks(10)
  assert.equal(collected, 2, 'nothing more to get')
  restBytes = 190 * MiB
  const busyLooks = async (times: number) => {
    for (let n = 0; n < times; n++) {
      requests += 1000
      await looks(1)
    }
  }
  heapBytes = 130 * MiB
  await busyLooks(20)
  assert.equal(collected, 2, 'a busy server needs its young generation')
  heapBytes = 200 * MiB
  await busyLooks(20)
  assert.equal(collected, 3, 'a server that is always busy collects once what is too much, and not again for nothing')
})
