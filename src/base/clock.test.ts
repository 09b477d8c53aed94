/** Tests of the two clocks of item time; the test moves the wall clock and the monotonic source by hand. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { epochMsWithin, ManualClock, machine, SystemClock, toEpochSeconds } from './clock.ts'
import { InvariantError, RequestError } from './error.ts'

class Source {
  wallMs: number
  elapsedMs = 0

  constructor(wallMs: number) {
    this.wallMs = wallMs
  }

  readonly epochMs = (): number => this.wallMs
  readonly monotonicMs = (): number => this.elapsedMs

  pass(ms: number): void {
    this.wallMs += ms
    this.elapsedMs += ms
  }
}

const none = toEpochSeconds(0)

describe('the system clock', () => {
  test('shows the whole second of the wall clock, rounded down', () => {
    const source = new Source(5000)
    const clock = new SystemClock(none, source)
    assert.equal(clock.now(), 5)
    source.pass(999.9)
    assert.equal(clock.now(), 5)
    source.pass(0.1)
    assert.equal(clock.now(), 6)
  })

  test('shows the milliseconds of the same second', () => {
    const source = new Source(5000)
    const clock = new SystemClock(none, source)
    source.pass(123.9)
    assert.deepEqual([clock.nowMs(), clock.now()], [5123, 5])
    source.wallMs -= 4000
    source.pass(900)
    assert.deepEqual([clock.nowMs(), clock.now()], [6023, 6])
  })

  test('follows a wall clock that is set forward', () => {
    const source = new Source(5000)
    const clock = new SystemClock(none, source)
    source.wallMs += 3_600_000
    assert.equal(clock.now(), 3605)
    source.pass(1000)
    assert.equal(clock.now(), 3606)
  })

  test('does not follow one that is set back, and continues from its last value at the monotonic rate', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock(none, source)
    assert.equal(clock.now(), 5000)
    source.wallMs -= 4_000_000
    assert.equal(clock.now(), 5000)
    source.pass(1000)
    assert.equal(clock.now(), 5001)
    source.pass(250.5)
    source.pass(749.5)
    assert.equal(clock.now(), 5002)
    source.pass(100_000)
    assert.equal(clock.now(), 5102)
  })

  test('keeps fractions of a second while it runs at the monotonic rate', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock(none, source)
    clock.now()
    source.wallMs -= 1_000_000
    for (let step = 0; step < 100; step++) {
      source.pass(100)
      clock.now()
    }
    assert.equal(clock.now(), 5010)
  })

  test('stands still while no monotonic time passes, however often the wall clock is set back', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock(none, source)
    for (let step = 0; step < 10; step++) {
      assert.equal(clock.now(), 5000)
      source.wallMs -= 1000
    }
  })

  test('follows the wall clock again once that has caught up', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock(none, source)
    source.wallMs -= 100_000
    assert.equal(clock.now(), 5000)
    source.wallMs = 5_000_500
    assert.equal(clock.now(), 5000)
    source.wallMs = 5_001_000
    assert.equal(clock.now(), 5001)
  })

  test('starts at the high-water mark when the wall clock is behind it, and runs from there', () => {
    const source = new Source(5000)
    const clock = new SystemClock(toEpochSeconds(9000), source)
    assert.equal(clock.now(), 9000)
    source.pass(999)
    assert.equal(clock.now(), 9000)
    source.pass(1)
    assert.equal(clock.now(), 9001)
  })

  test('starts at the wall clock when that is ahead of the high-water mark', () => {
    assert.equal(new SystemClock(toEpochSeconds(9000), new Source(9_001_000)).now(), 9001)
  })

  test('is not moved by a monotonic source that jumps back', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock(none, source)
    source.wallMs -= 1000
    source.elapsedMs -= 10_000
    assert.equal(clock.now(), 5000)
  })

  test('never decreases, is never behind the wall clock, and is ahead only by what that was set back', () => {
    const event = fc.oneof(
      fc.record({ pass: fc.integer({ min: 0, max: 5000 }) }),
      fc.record({ set: fc.integer({ min: -20_000, max: 5000 }) }),
      fc.constant({ restart: true }),
    )
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40, size: 'max' }), fc.nat({ max: 2_000_000 }), (events, mark) => {
        const source = new Source(1_000_000)
        let clock = new SystemClock(toEpochSeconds(mark), source)
        let before = clock.now()
        let latestMs = Math.max(source.wallMs, mark * 1000)
        for (const each of events) {
          if ('pass' in each) {
            source.pass(each.pass)
            latestMs += each.pass
          } else if ('set' in each) {
            source.wallMs += each.set
          } else {
            clock = new SystemClock(before, source)
          }
          latestMs = Math.max(latestMs, source.wallMs)
          const now = clock.now()
          assert.ok(now >= before, `${now} is before ${before}`)
          assert.ok(now >= Math.floor(source.wallMs / 1000), `${now} is behind the wall clock`)
          assert.ok(now <= Math.floor(latestMs / 1000), `${now} is ahead of all that has passed`)
          before = now
        }
      }),
      { numRuns: 5000 },
    )
  })

  test('runs no slower when it is read rarely', () => {
    const nows = [1, 100].map(looks => {
      const source = new Source(5_000_000)
      const clock = new SystemClock(none, source)
      clock.now()
      source.wallMs -= 5000
      for (let look = 0; look < looks; look++) {
        source.pass(10_000 / looks)
        clock.now()
      }
      return clock.now()
    })
    assert.deepEqual(nows, [5010, 5010])
  })

  test('reads machine time by default', () => {
    const before = Math.floor(machine.epochMs() / 1000)
    const now = new SystemClock(none).now()
    assert.ok(now >= before && now <= Math.floor(machine.epochMs() / 1000))
  })
})

describe('the manual clock', () => {
  test('moves only when told', () => {
    const clock = new ManualClock(toEpochSeconds(100))
    assert.equal(clock.now(), 100)
    assert.equal(clock.now(), 100)
    assert.equal(clock.advance(5), 105)
    assert.equal(clock.now(), 105)
    assert.equal(clock.set(1000), 1000)
    assert.equal(clock.now(), 1000)
  })

  test('may be set to the time it already shows', () => {
    const clock = new ManualClock(toEpochSeconds(100))
    assert.equal(clock.advance(0), 100)
    assert.equal(clock.set(100), 100)
  })

  test('refuses to go back and refuses fractions of a second, and then keeps its time', () => {
    const clock = new ManualClock(toEpochSeconds(100))
    for (const value of [99, -1, 100.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      assert.throws(() => clock.set(value), isMalformed, `set ${value}`)
    }
    for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => clock.advance(value), isMalformed, `advance ${value}`)
    }
    assert.equal(clock.now(), 100)
  })

  function isMalformed(error: unknown): boolean {
    return error instanceof RequestError && error.kind === 'malformed'
  }
})

test('a number that is not a whole second is an invariant error', () => {
  assert.equal(toEpochSeconds(0), 0)
  for (const value of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => toEpochSeconds(value), InvariantError)
  }
})

test('milliseconds stay within the second of an operation', () => {
  const source = new Source(5400)
  const clock = new SystemClock(none, source)
  const within = (moment: number) => epochMsWithin(toEpochSeconds(moment), clock)
  assert.deepEqual([within(5), within(4), within(6)], [5400, 4999, 6000])
  assert.equal(epochMsWithin(toEpochSeconds(7), new ManualClock(toEpochSeconds(7))), 7000)
})
