/**
 * The story of the official clients, told by the one for JavaScript, and the page that is made from all of
 * them. `npm run compat` runs the other clients.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { clients } from '../../../compat/clients.ts'
import { readResults } from '../../../compat/results.ts'
import { stepsOf } from '../../../compat/steps.ts'
import { tellStory } from '../../../compat/tell.ts'
import { compatibilityPage } from '../../../tools/compatibility-page.ts'
import { readPage, updated } from '../../../tools/generated-page.ts'
import { startServer } from '../../support/start-server.ts'

const { db } = await startServer()

test('The story works with the client for JavaScript, as far as it has calls for it', async () => {
  const outcomes = Object.entries(await tellStory(clients.javascript!, db, 120_000))
  assert.deepEqual(
    outcomes.filter(([, outcome]) => 'ok' in outcome && !outcome.ok),
    [],
  )
  assert.deepEqual(
    outcomes.filter(([, outcome]) => 'absent' in outcome).map(([step]) => step),
    ['by-object', 'read-many', 'change-feed-processor', 'change-feed-processor-metadata', 'binary-json', 'http2'],
  )
})

test('The page about official clients shows what their last runs found', () => {
  for (const [language, result] of Object.entries(readResults())) {
    assert.deepEqual(
      Object.keys(result.steps),
      Object.keys(stepsOf(clients[language]!.api)),
      `run "npm run compat -- ${language}"`,
    )
  }
  assert.equal(readPage(compatibilityPage), updated(compatibilityPage), 'run "npm run docs"')
})
