/** Tests of a rate enforced second by second and of the purger's share, with a manual clock. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { Budget } from './budget.ts'

const rate = 400

function turned(startMs = 10_000) {
  const clock = { nowMs: startMs }
  return { clock, budget: new Budget(() => clock.nowMs) }
}

describe('requests', () => {
  test('take from their second until it is used up, to the last unit', () => {
    const { clock, budget } = turned()
    assert.equal(budget.take(300, rate), 0)
    clock.nowMs += 999
    assert.equal(budget.take(100, rate), 0)
    assert.ok(budget.take(0.01, rate) > 0)
  })

  test('that are refused take nothing', () => {
    const { budget } = turned()
    assert.equal(budget.take(300, rate), 0)
    assert.ok(budget.take(101, rate) > 0)
    assert.equal(budget.take(100, rate), 0)
  })

  test('get a whole rate again in the next second, and no more than one after a long pause', () => {
    const { clock, budget } = turned()
    for (const laterMs of [0, 1000, 1000, 60_000]) {
      clock.nowMs += laterMs
      assert.equal(budget.take(400, rate), 0)
      assert.ok(budget.take(1, rate) > 0)
    }
  })

  test('are told to retry in the next second', () => {
    for (const [intoSecondMs, waitMs] of [
      [0, 1000],
      [0.5, 1000],
      [1, 999],
      [500, 500],
      [998.2, 2],
      [999, 1],
      [999.999, 1],
    ] as const) {
      const { clock, budget } = turned(10_000 + intoSecondMs)
      assert.equal(budget.take(400, rate), 0)
      assert.equal(budget.take(400, rate), waitMs, `${intoSecondMs} ms into the second`)
      clock.nowMs += waitMs
      assert.equal(Math.floor(clock.nowMs / 1000), 11)
      assert.equal(budget.take(400, rate), 0)
    }
  })

  test('that cost more than a whole second are accepted when it is untouched, and use it up', () => {
    const { clock, budget } = turned()
    assert.equal(budget.take(1000, rate), 0)
    assert.ok(budget.take(1, rate) > 0)
    clock.nowMs += 1000
    assert.equal(budget.spareRu(rate), 0, 'what was overdrawn is not left over')
    assert.equal(budget.take(1, rate), 0, 'and is not owed either')
    assert.ok(budget.take(1000, rate) > 0, 'the second is no longer untouched')
  })

  test('see a changed rate at once', () => {
    const { budget } = turned()
    assert.equal(budget.take(400, rate), 0)
    assert.ok(budget.take(400, rate) > 0)
    assert.equal(budget.take(400, 1000), 0)
  })
})

describe('the purger', () => {
  test('has what the last closed second left over', () => {
    const { clock, budget } = turned()
    budget.take(150, rate)
    clock.nowMs += 1000
    assert.equal(budget.spareRu(rate), 250)
    budget.take(100, rate)
    assert.equal(budget.spareRu(rate), 250, 'the running second is not touched')
  })

  test('spends each unit once', () => {
    const { clock, budget } = turned()
    budget.take(150, rate)
    clock.nowMs += 1000
    assert.equal(budget.spareRu(rate), 250)
    budget.spend(100)
    assert.equal(budget.spareRu(rate), 150)
    clock.nowMs += 999
    budget.spend(150)
    assert.equal(budget.spareRu(rate), 0)
  })

  test('saves nothing: what it did not spend in the next second is lost', () => {
    const { clock, budget } = turned()
    clock.nowMs += 1000
    assert.equal(budget.spareRu(rate), 400)
    clock.nowMs += 1000
    assert.equal(budget.spareRu(rate), 400)
    clock.nowMs += 3_600_000
    assert.equal(budget.spareRu(rate), 400)
  })

  test('has the whole rate of a second without requests, also when the second before it was full', () => {
    const { clock, budget } = turned()
    budget.take(400, rate)
    clock.nowMs += 1000
    assert.equal(budget.spareRu(rate), 0)
    clock.nowMs += 1000
    assert.equal(budget.spareRu(rate), 400)
    budget.take(400, rate)
    clock.nowMs += 2000
    assert.equal(budget.spareRu(rate), 400)
  })
})

describe('over thousands of seconds of random requests and a greedy purger', () => {
  interface Request {
    readonly afterMs: number
    readonly chargeRu: number
    /** The part of the left-over units that the purger takes after this request. */
    readonly greed: number
    /** The purger's sweep ends, and is paid for, only after the next request. */
    readonly isSlow: boolean
  }

  // Mostly several requests in a second, sometimes minutes apart; a few cost more than a whole second.
  const request: fc.Arbitrary<Request> = fc.record({
    afterMs: fc.oneof(
      { arbitrary: fc.nat({ max: 400 }), weight: 8 },
      { arbitrary: fc.integer({ min: 1, max: 7999 }).map(eighths => eighths / 8), weight: 4 },
      fc.integer({ min: 1000, max: 100_000 }),
    ),
    chargeRu: fc.oneof(
      { arbitrary: fc.integer({ min: 1, max: 20_000 }).map(hundredths => hundredths / 100), weight: 9 },
      fc.integer({ min: rate, max: 3 * rate }),
    ),
    greed: fc.constantFrom(0, 0.3, 1),
    isSlow: fc.boolean(),
  })
  const requests = fc.array(request, { minLength: 1, maxLength: 300, size: 'max' })

  test('no second gives more than its rate, to requests and the purger together', () => {
    let seconds = 0
    fc.assert(
      fc.property(requests, list => {
        const { clock, budget } = turned()
        const given = new Map<number, { takenRu: number; requests: number; spentRu: number }>()
        const of = (second: number) => {
          const entry = given.get(second) ?? { takenRu: 0, requests: 0, spentRu: 0 }
          given.set(second, entry)
          return entry
        }
        let owedRu = 0
        for (const { afterMs, chargeRu, greed, isSlow } of list) {
          clock.nowMs += afterMs
          const second = Math.floor(clock.nowMs / 1000)
          if (budget.take(chargeRu, rate) === 0) {
            of(second).takenRu += chargeRu
            of(second).requests++
          }
          budget.spend(owedRu)
          const spentRu = Math.max(0, budget.spareRu(rate)) * greed
          of(second - 1).spentRu += spentRu
          owedRu = isSlow ? spentRu : 0
          if (!isSlow) budget.spend(spentRu)
        }
        for (const [second, { takenRu, requests, spentRu }] of given) {
          const isOneOversized = requests === 1 && takenRu > rate && spentRu === 0
          assert.ok(isOneOversized || takenRu + spentRu <= rate + 1e-9, `second ${second}: ${takenRu} + ${spentRu}`)
        }
        seconds += given.size
      }),
      { numRuns: 300 },
    )
    assert.ok(seconds > 5000, `only ${seconds} seconds were looked at`)
  })

  test('requests are refused in the same way with and without the purger, with the same time to wait', () => {
    let refused = 0
    fc.assert(
      fc.property(requests, list => {
        const { clock, budget } = turned()
        const alone = new Budget(() => clock.nowMs)
        for (const { afterMs, chargeRu, greed } of list) {
          clock.nowMs += afterMs
          budget.spend(budget.spareRu(rate) * greed)
          const waitMs = budget.take(chargeRu, rate)
          assert.equal(waitMs, alone.take(chargeRu, rate))
          budget.spend(budget.spareRu(rate) * greed)
          if (waitMs === 0) continue
          refused++
          assert.equal(Math.floor((clock.nowMs + waitMs) / 1000), Math.floor(clock.nowMs / 1000) + 1)
        }
      }),
      { numRuns: 300 },
    )
    assert.ok(refused > 1000, `only ${refused} requests were refused`)
  })
})
