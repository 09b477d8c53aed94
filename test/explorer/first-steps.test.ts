/** What somebody does first: the demo, whose items die before their eyes, and a container of their own. */

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { assertAccessible, startExplorer } from '../support/explorer.ts'

const explorer = await startExplorer()
const { client, db } = explorer

/** The ids in the grid, from the top, as many as are in view. */
const shownIds = (page: Page) => page.locator('.gr[data-key] .c-id').allTextContents()

explorer.test('the demo makes 200 items, and each row leaves in its second', {}, async ({ page, open }) => {
  await open()
  assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0, 'nobody signed in')
  await page.getByRole('button', { name: 'Create demo' }).click()
  await page.waitForURL('**/data/demo/sessions/items')
  const inTree = page.locator('.tree a', { hasText: 'sessions' }).locator('.c')
  const inGroup = page.getByRole('button', { name: /^All/ }).locator('.q')
  await inGroup.getByText('200', { exact: true }).waitFor()

  // A row under the pointer would stay, struck.
  await page.mouse.move(5, 5)
  const { resources } = await client
    .database('demo')
    .container('sessions')
    .items.query<{ id: string; ttl?: number }>('SELECT c.id, c.ttl FROM c')
    .fetchAll()
  assert.equal(resources.length, 200)
  const livingAfter = (seconds: number) => resources.filter(({ ttl = 30 }) => ttl > seconds).map(({ id }) => id)

  let before = 0
  for (const second of [4, 5, 6, 15, 29]) {
    await db.clock.advance(`${second - before}s`)
    before = second
    const living = livingAfter(second)
    await inGroup.getByText(String(living.length), { exact: true }).waitFor()
    await inTree.getByText(String(living.length), { exact: true }).waitFor()
    const ids = await shownIds(page)
    assert.deepEqual(
      ids.filter(id => !living.includes(id)),
      [],
      `dead and still shown after ${second} s`,
    )
    assert.ok(ids.length >= Math.min(20, living.length), `${ids.length} rows of ${living.length} after ${second} s`)
  }
  assert.equal(livingAfter(29).length, 25, 'those that inherit 30 s')
  await db.clock.advance('1s')
  await page.getByRole('heading', { name: 'This container is empty' }).waitFor()
  assert.deepEqual(await shownIds(page), [])
  await assertAccessible(page, 'a container whose items have died')

  // A second demo adds to the same container.
  await page.getByRole('link', { name: 'mayfly' }).click()
  await page.getByRole('button', { name: 'Create demo' }).click()
  await page.waitForURL('**/data/demo/sessions/items')
  await inGroup.getByText('200', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Advance the clock by 1 minute' }).click()
  await page.getByText('Advanced 1 m: 200 items died.').waitFor()
})

