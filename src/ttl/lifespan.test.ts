/**
 * Tests of the rules of expiry: the table, what counts as a ttl, deadlines, and how a change of default keeps
 * the dead dead.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toEpochSeconds } from '../base/clock.ts'
import { InvariantError, RequestError } from '../base/error.ts'
import { neverDeadline, type TtlPolicy } from '../store/policy.ts'
import { changeDefault, invalidTtlText, isTtl, newPolicy, ownDeadline, parseItemTtl } from './lifespan.ts'
import { isAlive, livingAt } from './living.ts'

const written = toEpochSeconds(1_700_000_000)
const centuries = 10_000_000_000

describe('the matrix', () => {
  // Container default, item ttl, seconds from the write to death (undefined: never).
  const rows: [number | null, number | undefined, number | undefined][] = [
    [null, undefined, undefined],
    [null, -1, undefined],
    [null, 20, undefined],
    [-1, undefined, undefined],
    [-1, -1, undefined],
    [-1, 20, 20],
    [30, undefined, 30],
    [30, -1, undefined],
    [30, 20, 20],
  ]
  for (const [defaultTtl, ttl, lifespan] of rows) {
    const name = `default ${defaultTtl ?? 'absent'}, item ttl ${ttl ?? 'absent'}`
    const item = { ts: written, deadline: ownDeadline(ttl, written) }
    const isAliveAfter = (seconds: number) =>
      isAlive(livingAt(newPolicy(defaultTtl), toEpochSeconds(written + seconds)), item)

    if (lifespan === undefined) {
      test(`${name}: the item lives for ever`, () => {
        for (const seconds of [0, 19, 20, 21, 29, 30, 31, 2_147_483_647, centuries]) {
          assert.equal(isAliveAfter(seconds), true, `${seconds} s after the write`)
        }
      })
    } else {
      test(`${name}: the item lives until the second before ${lifespan} s have passed, then is dead`, () => {
        assert.equal(isAliveAfter(0), true)
        assert.equal(isAliveAfter(lifespan - 1), true)
        assert.equal(isAliveAfter(lifespan), false)
        assert.equal(isAliveAfter(lifespan + 1), false)
        assert.equal(isAliveAfter(centuries), false)
      })
    }
  }

  test('the shortest and the longest lifespan are exact to the second', () => {
    for (const lifespan of [1, 2_147_483_647]) {
      for (const [defaultTtl, ttl] of [
        [lifespan, undefined],
        [-1, lifespan],
      ] as const) {
        const item = { ts: written, deadline: ownDeadline(ttl, written) }
        const at = (seconds: number) => livingAt(newPolicy(defaultTtl), toEpochSeconds(written + seconds))
        assert.equal(isAlive(at(lifespan - 1), item), true)
        assert.equal(isAlive(at(lifespan), item), false)
      }
    }
  })
})

describe('an item ttl', () => {
  for (const value of [-1, 1, 2, 86_400, 2_147_483_646, 2_147_483_647]) {
    test(`${value} is accepted`, () => {
      for (const strict of [true, false]) assert.equal(parseItemTtl(value, { strict }), value)
      assert.equal(isTtl(value), true)
    })
  }

  test('an absent one means that the item inherits', () => {
    for (const strict of [true, false]) assert.equal(parseItemTtl(undefined, { strict }), undefined)
  })

  test('null counts as absent, unless strict', () => {
    assert.equal(parseItemTtl(null, { strict: false }), undefined)
    assert.throws(() => parseItemTtl(null, { strict: true }), refusal('null'))
  })

  // The JSON a client sends, and how the answer shows it.
  const refused: [string, string][] = [
    ['0', '0'],
    ['-0', '0'],
    ['-2', '-2'],
    ['1.5', '1.5'],
    ['0.5', '0.5'],
    ['-1.5', '-1.5'],
    ['2147483648', '2147483648'],
    ['-2147483648', '-2147483648'],
    ['9007199254740993', '9007199254740992'],
    ['1e400', 'Infinity'],
    ['-1e400', '-Infinity'],
    ['"10"', '"10"'],
    ['"-1"', '"-1"'],
    ['""', '""'],
    ['true', 'true'],
    ['false', 'false'],
    ['{}', '{}'],
    ['{"valueOf":1}', '{"valueOf":1}'],
    ['[]', '[]'],
    ['[10]', '[10]'],
  ]
  for (const [json, shown] of refused) {
    test(`${json} is refused in the service's words`, () => {
      const value: unknown = JSON.parse(json)
      for (const strict of [true, false]) assert.throws(() => parseItemTtl(value, { strict }), refusal(shown))
      assert.equal(isTtl(value), false)
    })
  }

  test('a long one is shortened in the message', () => {
    const text = invalidTtlText('x'.repeat(5000))
    assert.ok(text.startsWith(`The input ttl '"${'x'.repeat(99)}…' is invalid.`))
    assert.ok(text.length < 300)
  })

  function refusal(shown: string) {
    return (error: unknown) => {
      assert.ok(error instanceof RequestError)
      assert.equal(error.kind, 'malformed')
      assert.equal(
        error.message,
        `The input ttl '${shown}' is invalid. Ensure to provide a nonzero positive integer less than or equal ` +
          `to '2147483647', or '-1' which means never expire.`,
      )
      return true
    }
  }
})

describe('the deadline stored with an item', () => {
  test('is null when it inherits, beyond all time for -1, and the time of the write plus n for n', () => {
    assert.equal(ownDeadline(undefined, written), null)
    assert.equal(ownDeadline(-1, written), neverDeadline)
    assert.equal(ownDeadline(1, written), written + 1)
  })

  test('is exact where 32 bits would overflow', () => {
    assert.equal(ownDeadline(2_147_483_647, toEpochSeconds(4_000_000_000)), 6_147_483_647)
  })

  test('of never is later than every real one', () => {
    assert.ok(neverDeadline > ownDeadline(2_147_483_647, toEpochSeconds(8_640_000_000_000))!)
  })

  test('must lie after the write: an unchecked ttl is an invariant error', () => {
    assert.throws(() => ownDeadline(0, written), InvariantError)
    assert.throws(() => ownDeadline(-2, written), InvariantError)
  })
})

describe('a change of the default', () => {
  const moment = toEpochSeconds(1000)
  // The policy before, the new default, the policy after.
  const rows: [TtlPolicy, number | null, TtlPolicy][] = [
    // With expiry off, no item has died.
    [policy(null, -1, -1), null, policy(null, -1, -1)],
    [policy(null, -1, -1), -1, policy(-1, -1, -1)],
    [policy(null, -1, -1), 10, policy(10, -1, -1)],
    // With -1, only items with an own deadline have died.
    [policy(-1, -1, -1), null, policy(null, -1, 1000)],
    [policy(-1, -1, -1), -1, policy(-1, -1, 1000)],
    [policy(-1, -1, -1), 10, policy(10, -1, 1000)],
    // With n, items of both kinds have died.
    [policy(10, -1, -1), null, policy(null, 990, 1000)],
    [policy(10, -1, -1), -1, policy(-1, 990, 1000)],
    [policy(10, -1, -1), 5, policy(5, 990, 1000)],
    [policy(10, -1, -1), 20, policy(20, 990, 1000)],
    // A mark never goes back.
    [policy(500, 700, 900), null, policy(null, 700, 1000)],
    [policy(100, 700, 900), null, policy(null, 900, 1000)],
    [policy(null, 700, 900), 10, policy(10, 700, 900)],
    [policy(-1, 700, 900), 10, policy(10, 700, 1000)],
    // Twice in one second.
    [policy(10, 990, 1000), 20, policy(20, 990, 1000)],
    [policy(5, 990, 1000), 20, policy(20, 995, 1000)],
  ]
  for (const [before, defaultTtl, after] of rows) {
    test(`${show(before)} to ${defaultTtl ?? 'off'}`, () => {
      assert.deepEqual(changeDefault(before, defaultTtl, moment), after)
    })
  }

  test('leaves the old policy object unchanged', () => {
    const before = Object.freeze(policy(10, -1, -1))
    changeDefault(before, null, moment)
    assert.deepEqual(before, policy(10, -1, -1))
  })

  test('takes effect at once for items that exist already', () => {
    const item = { ts: 990, deadline: null }
    const shorter = changeDefault(newPolicy(null), 10, moment)
    assert.equal(isAlive(livingAt(newPolicy(null), moment), item), true)
    assert.equal(isAlive(livingAt(shorter, moment), item), false)
  })

  test('to longer or to off revives no item, in the second of the change or later', () => {
    for (const [ttl, defaultTtl] of [
      [undefined, 10],
      [10, -1],
      [10, 500],
    ] as const) {
      const dead = { ts: 990, deadline: ownDeadline(ttl, toEpochSeconds(990)) }
      const alive = { ts: 991, deadline: ownDeadline(ttl, toEpochSeconds(991)) }
      for (const next of [null, -1, 100_000]) {
        const changed = changeDefault(newPolicy(defaultTtl), next, moment)
        assert.equal(isAlive(livingAt(changed, moment), dead), false)
        assert.equal(isAlive(livingAt(changed, toEpochSeconds(1001)), dead), false)
        assert.equal(isAlive(livingAt(changed, moment), alive), true, 'an item that had not died yet stays alive')
      }
    }
  })

  test('does not affect items written in the same second', () => {
    const changed = changeDefault(changeDefault(newPolicy(1), 1, moment), null, moment)
    assert.equal(isAlive(livingAt(changed, moment), { ts: 1000, deadline: null }), true)
    assert.equal(isAlive(livingAt(changed, moment), { ts: 1000, deadline: 1001 }), true)
  })

  function policy(defaultTtl: number | null, inheritedDeadAt: number, ownDeadAt: number): TtlPolicy {
    return { defaultTtl, inheritedDeadAt, ownDeadAt }
  }

  function show({ defaultTtl, inheritedDeadAt, ownDeadAt }: TtlPolicy): string {
    return `from ${defaultTtl ?? 'off'} with marks ${inheritedDeadAt} and ${ownDeadAt}`
  }
})

test('in a new container no item is dead, not even one written in the first second of time', () => {
  for (const defaultTtl of [null, -1]) {
    const living = livingAt(newPolicy(defaultTtl), toEpochSeconds(0))
    assert.equal(isAlive(living, { ts: 0, deadline: null }), true)
  }
})
