/**
 * Takes pictures of every screen of the explorer page, dark and light, wide and narrow, from a story:
 * `npm run shots [-- FOLDER [NAME…]]`. Look at them after each change of the page.
 */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import type { Browser } from 'playwright-core'
import { silentLog } from '../src/base/log.ts'
import { type FlagValues, parseConfig, settings } from '../src/server/config.ts'
import { startServer } from '../src/server/start.ts'
import { launchBrowser } from '../test/support/browser.ts'
import { type PageState, pageStates, showState } from '../test/support/page-states.ts'
import { call } from '../test/support/signed-request.ts'
import { newClient } from '../test/support/start-server.ts'
import { StoryTime, settle, storyEnd, tellStory } from './shots/story.ts'

/** Time for fonts, charts and the first events. */
const settleMs = 700

const [folder = 'shots', ...names] = process.argv.slice(2)
const wanted = new Set(names)
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
const start = (more: FlagValues) =>
  startServer(parseConfig(settings({ ...given, ...more }, {})), silentLog, { holdsProcess: true })
const manual = await start({ clock: 'manual' })
const { database } = await newClient(manual).databases.create({ id: 'shop' })
const { container } = await database.containers.create({ id: 'sessions', partitionKey: '/userId', defaultTtl: 3600 })
for (let n = 0; n < 12; n++) await container.items.create({ id: `sess-${n}`, userId: `u${n}`, ttl: 30 + 300 * n })
const locked = await start({ key: Buffer.alloc(64).toString('base64') })

// While the purge rests, the dead of the story are there to be seen.
await takeAll(browser, name => name === 'dead')
await call(server.endpoint, 'POST', '/_mayfly/purge', { body: { pause: false } })
await takeAll(browser, name => name !== 'dead')
await mongo.close()
await browser.close()
for (const each of [server, manual, locked]) await each[Symbol.asyncDispose]()
process.stdout.write(`pictures are in ${folder}\n`)

async function takeAll(browser: Browser, isWanted: (name: string) => boolean): Promise<void> {
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
      context.setDefaultTimeout(8_000)
      const page = await context.newPage()
      const take = async (name: string, base: string, state: PageState) => {
        if (!isWanted(name) || (wanted.size > 0 && !wanted.has(name))) return
        try {
          await showState(page, base, state)
        } catch (error) {
          // The picture shows what went wrong.
          process.stderr.write(`${name}, ${theme}, ${width}: ${(error as Error).message.split('\n')[0]}\n`)
        }
        await page.waitForTimeout(settleMs)
        await page.screenshot({ path: join(folder, `${name}-${theme}-${width}.png`) })
      }
      for (const [name, state] of Object.entries(pageStates)) {
        if (state.only === (width === 390 ? 'wide' : 'narrow')) continue
        const { endpoint } = state.needs === 'manual clock' ? manual : server
        await take(name, `${endpoint}/_explorer/`, state)
      }
      await take('login', `${locked.endpoint}/_explorer/`, { path: '', text: /^Sign in to/ })
      await context.close()
    }
  }
}
