/** Every screen and what is opened on it, dark and light, wide and narrow; and what loading it costs. */

import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { TriggerOperation, TriggerType } from '@azure/cosmos'
import { MongoClient } from 'mongodb'
import { assertAccessible, startExplorer } from '../support/explorer.ts'
import { type PageState, pageStates, showState } from '../support/page-states.ts'

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
    await container.items.create({ id: `sess-${n}`, userId: `u10${n % 6}`, ...(n % 4 === 0 && { ttl: 30 + n }) })
  }
  await database.containers.create({ id: 'wishlists', partitionKey: '/customerId', defaultTtl: 3600 })
  const { storedProcedures, triggers, userDefinedFunctions } = container.scripts
  const answer = "function () { console.log('said'); getContext().getResponse().setBody('done') }"
  await storedProcedures.create({ id: 'closeIdle', body: answer })
  await triggers.create({
    id: 'stampLocale',
    body: 'function () {}',
    triggerType: TriggerType.Pre,
    triggerOperation: TriggerOperation.All,
  })
  await userDefinedFunctions.create({ id: 'minutesLeft', body: 'item => item.ttl / 60' })
  const client = await new MongoClient(explorer.db.mongoUri!).connect()
  after(() => client.close())
  const support = client.db('support')
  await support.collection('tickets').insertOne({ n: 1 })
  await support.collection('tickets').createIndex({ _ts: 1 }, { expireAfterSeconds: 86_400 })
  await support.collection('presence').insertOne({ until: new Date('2100-01-01'), seenAt: new Date('2020-01-01') })
  await support.collection('presence').createIndex({ until: 1 }, { expireAfterSeconds: 60 })
  await explorer.admin('POST', 'purge', { pause: true })
  await explorer.db.clock.advance('40s')
})

const states = Object.entries(pageStates)
const base = `${explorer.db.endpoint}/_explorer/`

/** No error, nothing grave, nothing too wide. The rules are the same at both widths; colours differ. */
function testStates(what: string, isShown: (state: PageState) => boolean): void {
  for (const theme of ['dark', 'light'] as const) {
    for (const width of [1440, 390]) {
      // A button that changes its colour has a poor contrast on the way.
      const options = { theme, width, height: width === 390 ? 844 : 900, failures: [412], isMotionReduced: true }
      explorer.test(`${what} is sound, ${theme}, ${width} px`, options, async ({ page }) => {
        for (const [name, state] of states) {
          if (!isShown(state) || state.only === (width === 390 ? 'wide' : 'narrow')) continue
          await showState(page, base, state)
          const { inner, whole } = await page.evaluate<{ inner: number; whole: number }>(
            '({ inner: innerWidth, whole: document.documentElement.scrollWidth })',
          )
          assert.ok(whole <= inner, `${name} is ${whole} px wide at ${width}`)
          if (width === 1440 || theme === 'dark') await assertAccessible(page, name)
        }
      })
    }
  }
}

const isMongo = ({ path }: PageState) => path.includes('/support/')
testStates('every screen', state => !state.act && !isMongo(state))
testStates('every screen of a collection', state => !state.act && isMongo(state))
const isOpened = ({ act, path }: PageState, screen: RegExp) => act !== undefined && screen.test(path)
testStates('what is opened over the items', state => isOpened(state, /\/items/))
testStates('what is opened over other screens', state => isOpened(state, /\/(settings|feed)/))
testStates('what was run', state => isOpened(state, /\/(query|scripts)/))

explorer.test('the page loads under 250 KB, all of it compressed', {}, async ({ page, open }) => {
  const sizes: Promise<number>[] = []
  page.on('response', response => {
    if (!response.url().includes('/_explorer/') || response.url().includes('/api/')) return
    sizes.push(
      response
        .request()
        .sizes()
        .then(({ responseBodySize }) => responseBodySize),
    )
  })
  await open('data/shop/sessions/items')
  await page.getByText('sess-12').first().waitFor()
  await page.locator('.gr .c-id').nth(1).click()
  await page.locator('.cm-content').waitFor()
  await open('data/shop/sessions/expiry')
  await page.getByText('When items die').waitFor()
  await page.waitForLoadState('networkidle')
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  assert.ok(bytes > 20_000 && bytes < 250_000, `${bytes} bytes with editor and charts`)
})

explorer.test('the theme is changed by its button, and is the same after a reload', {}, async ({ page, open }) => {
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  const isBright = (color: string) => Number(/\d+/.exec(color)![0]) > 128
  await open('data/shop/sessions/items')
  await page.getByRole('button', { name: 'Theme: system. Change it' }).click()
  await page.getByRole('button', { name: 'Theme: light. Change it' }).waitFor()
  const light = await background()
  assert.ok(isBright(light), light)
  await page.reload()
  await page.getByRole('button', { name: 'Theme: light. Change it' }).click()
  await page.getByRole('button', { name: 'Theme: dark. Change it' }).waitFor()
  const dark = await background()
  assert.ok(!isBright(dark), dark)
  await page.reload()
  await page.getByRole('button', { name: 'Theme: dark. Change it' }).click()
  await page.getByRole('button', { name: 'Theme: system. Change it' }).waitFor()
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
  await page.getByText('sess-12').first().waitFor()
})

explorer.test('motion is left out for those who asked for that', { isMotionReduced: true }, async ({ page, open }) => {
  await open('data/shop/sessions/items')
  await page.getByText('sess-12').first().waitFor()
  const longest = await page.evaluate<number>(
    `Math.max(0, ...document.getAnimations().map(each => each.effect.getTiming().duration))`,
  )
  assert.ok(longest <= 1, `${longest} ms`)
})
