/** The portal's story for MongoDB: a TTL index by the settings, and documents whose types survive an edit. */

import assert from 'node:assert/strict'
import { after } from 'node:test'
import { MongoClient, ObjectId } from 'mongodb'
import { startExplorer, writeCode } from '../support/explorer.ts'

const explorer = await startExplorer()
const client = await new MongoClient(explorer.db.mongoUri!).connect()
after(() => client.close())

explorer.test(
  'Time to Live of a collection writes the index on _ts, and documents die by it',
  {},
  async ({ page, open }) => {
    const tickets = client.db('support').collection('tickets')
    await tickets.insertMany(Array.from({ length: 12 }, (_, n) => ({ n })))
    await explorer.db.clock.advance('10m')
    await tickets.insertOne({ n: 12 })
    await open('data/support/tickets/settings')
    await page.locator('label.radio', { hasText: 'Documents expire after this time' }).click()
    await page.getByLabel('Time to live in seconds').fill('5 m')
    await page
      .getByText('If you save this, 12 documents die now, 1 within the hour, 0 later, 0 never.')
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Save, 12 die now' }).click()
    await page.getByText('Saved: On, 5 m. 12 documents died.').waitFor()
    const index = (await tickets.indexes()).find(({ key }) => '_ts' in key)
    assert.equal(index?.expireAfterSeconds, 300)
    assert.equal(await tickets.countDocuments(), 1)
    await explorer.db.clock.advance('300s')
    assert.equal(await tickets.countDocuments(), 0)

    await page.locator('label.radio', { hasText: 'No index on _ts' }).click()
    await page.getByRole('button', { name: /^Save/ }).click()
    await page.getByText('Saved: Off.').waitFor()
    assert.equal(
      (await tickets.indexes()).some(({ key }) => '_ts' in key),
      false,
    )
  },
)

