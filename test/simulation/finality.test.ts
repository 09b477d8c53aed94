/**
 * Death is final: compares the two marks of a policy with a watcher that checks every second and forgets
 * nothing.
 *
 * The watcher applies the bare table of lifespan.ts after every change and at every second. An item that it
 * found dead once counts as dead for ever. The marks, and the model of the simulation, must agree with it
 * about every item at all times. MAYFLY_SIMULATION_RUNS=300000 runs as many histories as were run once.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type EpochSeconds, toEpochSeconds } from '../../src/base/clock.ts'
import type { TtlPolicy } from '../../src/store/policy.ts'
import { changeDefault, newPolicy, ownDeadline } from '../../src/ttl/lifespan.ts'
import { isAlive, livingAt } from '../../src/ttl/living.ts'
import { fc } from '../support/property.ts'
import { lifespan, Model } from './model.ts'
import { runsAsked } from './simulate.ts'

type Event = { readonly put: number | undefined } | { readonly advance: number } | { readonly default: number | null }

const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ put: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 5 }), fc.constant(-1)) }),
  fc.record({ advance: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ default: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 6 }), fc.constant(-1)) }),
)

interface Watched {
  readonly ts: EpochSeconds
  readonly ttl: number | undefined
  readonly deadline: number | null
  isDead: boolean
}

class History {
  readonly #items: Watched[] = []
  #policy: TtlPolicy = newPolicy(null)
  #model = new Model(null)
  #moment = 0

  follow(event: Event): void {
    if ('put' in event) {
      const ts = toEpochSeconds(this.#moment)
      this.#items.push({ ts, ttl: event.put, deadline: ownDeadline(event.put, ts), isDead: false })
    } else if ('default' in event) {
      this.#policy = changeDefault(this.#policy, event.default, toEpochSeconds(this.#moment))
      this.#model.changeDefault(event.default, this.#moment)
    } else {
      for (let second = 0; second < event.advance; second++) {
        this.#moment++
        this.#watch()
      }
    }
    this.#watch()
    this.#compare()
  }

  #watch(): void {
    for (const item of this.#items) {
      item.isDead ||= this.#moment >= item.ts + lifespan(this.#policy.defaultTtl, item.ttl)
    }
  }

  #compare(): void {
    const living = livingAt(this.#policy, toEpochSeconds(this.#moment))
    for (const item of this.#items) {
      if (isAlive(living, item) !== !item.isDead || this.#model.isAlive(item, this.#moment) !== !item.isDead) {
        const marks = isAlive(living, item) ? 'alive' : 'dead'
        const model = this.#model.isAlive(item, this.#moment) ? 'alive' : 'dead'
        const { ts, ttl, isDead } = item
        assert.fail(
          `At ${this.#moment} the item written at ${ts} with ttl ${ttl} is ${isDead ? 'dead' : 'alive'}; by the ` +
            `marks ${marks}, by the model ${model}.`,
        )
      }
    }
  }
}

test('an item that was dead at any second, under any default, is dead for ever, and no other is', () => {
  const histories = fc.array(event, { minLength: 1, maxLength: 20, size: 'max' })
  fc.assert(
    fc.property(histories, events => {
      const history = new History()
      for (const each of events) history.follow(each)
    }),
    { numRuns: runsAsked(100_000) },
  )
})
