import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { CapacityError, RequestError } from './error.ts'
import { KiB, MiB } from './limits.ts'
import { heldHere, holding, leaseHere, MemoryAccount } from './memory-account.ts'

const isKind = (kind: string) => (error: unknown) =>
  (error instanceof RequestError || error instanceof CapacityError) && error.kind === kind

describe('the account of held memory', () => {
  test('what is taken is shown by kind, and everything comes back with the lease', () => {
    const account = new MemoryAccount(64 * MiB)
    {
      using lease = account.share().hold('cursors')
      lease.add(MiB)
      assert.equal(account.heldByKind().cursors, MiB)
      assert.equal(account.heldBytes, MiB)
      lease.release(MiB / 2)
      assert.equal(account.heldBytes, MiB / 2)
    }
    assert.equal(account.heldBytes, 0)
    assert.equal(account.heldByKind().cursors, 0)
  })

  test('who takes after its end takes nothing', () => {
    const account = new MemoryAccount(64 * MiB)
    const lease = account.share().hold('work')
    lease.add(MiB)
    lease[Symbol.dispose]()
    lease.add(MiB)
    lease.force(MiB)
    lease.release(MiB)
    lease[Symbol.dispose]()
    assert.equal(account.heldBytes, 0)
  })

  test('a connection that wants more than its share is told so, and keeps what it has', () => {
    const account = new MemoryAccount(64 * MiB)
    using lease = account.share().hold('work')
    lease.add(20 * MiB)
    assert.throws(() => lease.add(20 * MiB), isKind('over_memory'))
    assert.equal(account.heldBytes, 20 * MiB)
  })

  test('all who have not logged in have one share together', () => {
    const account = new MemoryAccount(64 * MiB)
    using one = account.strangers.hold('bodies')
    using other = account.strangers.hold('bodies')
    one.add(5 * MiB)
    assert.throws(() => other.add(5 * MiB), isKind('over_memory'))
    using known = account.share().hold('bodies')
    known.add(5 * MiB)
  })

  test('the last quarter is for those who hold little', () => {
    const account = new MemoryAccount(64 * MiB)
    using large = account.share().hold('work')
    using second = account.share().hold('work')
    large.add(30 * MiB)
    second.add(18 * MiB)
    assert.throws(() => second.add(MiB), isKind('throttled'))
    account.checkRoom()
    using small = account.share().hold('work')
    small.add(MiB)
    assert.throws(() => small.add(8 * MiB), isKind('throttled'))
    large.release(2 * MiB)
    second.add(512 * KiB)
  })

  test('however many come, the budget is not passed, and new work waits', () => {
    const account = new MemoryAccount(8 * MiB)
    const leases = Array.from({ length: 2000 }, () => account.share().hold('work'))
    for (const lease of leases) while (lease.tryAdd(32 * KiB) === undefined && lease.bytes < MiB);
    assert.ok(account.heldBytes <= account.bytesMax)
    const own = account.share().hold('work')
    own.force(account.bytesMax)
    assert.throws(() => account.checkRoom(), isKind('throttled'))
    for (const lease of [own, ...leases]) lease[Symbol.dispose]()
    assert.equal(account.heldBytes, 0)
    account.checkRoom()
  })

  test('a thread has a part of the sum; when it is killed the part comes back', () => {
    const account = new MemoryAccount(64 * MiB)
    const opened = [account.openThread(), account.openThread()]
    // structuredClone shares the cells, as a message to a thread does.
    const inThreads = opened.map(thread =>
      MemoryAccount.ofThread(structuredClone({ ...thread, [Symbol.dispose]: undefined } as never)),
    )
    for (const [n, account] of inThreads.entries()) {
      account
        .share()
        .hold('work')
        .add((n + 1) * MiB)
    }
    assert.equal(account.heldBytes, 3 * MiB)
    assert.equal(inThreads[0]!.heldBytes, 3 * MiB)
    assert.equal(account.heldByKind().threads, 3 * MiB)
    opened[0]![Symbol.dispose]()
    assert.equal(account.heldBytes, 2 * MiB)
    opened[1]![Symbol.dispose]()
    assert.equal(account.heldBytes, 0)
  })

  test('work finds the lease of its asynchronous context', async () => {
    const account = new MemoryAccount(64 * MiB)
    using lease = account.share().hold('work')
    assert.equal(heldHere(), undefined)
    await holding(lease, async () => {
      await new Promise(resolve => setImmediate(resolve))
      assert.equal(heldHere(), lease)
      using part = leaseHere('work')
      part!.add(MiB)
      assert.equal(account.heldBytes, MiB)
    })
    assert.equal(account.heldBytes, 0)
  })

  test('whatever is taken and given back in any order, the sum is what the leases have, within their steps', () => {
    const step = fc.record({ lease: fc.nat(4), bytes: fc.integer({ min: -200_000, max: 200_000 }), ends: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step), steps => {
        const account = new MemoryAccount(4 * MiB)
        const shares = [account.share(), account.share()]
        const leases = Array.from({ length: 5 }, (_, n) => shares[n % 2]!.hold('work'))
        for (const { lease: at, bytes, ends } of steps) {
          const lease = leases[at]!
          if (bytes > 0) lease.tryAdd(bytes)
          else lease.release(-bytes)
          if (ends && bytes % 7 === 0) lease[Symbol.dispose]()
          const sum = leases.reduce((all, each) => all + each.bytes, 0)
          assert.ok(account.heldBytes >= sum - leases.length * 16 * KiB, 'too little is counted')
          assert.ok(account.heldBytes <= sum + leases.length * 48 * KiB, 'too much is counted')
        }
        for (const lease of leases) lease[Symbol.dispose]()
        assert.equal(account.heldBytes, 0)
      }),
    )
  })
})
