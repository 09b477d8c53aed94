/** Tests of who pays for a container, at which rate, and what a refusal says. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toEpochSeconds } from '../base/clock.ts'
import { CapacityError } from '../base/error.ts'
import type { ContainerRecord, DatabaseRecord, Throughput } from '../store/catalog.ts'
import { Ledger, ruPerSecond } from './ledger.ts'

const manual = (ruPerSecond: number): Throughput => ({ kind: 'manual', ruPerSecond })
const autoscale = (maxRuPerSecond: number): Throughput => ({ kind: 'autoscale', maxRuPerSecond })

function database(number: number, throughput: Throughput | null): DatabaseRecord {
  return { number, id: `d${number}`, rid: number, version: 1, ts: toEpochSeconds(0), throughput }
}

function container(number: number, owner: DatabaseRecord, throughput: Throughput | null): ContainerRecord {
  return {
    ...{ number, database: owner, id: `c${number}`, rid: number, version: 1, ts: toEpochSeconds(0), throughput },
    ...{
      partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
      partitionCount: 1,
      partitionSplits: 0,
      encoding: 'json',
      logSeconds: null,
    },
    ...{ policy: { defaultTtl: null, inheritedDeadAt: -1, ownDeadAt: -1 }, definition: {}, indexes: [] },
  }
}

function enforced() {
  const clock = { nowMs: 5000 }
  return { clock, ledger: new Ledger({ isEnforced: true, monotonicMs: () => clock.nowMs }) }
}

/** How many charges of one unit are accepted before one is refused. */
function charged(ledger: Ledger, payer: ContainerRecord): number {
  for (let passed = 0; ; passed++) {
    try {
      ledger.charge(payer, 1)
    } catch (error) {
      assert.ok(error instanceof CapacityError)
      return passed
    }
  }
}

describe('with enforcement', () => {
  test('a container with its own throughput pays by itself', () => {
    const { ledger } = enforced()
    const shared = database(1, manual(1000))
    assert.equal(charged(ledger, container(1, shared, manual(500))), 500)
    assert.equal(charged(ledger, container(2, shared, manual(700))), 700)
    assert.equal(charged(ledger, container(3, shared, null)), 1000, 'the database has lost nothing by it')
  })

  test('where other gateways give the rest of a rate, only a part of it is given here', () => {
    let gateways = 1
    const ledger = new Ledger({ isEnforced: true, monotonicMs: () => 5000, share: () => 1 / gateways })
    const owner = database(1, manual(1000))
    assert.equal(charged(ledger, container(1, owner, manual(600))), 600)
    gateways = 3
    assert.equal(charged(ledger, container(2, owner, manual(600))), 200)
    assert.equal(charged(ledger, container(3, owner, null)), 333)
  })

  test('containers without their own throughput share the budget of their database', () => {
    const { clock, ledger } = enforced()
    const shared = database(1, manual(1000))
    const [first, second] = [container(1, shared, null), container(2, shared, null)]
    ledger.charge(first, 600)
    assert.equal(charged(ledger, second), 400)
    assert.equal(charged(ledger, first), 0)
    clock.nowMs += 1000
    ledger.charge(second, 300)
    clock.nowMs += 1000
    assert.equal(ledger.spareRu(first), 700)
    ledger.spend(first, 200)
    assert.equal(ledger.spareRu(second), 500, 'what is left over is shared as well')
  })

  test('two databases share nothing, and a container does not share with a database of the same number', () => {
    const { ledger } = enforced()
    const [one, two] = [database(1, manual(600)), database(2, manual(600))]
    assert.equal(charged(ledger, container(1, one, null)), 600)
    assert.equal(charged(ledger, container(2, two, null)), 600)
    assert.equal(charged(ledger, container(1, two, manual(600))), 600)
  })

  test('autoscale counts with its maximum', () => {
    const { clock, ledger } = enforced()
    const owner = database(1, autoscale(2000))
    assert.equal(charged(ledger, container(1, owner, autoscale(4000))), 4000)
    assert.equal(charged(ledger, container(2, owner, null)), 2000)
    clock.nowMs += 2000
    assert.equal(ledger.spareRu(container(1, owner, autoscale(4000))), 4000)
  })

  test('without any provisioned throughput the service’s minimum holds', () => {
    const { ledger } = enforced()
    assert.equal(charged(ledger, container(1, database(1, null), null)), 400)
  })

  test('a refusal is a throttling that says when to retry, and a retry in the next second succeeds', () => {
    const { clock, ledger } = enforced()
    const payer = container(1, database(1, null), manual(400))
    clock.nowMs += 250
    ledger.charge(payer, 400)
    assert.throws(() => ledger.charge(payer, 5), {
      name: 'CapacityError',
      kind: 'throttled',
      retryAfterMs: 750,
      message: /^Request rate is large\./,
    })
    clock.nowMs += 749
    assert.throws(() => ledger.charge(payer, 5), { retryAfterMs: 1 })
    clock.nowMs += 1
    ledger.charge(payer, 5)
  })

  test('a new rate holds from the next charge on', () => {
    const { ledger } = enforced()
    const owner = database(1, null)
    assert.equal(charged(ledger, container(1, owner, manual(400))), 400)
    assert.equal(charged(ledger, container(1, owner, manual(900))), 500)
  })
})

test('without enforcement nothing is refused and the purger has no limit', () => {
  const ledger = new Ledger({ isEnforced: false, monotonicMs: () => 0 })
  const payer = container(1, database(1, null), manual(400))
  for (let charge = 0; charge < 10; charge++) ledger.charge(payer, 1_000_000)
  assert.equal(ledger.spareRu(payer), Number.POSITIVE_INFINITY)
  ledger.spend(payer, 1_000_000)
  assert.equal(ledger.spareRu(payer), Number.POSITIVE_INFINITY)
  assert.equal(ledger.isEnforced, false)
})

test('the rate of a throughput is its manual rate, the maximum of autoscale, or none', () => {
  assert.equal(ruPerSecond(manual(700)), 700)
  assert.equal(ruPerSecond(autoscale(3000)), 3000)
  assert.equal(ruPerSecond(null), undefined)
})
