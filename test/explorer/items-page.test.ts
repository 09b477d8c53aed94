/** The items screen and its editor, in a real browser, on the manual clock. */

import assert from 'node:assert/strict'
import { EJSON } from 'bson'
import type { Page } from 'playwright-core'
import { assertAccessible, type OpenPage, startExplorer } from '../support/explorer.ts'
import { apiClient, C } from './api-client.ts'

const explorer = await startExplorer()
const { db, client } = explorer
const ask = apiClient(db.endpoint)

let made = 0
/** A container with these items, and the path of its screen. */
async function withItems(items: readonly Record<string, unknown>[], defaultTtl = 3600) {
  const { database } = await client.databases.createIfNotExists({ id: 'shop' })
  const id = `c${++made}`
  const { container } = await database.containers.create({ id, partitionKey: '/pk', defaultTtl })
  for (const item of items) await container.items.create({ pk: 'a', ...item })
  return { container, path: `data/shop/${id}/items`, call: C('shop', id) }
}

const rows = (page: Page) => page.locator('.gr[data-key]')
const row = (page: Page, id: string) => rows(page).filter({ has: page.locator('.c-id', { hasText: id }) })

async function openItem({ page, open }: OpenPage, path: string, id: string): Promise<void> {
  await open(path)
  await row(page, id).click()
  await page.locator('.cm-content').waitFor()
}

