/** Every screen, dark and light, wide and narrow: no error, nothing grave, nothing too wide. */

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { MongoClient } from 'mongodb'
import { assertAccessible, startExplorer } from '../support/explorer.ts'

const explorer = await startExplorer({ rateLimit: true })

before(async () => {
  const { database } = await explorer.client.databases.create({ id: 'shop' })
  const { container } = await database.containers.create({
    id: 'sessions',
    partitionKey: '/userId',
    defaultTtl: 3600,
    changeFeedPolicy: { retentionDuration: 60 },
  } as never)
  for (let n = 0; n < 30; n += 1) {
    await container.items.create({ id: `s${n}`, userId: `u${n % 3}`, ...(n % 4 === 0 && { ttl: 30 + n }) })
  }
  await container.scripts.storedProcedures.create({ id: 'sayHello', body: 'function () {}' })
  const client = await new MongoClient(explorer.db.mongoUri!).connect()
  after(() => client.close())
  await client.db('support').collection('tickets').insertOne({ n: 1 })
  await client.db('support').collection('tickets').createIndex({ until: 1 }, { expireAfterSeconds: 60 })
  await explorer.db.clock.advance('40s')
})

const screens = {
  '': 'Data that dies on time',
  'data/shop/sessions/items': 's12',
  'data/shop/sessions/query': 'History',
  'data/shop/sessions/settings': 'Time to Live',
  'data/shop/sessions/settings?part=indexing': 'Indexes that are there now',
  'data/shop/sessions/settings?part=throughput': 'Autoscale',
  'data/shop/sessions/settings?part=unique': 'no unique keys',
  'data/shop/sessions/settings?part=feed': 'Kept for',
  'data/shop/sessions/expiry': 'When items die',
  'data/shop/sessions/load': 'RU per second',
  'data/shop/sessions/feed': 'Following the newest',
  'data/shop/sessions/scripts': 'Stored procedures',
  'data/support/tickets/items': '_id',
  'data/support/tickets/settings': 'Indexes that end documents',
  'data/support/tickets/settings?part=indexes': 'All indexes',
} as const

for (const theme of ['dark', 'light'] as const) {
  for (const width of [1440, 390]) {
    explorer.test(
      `every screen is sound, ${theme}, ${width} px`,
      { theme, width, height: width === 390 ? 844 : 900 },
      async ({ page, open }) => {
        for (const [path, text] of Object.entries(screens)) {
          await open(path)
          await page.getByText(text).first().waitFor({ state: 'attached' })
          const { inner, whole } = await page.evaluate<{ inner: number; whole: number }>(
            '({ inner: innerWidth, whole: document.documentElement.scrollWidth })',
          )
          assert.ok(whole <= inner, `${path} is ${whole} px wide at ${width}`)
          // The rules are the same in both widths; colours are not in both themes.
          if (width === 1440 || theme === 'dark') await assertAccessible(page, path)
        }
      },
    )
  }
}

explorer.test('the page loads under 250 KB, all of it compressed', {}, async ({ page, open }) => {
  let bytes = 0
  page.on('response', async response => {
    if (!response.url().includes('/_explorer/') || response.url().includes('/api/')) return
    bytes += (await response.request().sizes()).responseBodySize
  })
  await open('data/shop/sessions/items')
  await page.getByText('s12').first().waitFor()
  await page.locator('.gr .c-id').nth(1).click()
  await page.locator('.cm-content').waitFor()
  await open('data/shop/sessions/expiry')
  await page.getByText('When items die').waitFor()
  assert.ok(bytes > 20_000 && bytes < 250_000, `${bytes} bytes with editor and charts`)
})

explorer.test('the shell is painted before the server has answered anything', {}, async ({ page, open }) => {
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  await page.route('**/_explorer/api/**', async route => {
    await held
    await route.continue().catch(() => {})
  })
  await open('data/shop/sessions/items')
  await page.locator('.top').waitFor()
  await page.locator('.tree').waitFor()
  release()
  await page.getByText('s12').first().waitFor()
})

explorer.test('motion is left out for those who asked for that', { isMotionReduced: true }, async ({ page, open }) => {
  await open('data/shop/sessions/items')
  await page.getByText('s12').first().waitFor()
  const longest = await page.evaluate<number>(
    `Math.max(0, ...document.getAnimations().map(each => each.effect.getTiming().duration))`,
  )
  assert.ok(longest <= 1, `${longest} ms`)
})
