/**
 * Tests of a commit that fails: no caller is told that it succeeded, nothing has changed, and a store that
 * cannot be trusted ends.
 */

import assert from 'node:assert/strict'
import { type SQLInputValue, StatementSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { CapacityError } from '../../src/base/error.ts'
import { keyNamed, makeContainer, manualClock, put, setDefault, start } from './fixture.ts'

/** https://www.sqlite.org/rescode.html: the disk is full; a failed fsync. */
const full = 13
const fsyncFailed = 1034

async function fragile(t: TestContext) {
  const fatal: Error[] = []
  const clock = manualClock()
  const store = withContract(
    openSqlite({ directory: undefined, clock: () => clock, onFatal: error => fatal.push(error) }),
  )
  const container = await makeContainer(store, -1)
  await put(store, container, 'old', 5)
  await put(store, container, 'kept')
  clock.advance(5)
  const failure = { code: 0 }
  const { run } = StatementSync.prototype
  t.mock.method(StatementSync.prototype, 'run', function (this: StatementSync, ...values: SQLInputValue[]) {
    if (failure.code === 0 || this.sourceSQL !== 'COMMIT') return Reflect.apply(run, this, values)
    throw Object.assign(new Error('the commit failed'), { errcode: failure.code })
  })
  return { clock, store, container, failure, fatal }
}

describe('a commit that fails because the disk is full', () => {
  test('fails all its writes, and nothing has changed', async t => {
    const { store, container, failure, fatal } = await fragile(t)
    failure.code = full
    const asked = [
      put(store, container, 'new'),
      put(store, container, 'kept'),
      put(store, container, 'old'),
      store.sweep(container, 10),
      setDefault(store, container, null),
    ]
    for (const { status, ...rest } of await Promise.allSettled(asked)) {
      assert.equal(status, 'rejected')
      const { reason } = rest as PromiseRejectedResult
      assert.ok(reason instanceof CapacityError && reason.kind === 'unavailable', String(reason))
      assert.match(reason.message, /disk is full/)
    }
    assert.deepEqual(fatal, [])

    failure.code = 0
    assert.deepEqual(await store.findContainer('d', 'c'), container)
    const { item, version } = await store.read(container, keyNamed('kept'))
    assert.deepEqual([item?.version, version], [2, 2])
    assert.equal((await store.read(container, keyNamed('new'))).item, undefined)
    assert.equal((await store.inspect(container, keyNamed('old')))?.version, 1, 'the dead one is still there')
    assert.equal((await store.census(container)).rows, 2)
  })

  test('does not affect the next one', async t => {
    const { store, container, failure } = await fragile(t)
    failure.code = full
    await assert.rejects(put(store, container, 'new'))
    failure.code = 0
    const { outcome, version, moment } = await put(store, container, 'other')
    assert.deepEqual([outcome, moment], ['created', start + 5])
    assert.ok(version > 2)
    assert.equal((await store.census(container)).rows, 3)
  })
})

test('a failed fsync ends the store: every later call fails and says so', async t => {
  const { store, container, failure, fatal } = await fragile(t)
  failure.code = fsyncFailed
  await assert.rejects(put(store, container, 'new'), { kind: 'unavailable' })
  failure.code = 0
  assert.equal(fatal.length, 1)
  await assert.rejects(put(store, container, 'new'), { kind: 'unavailable' })
  await assert.rejects(async () => store.read(container, keyNamed('kept')), { kind: 'unavailable' })
  await assert.rejects(async () => store.moment(), { kind: 'unavailable' })
})
