/** The story of the Mongo drivers, told by the one for Node.js. `npm run compat` runs the others. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clients } from '../../../compat/clients.ts'
import { tellStory } from '../../../compat/tell.ts'
import { startMongo } from './support/fixture.ts'

for (const name of ['mongo-node', 'mongoose']) {
  const { db } = await startMongo()
  test(`The story works with ${clients[name]!.package}`, async () => {
    const outcomes = Object.entries(await tellStory(clients[name]!, db, 120_000))
    assert.deepEqual(
      outcomes.filter(([, outcome]) => !('ok' in outcome && outcome.ok)),
      [],
    )
  })
}
