/** What the documents tell people to do in the portal: choose a container, Settings, Time to Live. */

import assert from 'node:assert/strict'
import { startExplorer, writeCode } from '../support/explorer.ts'

const explorer = await startExplorer()

explorer.test('a container is made, and its Time to Live is set as in the portal', {}, async ({ page, open }) => {
  await explorer.client.databases.create({ id: 'shop' })
  await open()
  await page.getByRole('button', { name: 'New database or container' }).click()
  const dialog = page.getByRole('dialog', { name: 'New container' })
  await dialog.getByLabel('Database').fill('shop')
  await dialog.getByLabel('Container').fill('carts')
  await dialog.getByLabel('Partition key').fill('customerId')
  await dialog.getByRole('button', { name: 'Create container' }).click()
  await dialog.getByText('A path begins with /').waitFor()
  await dialog.getByLabel('Partition key').fill('/customerId')
  await dialog.getByRole('button', { name: 'Off', exact: true }).click()
  await dialog.getByRole('button', { name: 'Create container' }).click()
  await page.getByRole('tab', { name: 'Settings' }).click()
  assert.ok(await page.getByRole('radio', { name: 'Off', exact: false }).first().isChecked())

  const field = page.getByLabel('Time to live in seconds')
  const save = page.getByRole('button', { name: /^Save/ })
  await page.locator('label.radio', { hasText: 'Items expire after this time' }).click()
  assert.ok(await save.isDisabled(), 'On without a number cannot be saved')
  for (const bad of ['0', '-5', '2147483648', '1.5', 'soon']) {
    await field.fill(bad)
    await page.getByText('Use 1 second to 2147483647 seconds, for instance 90, 15 m, 7 d.').waitFor()
    assert.ok(await save.isDisabled(), bad)
  }
  await field.fill('1')
  await page.getByText('= 1 second', { exact: true }).waitFor()
  await field.fill('7d')
  await page.getByText('= 604,800 seconds').waitFor()
  await page.getByText('If you save this, nothing dies now, 0 within the hour, 0 later, 0 never.').first().waitFor()
  await save.click()
  await page.getByText('Saved: On, 7 d.').waitFor()
  const container = explorer.client.database('shop').container('carts')
  assert.equal((await container.read()).resource!.defaultTtl, 604_800)

  await page.locator('label.radio', { hasText: 'except those with a ttl of their own' }).first().click()
  await save.click()
  await page.getByText('Saved: On (no default).').waitFor()
  assert.equal((await container.read()).resource!.defaultTtl, -1)
  await page.locator('label.radio', { hasText: 'A ttl in an item is only data' }).click()
  await page.getByText('Nothing dies any more. What is already dead stays dead.').waitFor()
  await save.click()
  await page.getByText('Saved: Off.').waitFor()
  assert.equal((await container.read()).resource!.defaultTtl, undefined)
})

explorer.test(
  'a new Time to Live says who dies, asks again when that changed, and keeps its word',
  { failures: [409] },
  async ({ page, open }) => {
    const { container, database } = await explorer
      .newContainer()
      .then(made => ({ container: made, database: made.database.id }))
    const create = (count: number, from: number, more: object = {}) =>
      Promise.all(
        Array.from({ length: count }, (_, n) => container.items.create({ id: `i${from + n}`, pk: 'p', ...more })),
      )
    await create(30, 0)
    await explorer.db.clock.advance('50m')
    await create(20, 100)
    await explorer.db.clock.advance('40m')
    await create(10, 200)
    await create(5, 300, { ttl: -1 })

    await open(`data/${database}/items/settings`)
    await page.locator('label.radio', { hasText: 'Items expire after this time' }).click()
    await page.getByLabel('Time to live in seconds').fill('1 h')
    await page.getByText('If you save this, 30 items die now, 30 within the hour, 0 later, 5 never.').first().waitFor()
    await page.getByText('30 items are gone from every read the moment you save.').waitFor()
    await page.getByText('They stay gone, whatever you set later.').waitFor()
    await page.getByRole('button', { name: 'Save, 30 die now' }).waitFor()

    // While the person reads, twenty more reach the age at which they would die.
    await page.route('**/ttl/preview', () => {})
    await explorer.db.clock.advance('20m')
    await page.getByRole('button', { name: 'Save, 30 die now' }).click()
    await page.getByText('Nothing was saved: by now 50 items would die. Save again if that is right.').waitFor()
    assert.equal((await container.read()).resource!.defaultTtl, undefined)
    await page.unroute('**/ttl/preview')
    await page.getByRole('button', { name: 'Save, 50 die now' }).click()
    await page.getByText('Saved: On, 1 h. 50 items died.').waitFor()

    const count = async () => (await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0]
    assert.equal(await count(), 15)
    await explorer.db.clock.advance('39m')
    assert.equal(await count(), 15, 'a minute before the hour')
    await explorer.db.clock.advance('60s')
    assert.equal(await count(), 5, 'those with -1 live on')
  },
)

