import assert from 'node:assert/strict'
import { test } from 'node:test'
import { livingItem, storesItem, verdictOf, versionsTaken } from '../../src/adapters/verdict.ts'
import { toEpochSeconds } from '../../src/base/clock.ts'
import { newPolicy } from '../../src/ttl/lifespan.ts'
import { livingAt } from '../../src/ttl/living.ts'
import { verdictCases } from './verdict-contract.ts'

const moment = toEpochSeconds(1000)
const ts = toEpochSeconds(990)
const living = livingAt(newPolicy(-1), moment)
const items = {
  nothing: undefined,
  dead: { version: 7, ts, deadline: moment },
  alive: { version: 7, ts, deadline: null },
}

test('the rule gives the outcome of every case in the table', () => {
  for (const { present, kind, ifVersion, holder, outcome } of verdictCases) {
    const version = { none: undefined, same: 7, other: 8 }[ifVersion]
    const verdict = verdictOf({ kind, ifVersion: version }, livingItem(living, items[present]))
    const isTaken = holder === 'alive' && storesItem(verdict)
    assert.equal(isTaken ? 'conflict' : verdict, outcome, `${kind} over ${present}, version: ${ifVersion}`)
  }
})

test('a write takes a second version only for a death that is logged', () => {
  for (const isLogged of [false, true]) {
    for (const [state, present] of Object.entries(items)) {
      const alive = livingItem(living, present)
      assert.equal(versionsTaken({ present, alive, isLogged }), isLogged && state === 'dead' ? 2 : 1)
    }
  }
})
