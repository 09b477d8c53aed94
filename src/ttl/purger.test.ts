/** Tests of where and when the purger sweeps; the test fires its timer and records its sweeps. */

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  keyNamed,
  makeContainer,
  manualClock,
  openStore,
  put,
  putMany,
  setDefault,
} from '../../test/simulation/fixture.ts'
import { machine } from '../base/clock.ts'
import { IdleWatch, starvationMsMax } from '../base/idle.ts'
import { sweepRowsMax } from '../base/limits.ts'
import { type Logger, silentLog } from '../base/log.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Store } from '../store/port.ts'
import { deleteRu } from '../units/cost.ts'
import { Ledger } from '../units/ledger.ts'
import { Purger, purgeIntervalMs } from './purger.ts'

interface Sweep {
  readonly id: string
  readonly rowsMax: number
  readonly atMs: number
}

/** A purger whose time stands still until the test moves it. */
class Bench {
  readonly clock = manualClock()
  readonly store = openStore(this.clock)
  readonly sweeps: Sweep[] = []
  readonly errors: object[] = []
  nowMs = 5000
  /** Whether a request has arrived each time the purger checks. */
  isBusy = false
  /** Called before each sweep. */
  onSweep: (container: ContainerRecord) => unknown = () => {}
  purger!: Purger
  #requests = 0
  #timer: (() => void) | undefined
  #onTimer: (() => void) | undefined

  constructor(t: TestContext) {
    const { setTimeout } = machine
    t.mock.method(machine, 'monotonicMs', () => this.nowMs)
    t.mock.method(machine, 'clearTimeout', () => {
      this.#timer = undefined
    })
    t.mock.method(machine, 'setTimeout', (work: () => void, ms: number) => {
      if (ms < 100) this.nowMs += ms
      else this.#timer = work
      // Short waits are waits for an idle moment. They end at once, but after other pending work.
      const timer = setTimeout(ms < 100 ? work : () => {}, 0)
      if (ms >= 100) this.#onTimer?.()
      return timer
    })
  }