explorer.test(
  'a new container is refused at the field that is wrong, by the page and by the server',
  { failures: [400, 409] },
  async ({ page, open }) => {
    await client.databases.create({ id: 'shop' })
    await client.database('shop').containers.create({ id: 'taken', partitionKey: '/pk' })
    await open()
    await page.getByRole('button', { name: 'New database or container' }).click()
    const dialog = page.getByRole('dialog', { name: 'New container' })
    const create = () => dialog.getByRole('button', { name: 'Create container' }).click()
    /** The reason stands at this field, and the field is marked. */
    const refusedAt = async (label: string, reason: string) => {
      const field = dialog.getByLabel(label, { exact: true })
      await dialog
        .locator('.form-field', { has: page.getByLabel(label, { exact: true }) })
        .getByText(reason)
        .waitFor()
      assert.equal(await field.getAttribute('aria-invalid'), 'true', label)
    }
    await dialog.getByLabel('Database').fill(' ')
    await dialog.getByLabel('Partition key').fill('userId')
    await dialog.getByLabel('Items die after').fill('soon')
    await dialog.getByLabel('RU per second').fill('450')
    await dialog.getByRole('button', { name: 'Add unique key' }).click()
    await create()
    await refusedAt('Database', 'Give it a name.')
    await refusedAt('Container', 'Give it a name.')
    await refusedAt('Partition key', 'A path begins with /')
    await refusedAt('Items die after', 'Use 1 second to 2147483647 seconds')
    await refusedAt('RU per second', 'Use 400 to 1,000,000 RU/s, in steps of 100.')
    await refusedAt('Unique key 1', 'Give a path, for instance /email, or remove the key.')
    await assertAccessible(page, 'a form with mistakes')
    await dialog.getByLabel('RU per second').fill('500')
    await dialog.getByLabel('Unique key 1', { exact: true }).fill('/email')
    await dialog.getByRole('button', { name: 'Add unique key' }).click()
    await page.keyboard.type('/first-name')

    await dialog.getByLabel('Database').fill('shop')
    await dialog.getByLabel('Partition key').fill('/a,/b,/c,/d')
    await dialog.getByLabel('Items die after').fill('0')
    for (const [id, reason] of [
      ['a/b', 'A name cannot have'],
      ['a ', 'A name cannot end with a space.'],
      ['x'.repeat(256), 'Use at most 255 characters.'],
    ] as const) {
      await dialog.getByLabel('Container', { exact: true }).fill(id)
      await create()
      await refusedAt('Container', reason)
    }
    await refusedAt('Partition key', 'Use at most 3 paths.')
    await refusedAt('Items die after', 'Use 1 second to 2147483647 seconds')

    // What only the server knows.
    await dialog.getByLabel('Partition key').fill('/pk')
    await dialog.getByLabel('Items die after').fill('15 m')
    await dialog.getByLabel('Container', { exact: true }).fill('taken')
    await create()
    await refusedAt('Unique key 2', "Error parsing the unique key path '/first-name'")
    assert.equal(await dialog.getByLabel('Unique key 1', { exact: true }).getAttribute('aria-invalid'), null)
    await dialog.getByLabel('Unique key 2', { exact: true }).fill('/name, /address/zip')
    await dialog.getByRole('button', { name: 'Add unique key' }).click()
    await dialog.getByRole('button', { name: 'Remove unique key 3' }).click()
    await create()
    await refusedAt('Container', 'shop has a container of this name already.')
    assert.equal(await dialog.getByLabel('Items die after').inputValue(), '15 m', 'what was typed stays')
    assert.equal((await client.database('shop').containers.readAll().fetchAll()).resources.length, 1)
    await dialog.getByRole('button', { name: 'MongoDB' }).click()
    const collection = page.getByRole('dialog', { name: 'New collection' })
    await collection.getByLabel('Collection').fill('carts')
    await collection.getByLabel('Shard key').fill('tenant, user')
    await collection.getByRole('button', { name: 'Create collection' }).click()
    await collection
      .locator('.form-field', { has: page.getByLabel('Shard key') })
      .getByText('A shard key is one field.')
      .waitFor()
    await collection.getByRole('button', { name: 'Cosmos DB for NoSQL' }).click()
    assert.equal((await client.database('shop').containers.readAll().fetchAll()).resources.length, 1)

    await dialog.getByLabel('Database').fill('brand new')
    await dialog.getByText('A new database.').waitFor()
    await dialog.getByLabel('Partition key').fill('/tenant, /user/id')
    await create()
    await page.waitForURL('**/data/brand%20new/carts/items')
    await dialog.waitFor({ state: 'detached' })
    const { resource } = await client.database('brand new').container('carts').read()
    assert.deepEqual(resource!.partitionKey!.paths, ['/tenant', '/user/id'])
    assert.equal(resource!.defaultTtl, 900)
    assert.deepEqual(resource!.uniqueKeyPolicy!.uniqueKeys, [
      { paths: ['/email'] },
      { paths: ['/name', '/address/zip'] },
    ])
    const { resource: offer } = await client.database('brand new').container('carts').readOffer()
    assert.equal(offer!.content!.offerThroughput, 500)
  },
)

explorer.test(
  'a new container shares the throughput of its database, or has its own',
  { failures: [400] },
  async ({ page, open }) => {
    const { database } = await client.databases.create({ id: 'sharing', throughput: 1000 })
    const make = async (id: string, choose?: () => Promise<void>) => {
      await page.getByRole('button', { name: 'New database or container' }).click()
      const dialog = page.getByRole('dialog', { name: 'New container' })
      await dialog.getByLabel('Database').fill('sharing')
      await dialog.getByLabel('Container', { exact: true }).fill(id)
      await choose?.()
      await dialog.getByRole('button', { name: 'Create container' }).click()
      await page.waitForURL(`**/data/sharing/${id}/items`)
      return (await database.container(id).readOffer()).resource
    }
    await open()
    assert.equal(await make('shared'), undefined)
    const dialog = page.getByRole('dialog', { name: 'New container' })
    const own = await make('own', async () => {
      await dialog.getByRole('button', { name: 'Autoscale' }).click()
      assert.equal(await dialog.getByLabel('Maximum RU per second').inputValue(), '1000')
      await dialog.getByLabel('Maximum RU per second').fill('4,000')
    })
    assert.deepEqual(own!.content!.offerAutopilotSettings?.maxThroughput, 4000)
  },
)