explorer.test(
  'a date index is made, changed and dropped, and the per-document switch works',
  { failures: [400] },
  async ({ page, open }) => {
    const now = explorer.db.clock.now()
    const parcels = client.db('support').collection('parcels')
    await parcels.insertOne({ until: new Date((now + 120) * 1000) })
    await open('data/support/parcels/settings')
    await page.getByRole('button', { name: 'Add date index' }).click()
    const dialog = page.getByRole('dialog', { name: 'New date index' })
    await dialog.getByLabel('Field with the date').fill('_id')
    await dialog.getByRole('button', { name: 'Create index' }).click()
    await dialog.getByText('An index on _id cannot end documents.').waitFor()
    await dialog.getByLabel('Field with the date').fill('until')
    await dialog.getByLabel('Dies after the date by').fill('1 m')
    await dialog.getByRole('button', { name: 'Create index' }).click()
    await page.getByText('1 m after the date').waitFor()
    assert.equal((await parcels.indexes()).find(({ key }) => 'until' in key)?.expireAfterSeconds, 60)
    await page.getByRole('button', { name: 'Edit until_1' }).click()
    await page.getByRole('dialog', { name: 'until_1' }).getByLabel('Dies after the date by').fill('0')
    await page.getByRole('dialog', { name: 'until_1' }).getByRole('button', { name: 'Save' }).click()
    await page.getByText('at the date', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Documents' }).click()
    await page.locator('.gr[data-key] .c-ttl', { hasText: '–date' }).waitFor()
    await page.locator('.gr[data-key]').click()
    await page.getByText('a date in it says so, by a TTL index.').waitFor()
    await page.locator('.quick button:disabled', { hasText: '+1 h' }).waitFor()
    await open('data/support/parcels/settings')
    await explorer.db.clock.advance('120s')
    assert.equal(await parcels.countDocuments(), 0)

    const perDocument = page.getByRole('switch', { name: 'Per-document TTL' })
    const before = await perDocument.getAttribute('aria-checked')
    await perDocument.click()
    const other = before === 'true' ? 'false' : 'true'
    await perDocument.and(page.locator(`[aria-checked=${other}]`)).waitFor()
    const { json } = await explorer.admin('GET', 'mongo')
    assert.equal(String(json.documentTtl), other)
    await perDocument.click()
  },
)

explorer.test(
  'a date index says how many documents it ends before it is made, and asks again when that changed',
  { failures: [409] },
  async ({ page, open }) => {
    const rentals = client.db('support').collection('rentals')
    const now = explorer.db.clock.now()
    const ending = (from: number, count: number, inSeconds: number) =>
      Array.from({ length: count }, (_, n) => ({ n: from + n, until: new Date((now + inSeconds) * 1000) }))
    await rentals.insertMany([...ending(0, 3, -60), ...ending(3, 30, 600), ...ending(33, 20, 5000)])
    await open('data/support/rentals/settings')
    await page.getByRole('button', { name: 'Add date index' }).click()
    const dialog = page.getByRole('dialog', { name: 'New date index' })
    await dialog.getByLabel('Field with the date').fill('until')
    await dialog.getByText('3 documents die the moment you save.').waitFor()
    await dialog.getByLabel('Dies after the date by').fill('1 h')
    await dialog.getByText('Nothing dies now.').waitFor()
    await dialog.getByLabel('Dies after the date by').fill('')
    const first = dialog.getByRole('button', { name: 'Create index, 3 die now' })
    await first.waitFor()
    await explorer.db.clock.advance('11m')
    await first.click()
    await dialog.getByText('33 would die now, not 3. Nothing was changed.').waitFor()
    assert.equal(await rentals.countDocuments(), 53)
    await dialog.getByRole('button', { name: 'Create index, 33 die now' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal(await rentals.countDocuments(), 20)

    await page.getByText('With this setting 0 documents die now, 0 within the hour, 20 later, 0 never.').waitFor()
    const row = page.locator('tr', { hasText: 'until_1' })
    assert.equal(await row.locator('td').nth(3).textContent(), '20')
    await page.getByRole('button', { name: 'Edit until_1' }).click()
    const edit = page.getByRole('dialog', { name: 'until_1' })
    assert.ok(await edit.getByRole('button', { name: 'Save' }).isDisabled(), 'nothing is changed yet')
    await edit.getByLabel('Dies after the date by').fill('2 h')
    await edit.getByText('Nothing dies now.').waitFor()
    await edit.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('2 h after the date').waitFor()
    await explorer.db.clock.advance('90m')
    await page.getByRole('button', { name: 'Edit until_1' }).click()
    await edit.getByLabel('Dies after the date by').fill('0')
    await edit.getByRole('button', { name: 'Save, 20 die now' }).click()
    await page.getByText('at the date', { exact: true }).waitFor()
    assert.equal(await rentals.countDocuments(), 0)

    await rentals.insertOne({ n: 1, seenAt: new Date((now + 20_000) * 1000) } as never)
    await page.getByRole('button', { name: 'Add date index' }).click()
    await dialog.getByLabel('Field with the date').fill('seenAt')
    await dialog.getByText('Nothing dies now.').waitFor()
    await dialog.getByRole('button', { name: 'Create index' }).click()
    await page.getByText('1 together').waitFor()
  },
)

explorer.test(
  'a document with an ObjectId and a date keeps its types when it is edited',
  {},
  async ({ page, open }) => {
    const notes = client.db('support').collection<{ at: Date; n: number; title: string }>('notes')
    const _id = new ObjectId()
    const at = new Date('2026-11-15T13:51:20.123Z')
    await notes.insertOne({ _id, at, n: 7, title: 'old' } as never)
    await open('data/support/notes/items')
    await page.locator('.gr:not(.hd)').first().click()
    const label = `${_id.toHexString()}, JSON`
    await page.locator(`.cm-content[aria-label="${label}"]`).waitFor()
    const text = await page.locator('.cm-content').innerText()
    assert.match(text, /\$oid/)
    assert.match(text, /\$date/)
    const moved = '{"$date": {"$numberLong": "1794750690123"}}'
    await writeCode(
      page,
      label,
      `{"_id": {"$oid": "${_id.toHexString()}"}, "at": ${moved}, "n": {"$numberInt": "7"}, "title": "new"}`,
    )
    await page.keyboard.press('ControlOrMeta+s')
    await page.getByRole('button', { name: /^Save/ }).and(page.locator('[disabled]')).waitFor()
    const stored = await notes.findOne({ _id })
    assert.deepEqual(stored, { _id, at: new Date(1_794_750_690_123), n: 7, title: 'new' })
  },
)

explorer.test(
  'a document that text cannot say exactly is shown and not saved',
  { failures: [409] },
  async ({ page, open }) => {
    const odd = client.db('support').collection<{ _id: number }>('odd')
    const stored = { _id: 1, at: { $date: 'soon' } }
    await odd.insertMany([stored, { _id: 2 }])
    await open('data/support/odd/items')
    await page.locator('.gr .c-id[title="1"]').click()
    const pane = page.getByRole('region', { name: 'document 1' })
    await pane.getByText('Read-only: this document holds what text cannot say exactly').waitFor()
    await pane.locator('.editor.is-read-only .cm-content').waitFor()
    assert.equal(await pane.getByRole('button', { name: /^Save/ }).count(), 0)
    await page.locator('.gr .c-id[title="2"]').click()
    await page.getByRole('region', { name: 'document 2' }).getByRole('button', { name: /^Save/ }).waitFor()

    // The server does not rely on the page.
    const path = '/_explorer/api/databases/support/containers/odd/item?id=1'
    const status = await page.evaluate(
      async at =>
        (
          await fetch(at, {
            method: 'PUT',
            headers: { 'x-mayfly-explorer': '1', 'content-type': 'application/json', 'if-match': '*' },
            body: JSON.stringify({ text: '{"_id": 1, "at": 7}' }),
          })
        ).status,
      path,
    )
    assert.equal(status, 409)
    assert.deepEqual(await odd.findOne({ _id: 1 }), stored)
  },
)