  start({ ledger = new Ledger({ isEnforced: false }) }: { ledger?: Ledger } = {}): this {
    const recording: Store = {
      ...this.store,
      sweep: async (container, rowsMax) => {
        this.sweeps.push({ id: container.id, rowsMax, atMs: this.nowMs })
        await this.onSweep(container)
        return this.store.sweep(container, rowsMax)
      },
    }
    const log: Logger = { ...silentLog, error: details => this.errors.push(details) }
    const idle = new IdleWatch(() => (this.isBusy ? ++this.#requests : this.#requests))
    this.purger = new Purger({ store: recording, ledger, idle, log })
    return this
  }

  enforced(): Ledger {
    return new Ledger({ isEnforced: true, monotonicMs: () => this.nowMs })
  }

  get isWaiting(): boolean {
    return this.#timer !== undefined
  }

  /** Starts the next second and waits for the purger's pass to end. */
  async pass(): Promise<void> {
    const timer = this.#timer
    assert.ok(timer !== undefined, 'the purger has a timer')
    this.#timer = undefined
    this.nowMs += purgeIntervalMs
    await new Promise<void>(resolve => {
      this.#onTimer = resolve
      timer()
    })
  }

  async rows(container: ContainerRecord): Promise<number> {
    return (await this.store.census(container)).rows
  }

  order(): string {
    return this.sweeps.map(({ id }) => id).join('')
  }
}

async function withBacklog(bench: Bench, id: string, count: number, options: object = {}): Promise<ContainerRecord> {
  const container = await makeContainer(bench.store, 10, { id, ...options })
  await putMany(bench.store, container, count)
  return container
}

describe('a pass', () => {
  test('removes dead items, in as many sweeps as needed, and nothing else', async t => {
    const bench = new Bench(t).start()
    const container = await makeContainer(bench.store, 10)
    await putMany(bench.store, container, 250)
    await putMany(bench.store, container, 30, 20)
    await put(bench.store, container, 'never', -1)
    bench.clock.advance(9)
    await bench.pass()
    assert.deepEqual([await bench.rows(container), bench.order()], [281, ''], 'no item is dead yet')
    bench.clock.advance(1)
    await bench.pass()
    assert.deepEqual([await bench.rows(container), bench.order()], [31, 'ccc'])
    assert.equal(bench.purger.purged(container), 250)
    bench.clock.advance(10)
    await bench.pass()
    assert.equal(await bench.rows(container), 1)
    assert.equal(bench.purger.purged(container), 280)
    assert.ok((await bench.store.read(container, keyNamed('never'))).item)
    assert.ok(bench.sweeps.every(({ rowsMax }) => rowsMax <= sweepRowsMax))
  })

  test('looks only into containers with dead items', async t => {
    const bench = new Bench(t).start()
    await makeContainer(bench.store, 10, { id: 'empty' })
    const young = await makeContainer(bench.store, 100, { id: 'young' })
    const off = await makeContainer(bench.store, null, { id: 'off' })
    await put(bench.store, young, 'a')
    await put(bench.store, off, 'a', 1)
    bench.clock.advance(50)
    await withBacklog(bench, 'x', 1)
    bench.clock.advance(10)
    await bench.pass()
    assert.equal(bench.order(), 'x')
  })

  test('removes items that died before expiry was turned off', async t => {
    const bench = new Bench(t).start()
    const container = await withBacklog(bench, 'a', 3)
    await put(bench.store, container, 'own', 5)
    bench.clock.advance(10)
    await setDefault(bench.store, container, null)
    await bench.pass()
    assert.equal(await bench.rows(container), 0)
  })

  test('is repeated every second', async t => {
    const bench = new Bench(t).start()
    const container = await makeContainer(bench.store, 10)
    for (let round = 0; round < 5; round++) {
      await putMany(bench.store, container, 5)
      bench.clock.advance(10)
      await bench.pass()
      assert.equal(await bench.rows(container), 0)
    }
    assert.equal(bench.purger.purged(container), 25)
  })

  test('removes the rows of deleted containers, after the dead items', async t => {
    const bench = new Bench(t).start()
    const doomed = await withBacklog(bench, 'a', 350)
    const other = await withBacklog(bench, 'b', 1)
    await bench.store.deleteContainer(doomed)
    bench.clock.advance(10)
    await bench.pass()
    assert.equal(await bench.rows(other), 0)
    assert.equal(await bench.store.reclaim(sweepRowsMax), false, 'nothing is left to give back')
  })
})

test('in one container, items that inherit and items with their own deadline take turns', async t => {
  const bench = new Bench(t)
  const container = await withBacklog(bench, 'a', 3)
  await putMany(bench.store, container, 3, 10)
  bench.clock.advance(10)
  const left = async () => {
    const all = { after: -1, upTo: Number.MAX_SAFE_INTEGER }
    return Promise.all(
      (['inherited', 'own'] as const).map(lifespan => bench.store.count(container, { lifespan, ...all })),
    )
  }
  for (const expected of [
    [2, 2],
    [1, 1],
    [0, 0],
  ]) {
    for (let sweep = 0; sweep < 2; sweep++) await bench.store.sweep(container, 1)
    assert.deepEqual(await left(), expected)
  }
})

describe('containers take turns', () => {
  test('so that none waits for the whole backlog of another', async t => {
    const bench = new Bench(t).start()
    await withBacklog(bench, 'a', 450)
    await withBacklog(bench, 'b', 250)
    await withBacklog(bench, 'c', 30)
    bench.clock.advance(10)
    await bench.pass()
    assert.equal(bench.order(), 'abcababaa')
  })

  test('also over several databases', async t => {
    const bench = new Bench(t).start()
    await withBacklog(bench, 'a', 250)
    await withBacklog(bench, 'b', 250, { database: 'other' })
    bench.clock.advance(10)
    await bench.pass()
    assert.equal(bench.order(), 'ababab')
  })

  test('and each spends its own throughput, if it has its own', async t => {
    const bench = new Bench(t)
    const rate = { kind: 'manual', ruPerSecond: 400 } as const
    const a = await withBacklog(bench, 'a', 200, { throughput: rate })
    const b = await withBacklog(bench, 'b', 200, { throughput: rate })
    bench.clock.advance(10)
    bench.start({ ledger: bench.enforced() })
    await bench.pass()
    assert.deepEqual([await bench.rows(a), await bench.rows(b)], [120, 120])
  })
})

test('containers that share throughput share what is left over', async t => {
  const bench = new Bench(t)
  const shared = { kind: 'manual', ruPerSecond: 400 } as const
  const a = await withBacklog(bench, 'a', 1000, { shared })
  const b = await withBacklog(bench, 'b', 1000, { shared })
  bench.clock.advance(10)
  bench.start({ ledger: bench.enforced() })
  for (let second = 0; second < 4; second++) await bench.pass()
  const removed = [1000 - (await bench.rows(a)), 1000 - (await bench.rows(b))]
  assert.equal(removed[0]! + removed[1]!, (4 * 400) / deleteRu)
  assert.ok(Math.min(...removed) >= 80, `they removed ${removed}`)
})

describe('with enforced throughput', () => {
  const rate = { kind: 'manual', ruPerSecond: 400 } as const

  test('a pass spends what requests left over in the last second, and no more', async t => {
    const bench = new Bench(t)
    const container = await withBacklog(bench, 'a', 500, { throughput: rate })
    bench.clock.advance(10)
    const ledger = bench.enforced()
    bench.start({ ledger })
    let before = 500
    for (const takenRu of [0, 300, 400, 397, 0, 5]) {
      if (takenRu > 0) ledger.charge(container, takenRu)
      await bench.pass()
      const removed = Math.floor((400 - takenRu) / deleteRu)
      assert.equal(await bench.rows(container), before - removed, `after a second that gave ${takenRu} to requests`)
      before -= removed
    }
  })

  test('requests are refused as if there were no purger', async t => {
    const bench = new Bench(t)
    const container = await withBacklog(bench, 'a', 500, { throughput: rate })
    bench.clock.advance(10)
    const ledger = bench.enforced()
    bench.start({ ledger })
    for (let second = 0; second < 5; second++) {
      await bench.pass()
      ledger.charge(container, 400)
      assert.throws(() => ledger.charge(container, 1), { kind: 'throttled' })
    }
  })

  test('under overload the backlog waits and nothing is removed', async t => {
    const bench = new Bench(t)
    const container = await withBacklog(bench, 'a', 50, { throughput: rate })
    bench.clock.advance(10)
    const ledger = bench.enforced()
    bench.start({ ledger })
    for (let second = 0; second < 5; second++) {
      ledger.charge(container, 400)
      await bench.pass()
    }
    assert.deepEqual([await bench.rows(container), bench.order()], [50, ''])
  })
})

describe('without enforced throughput', () => {
  test('an idle machine is swept without waiting', async t => {
    const bench = new Bench(t).start()
    await withBacklog(bench, 'a', 350)
    bench.clock.advance(10)
    await bench.pass()
    assert.deepEqual(
      bench.sweeps.map(({ atMs }) => atMs),
      [6000, 6000, 6000, 6000],
    )
  })

  test('under a constant stream of requests a backlog gets one sweep per 50 ms', async t => {
    const bench = new Bench(t).start()
    const container = await withBacklog(bench, 'a', 350)
    bench.clock.advance(10)
    bench.isBusy = true
    await bench.pass()
    assert.equal(await bench.rows(container), 0)
    const waits = bench.sweeps.map(({ atMs }, index) => atMs - (bench.sweeps[index - 1]?.atMs ?? 6000))
    assert.deepEqual(waits, [50, 50, 50, 50])
    assert.equal(starvationMsMax, 50)
  })
})

describe('the log', () => {
  test('is trimmed although nobody dies, once its oldest entry is too old, and nobody pays', async t => {
    const bench = new Bench(t)
    const throughput = { kind: 'manual', ruPerSecond: 4000 } as const
    const container = await makeContainer(bench.store, null, { logSeconds: 60, throughput })
    const ledger = bench.enforced()
    bench.start({ ledger })
    await putMany(bench.store, container, 250)
    bench.clock.advance(59)
    await bench.pass()
    assert.equal(bench.order(), '')
    bench.clock.advance(1)
    bench.isBusy = true
    await bench.pass()
    assert.deepEqual([await bench.rows(container), bench.order()], [250, 'ccc'])
    assert.equal((await bench.store.census(container)).earliestLogged, null)
    assert.ok(bench.sweeps[1]!.atMs - bench.sweeps[0]!.atMs >= starvationMsMax, 'it waits for an idle moment')
    bench.isBusy = false
    await bench.pass()
    assert.equal(bench.order(), 'ccc', 'an empty log is not swept')
  })

  test('is removed after it was switched off', async t => {
    const bench = new Bench(t).start()
    const container = await makeContainer(bench.store, null, { logSeconds: 600 })
    await putMany(bench.store, container, 5)
    await bench.store.updateContainer(container, () => ({ logSeconds: null }))
    await bench.pass()
    assert.equal((await bench.store.census(container)).earliestLogged, null)
  })
})

describe('pausing', () => {
  test('keeps the purger from removing anything until it is resumed', async t => {
    const bench = new Bench(t).start()
    const container = await withBacklog(bench, 'a', 5)
    bench.clock.advance(10)
    assert.equal(bench.purger.isPaused, false)
    bench.purger.isPaused = true
    await bench.pass()
    await bench.pass()
    assert.deepEqual([await bench.rows(container), bench.order(), bench.purger.isPaused], [5, '', true])
    bench.purger.isPaused = false
    await bench.pass()
    assert.equal(await bench.rows(container), 0)
  })

  test('in the middle of a pass ends it after the current sweep', async t => {
    const bench = new Bench(t).start()
    const a = await withBacklog(bench, 'a', 250)
    const b = await withBacklog(bench, 'b', 250)
    bench.clock.advance(10)
    bench.onSweep = () => {
      bench.purger.isPaused = true
    }
    await bench.pass()
    assert.deepEqual([await bench.rows(a), await bench.rows(b)], [150, 250])
  })

  test('keeps the rows of deleted containers too', async t => {
    const bench = new Bench(t).start()
    await bench.store.deleteContainer(await withBacklog(bench, 'a', 5))
    bench.purger.isPaused = true
    await bench.pass()
    assert.equal(await bench.store.reclaim(sweepRowsMax), true)
  })
})

describe('purging now', () => {
  test('removes all that is dead, whatever it costs, even when paused', async t => {
    const bench = new Bench(t)
    const a = await withBacklog(bench, 'a', 350, { throughput: { kind: 'manual', ruPerSecond: 400 } })
    const b = await withBacklog(bench, 'b', 20)
    await put(bench.store, a, 'never', -1)
    bench.clock.advance(10)
    const ledger = bench.enforced()
    ledger.charge(a, 400)
    bench.start({ ledger })
    bench.purger.isPaused = true
    assert.equal(await bench.purger.purgeNow([a, b]), 370)
    assert.deepEqual([await bench.rows(a), await bench.rows(b)], [1, 0])
    assert.equal(bench.purger.purged(a), 350)
    assert.equal(await bench.purger.purgeNow([a, b]), 0)
  })

  test('ends when exactly as many items are dead as one sweep removes', async t => {
    const bench = new Bench(t).start()
    const container = await withBacklog(bench, 'a', 2 * sweepRowsMax)
    bench.clock.advance(10)
    assert.equal(await bench.purger.purgeNow([container]), 2 * sweepRowsMax)
  })

  test('of a deleted container removes nothing and does not fail', async t => {
    const bench = new Bench(t).start()
    const gone = await withBacklog(bench, 'a', 5)
    await bench.store.deleteContainer(gone)
    assert.equal(await bench.purger.purgeNow([gone]), 0)
  })

  test('fails when the store does', async t => {
    const bench = new Bench(t).start()
    const container = await withBacklog(bench, 'a', 5)
    bench.onSweep = () => {
      throw new Error('the disk is on fire')
    }
    await assert.rejects(bench.purger.purgeNow([container]), /on fire/)
  })
})

describe('failures', () => {
  test('a container deleted in the middle of a pass does not affect the others', async t => {
    const bench = new Bench(t).start()
    const a = await withBacklog(bench, 'a', 150)
    const b = await withBacklog(bench, 'b', 150)
    const c = await withBacklog(bench, 'c', 150)
    bench.clock.advance(10)
    bench.onSweep = async ({ id }) => {
      if (id === 'a') await bench.store.deleteContainer(b)
    }
    await bench.pass()
    assert.deepEqual([await bench.rows(a), await bench.rows(c)], [0, 0])
    assert.deepEqual(bench.errors, [])
    assert.equal(await bench.store.reclaim(sweepRowsMax), false)
  })

  test('a new container with the same name is not mistaken for the deleted one', async t => {
    const bench = new Bench(t).start()
    const a = await withBacklog(bench, 'a', 1)
    const old = await withBacklog(bench, 'b', 150)
    bench.clock.advance(10)
    let anew: ContainerRecord | undefined
    bench.onSweep = async () => {
      if (anew !== undefined) return
      await bench.store.deleteContainer(old)
      anew = await withBacklog(bench, 'b', 7)
    }
    await bench.pass()
    assert.deepEqual([await bench.rows(a), await bench.rows(anew!), bench.errors], [0, 7, []])
    assert.equal(bench.purger.purged(anew!), 0)
  })

  test('a sweep that fails is logged, and the purger continues at the next interval', async t => {
    const bench = new Bench(t).start()
    const container = await withBacklog(bench, 'a', 5)
    bench.clock.advance(10)
    const error = new Error('the disk is on fire')
    bench.onSweep = () => {
      throw error
    }
    await bench.pass()
    assert.deepEqual(bench.errors, [{ error, container: 'a' }])
    assert.equal(await bench.rows(container), 5)
    bench.onSweep = () => {}
    await bench.pass()
    assert.equal(await bench.rows(container), 0)
    assert.equal(bench.errors.length, 1)
  })
})

test('a container that cannot be swept does not delay the others', async t => {
  const bench = new Bench(t).start()
  const a = await withBacklog(bench, 'a', 5)
  const b = await withBacklog(bench, 'b', 5)
  bench.clock.advance(10)
  bench.onSweep = ({ id }) => {
    if (id === 'a') throw new Error('the disk is on fire')
  }
  for (let second = 0; second < 3; second++) await bench.pass()
  assert.deepEqual([await bench.rows(a), await bench.rows(b)], [5, 0])
})

describe('closing', () => {
  test('ends the purger: no timer is left, and none is set again', async t => {
    const bench = new Bench(t).start()
    assert.equal(bench.isWaiting, true)
    await bench.purger[Symbol.asyncDispose]()
    assert.equal(bench.isWaiting, false)
  })

  test('in the middle of a pass waits for the current sweep and starts no other', { timeout: 10_000 }, async t => {
    const bench = new Bench(t).start()
    const a = await withBacklog(bench, 'a', 250)
    const b = await withBacklog(bench, 'b', 250)
    bench.clock.advance(10)
    const underWay = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    bench.onSweep = () => {
      underWay.resolve()
      return held.promise
    }
    const never = bench.pass()
    await underWay.promise
    let isClosed = false
    const closed = bench.purger[Symbol.asyncDispose]().then(() => {
      isClosed = true
    })
    await new Promise(setImmediate)
    assert.equal(isClosed, false)
    held.resolve()
    await closed
    assert.deepEqual([await bench.rows(a), await bench.rows(b), bench.order()], [150, 250, 'a'])
    assert.equal(bench.isWaiting, false)
    void never
  })
})
