/** Expiry, load, feed, scripts and the bar of a clock in doubt, in a real browser. */

import assert from 'node:assert/strict'
import { TriggerOperation, TriggerType } from '@azure/cosmos'
import type { Page } from 'playwright-core'
import {
  assertAccessibleInBoth,
  pageTests,
  startConfigured,
  startExplorer,
  startUntilDisposed,
  writeCode,
} from '../support/explorer.ts'
import { searchPalette } from '../support/page-states.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'
import { TestTime } from '../support/time-source.ts'

const explorer = await startExplorer()
const { db, client } = explorer
const { database } = await client.databases.create({ id: 'shop' })

const rows = (page: Page) => page.locator('.gr[data-key]')

explorer.test('a brush over bars of the histogram shows those items in the grid', {}, async ({ page, open }) => {
  const { container } = await database.containers.create({ id: 'brushed', partitionKey: '/pk', defaultTtl: -1 })
  const ttls = { first: 600, second: 1800, third: 1830, last: 3500 }
  for (const [id, ttl] of Object.entries(ttls)) await container.items.create({ id, pk: 'a', ttl })
  await open('data/shop/brushed/expiry')
  await page.getByText('Drag over the bars').waitFor()
  const { x, y, width, height } = (await page.locator('.brush').boundingBox())!
  // The chart begins 15 minutes before now and ends an hour after it.
  const at = (minute: number) => x + (width * (15 + minute)) / 75
  await page.mouse.move(at(28), y + height / 2)
  await page.mouse.down()
  await page.mouse.move(at(32), y + height / 2, { steps: 4 })
  await page.mouse.up()
  await page.getByText(/^2 items die between/).waitFor()
  const list = page.getByRole('table', { name: 'Items that die then' })
  assert.deepEqual(await list.locator('tbody a').allTextContents(), ['second', 'third'])
  await page.getByRole('link', { name: 'Show in Items' }).click()
  await rows(page).nth(1).waitFor()
  assert.deepEqual(await page.locator('.gr[data-key] .c-id').allTextContents(), ['second', 'third'])
  await page.getByText(/^Dying between/).waitFor()
  await page.getByRole('button', { name: 'Show all' }).click()
  await rows(page).nth(3).waitFor()
})

explorer.test('load: the purge is paused and goes on; what died meanwhile waits', {}, async ({ page, open }) => {
  const { container } = await database.containers.create({ id: 'loaded', partitionKey: '/pk', defaultTtl: 60 })
  for (let n = 0; n < 3; n++) await container.items.create({ id: `i${n}`, pk: 'a' })
  await open('data/shop/loaded/load')
  await page.getByRole('button', { name: 'Pause purge' }).click()
  await page.getByRole('button', { name: 'Resume purge' }).waitFor()
  await page.getByText('The purge is paused.', { exact: true }).first().waitFor()
  await db.clock.advance('60s')
  await page.getByText(/3 dead items wait to be removed/).waitFor()
  assert.equal((await db.ttl.status('shop', 'loaded')).paused, true)
  assert.equal((await db.ttl.status('shop', 'loaded')).backlog, 3)
  await page.getByRole('button', { name: 'Resume purge' }).click()
  await page.getByRole('button', { name: 'Pause purge' }).waitFor()
  await page.getByText('Nothing waits to be removed.').waitFor()
  assert.equal((await db.ttl.status('shop', 'loaded')).backlog, 0)
})

