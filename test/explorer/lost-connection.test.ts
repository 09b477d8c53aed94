/** The live connection is lost and comes back: what the page says, and what it catches up with. */

import assert from 'node:assert/strict'
import { after, beforeEach } from 'node:test'
import type { Page } from 'playwright-core'
import { cutProxy } from '../support/cut-proxy.ts'
import { assertAccessible, pageTests, startExplorer } from '../support/explorer.ts'

const explorer = await startExplorer()
const { db } = explorer
const line = await cutProxy(db.endpoint)
after(() => line[Symbol.asyncDispose]())
const lines = pageTests(line.endpoint)
beforeEach(() => line.mend())

const row = (page: Page, id: string) => page.locator('.gr[data-key]', { has: page.locator('.c-id', { hasText: id }) })
const bar = (page: Page) => page.locator('.alertbar')
const inTree = (page: Page) => page.locator('.tree a', { hasText: 'items' }).locator('.c')

lines.test(
  'a lost connection is told, time stands, and what happened meanwhile is caught up with',
  { losesConnection: true },
  async ({ page, open }) => {
    const container = await explorer.newContainer({ defaultTtl: 3600 })
    const { id: database } = container.database
    for (const [id, ttl] of Object.entries({ short: 60, other: 600, long: 1200 })) {
      await container.items.create({ id, pk: 'p', ttl })
    }
    await open(`data/${database}/items/items`)
    await row(page, 'short').waitFor()
    await page.getByText('Clock stands').waitFor()

    line.cut()
    await bar(page).getByText('The server does not answer.').waitFor()
    await bar(page)
      .getByText(/Countdowns stopped at .*, because only the server knows the time\./)
      .waitFor()
    await bar(page)
      .getByText(/Trying again in \d+ s\./)
      .waitFor()
    await page.getByText('Reconnecting').waitFor()
    await assertAccessible(page, 'a lost connection')
    // What is typed stays, and a call that fails says so at its place.
    const filter = page.getByRole('combobox', { name: 'Filter' })
    await filter.fill('WHERE c.id != "other"')

    await db.clock.advance('60s')
    await container.items.create({ id: 'young', pk: 'p', ttl: 100 })
    await container.item('other', 'p').delete()
    assert.equal(await row(page, 'short').count(), 1, 'nothing is known of its death')
    assert.equal(await row(page, 'young').count(), 0)

    line.mend()
    await page.getByRole('button', { name: 'Try now' }).click()
    await bar(page).waitFor({ state: 'detached' })
    await row(page, 'young').waitFor()
    await row(page, 'young').getByText('1 m 40 s').waitFor()
    await row(page, 'short').waitFor({ state: 'detached' })
    await row(page, 'other').waitFor({ state: 'detached' })
    await inTree(page).getByText('2', { exact: true }).waitFor()
    assert.equal(await filter.inputValue(), 'WHERE c.id != "other"')

    // And it goes on live.
    await container.items.create({ id: 'late', pk: 'p', ttl: 50 })
    await row(page, 'late').waitFor()
    await db.clock.advance('50s')
    await row(page, 'late').waitFor({ state: 'detached' })
  },
)

lines.test(
  'the page connects again by itself, also a page that was opened while nobody answered',
  { losesConnection: true },
  async ({ page, open }) => {
    const container = await explorer.newContainer()
    await container.items.create({ id: 'first', pk: 'p' })
    const path = `data/${container.database.id}/items/items`
    // The files come, and then the line breaks.
    await page.route('**/_explorer/api/**', route => route.abort('connectionrefused'))
    await open(path)
    await bar(page).getByText('The server does not answer.').waitFor()
    await page.unroute('**/_explorer/api/**')
    await row(page, 'first').waitFor()

    line.cut()
    await bar(page).getByText('The server does not answer.').waitFor()
    await container.items.create({ id: 'second', pk: 'p' })
    line.mend()
    await row(page, 'second').waitFor()
    await bar(page).waitFor({ state: 'detached' })
  },
)

lines.test(
  'a form keeps its text while nobody answers, and can be sent afterwards',
  { losesConnection: true },
  async ({ page, open }) => {
    const { id: database } = await explorer.newDatabase()
    await open()
    await page.getByRole('link', { name: 'mayfly' }).waitFor()
    await page.locator('.tree').getByText(database).waitFor()
    await page.getByRole('button', { name: 'New database or container' }).click()
    const dialog = page.getByRole('dialog', { name: 'New container' })
    await dialog.getByLabel('Database').fill(database)
    await dialog.getByLabel('Container', { exact: true }).fill('carts')
    line.cut()
    await dialog.getByRole('button', { name: 'Create container' }).click()
    await dialog.getByRole('alert').getByText('The server does not answer.').waitFor()
    assert.equal(await dialog.getByLabel('Container', { exact: true }).inputValue(), 'carts')
    line.mend()
    await dialog.getByRole('button', { name: 'Create container' }).click()
    await page.waitForURL('**/carts/items')
  },
)

lines.test(
  'what was opened while nobody answered comes when somebody does',
  { losesConnection: true },
  async ({ page, open }) => {
    const container = await explorer.newContainer({ defaultTtl: 3600 })
    await container.items.create({ id: 'one', pk: 'p' })
    await open(`data/${container.database.id}/items/items`)
    await row(page, 'one').waitFor()
    line.cut()
    await bar(page).getByText('The server does not answer.').waitFor()
    await row(page, 'one').click()
    await page.locator('.pane').getByText('The server does not answer.').waitFor()
    line.mend()
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.locator('.pane .cm-content').waitFor()
    await page.locator('.dock').getByText('RU/s', { exact: false }).first().waitFor()

    line.cut()
    await bar(page).getByText('The server does not answer.').waitFor()
    await page.getByRole('tab', { name: 'Load' }).click()
    await page.getByText('The server does not answer. This screen comes when it does again.').waitFor()
    line.mend()
    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('RU per second').waitFor()
  },
)
