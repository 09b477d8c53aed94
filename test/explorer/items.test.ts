/** Items that live and die before somebody’s eyes: by the manual clock, in the editor, by keyboard. */

import assert from 'node:assert/strict'
import { startExplorer, writeCode } from '../support/explorer.ts'

const explorer = await startExplorer()

const newSessions = async () => {
  const container = await explorer.newContainer({ defaultTtl: 3600 })
  const create = (id: string, more: object = {}) => container.items.create({ id, pk: 'p', ...more })
  return { container, create, at: `data/${container.database.id}/items/items` }
}

explorer.test('a row dies in the second of its deadline, and the clock says who died', {}, async ({ page, open }) => {
  const { create, at } = await newSessions()
  await create('short', { ttl: 60 })
  await create('hour')
  await create('ever', { ttl: -1 })
  await open(at)
  const row = (id: string) => page.locator('.gr', { has: page.locator('.c-id', { hasText: id }) })
  await row('short').getByText('1 m 00 s').waitFor()
  await row('hour').getByText('1 h 00 m').waitFor()
  await row('ever').getByText('never').waitFor()

  await explorer.db.clock.advance('59s')
  await row('short').getByText('1.0 s').waitFor()
  await page.getByRole('button', { name: 'Advance the clock by 1 minute' }).hover()
  await page.getByText('1 item dies').waitFor()
  await explorer.db.clock.advance('1s')
  await row('short').waitFor({ state: 'detached' })
  await row('hour').waitFor()
  await page.getByRole('button', { name: 'Advance the clock by 1 hour' }).click()
  await page.getByText('Advanced 1 h: 1 item died.').waitFor()
  await row('hour').waitFor({ state: 'detached' })
  await row('ever').waitFor()
})

explorer.test('the clock is set to a time, forward only', { failures: [] }, async ({ page, open }) => {
  const { create, at } = await newSessions()
  await create('a')
  await open(at)
  await page.getByRole('button', { name: 'Set…' }).click()
  const field = page.getByLabel('Time in UTC')
  await field.fill('2020-01-01 00:00:00')
  await page.getByText('The clock only goes forward.', { exact: true }).first().waitFor()
  assert.ok(await page.getByRole('button', { name: 'Set', exact: true }).isDisabled())
  await field.fill('tomorrow')
  await page.getByText('Write a time in UTC').waitFor()
  const target = new Date((explorer.db.clock.now() + 7200) * 1000).toISOString().slice(0, 19).replace('T', ' ')
  await field.fill(target)
  await page.getByText('Moves 2 h 00 m forward.').waitFor()
  await field.press('Enter')
  await page.getByText(/^Advanced 2 h: \d+ items? died\.$/).waitFor()
  await page.getByText(target.slice(11), { exact: false }).first().waitFor()
})

explorer.test(
  'an item is edited, and somebody else’s version is not overwritten',
  { failures: [412] },
  async ({ page, open }) => {
    const { container, create, at } = await newSessions()
    await create('cart', { qty: 1, size: 2, colour: 'red', note: 'first' })
    await open(at)
    await page.locator('.gr .c-id', { hasText: 'cart' }).click()
    const label = 'cart, JSON'
    await page.locator(`.cm-content[aria-label="${label}"]`).waitFor()
    await page.getByText(/^Alive\. Dies at/).waitFor()

    await writeCode(
      page,
      label,
      '{\n  "id": "cart",\n  "pk": "p",\n  "qty": 1,\n  "size": 2,\n  "colour": "red",\n  "note": "mine"\n}',
    )
    await container.item('cart', 'p').replace({ id: 'cart', pk: 'p', qty: 5, size: 2, colour: 'red', note: 'first' })
    await page.keyboard.press('ControlOrMeta+s')
    await page.getByText(/Someone else saved this item at .*, after you opened it\./).waitFor()
    await page.getByText('Nothing of yours was written.').waitFor()
    assert.equal((await container.item('cart', 'p').read()).resource.note, 'first')
    await page.getByRole('button', { name: /^Merge/ }).click()
    await page.getByRole('button', { name: /^Merge/ }).waitFor({ state: 'detached' })
    const { resource } = await container.item('cart', 'p').read()
    assert.deepEqual({ qty: resource.qty, note: resource.note }, { qty: 5, note: 'mine' })
  },
)

explorer.test('a life is prolonged, ended never, and inherited again', {}, async ({ page, open }) => {
  const { container, create, at } = await newSessions()
  await create('life', { ttl: 60 })
  await open(at)
  await page.locator('.gr .c-id', { hasText: 'life' }).click()
  const ttl = async () => (await container.item('life', 'p').read()).resource.ttl
  await page.getByRole('button', { name: '+1 h', exact: true }).last().click()
  await page.locator('.gr', { hasText: 'life' }).getByText('1 h 01 m').waitFor()
  assert.equal(await ttl(), 3660)
  await page.getByRole('button', { name: 'Never', exact: true }).click()
  await page.locator('.gr', { hasText: 'life' }).getByText('never').waitFor()
  assert.equal(await ttl(), -1)
  await page.getByRole('button', { name: /^Inherit/ }).click()
  await page.locator('.gr', { hasText: 'life' }).getByText('1 h 00 m').waitFor()
  assert.equal(await ttl(), undefined)
})

explorer.test('everything is reached by keyboard alone', {}, async ({ page, open }) => {
  const { container, create, at } = await newSessions()
  await create('a1', { ttl: 100 })
  await create('a2', { ttl: 200 })
  await open(at)
  await page.locator('.gr .c-id', { hasText: 'a2' }).waitFor()
  const press = (key: string) => page.keyboard.press(key)
  for (const [letter, screen] of Object.entries({
    s: 'settings',
    e: 'expiry',
    l: 'load',
    f: 'feed',
    i: 'items',
  })) {
    await page.locator('body').press('g')
    await page.locator('body').press(letter)
    await page.waitForURL(`**/${screen}**`)
  }
  await press('ControlOrMeta+k')
  const palette = page.getByRole('dialog')
  await palette.waitFor()
  await page.keyboard.type('advance the clock by 1 min')
  await press('Enter')
  await page.getByText(/^Advanced 1 m/).waitFor()
  await press('?')
  const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  await shortcuts.waitFor()
  await press('Escape')
  await shortcuts.waitFor({ state: 'hidden' })
  await press('Alt+m')
  await page.getByText(/^Advanced 1 m: 1 item died/).waitFor()
  assert.equal((await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0], 1)
})
