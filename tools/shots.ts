/**
 * Takes pictures of every screen of the explorer page, dark and light, wide and narrow, from a story:
 * `npm run shots [-- FOLDER]`. Look at them after each change of the page.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import { silentLog } from '../src/base/log.ts'
import { parseConfig, settings } from '../src/server/config.ts'
import { startServer } from '../src/server/start.ts'
import { launchBrowser } from '../test/support/browser.ts'
import { call } from '../test/support/signed-request.ts'
import { newClient } from '../test/support/start-server.ts'
import { StoryTime, settle, storyEnd, tellStory } from './shots/story.ts'

const screens = {
  landing: '',
  items: 'data/shop/sessions/items',
  query: 'data/shop/sessions/query',
  settings: 'data/shop/carts/settings',
  indexing: 'data/shop/sessions/settings?part=indexing',
  throughput: 'data/shop/sessions/settings?part=throughput',
  expiry: 'data/shop/sessions/expiry',
  load: 'data/shop/sessions/load',
  feed: 'data/shop/sessions/feed',
  scripts: 'data/shop/sessions/scripts',
  'mongo-items': 'data/support/tickets/items',
  'mongo-settings': 'data/support/tickets/settings',
} as const

/** Time for fonts, charts and the first events. */
const settleMs = 700

const folder = process.argv[2] ?? 'shots'
mkdirSync(folder, { recursive: true })
const launched = await launchBrowser()
if (launched.browser === undefined) throw new Error(`no Chromium: ${launched.reason}`)
const { browser } = launched
const time = new StoryTime(storyEnd - 90_000)
const given = { port: '0', mongoPort: '0', memory: true, rateLimit: 'on', mongoDocumentTtl: 'on', logLevel: 'silent' }
const config = parseConfig(settings(given, {}))
const server = await startServer(config, silentLog, { holdsProcess: true, timeSource: time })
const client = newClient(server)
const mongo = new MongoClient(server.mongoUri!)
await call(server.endpoint, 'POST', '/_mayfly/purge', { body: { pause: true } })
await tellStory({ client, mongo, time })
await settle(client)
await call(server.endpoint, 'POST', '/_mayfly/purge', { body: { pause: false } })
for (const theme of ['dark', 'light'] as const) {
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ] as const) {
    const context = await browser.newContext({
      locale: 'en-US',
      timezoneId: 'UTC',
      viewport: { width, height },
      colorScheme: theme,
    })
    const page = await context.newPage()
    for (const [name, path] of Object.entries(screens)) {
      await page.goto(`${server.endpoint}/_explorer/${path}`)
      await page.waitForTimeout(settleMs)
      await page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`) })
    }
    await context.close()
  }
}
await mongo.close()
await browser.close()
await server[Symbol.asyncDispose]()
process.stdout.write(`pictures are in ${folder}\n`)
