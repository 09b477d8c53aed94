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
  await page.getByRole('button', { name: 'Run Shift+Enter' }).waitFor()
  await page.keyboard.press('Shift+Enter')
  await page.locator('.results tbody tr').nth(2).waitFor()
  assert.equal(await page.locator('.results tbody tr').count(), 3)
  assert.match((await page.locator('.cost').textContent())!, /RU/)
  const downloading = page.waitForEvent('download')
  await page.locator('.result-bar button', { hasText: 'CSV' }).click()
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

explorer.test('a query that takes long is ended on the server', { failures: [499] }, async ({ page, open }) => {
  await database.containers.createIfNotExists({ id: 'wide', partitionKey: '/pk' })
  // Many rows, and few of one item: the browser is driven by this process, between the slices of the query.
  const l = Array.from({ length: 150 }, (_, n) => n)
  const rows = Array.from({ length: 12_000 }, (_, n) => JSON.stringify({ id: `w${n}`, pk: 'a', l }))
  await fetch(`${explorer.db.endpoint}/_explorer/api/databases/shop/containers/wide/import?name=a.jsonl`, {
    method: 'POST',
    headers: { 'x-mayfly-explorer': '1', 'content-type': 'application/octet-stream' },
    body: rows.join('\n'),
  })
  await open('data/shop/wide/query')
  await write(page, 'SELECT VALUE COUNT(1) FROM c JOIN x IN c.l JOIN y IN c.l WHERE x + y < 0')
  const asked = page.waitForRequest(request => request.url().endsWith('/query'))
  await page.keyboard.press('Shift+Enter')
  const id = (await asked).postDataJSON().id as string
  const answered = page.waitForResponse(response => response.url().endsWith('/query'))
  const [canceled] = await Promise.all([
    page.waitForResponse(response => response.url().includes('/queries/')),
    page.keyboard.press('ControlOrMeta+.'),
  ])
  assert.equal(canceled.status(), 204, 'the server knew the query and ended it')
  const answer = await answered
  assert.equal(answer.status(), 499, await answer.text())
  await page.getByText('You ended the query.').waitFor()
  const again = await fetch(`${explorer.db.endpoint}/_explorer/api/queries/${id}`, {
    method: 'DELETE',
    headers: { 'x-mayfly-explorer': '1' },
  })
  assert.equal(again.status, 404, 'it runs no longer')
  await write(page, 'SELECT VALUE 1')
  await page.keyboard.press('Shift+Enter')
  await page.locator('.results tbody tr').first().waitFor()
})

explorer.test('past queries are kept, chosen, moved up, remembered and cleared', { failures: [400] }, async opened => {
  const { page, open } = opened
  await open(screen)
  const pane = page.getByRole('complementary', { name: 'Query history' })
  await pane.getByText('Queries that you run are kept here, in this browser.').waitFor()
  const past = () => pane.locator('.past .mono').allTextContents()
  const run = async (text: string, rows: number) => {
    await write(page, text)
    await page.keyboard.press('Shift+Enter')
    await page
      .locator('.results tbody tr')
      .nth(rows - 1)
      .waitFor()
    await pane.locator('li:first-child', { hasText: text.replace(/\s+/g, ' ') }).waitFor()
  }
  await run('SELECT c.id FROM c', 5)
  await page.getByLabel('Partition key').fill('a')
  await run('SELECT c.n\nFROM c WHERE c.n > 2', 2)
  await page.getByLabel('Partition key').fill('')
  await run('SELECT TOP 1 c.id FROM c', 1)
  const newest = ['SELECT TOP 1 c.id FROM c', 'SELECT c.n FROM c WHERE c.n > 2, partition a', 'SELECT c.id FROM c']
  assert.deepEqual(await past(), newest)
  assert.match((await pane.locator('.past').nth(1).textContent())!, /\d\d:\d\d:\d\d, 2 rows, [\d.]+ RU$/)

  // What was refused is no past query.
  await write(page, 'SELECT * FROM')
  await page.keyboard.press('Shift+Enter')
  await page.locator('.refusal').waitFor()
  assert.deepEqual(await past(), newest)

  await pane.locator('.past').nth(1).click()
  await page.locator('.cm-line', { hasText: 'FROM c WHERE c.n > 2' }).waitFor()
  assert.equal(await page.getByLabel('Partition key').inputValue(), 'a')
  assert.deepEqual(await page.locator('.cm-line').allTextContents(), ['SELECT c.n', 'FROM c WHERE c.n > 2'])
  await page.keyboard.press('Shift+Enter')
  const movedUp = [newest[1], newest[0], newest[2]]
  await pane.locator('.past').first().getByText('partition a').waitFor()
  assert.deepEqual(await past(), movedUp)

  await open(screen)
  await page.locator('.cm-line').first().waitFor()
  assert.deepEqual(await past(), movedUp, 'remembered in this browser')
  assert.equal(await page.locator('.cm-line').first().textContent(), 'SELECT c.n', 'the last query is there again')
  await assertAccessible(page, 'the history of queries')
  await pane.getByRole('button', { name: 'Clear' }).click()
  await pane.getByText('Queries that you run are kept here, in this browser.').waitFor()
  await page.reload()
  await page.locator('.cm-line').first().waitFor()
  assert.deepEqual(await past(), [])
})