explorer.test('the definition as JSON says who dies by another default ttl', {}, async ({ page, open }) => {
  const container = await explorer.newContainer()
  await Promise.all(['a', 'b', 'c'].map(id => container.items.create({ id, pk: 'p' })))
  await explorer.db.clock.advance('2m')
  await open(`data/${container.database.id}/items/settings?part=definition`)
  const { resource } = await container.read()
  const { id, partitionKey, indexingPolicy } = resource!
  const definition = { id, partitionKey, indexingPolicy, defaultTtl: 60 }
  await page.locator('.cm-content[aria-label="All as JSON"]').waitFor()
  await writeCode(page, 'All as JSON', JSON.stringify(definition))
  await page.getByText('3 items are gone from every read the moment you save.').waitFor()
  await page.getByRole('button', { name: 'Save, 3 die now' }).click()
  await page.getByText('Saved.').first().waitFor()
  assert.equal((await container.items.query('SELECT * FROM c').fetchAll()).resources.length, 0)
})

explorer.test(
  'throughput, indexing policy and change feed are saved, and what is wrong is refused',
  { failures: [400] },
  async ({ page, open }) => {
    const container = await explorer.newContainer()
    const at = (part: string) => `data/${container.database.id}/items/settings?part=${part}`
    await open(at('throughput'))
    await page.getByLabel('RU per second').fill('450')
    await page.getByText('Use 400 to 1,000,000 RU/s, in steps of 100.').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled())
    await page.getByLabel('RU per second').fill('700')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').first().waitFor()
    await page.getByText('700 RU/s').first().waitFor()

    await open(at('indexing'))
    await writeCode(page, 'Indexing policy', '{"indexingMode": "sometimes"}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page
      .getByRole('alert')
      .getByText(/must be one of 'consistent'/)
      .last()
      .waitFor()
    await writeCode(page, 'Indexing policy', '{"indexingMode": ')
    await page.getByText(/This is not JSON/).waitFor()
    await writeCode(page, 'Indexing policy', '{"indexingMode": "none", "automatic": false}')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').first().waitFor()
    assert.equal((await container.read()).resource!.indexingPolicy!.indexingMode, 'none')

    await open(at('feed'))
    await page.getByRole('switch', { name: 'All versions and deletes' }).click()
    await page.getByLabel('Kept for').fill('90 s')
    await page.getByText('Use whole minutes').waitFor()
    await page.getByLabel('Kept for').fill('2 h')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').first().waitFor()
    const { resource } = await container.read()
    assert.equal(
      (resource as unknown as { changeFeedPolicy: { retentionDuration: number } }).changeFeedPolicy.retentionDuration,
      120,
    )
  },
)

explorer.test(
  'a container is deleted only after its name was typed, with the count of what dies',
  {},
  async ({ page, open }) => {
    const container = await explorer.newContainer()
    await Promise.all(['a', 'b', 'c'].map(id => container.items.create({ id, pk: 'p' })))
    await open(`data/${container.database.id}/items/settings`)
    await page.getByRole('button', { name: 'Delete container' }).click()
    const dialog = page.getByRole('alertdialog')
    await dialog.getByText('3 living items').waitFor()
    const button = dialog.getByRole('button', { name: 'Delete 3 items' })
    assert.ok(await button.isDisabled())
    await dialog.getByRole('textbox').fill('item')
    await dialog.getByText('1 letter missing').waitFor()
    assert.ok(await button.isDisabled())
    await dialog.getByRole('textbox').fill('items')
    await button.click()
    await page.getByText('items is deleted.').waitFor()
    await assert.rejects(container.read(), { code: 404 })
  },
)