explorer.test('the load of the whole server sums up all containers, and links to each', {}, async ({ page, open }) => {
  const made = await Promise.all(
    ['one', 'two'].map(id => database.containers.create({ id, partitionKey: '/pk', defaultTtl: 60 })),
  )
  for (const { container } of made) for (let n = 0; n < 2; n++) await container.items.create({ id: `i${n}`, pk: 'a' })
  await open()
  await page.getByTitle('Load of the whole server').click()
  await page.getByRole('heading', { name: 'Load of the whole server' }).waitFor()
  await page.getByRole('button', { name: 'Pause purge' }).click()
  await page.getByText('The purge is paused.', { exact: true }).first().waitFor()
  await db.clock.advance('90s')
  await page.getByText(/4 dead items wait to be removed/).waitFor()
  const stat = (label: string) => page.locator('.stats > div', { hasText: label })
  await stat('Oldest has waited').getByText('30 s').waitFor()
  const row = (id: string) => page.getByRole('row', { name: `shop / ${id}` })
  await row('one').getByRole('cell', { name: '2', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Remove them now' }).click()
  await page.getByText('Removed 4 dead items.').waitFor()
  await page.getByRole('button', { name: 'Resume purge' }).click()
  await page.getByRole('button', { name: '15 min' }).click()
  assert.match(page.url(), /\/_explorer\/load\?range=15m$/)
  await row('two').getByRole('link').click()
  await page.waitForURL('**/data/shop/two/load')
  await page.getByRole('link', { name: 'Change throughput' }).waitFor()
  await searchPalette(page, 'whole server')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/_explorer/load')
})

explorer.test('the feed follows writes, deletes and deaths as they come', {}, async ({ page, open }) => {
  const { container } = await database.containers.create({
    ...{ id: 'fed', partitionKey: '/pk', defaultTtl: -1 },
    changeFeedPolicy: { retentionDuration: 60 },
  } as never)
  await open('data/shop/fed/feed')
  await page.getByText('No change in the last hour.').waitFor()
  await container.items.create({ id: 'before', pk: 'a' })
  const asked: string[] = []
  page.on('request', request => {
    if (request.url().includes('/feed?')) asked.push(request.url())
  })
  await open('data/shop/fed/feed')
  const row = (text: string) => page.locator('.feed-row', { hasText: text })
  await row('before').waitFor()
  await container.items.create({ id: 'short', pk: 'a', ttl: 5, n: 7 })
  await row('short').filter({ hasText: 'create' }).waitFor()
  await container.item('before', 'a').delete()
  await row('before').filter({ hasText: 'delete' }).waitFor()
  await db.clock.advance('5s')
  await db.purge()
  await page.locator('.feed-row.is-death', { hasText: 'short' }).waitFor()
  await page.getByRole('button', { name: 'Deaths' }).click()
  assert.equal(await page.locator('.feed-row:not(.hd)').count(), 1)
  await page.locator('.feed-row.is-death').click()
  await page.locator('.feed-pane-text').getByText('"n"').waitFor()
  // At the beginning, after each of two connections, and after the step of the clock.
  assert.ok(asked.length <= 4, `${asked.length} requests: the live connection brings the changes`)
})

explorer.test('a procedure is written, saved, run and changed', {}, async ({ page, open }) => {
  await database.containers.create({ id: 'scripted', partitionKey: '/pk' })
  await open('data/shop/scripted/scripts')
  await page.getByRole('button', { name: 'New script' }).click()
  await page.getByLabel('Name').fill('greet')
  const body = (greeting: string) =>
    `function greet(who) { console.log('said'); getContext().getResponse().setBody('${greeting} ' + who) }`
  await writeCode(page, 'Code of the new script', body('hello'))
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('link', { name: 'greet' }).waitFor()
  const run = page.getByRole('complementary', { name: 'Run' })
  await run.getByLabel(/^Partition key/).fill('"a"')
  await run.getByLabel(/^Arguments/).fill('["you"')
  await run.getByRole('button', { name: /^Run/ }).click()
  await run.getByText(/JSON/).first().waitFor()
  await run.getByLabel(/^Arguments/).fill('["you"]')
  await run.getByRole('button', { name: /^Run/ }).click()
  await run.getByText('hello you').waitFor()
  await run.getByText('said').waitFor()
  await writeCode(page, 'Code of greet', body('good night'))
  await run.getByText('Runs what was saved last').waitFor()
  await page.keyboard.press('ControlOrMeta+s')
  await page.getByRole('button', { name: 'Saved', exact: true }).waitFor()
  await run.getByRole('button', { name: /^Run/ }).click()
  await run.getByText('good night you').waitFor()
})

explorer.test(
  'a function is written, run with arguments, changed and deleted',
  { failures: [400] },
  async ({ page, open }) => {
    const { container } = await database.containers.create({ id: 'computed', partitionKey: '/pk' })
    await open('data/shop/computed/scripts')
    await page.getByRole('button', { name: 'New script' }).click()
    await page.getByRole('button', { name: 'function', exact: true }).click()
    await page.getByLabel('Name').fill('minutes')
    const save = page.getByRole('button', { name: 'Save', exact: true })
    await writeCode(page, 'Code of the new script', 'function minutes(item) { return { left: item.ttl / 60 } }')
    await save.click()
    await page.getByRole('link', { name: 'minutes' }).waitFor()
    const run = page.getByRole('complementary', { name: 'Run' })
    assert.equal(await run.getByLabel(/^Partition key/).count(), 0, 'it runs in no partition')
    await run.getByLabel(/^Arguments/).fill('[{"ttl": 90}]')
    await run.getByRole('button', { name: /^Run/ }).click()
    await run.getByText('1.5').waitFor()
    await run.getByText(/RU$/).waitFor()

    await writeCode(page, 'Code of minutes', "function minutes() { throw new Error('no minutes today') }")
    await save.click()
    await page.getByRole('button', { name: 'Saved', exact: true }).waitFor()
    await run.getByRole('button', { name: /^Run/ }).click()
    await run.getByText(/no minutes today/).waitFor()
    assert.equal(await run.getByText('1.5').count(), 0, 'the old result is gone')
    await writeCode(page, 'Code of minutes', 'function minutes() {}')
    await save.click()
    await page.getByRole('button', { name: 'Saved', exact: true }).waitFor()
    await run.getByRole('button', { name: /^Run/ }).click()
    await run.getByText('It answered nothing.').waitFor()
    await page.getByRole('button', { name: 'More actions for minutes' }).click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete minutes' }).click()
    await page.getByText('No scripts yet.').waitFor()
    assert.deepEqual((await container.scripts.userDefinedFunctions.readAll().fetchAll()).resources, [])
  },
)

explorer.test('a trigger is written and changed, and the page says how it runs', {}, async ({ page, open }) => {
  const { container } = await database.containers.create({ id: 'triggered', partitionKey: '/pk' })
  await open('data/shop/triggered/scripts')
  await page.getByRole('button', { name: 'New script' }).click()
  await page.getByRole('button', { name: 'trigger', exact: true }).click()
  await page.locator('.script-body .cm-content').waitFor()
  // The code has the name in it. Here each letter comes before the page has drawn the one before.
  await page.getByLabel('Name').focus()
  await page.evaluate(`(async () => {
    const input = document.activeElement
    for (const text of ['s', 'st', 'sta', 'stam', 'stamp']) {
      input.value = text
      input.dispatchEvent(new InputEvent('input', { bubbles: true }))
      await Promise.resolve()
    }
  })()`)
  await page.getByText('function stamp(').waitFor()
  const body = (by: string) => `function stamp() {
    const request = getContext().getRequest()
    request.setBody({ ...request.getBody(), by: '${by}' })
  }`
  await writeCode(page, 'Code of the new script', body('first'))
  await page.locator('.script-operation select').selectOption('Create')
  const save = page.getByRole('button', { name: 'Save', exact: true })
  await save.click()
  await page.getByRole('link', { name: 'stamp' }).waitFor()
  const about = page.getByRole('complementary', { name: 'Run' })
  await about.getByText('A trigger runs before a write').waitFor()
  await about.getByText('preTriggerInclude').waitFor()
  assert.equal(await about.getByRole('button', { name: /^Run/ }).count(), 0)
  const stored = async () => (await container.scripts.trigger('stamp').read()).resource!
  const write = (id: string) =>
    container.items.create<{ id: string; pk: string; by?: string }>({ id, pk: 'a' }, { preTriggerInclude: ['stamp'] })
  assert.deepEqual([(await stored()).triggerType, (await stored()).triggerOperation], ['Pre', 'Create'])
  assert.equal((await write('one')).resource!.by, 'first')

  await writeCode(page, 'Code of stamp', body('second'))
  await save.click()
  await page.getByRole('button', { name: 'Saved', exact: true }).waitFor()
  assert.equal((await write('two')).resource!.by, 'second')
  await page.getByRole('button', { name: 'After the write' }).click()
  await save.click()
  await about.getByText('postTriggerInclude').waitFor()
  assert.equal((await stored()).triggerType, 'Post')

  // As the official client writes it: in small letters.
  await container.scripts.triggers.create({
    id: 'made',
    body: 'function () {}',
    triggerType: TriggerType.Post,
    triggerOperation: TriggerOperation.Replace,
  })
  await open('data/shop/triggered/scripts?kind=triggers&script=made')
  await about.getByText('postTriggerInclude').waitFor()
  assert.equal(await page.locator('.script-operation select').inputValue(), 'Replace')
  assert.equal(await page.getByRole('button', { name: 'After the write' }).getAttribute('aria-pressed'), 'true')
})

explorer.test('the palette finds items by their id, in whatever partition they are', {}, async ({ page, open }) => {
  const { container } = await database.containers.create({ id: 'found', partitionKey: '/pk', defaultTtl: 90 })
  await container.items.create({ id: 'cart-7', pk: 'a' })
  await container.items.create({ id: 'cart-7', pk: 'b', ttl: -1 })
  await open('data/shop/found/settings')
  await page.locator('.chead').waitFor()
  await searchPalette(page, 'cart-7')
  const options = page.getByRole('option', { name: 'cart-7' })
  await options.nth(1).waitFor()
  await options.getByText('never dies').waitFor()
  await options.filter({ hasText: 'dies in' }).click()
  await page.waitForURL(/found\/items\?item=/)
  await page.getByText('it inherits 90 s from the container').waitFor()
})

explorer.test('a step of the clock is told once, also when the answer is slower than the event', {}, async opened => {
  const { page, open } = opened
  const { container } = await database.containers.create({ id: 'stepped', partitionKey: '/pk', defaultTtl: 30 })
  await container.items.create({ id: 'one', pk: 'a' })
  await open('data/shop/stepped/settings')
  await page.route('**/api/clock', async route => {
    if (route.request().method() !== 'POST') return route.fallback()
    const response = await route.fetch()
    // What is written after the step is told after it.
    await Promise.all(['a', 'b', 'c'].map(id => container.items.create({ id, pk: 'a' })))
    await page.locator('.facts').getByText('3 items').waitFor()
    await route.fulfill({ response })
  })
  const button = page.getByRole('button', { name: 'Advance the clock by 1 minute' })
  const answered = page.waitForResponse(response => response.request().method() === 'POST')
  await button.click()
  await answered
  await button.and(page.locator(':enabled')).waitFor()
  const told = page.getByText('Advanced 1 m: 1 item died.')
  await told.first().waitFor()
  assert.equal(await told.count(), 1)
  // Who moves it elsewhere is told of, too.
  await page.unroute('**/api/clock')
  await db.clock.advance('2h')
  await page.getByText(/^Advanced 2 h/).waitFor()
})

explorer.test('the first screen counts who dies within the hour again', {}, async ({ page, open }) => {
  const { container } = await database.containers.create({ id: 'counted', partitionKey: '/pk', defaultTtl: 60 })
  await container.items.create({ id: 'i0', pk: 'a' })
  await open()
  const withinHour = page.getByRole('row', { name: 'shop / counted' }).getByRole('cell').nth(5)
  await withinHour.getByText('1', { exact: true }).waitFor()
  for (const id of ['i1', 'i2']) await container.items.create({ id, pk: 'a' })
  await withinHour.getByText('3', { exact: true }).waitFor()
})

explorer.test('charts are drawn for a browser whose language is no locale', {}, async ({ page, context, open }) => {
  await context.addInitScript(`
    const define = (name, value) => Object.defineProperty(navigator, name, { get: () => value })
    define('language', 'en-US@posix')
    define('languages', ['en-US@posix'])
  `)
  await database.containers.create({ id: 'posix', partitionKey: '/pk', defaultTtl: 60 })
  await open('data/shop/posix/expiry')
  await page.getByText('Nothing dies in the time that is shown.').waitFor()
  assert.equal(await page.evaluate<string>('navigator.language'), 'en-US@posix')
  await page.getByRole('tab', { name: 'Load' }).click()
  await page.getByRole('button', { name: 'Pause purge' }).waitFor()
})

explorer.test('a screen whose code fails says why', {}, async ({ page, open }) => {
  await database.containers.create({ id: 'broken', partitionKey: '/pk' })
  const body = 'throw new RangeError("no such locale")'
  await page.route('**/assets/load-screen-*.js', route => route.fulfill({ contentType: 'text/javascript', body }))
  await open('data/shop/broken/load')
  await page.getByText('This screen failed: no such locale').waitFor()
})

const time = new TestTime(1_790_000_000)
const doubting = await startConfigured({}, time)

pageTests(doubting.endpoint).test('settings follow what is written, and the time', {}, async ({ page, open }) => {
  const { database: live } = await newClient(doubting).databases.create({ id: 'live' })
  const { container } = await live.containers.create({ id: 'seen', partitionKey: '/pk', defaultTtl: 3600 })
  await open('data/live/seen/settings')
  await page.getByText('With this setting 0 items die now, 0 within the hour').waitFor()
  const inherit = page.getByRole('row', { name: /^no ttl/ })
  await inherit.getByRole('cell', { name: '0', exact: true }).waitFor()
  await page.locator('.facts').getByText('0 B', { exact: true }).waitFor()
  for (let n = 0; n < 20; n++) await container.items.create({ id: `i${n}`, pk: 'a' })
  await page.getByText('With this setting 0 items die now, 20 within the hour').waitFor()
  await inherit.getByRole('cell', { name: '20', exact: true }).waitFor()
  await page.locator('.facts').getByText('0 B', { exact: true }).waitFor({ state: 'detached' })
  // A write that changes no count.
  await container.items.upsert({ id: 'i0', pk: 'a', ttl: 7200 })
  await inherit.getByRole('cell', { name: '19', exact: true }).waitFor()
  await page.getByLabel('Time to live in seconds').fill('60')
  await page.getByText('If you save this, nothing dies now').first().waitFor()
  time.pass(60)
  await page.getByRole('button', { name: 'Save, 19 die now' }).waitFor()
})

pageTests(doubting.endpoint).test(
  'a clock that jumped is told, and trusted by a button',
  {},
  async ({ page, open }) => {
    const { database: shop } = await newClient(doubting).databases.create({ id: 'shop' })
    const { container } = await shop.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 3600 })
    await container.items.create({ id: 'one', pk: 'a' })
    await open('data/shop/carts/items')
    await rows(page).first().waitFor()
    time.step(10 * 365 * 86_400)
    await page.getByText('The time is in doubt.', { exact: true }).waitFor()
    await page.getByText('Reads follow the clock').waitFor()
    const status = async () => {
      const answer = await fetch(`${doubting.endpoint}/_mayfly/ttl/shop/carts`)
      return (await answer.json()) as { living: number; backlog: number }
    }
    assert.deepEqual([(await status()).living, (await status()).backlog], [0, 1], 'dead by the clock, and not removed')
    await assertAccessibleInBoth(page, 'the bar of a clock in doubt')
    await page.getByRole('button', { name: 'Trust this time…' }).click()
    await assertAccessibleInBoth(page, 'the question whether the time is trusted')
    const dialog = page.getByRole('alertdialog', { name: 'Trust this time?' })
    await dialog.getByRole('button', { name: 'Wait' }).click()
    await page.getByText('The time is in doubt.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Trust this time…' }).click()
    await dialog.getByRole('button', { name: 'Trust this time' }).click()
    await page.getByText('The time is trusted.').waitFor()
    await page.getByText('The time is in doubt.', { exact: true }).waitFor({ state: 'detached' })
    await fetch(`${doubting.endpoint}/_mayfly/purge`, { method: 'POST', body: '{}' })
    assert.equal((await status()).backlog, 0)
  },
)

