/** The query screen in a real browser: run, refuse, plan, export. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { assertAccessible, startExplorer } from '../support/explorer.ts'

const explorer = await startExplorer()
const { client } = explorer
const { database } = await client.databases.createIfNotExists({ id: 'shop' })
const { container } = await database.containers.create({ id: 'sessions', partitionKey: '/pk', defaultTtl: 3600 })
for (let n = 0; n < 5; n++) await container.items.create({ id: `i${n}`, pk: 'a', n })

const screen = 'data/shop/sessions/query'

async function write(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(text)
  await page.keyboard.press('Escape')
}

explorer.test('rows, their cost, their lives, a plan, and a file', {}, async ({ page, open }) => {
  await open(screen)
  await write(page, 'SELECT c.id, c.n FROM c WHERE c.n > 1')
  await page.keyboard.press('Shift+Enter')
  await page.locator('.results tbody tr').nth(2).waitFor()
  assert.equal(await page.locator('.results tbody tr').count(), 3)
  assert.match((await page.locator('.cost').textContent())!, /RU/)
  const downloading = page.waitForEvent('download')
  await page.locator('.result-bar a', { hasText: 'CSV' }).click()
  const file = readFileSync(await (await downloading).path(), 'utf8')
  assert.equal(file.trim().split('\n').length, 4, file)
  await page.getByRole('tab', { name: 'Stats' }).click()
  await page.getByText('Request charge').waitFor()
  await page.getByRole('tab', { name: 'Plan' }).click()
  await page.getByText('Items come from').waitFor()
  await assertAccessible(page, 'the plan of a query')
})

explorer.test('a mistake is shown at its place', { failures: [400] }, async ({ page, open }) => {
  await open(screen)
  await write(page, 'SELECT * FROM c WHERE = 1')
  await page.keyboard.press('Shift+Enter')
  await page.locator('.refusal').waitFor()
  await page.locator('.cm-lintRange-error').first().waitFor()
})