const isFocused = (page: Page, selector: string) =>
  page.evaluate<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`)

/** Replaces a part of the text in the editor, as somebody who selects and types. */
async function edit(page: Page, from: string, to: string): Promise<void> {
  const text = await page
    .locator('.cm-content')
    .evaluate(node => (node as never as { cmTile: Tile }).cmTile.view.state.doc.toString())
  assert.ok(text.includes(from), text)
  await page.locator('.cm-content').click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(text.replace(from, to))
}
interface Tile {
  view: { state: { doc: { toString(): string } } }
}

explorer.test('a row dies in step with the manual clock, and not before', {}, async ({ page, open }) => {
  const { path } = await withItems([
    { id: 'soon', ttl: 60 },
    { id: 'later', ttl: 120 },
    { id: 'stays', ttl: -1 },
  ])
  await open(path)
  await row(page, 'soon').waitFor()
  assert.deepEqual(await page.locator('.gr[data-key] .c-id').allTextContents(), ['soon', 'later', 'stays'])
  assert.match((await row(page, 'soon').textContent())!, /60own1 m 00 s/)
  await db.clock.advance('59s')
  await page.getByText('1.0 s').first().waitFor()
  assert.equal(await rows(page).count(), 3)
  await db.clock.advance('1s')
  await row(page, 'soon').waitFor({ state: 'detached' })
  assert.deepEqual(await page.locator('.gr[data-key] .c-id').allTextContents(), ['later', 'stays'])
  await assertAccessible(page, 'items')
})

explorer.test('a row that somebody points at stays, struck, until the pointer leaves', {}, async ({ page, open }) => {
  const { path } = await withItems([
    { id: 'held', ttl: 10 },
    { id: 'other', ttl: 10 },
  ])
  await open(path)
  await row(page, 'held').hover()
  await db.clock.advance('10s')
  await row(page, 'other').waitFor({ state: 'detached' })
  assert.match((await row(page, 'held').textContent())!, /died nowWhy\?/)
  await page.mouse.move(700, 20)
  await row(page, 'held').waitFor({ state: 'detached' })
})

explorer.test(
  'the groups filter, the dead are shown as dead, and the purge removes them',
  {},
  async ({ page, open }) => {
    const { path } = await withItems([
      { id: 'dying', ttl: 30 },
      { id: 'calm' },
      { id: 'never', ttl: -1 },
      { id: 'dead', ttl: 1 },
    ])
    await explorer.admin('POST', 'purge', { pause: true })
    await db.clock.advance('1s')
    await open(path)
    const shown = async (group: string) => {
      await page.getByRole('button', { name: new RegExp(`^${group}`) }).click()
      return page.locator('.gr[data-key] .c-id').allTextContents()
    }
    await row(page, 'calm').waitFor()
    assert.deepEqual(await shown('All'), ['dying', 'calm', 'never'])
    await shown('Under 1 min')
    await row(page, 'calm').waitFor({ state: 'detached' })
    assert.deepEqual(await shown('Under 1 min'), ['dying'])
    await shown('Dead but present')
    await row(page, 'dead').waitFor()
    await page.getByText('1 item is dead and not yet removed.').waitFor()
    await page.getByRole('button', { name: 'Remove it now' }).click()
    await page.getByText('Nobody is dead but present.').waitFor()
    await explorer.admin('POST', 'purge', { pause: false })
  },
)

explorer.test('a query filters, and its mistake is shown at the field', { failures: [400] }, async ({ page, open }) => {
  const { path } = await withItems([
    { id: 'w1', season: 'winter' },
    { id: 's1', season: 'summer' },
  ])
  await open(path)
  await row(page, 's1').waitFor()
  const field = page.getByRole('textbox', { name: 'Filter' }).or(page.getByRole('combobox', { name: 'Filter' }))
  await field.fill('WHERE c.season = "winter"')
  await field.press('Enter')
  await row(page, 's1').waitFor({ state: 'detached' })
  await page.getByText('1 of 2 match').waitFor()
  assert.match(page.url(), /query=WHERE/)
  await field.fill('WHERE c.season = = 1')
  await field.press('Enter')
  await page.locator('#filter-problem').waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
})

explorer.test('an edit is saved against the version that was read', {}, async opened => {
  const { container, path } = await withItems([{ id: 'one', n: 1, ttl: 60 }])
  const { page } = opened
  await openItem(opened, path, 'one')
  await page.getByText('its own ttl is 60 s').waitFor()
  await page.locator('.hint', { hasText: 'in 1 m 00 s' }).waitFor()
  await edit(page, '"n": 1', '"n": 2')
  await page.getByText('1 change', { exact: true }).waitFor()
  await page.keyboard.press('ControlOrMeta+s')
  await page.getByText('1 change', { exact: true }).waitFor({ state: 'detached' })
  const { resource } = await container.item('one', 'a').read()
  assert.equal(resource.n, 2)
  await assertAccessible(page, 'the pane of an item')
})

explorer.test('two people change one item: the diff, then a merge that has both', { failures: [412] }, async opened => {
  const { container, path } = await withItems([{ id: 'one', mine: 1, cart: [1, 2], theirs: 1 }])
  const { page } = opened
  await openItem(opened, path, 'one')
  await edit(page, '"mine": 1', '"mine": 2')
  await container.item('one', 'a').replace({ id: 'one', pk: 'a', mine: 1, cart: [1, 2], theirs: 2, ttl: 1800 } as never)
  await page.getByRole('button', { name: /^Save/ }).click()
  await page.getByText('Someone else saved this item at').waitFor()
  assert.equal((await container.item('one', 'a').read()).resource.mine, 1)
  await assertAccessible(page, 'a conflict')
  await page.getByRole('button', { name: 'Merge: theirs plus your mine' }).click()
  await page.getByText('Someone else saved this item at').waitFor({ state: 'detached' })
  const { id, mine, theirs, ttl } = (await container.item('one', 'a').read()).resource
  assert.deepEqual({ id, mine, theirs, ttl }, { id: 'one', mine: 2, theirs: 2, ttl: 1800 })
})

explorer.test('quick actions give another life at once', {}, async opened => {
  const { container, path } = await withItems([{ id: 'one', ttl: 60 }])
  const { page } = opened
  await openItem(opened, path, 'one')
  await page.locator('.quick').getByRole('button', { name: '+1 h' }).click()
  await page.getByText('its own ttl is 3660 s').waitFor()
  await page.locator('.quick').getByRole('button', { name: 'Never' }).click()
  await page.getByText('its own ttl is -1.').waitFor()
  await page.getByRole('button', { name: 'Inherit 1 h' }).click()
  await page.getByText('it inherits 3600 s from the container').waitFor()
  const { resource } = await container.item('one', 'a').read()
  assert.equal('ttl' in resource, false)
})

explorer.test('what dies while it is open can be saved as a new item', {}, async opened => {
  const { container, path } = await withItems([{ id: 'one', n: 7, ttl: 60 }])
  const { page } = opened
  await openItem(opened, path, 'one')
  await db.clock.advance('60s')
  await page.getByText('You can save it as a new item.').waitFor()
  assert.equal(await page.locator('.cm-content').getAttribute('aria-readonly'), 'true')
  await page.getByRole('button', { name: 'Save as new…' }).click()
  await page.getByRole('button', { name: /^Create/ }).click()
  await page.getByRole('heading', { name: 'one' }).waitFor()
  assert.equal((await container.item('one', 'a').read()).resource.n, 7)
})

explorer.test('bad text is refused in the editor, and again by the server', { failures: [400] }, async opened => {
  const { container, path } = await withItems([{ id: 'one', ttl: 60 }])
  const { page } = opened
  await openItem(opened, path, 'one')
  await edit(page, '"ttl": 60', '"ttl": 0')
  await page.locator('.cm-lintRange-error').first().waitFor()
  await page.keyboard.press('ControlOrMeta+s')
  await page.locator('.refusal').waitFor()
  assert.equal((await container.item('one', 'a').read()).resource.ttl, 60)
  await page.getByRole('button', { name: 'Discard' }).click()
  await edit(page, '"ttl": 60', '"ttl": ')
  await page.locator('.cm-lintRange-error').first().waitFor()
})

explorer.test('a document keeps its ObjectId, date and numbers through an edit', {}, async opened => {
  const { page } = opened
  await ask('POST', 'api/databases', { body: { id: 'support' } })
  const made = await ask('POST', 'api/databases/support/containers', {
    body: { api: 'mongo', id: 'tickets', defaultTtl: 600 },
  })
  assert.equal(made.status, 201, made.text)
  const stored = {
    _id: { $oid: '69170c8be41f6c2a90d1b104' },
    status: 'open',
    openedAt: { $date: { $numberLong: '1794750121000' } },
    priority: { $numberInt: '2' },
    balance: { $numberDecimal: '129.90' },
    views: { $numberLong: '9007199254740993' },
  }
  const call = C('support', 'tickets')
  const created = await ask('POST', `${call}/items`, { body: { text: JSON.stringify(stored) } })
  assert.equal(created.status, 201, created.text)
  await openItem(opened, 'data/support/tickets/items', '6917…b104')
  await edit(page, '"open"', '"closed"')
  await page.keyboard.press('ControlOrMeta+s')
  await page.getByText('1 change', { exact: true }).waitFor({ state: 'detached' })
  const { json } = await ask('GET', `${call}/item?key=${encodeURIComponent(created.json.key)}`)
  const types = { relaxed: false }
  assert.deepEqual(EJSON.parse(json.text, types), EJSON.parse(JSON.stringify({ ...stored, status: 'closed' }), types))
  await assertAccessible(page, 'a document of Mongo')
})

explorer.test('selected rows are deleted after asking with their count', {}, async ({ page, open }) => {
  const { container, path } = await withItems(['a', 'b', 'c', 'd'].map(id => ({ id })))
  await open(path)
  await row(page, 'a').getByRole('checkbox').click()
  await row(page, 'c')
    .getByRole('checkbox')
    .click({ modifiers: ['Shift'] })
  await page.getByRole('button', { name: 'Delete 3 items…' }).click()
  await page.getByRole('alertdialog').getByText('3 items', { exact: true }).waitFor()
  await assertAccessible(page, 'the question before a deletion')
  await page.getByRole('button', { name: 'Keep them' }).click()
  assert.equal(await rows(page).count(), 4)
  await page.getByRole('button', { name: 'Delete 3 items…' }).click()
  await page.getByRole('button', { name: 'Delete 3 items', exact: true }).click()
  await row(page, 'a').waitFor({ state: 'detached' })
  const { resources } = await container.items.readAll().fetchAll()
  assert.deepEqual(
    resources.map(({ id }) => id),
    ['d'],
  )
})

explorer.test(
  'of a thousand rows sixty are in the page, and pages come as they are needed',
  {},
  async ({ page, open }) => {
    const { call, path } = await withItems([])
    const text = (n: number) => JSON.stringify({ id: `i${String(n).padStart(4, '0')}`, pk: 'a', ttl: 5000 + n })
    for (let from = 0; from < 1000; from += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => ask('POST', `${call}/items`, { body: { text: text(from + n) } })),
      )
    }
    const asked: string[] = []
    page.on('request', request => {
      if (request.url().includes('/items?')) asked.push(request.url())
    })
    await open(path)
    await row(page, 'i0000').waitFor()
    assert.ok((await rows(page).count()) <= 60)
    await page.locator('.grid').evaluate(grid => grid.scrollTo(0, grid.scrollHeight))
    await row(page, 'i0999').waitFor()
    assert.ok((await rows(page).count()) <= 60)
    assert.ok(asked.length <= 6, `${asked.length} pages were asked for`)
  },
)

explorer.test('by keyboard alone: rows, item, edit, save, back', {}, async ({ page, open }) => {
  const { container, path } = await withItems([
    { id: 'one', n: 1, ttl: 60 },
    { id: 'two', n: 1, ttl: 90 },
  ])
  await open(path)
  await row(page, 'two').waitFor()
  await page.keyboard.press('/')
  for (let presses = 0; presses < 12; presses++) {
    if (await isFocused(page, '.gr[data-key]')) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await page.getByText('1 item selected').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'two' }).waitFor()
  await page.locator('.cm-content').waitFor()
  for (let presses = 0; presses < 30; presses++) {
    if (await isFocused(page, '.cm-content')) break
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('End')
  await page.keyboard.insertText('\n  "typed": true,')
  await page.keyboard.press('ControlOrMeta+s')
  await page.getByText('1 change', { exact: true }).waitFor({ state: 'detached' })
  assert.equal((await container.item('two', 'a').read()).resource.typed, true)
  // Tab leaves the editor, over the button of the system properties: nobody is caught in it.
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  assert.equal(await isFocused(page, '.cm-editor *'), false)
})

explorer.test('J goes into the list from anywhere, and Enter opens the row', {}, async ({ page, open }) => {
  const { path } = await withItems([{ id: 'one', ttl: 60 }])
  await open(path)
  await row(page, 'one').waitFor()
  assert.equal(await isFocused(page, '.gr[data-key]'), false)
  await page.keyboard.press('j')
  await page.locator('.gr[data-key]:focus').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'one' }).waitFor()
})

explorer.test('usable at 390 px: list, item, and back', { width: 390, height: 844 }, async opened => {
  const { path } = await withItems([{ id: 'one', ttl: 60 }])
  const { page } = opened
  await openItem(opened, path, 'one')
  await page.getByText('its own ttl is 60 s').waitFor()
  assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), 390)
  await page.getByRole('button', { name: 'Back to the list' }).click()
  await row(page, 'one').waitFor()
  await assertAccessible(page, 'items at 390 px')
})
