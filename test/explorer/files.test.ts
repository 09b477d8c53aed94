/** Data in and out by the page: a file that is dropped, its refused lines, and a download. */

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { startExplorer } from '../support/explorer.ts'

const explorer = await startExplorer()

/** What the browser does when somebody lets a file go over the page. */
async function dropFile(page: Page, name: string, bytes: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(`(() => {
    const data = new DataTransfer()
    const bytes = Uint8Array.from(atob('${bytes.toString('base64')}'), each => each.charCodeAt(0))
    data.items.add(new File([bytes], '${name}'))
    return data
  })()`)
  await page.dispatchEvent('body', 'dragenter', { dataTransfer: transfer })
  await page.getByText('Drop to import into').waitFor()
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer })
}

const lines = [
  '{"id":"a","pk":"p","n":1}',
  '{"id":"b","pk":"p","ttl":0}',
  '{"pk":"p"',
  '{"id":"c","pk":"p","ttl":60}',
  '{"id":"d","pk":"p"}',
]

explorer.test('a file is dropped, looked at, imported, and its refused lines are told', {}, async ({ page, open }) => {
  const container = await explorer.newContainer({ defaultTtl: 3600 })
  await open(`data/${container.database.id}/items/items`)
  await page.getByRole('tab', { name: 'Items' }).waitFor()
  await dropFile(page, 'wishes.jsonl', Buffer.from(lines.join('\n')))
  const dialog = page.getByRole('dialog', { name: /^Import into/ })
  await dialog.getByText('JSON Lines, 112 B').waitFor()
  await dialog.getByText('{"id":"a","pk":"p","n":1}').waitFor()
  assert.equal((await container.items.readAll().fetchAll()).resources.length, 0, 'nothing is written before the start')
  await dialog.getByRole('button', { name: 'Skip' }).click()
  await dialog.getByRole('button', { name: 'Import 112 B' }).click()
  await dialog.getByText('3 written').waitFor()
  await dialog.getByText('2 refused').waitFor()
  await dialog.getByText('line 2', { exact: true }).waitFor()
  await dialog.getByText('line 3', { exact: true }).waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('link', { name: 'Save as wishes.refused.jsonl' }).click(),
  ])
  const refused = (await readFile(await download.path(), 'utf8'))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.deepEqual(
    refused.map(({ line }) => line),
    [2, 3],
  )
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  const { resources } = await container.items.query('SELECT VALUE c.id FROM c ORDER BY c.id').fetchAll()
  assert.deepEqual(resources, ['a', 'c', 'd'])
})

explorer.test(
  'a file of a wrong kind and two files are refused before anything is sent',
  {},
  async ({ page, open }) => {
    const container = await explorer.newContainer()
    await open(`data/${container.database.id}/items/items`)
    await page.getByRole('button', { name: 'Import', exact: true }).first().click()
    const picker = page.locator('[data-test=import-file]')
    const dialog = page.getByRole('dialog', { name: /^Import into/ })
    await picker.setInputFiles({ name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from('x') })
    await dialog.getByText('photo.png cannot be read.').waitFor()
    assert.ok(await dialog.getByRole('button', { name: /^Import/ }).isDisabled())
    await picker.setInputFiles({ name: 'empty.jsonl', mimeType: 'text/plain', buffer: Buffer.alloc(0) })
    await dialog.getByText('empty.jsonl is empty.').waitFor()
    await picker.setInputFiles({
      name: 'ok.jsonl.gz',
      mimeType: 'application/gzip',
      buffer: gzipSync('{"id":"z","pk":"p"}\n'),
    })
    await dialog.getByText(/^JSON Lines, gzip/).waitFor()
    await dialog.getByRole('button', { name: /^Import \d/ }).click()
    await dialog.getByText('1 written').waitFor()
  },
)

explorer.test('a container is exported as a download', {}, async ({ page, open }) => {
  const container = await explorer.newContainer()
  await Promise.all(['a', 'b'].map(id => container.items.create({ id, pk: 'p', text: 'x' })))
  await open(`data/${container.database.id}/items/items`)
  await page.getByRole('button', { name: 'More actions for items' }).click()
  await page.getByRole('menuitem', { name: 'Export…' }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: /^Save as .*-items\.jsonl$/ }).click(),
  ])
  assert.equal(download.suggestedFilename(), `${container.database.id}-items.jsonl`)
  const rows = (await readFile(await download.path(), 'utf8'))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.deepEqual(rows.map(({ id }) => id).sort(), ['a', 'b'])
})
