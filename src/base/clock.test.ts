/** Tests of the two clocks of item time; the test moves the wall clock and the monotonic source by hand. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { TestTime } from '../../test/support/time-source.ts'
import {
  type ClockEvent,
  epochMsWithin,
  ManualClock,
  machine,
  manualSecondMax,
  type StoredTime,
  SystemClock,
  toEpochSeconds,
} from './clock.ts'
import { InvariantError, RequestError } from './error.ts'

class Source {
  wallMs: number
  elapsedMs = 0

  constructor(wallMs: number) {
    this.wallMs = wallMs
  }

  readonly epochMs = (): number => this.wallMs
  readonly monotonicMs = (): number => this.elapsedMs
  readonly uptimeMs = (): number => this.elapsedMs

  pass(ms: number): void {
    this.wallMs += ms
    this.elapsedMs += ms
  }
}

const none = toEpochSeconds(0)

const year = 365 * 86_400
const begin = 1_000_000_000

function doubtful(stored: Partial<StoredTime> = {}, wall = begin) {
  const time = new TestTime(wall)
  const events: ClockEvent[] = []
  const onEvent = (event: ClockEvent) => events.push(event)
  const clock = new SystemClock({ mark: none, ...stored }, { source: time, onEvent })
  const both = () => [clock.now() - begin, clock.sure() - begin]
  return { time, clock, events, both, kinds: () => events.map(({ kind }) => kind) }
}

describe('a system clock in doubt', () => {
  test('believes a step up to the bound', () => {
    const { time, clock, both, events } = doubtful()
    time.step(300)
    assert.deepEqual(both(), [300, 300])
    assert.deepEqual([clock.doubt, events], [undefined, []])
  })

  test('follows a larger step, and is sure only of what monotonic time explains', () => {
    const { time, clock, both, kinds } = doubtful()
    time.step(301)
    assert.deepEqual(both(), [301, 0])
    time.pass(100)
    assert.deepEqual(both(), [401, 100])
    assert.deepEqual(clock.doubt, { kind: 'step', since: begin + 301 })
    assert.deepEqual(kinds(), ['doubted'], 'it is said once')
  })

  test('goes back with a wall clock that comes back, and counts it', () => {
    const { time, clock, both, kinds } = doubtful()
    time.step(10 * year)
    both()
    time.pass(5)
    time.step(-10 * year)
    assert.deepEqual(both(), [5, 5])
    assert.deepEqual([clock.returns, clock.returnedSeconds, clock.doubt], [1, 10 * year, undefined])
    assert.deepEqual(kinds(), ['doubted', 'returned'])
  })

  test('never goes back to before the sure time', () => {
    const { time, both } = doubtful()
    time.pass(50)
    time.step(year)
    both()
    time.step(-2 * year)
    assert.deepEqual(both(), [50, 50])
    time.pass(7)
    assert.deepEqual(both(), [57, 57])
  })

  test('does not go back by small corrections, nor without doubt', () => {
    const { time, both, clock } = doubtful()
    time.step(year)
    both()
    time.step(-300)
    assert.deepEqual(both(), [year, 0])
    clock.trust()
    time.step(-year)
    assert.deepEqual(both(), [year, year])
    assert.equal(clock.returns, 0)
  })

  test('follows a wall clock that comes back a part of the way, and stays in doubt', () => {
    const { time, both, clock } = doubtful()
    time.step(10 * year)
    both()
    time.step(-9 * year)
    assert.deepEqual(both(), [year, 0])
    assert.equal(clock.doubt?.kind, 'step')
  })

  test('is sure of its time when somebody trusts it', () => {
    const { time, both, clock, kinds } = doubtful()
    time.step(year)
    both()
    clock.trust()
    assert.deepEqual(both(), [year, year])
    time.pass(9)
    assert.deepEqual(both(), [year + 9, year + 9])
    assert.deepEqual(kinds(), ['doubted', 'trusted'])
  })

  test('a machine that slept for a day is no doubt', () => {
    const { time, both, events } = doubtful()
    time.pass(60)
    time.sleep(86_400)
    assert.deepEqual(both(), [86_460, 86_460])
    assert.deepEqual(events, [])
    time.step(year)
    assert.deepEqual(both(), [86_460 + year, 86_460])
    time.sleep(3600)
    assert.deepEqual(both(), [90_060 + year, 90_060], 'sleep counts while in doubt, too')
  })

  test('a short sleep that was followed already does not explain a later step', () => {
    const { time, both } = doubtful()
    time.sleep(200)
    assert.deepEqual(both(), [200, 200])
    time.step(301)
    assert.deepEqual(both(), [501, 200])
  })

  test('a new store, and a short time without a server, are no doubt', () => {
    assert.equal(doubtful().clock.doubt, undefined)
    assert.equal(doubtful({ mark: toEpochSeconds(begin - 300) }).clock.doubt, undefined)
  })

  test('after up to seven days without a server it is sure once the server has run for the bound', () => {
    const { time, both, clock, events } = doubtful({ mark: toEpochSeconds(begin - 7 * 86_400) })
    assert.deepEqual(both(), [0, -7 * 86_400])
    assert.deepEqual([clock.doubt?.kind, events[0]?.endsByItself], ['start', true])
    assert.equal(clock.doubtEndsAt, begin + 300)
    time.pass(299)
    assert.deepEqual(both(), [299, 299 - 7 * 86_400])
    assert.equal(clock.doubtEndsAt, begin + 300)
    time.pass(1)
    assert.deepEqual(both(), [300, 300])
    assert.equal(clock.doubtEndsAt, undefined)
  })

  test('after another jump in that time a person must decide, also after a restart', () => {
    const { time, both, clock } = doubtful({ mark: toEpochSeconds(begin - 86_400) })
    time.pass(10)
    time.step(1000)
    assert.deepEqual(both(), [1010, 10 - 86_400])
    assert.deepEqual([clock.doubt?.kind, clock.doubtEndsAt], ['step', undefined])
    time.pass(3600)
    assert.deepEqual(both(), [4610, 3610 - 86_400])
  })

  test('after a longer time a person must decide', () => {
    const { time, both, clock, events } = doubtful({ mark: toEpochSeconds(begin - 7 * 86_400 - 1) })
    time.pass(86_400)
    assert.deepEqual(both(), [86_400, -6 * 86_400 - 1])
    assert.equal(events[0]?.endsByItself, false)
    clock.trust()
    assert.deepEqual(both(), [86_400, 86_400])
  })

  test('a clock that is corrected soon after the start is followed back', () => {
    const { time, both, clock } = doubtful({ mark: toEpochSeconds(begin - 86_400) })
    time.pass(30)
    time.step(-86_400 + 20)
    assert.deepEqual(both(), [-86_350, -86_350])
    assert.equal(clock.returns, 1)
  })

  test('a doubt goes on after a restart', () => {
    const doubt = { kind: 'step', since: toEpochSeconds(begin) } as const
    const stored = { mark: toEpochSeconds(begin), sure: toEpochSeconds(begin - 1000), doubt }
    const { time, both, clock } = doubtful(stored, begin + 10)
    assert.deepEqual(both(), [10, -1000])
    time.pass(3600)
    assert.deepEqual(both(), [3610, 2600])
    assert.equal(clock.doubt?.kind, 'step')
  })

  test('a clock that was corrected while the server was down is followed back at the start', () => {
    const doubt = { kind: 'step', since: toEpochSeconds(begin + year) } as const
    const stored = { mark: toEpochSeconds(begin + year), sure: toEpochSeconds(begin), doubt }
    const soon = doubtful(stored, begin + 100)
    assert.deepEqual(soon.both(), [100, 100])
    assert.equal(soon.clock.doubt, undefined)
    const later = doubtful(stored, begin + 86_400)
    assert.deepEqual(later.both(), [86_400, 0])
    assert.equal(later.clock.doubt?.kind, 'start')
    later.time.pass(300)
    assert.deepEqual(later.both(), [86_700, 86_700])
  })
})

describe('the system clock', () => {
  test('shows the whole second of the wall clock, rounded down', () => {
    const source = new Source(5000)
    const clock = new SystemClock({ mark: none }, { source })
    assert.equal(clock.now(), 5)
    source.pass(999.9)
    assert.equal(clock.now(), 5)
    source.pass(0.1)
    assert.equal(clock.now(), 6)
  })

  test('shows the milliseconds of the same second', () => {
    const source = new Source(5000)
    const clock = new SystemClock({ mark: none }, { source })
    source.pass(123.9)
    assert.deepEqual([clock.nowMs(), clock.now()], [5123, 5])
    source.wallMs -= 4000
    source.pass(900)
    assert.deepEqual([clock.nowMs(), clock.now()], [6023, 6])
  })

  test('follows a wall clock that is set forward', () => {
    const source = new Source(5000)
    const clock = new SystemClock({ mark: none }, { source })
    source.wallMs += 3_600_000
    assert.equal(clock.now(), 3605)
    source.pass(1000)
    assert.equal(clock.now(), 3606)
  })

  test('does not follow one that is set back, and continues from its last value at the monotonic rate', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock({ mark: none }, { source })
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
    const clock = new SystemClock({ mark: none }, { source })
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
    const clock = new SystemClock({ mark: none }, { source })
    for (let step = 0; step < 10; step++) {
      assert.equal(clock.now(), 5000)
      source.wallMs -= 1000
    }
  })

  test('follows the wall clock again once that has caught up', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock({ mark: none }, { source })
    source.wallMs -= 100_000
    assert.equal(clock.now(), 5000)
    source.wallMs = 5_000_500
    assert.equal(clock.now(), 5000)
    source.wallMs = 5_001_000
    assert.equal(clock.now(), 5001)
  })

  test('starts at the high-water mark when the wall clock is behind it, and runs from there', () => {
    const source = new Source(5000)
    const clock = new SystemClock({ mark: toEpochSeconds(9000) }, { source })
    assert.equal(clock.now(), 9000)
    source.pass(999)
    assert.equal(clock.now(), 9000)
    source.pass(1)
    assert.equal(clock.now(), 9001)
  })

  test('starts at the wall clock when that is ahead of the high-water mark', () => {
    assert.equal(new SystemClock({ mark: toEpochSeconds(9000) }, { source: new Source(9_001_000) }).now(), 9001)
  })

  test('is not moved by a monotonic source that jumps back', () => {
    const source = new Source(5_000_000)
    const clock = new SystemClock({ mark: none }, { source })
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
        let clock = new SystemClock({ mark: toEpochSeconds(mark) }, { source })
        let before = clock.now()
        let latestMs = Math.max(source.wallMs, mark * 1000)
        for (const each of events) {
          if ('pass' in each) {
            source.pass(each.pass)
            latestMs += each.pass
          } else if ('set' in each) {
            source.wallMs += each.set
          } else {
            clock = new SystemClock({ mark: before }, { source })
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
      const clock = new SystemClock({ mark: none }, { source })
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
    const now = new SystemClock({ mark: none }).now()
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

  test('refuses to go back or beyond the year 9999, and fractions of a second, and then keeps its time', () => {
    const clock = new ManualClock(toEpochSeconds(100))
    for (const value of [99, -1, 100.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, manualSecondMax + 1]) {
      assert.throws(() => clock.set(value), isMalformed, `set ${value}`)
    }
    for (const value of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => clock.advance(value), isMalformed, `advance ${value}`)
    }
    assert.equal(clock.now(), 100)
    assert.equal(clock.set(manualSecondMax), Date.parse('9999-12-31T23:59:59Z') / 1000)
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
  const clock = new SystemClock({ mark: none }, { source })
  const within = (moment: number) => epochMsWithin(toEpochSeconds(moment), clock)
  assert.deepEqual([within(5), within(4), within(6)], [5400, 4999, 6000])
  assert.equal(epochMsWithin(toEpochSeconds(7), new ManualClock(toEpochSeconds(7))), 7000)
})
