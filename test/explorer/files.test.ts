/** Data in and out by the page: a file that is dropped, its refused lines, and a download. */

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { cutProxy } from '../support/cut-proxy.ts'
import { type OpenPage, pageTests, startExplorer } from '../support/explorer.ts'

const explorer = await startExplorer()
const line = await cutProxy(explorer.db.endpoint)
after(() => line[Symbol.asyncDispose]())

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
  await dialog.getByRole('button', { name: 'Start import' }).click()
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

const total = 60_000

/** Begins an import that lasts, of rows that must not be there already. */
async function beginLongImport({ page, open }: OpenPage) {
  const container = await explorer.newContainer({ defaultTtl: 3600 })
  await open(`data/${container.database.id}/items/items`)
  await page.getByRole('button', { name: 'Import', exact: true }).first().click()
  const dialog = page.getByRole('dialog', { name: /^Import into/ })
  const buffer = Buffer.from(Array.from({ length: total }, (_, n) => `{"id":"i${n}","pk":"p","n":${n}}\n\n`).join(''))
  await page.locator('[data-test=import-file]').setInputFiles({ name: 'many.jsonl', mimeType: 'text/plain', buffer })
  // What is there already is refused: a row that is sent again would be told.
  await dialog.getByRole('button', { name: 'Refuse' }).click()
  // On a fast line it would be over before anybody can stop it.
  const devTools = await page.context().newCDPSession(page)
  const line200KBps = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 200_000 }
  await devTools.send('Network.emulateNetworkConditions', line200KBps)
  await dialog.getByRole('button', { name: 'Start import' }).click()
  await dialog.getByText(/^[1-9][\d,]* written$/).waitFor()
  const speedUp = () =>
    devTools.send('Network.emulateNetworkConditions', { ...line200KBps, uploadThroughput: -1 }).then(() => {})
  const count = async () => (await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0]
  /** After it has stopped. */
  const goOn = async () => {
    const stopped = dialog.getByText(/^Stopped\. It can go on from row [\d,]+$/)
    await stopped.waitFor()
    const next = Number(/row ([\d,]+)/.exec((await stopped.textContent())!)![1]!.replaceAll(',', ''))
    assert.ok(next > 1 && next < total, `row ${next}`)
    assert.equal(await count(), next - 1, 'all rows before the next one are written, and no other')
    await dialog.getByRole('button', { name: /^Go on from row/ }).click()
    await dialog.getByText('Finished').waitFor()
    await dialog.getByText(`${(total - next + 1).toLocaleString('en-US')} written`).waitFor()
    assert.equal(await dialog.getByText(/refused$/).count(), 0)
    assert.equal(await count(), total)
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('button', { name: /^All/ }).getByText('60,000').waitFor()
  }
  return { dialog, speedUp, goOn }
}

explorer.test('an import is stopped in the middle and goes on, and nothing is doubled', {}, async opened => {
  const { dialog, speedUp, goOn } = await beginLongImport(opened)
  await dialog.getByRole('button', { name: 'Stop' }).click()
  await speedUp()
  await goOn()
})

const broken = { losesConnection: true }
pageTests(line.endpoint).test('an import whose line is cut goes on where the server says', broken, async opened => {
  const { dialog, speedUp, goOn } = await beginLongImport(opened)
  line.cut()
  await dialog.getByText('Asking the server how far it came…').waitFor()
  assert.equal(await dialog.getByRole('button', { name: /^Go on/ }).count(), 0)
  await speedUp()
  line.mend()
  await goOn()
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
    assert.ok(await dialog.getByRole('button', { name: 'Start import' }).isDisabled())
    await picker.setInputFiles({ name: 'empty.jsonl', mimeType: 'text/plain', buffer: Buffer.alloc(0) })
    await dialog.getByText('empty.jsonl is empty.').waitFor()
    await picker.setInputFiles({
      name: 'ok.jsonl.gz',
      mimeType: 'application/gzip',
      buffer: gzipSync('{"id":"z","pk":"p"}\n'),
    })
    await dialog.getByText(/^JSON Lines, gzip/).waitFor()
    await dialog.getByRole('button', { name: 'Start import' }).click()
    await dialog.getByText('1 written').waitFor()
    await container.item('z', 'p').patch([{ op: 'add', path: '/kept', value: true }])
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await dropFile(page, 'again.jsonl', Buffer.from('{"id":"z","pk":"p"}\n'))
    assert.equal(await dialog.getByRole('button', { name: 'Refuse' }).getAttribute('aria-pressed'), 'true')
    await dialog.getByRole('button', { name: 'Start import' }).click()
    await dialog.getByText('1 refused').waitFor()
    assert.equal((await container.item('z', 'p').read()).resource.kept, true, 'as the command does')
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
    page.getByRole('button', { name: 'Save as JSON Lines' }).click(),
  ])
  assert.equal(download.suggestedFilename(), `${container.database.id}-items.jsonl`)
  const rows = (await readFile(await download.path(), 'utf8'))
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.deepEqual(rows.map(({ id }) => id).sort(), ['a', 'b'])
})

explorer.test('an export is not saved before its query is right', { failures: [400] }, async ({ page, open }) => {
  const container = await explorer.newContainer()
  await Promise.all(['a', 'b'].map(id => container.items.create({ id, pk: 'p' })))
  await open(`data/${container.database.id}/items/items`)
  await page.getByRole('button', { name: 'More actions for items' }).click()
  await page.getByRole('menuitem', { name: 'Export…' }).click()
  const downloads: string[] = []
  page.on('download', download => downloads.push(download.url()))
  const dialog = page.getByRole('dialog', { name: /^Export/ })
  const field = dialog.getByLabel('Only what this query answers')
  await field.fill('SELECT * FROM c WHERE >')
  const save = dialog.getByRole('button', { name: /^Save as/ })
  await save.click()
  await dialog.locator('input[aria-invalid=true]').waitFor()
  await dialog
    .getByRole('alert')
    .getByText(/Syntax error.* \(column 23\)$/)
    .waitFor()
  assert.deepEqual(downloads, [])
  await field.fill('SELECT c.id FROM c WHERE c.id = "b"')
  assert.equal(await dialog.getByRole('alert').count(), 0)
  const [download] = await Promise.all([page.waitForEvent('download'), save.click()])
  assert.equal(await readFile(await download.path(), 'utf8'), '{"id":"b"}\n')
  await dialog.waitFor({ state: 'detached' })
})
