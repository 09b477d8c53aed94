/** A short part of the campaign (`npm run fuzz`): every parser accepts or refuses, and does nothing else. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from './fuzz.ts'
import { targets } from './targets.ts'

for (const [name, target] of Object.entries(targets)) {
  test(`${name}: changed inputs are accepted or refused`, async () => {
    const { accepted, refused } = await fuzz(name, target, { seed: 1, inputs: 1500 })
    // Otherwise the inputs would miss the parser.
    assert.ok(accepted > 0 && (refused > 0 || name === 'extended-json-id'), `${accepted} and ${refused}`)
  })
}