const folder = temporaryDirectory()
const restartTime = new TestTime(1_790_000_000)
const stopped = await startUntilDisposed({ memory: false, data: folder }, restartTime)
const { database: kept } = await newClient(stopped).databases.create({ id: 'kept' })
for (const id of ['short', 'long']) await kept.containers.create({ id, partitionKey: '/pk', defaultTtl: -1 })
await kept.container('short').items.create({ id: 'one', pk: 'a', ttl: 60 })
await stopped[Symbol.asyncDispose]()
restartTime.pass(420)
const restarted = await startConfigured({ memory: false, data: folder }, restartTime)

pageTests(restarted.endpoint).test(
  'after a restart a quiet bar says when the dead are removed, and only if there are any',
  {},
  async ({ page, open }) => {
    await open()
    const bar = page.locator('.doubtbar')
    await bar.getByText(/^What died while the server was off is removed at \d\d:\d\d:\d\d\.$/).waitFor()
    await bar.getByText('It was off for 7 m 00 s. If that is right, nothing is wrong').waitFor()
    assert.match((await bar.getAttribute('class'))!, /is-calm/)
    await assertAccessibleInBoth(page, 'the bar after a restart')
    await page.getByRole('button', { name: 'Trust this time…' }).click()
    await page.getByText(/^You need not do anything: at/).waitFor()
    await page.getByRole('button', { name: 'Wait' }).click()
    await newClient(restarted).database('kept').container('short').delete()
    await bar.waitFor({ state: 'detached' })
    await newClient(restarted).database('kept').container('long').items.create({ id: 'two', pk: 'a', ttl: 60 })
    restartTime.pass(240)
    await bar.waitFor()
    restartTime.pass(60)
    await bar.waitFor({ state: 'detached' })
  },
)
