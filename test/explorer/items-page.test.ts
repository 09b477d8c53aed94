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

/** A container with many items, written by an import: `itemOf` says what the one of a number is. */
async function withMany(size: number, itemOf: (n: number) => object, defaultTtl?: number) {
  const { database } = await client.databases.createIfNotExists({ id: 'shop' })
  const id = `c${++made}`
  await database.containers.create({ id, partitionKey: '/pk', ...(defaultTtl !== undefined && { defaultTtl }) })
  const rawBody = Array.from({ length: size }, (_, n) => JSON.stringify({ pk: 'a', ...itemOf(n) })).join('\n')
  const headers = { 'content-type': 'application/octet-stream' }
  const { json } = await ask('POST', `${C('shop', id)}/import?name=a.jsonl`, { rawBody, headers })
  assert.equal(json.written, size)
  return `data/shop/${id}/items`
}

const numbered = (n: number) => `i${String(n).padStart(5, '0')}`

const scrollToEnd = (page: Page) => page.locator('.grid').evaluate(each => each.scrollTo(0, each.scrollHeight))

/** Twice, because what is scrolled is drawn by the next frame. */
const drawn = (page: Page) =>
  page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')

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

explorer.test('why an item died is said for a row, by a click and by a key', {}, async ({ page, open }) => {
  await explorer.admin('POST', 'purge', { pause: true })
  const { container, path } = await withItems([{ id: 'own', ttl: 10 }, { id: 'inherits' }, { id: 'stays', ttl: -1 }])
  await open(path)
  await row(page, 'own').hover()
  await db.clock.advance('10s')
  await row(page, 'own').getByRole('button', { name: 'Why?' }).click()
  const explained = (id: string) => page.getByRole('region', { name: `item ${id}` }).locator('.explain p')
  await explained('own')
    .getByText(/^Died at \d\d:\d\d:\d\d: its own ttl is 10 s and it was last written at .* nobody sees it\.$/)
    .waitFor()

  // The grid has the focus on a row, and W explains it.
  await db.clock.advance('1h')
  const { resource } = await container.read()
  await container.replace({ ...resource, id: container.id, defaultTtl: 36_000 } as never)
  await open(`${path}?filter=dead`)
  await row(page, 'inherits').waitFor()
  await row(page, 'inherits').focus()
  await page.keyboard.press('w')
  await explained('inherits')
    .getByText('Died under an earlier setting. Death is final: a later setting does not bring it back.')
    .waitFor()
  assert.equal(await page.locator('.lifeline').count(), 0, 'nobody knows when it died')
  assert.doesNotMatch(await page.locator('.cm-content').innerText(), /1970/)
  await row(page, 'own').focus()
  await page.keyboard.press('w')
  await explained('own')
    .getByText(/^Died at .*: its own ttl is 10 s/)
    .waitFor()
  await open(path)
  await row(page, 'stays').focus()
  await page.keyboard.press('w')
  await explained('stays').getByText('Never dies: its own ttl is -1.').waitFor()
  await explorer.admin('POST', 'purge', { pause: false })
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

explorer.test('the foot names the rows that are in view', {}, async ({ page, open }) => {
  await open(await withMany(60, n => ({ id: numbered(n) })))
  await row(page, 'i00000').waitFor()
  const inView = () =>
    page.evaluate<number>(`(() => {
      const { bottom } = document.querySelector('.grid').getBoundingClientRect()
      const rows = [...document.querySelectorAll('.gr[data-key]')]
      return rows.filter(row => row.getBoundingClientRect().top < bottom).length
    })()`)
  for (const height of [900, 500]) {
    await page.setViewportSize({ width: 1440, height })
    await drawn(page)
    await page.getByText(`Rows 1 to ${await inView()} of 60`, { exact: true }).waitFor()
  }
})

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
  await field.fill('c.season = "summer"')
  await field.press('Enter')
  await row(page, 's1').waitFor()
  await row(page, 'w1').waitFor({ state: 'detached' })
  await field.fill('WHERE c.season = = 1')
  await field.press('Enter')
  await page.locator('#filter-problem').waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  await field.fill('w1')
  await field.press('Enter')
  await page.getByText('w1 is one word, and no condition. To look for an id: c.id = "w1".').waitFor()
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
  await page.locator('.split.wide').waitFor()
  assert.equal((await container.item('one', 'a').read()).resource.mine, 1)
  await assertAccessible(page, 'a conflict')
  await page.getByRole('button', { name: 'Merge: theirs plus your mine' }).click()
  await page.getByText('Someone else saved this item at').waitFor({ state: 'detached' })
  const { id, mine, theirs, ttl } = (await container.item('one', 'a').read()).resource
  assert.deepEqual({ id, mine, theirs, ttl }, { id: 'one', mine: 2, theirs: 2, ttl: 1800 })
})

explorer.test('a text that is not saved is left only by somebody who says so', {}, async opened => {
  const { container } = await withItems([{ id: 'one', n: 1 }, { id: 'two' }])
  const { page } = opened
  const asked: string[] = []
  let mayLeave = false
  page.on('dialog', dialog => {
    asked.push(dialog.message())
    void (mayLeave ? dialog.accept() : dialog.dismiss())
  })
  await opened.open('')
  await page.locator('.tree a', { hasText: container.id }).click()
  await row(page, 'one').click()
  await edit(page, '"n": 1', '"n": 2')
  const isKept = async (by: string) => {
    await page.getByRole('heading', { name: 'one' }).waitFor()
    assert.match(await page.locator('.pane .cm-content').innerText(), /"n": 2/, by)
    assert.match(page.url(), /item=/, by)
  }
  const ways: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['another row', () => row(page, 'two').click()],
    ['the cross', () => page.locator('.pane').getByRole('button', { name: 'Close' }).click()],
    ['a new item', () => page.getByRole('button', { name: 'New item' }).click()],
    ['a tab', () => page.getByRole('tab', { name: 'Query' }).click()],
    [
      'the button Back',
      () => page.evaluate('new Promise(done => (addEventListener("popstate", done), history.back()))'),
    ],
  ]
  for (const [by, leave] of ways) {
    await leave()
    await isKept(by)
  }
  assert.deepEqual(
    asked,
    ways.map(() => 'one has changes that are not saved. Leave it?'),
  )
  mayLeave = true
  await row(page, 'two').click()
  await page.getByRole('heading', { name: 'two' }).waitFor()
  // What was saved, thrown away or deleted by this person needs no question.
  const questions = asked.length
  await page.getByRole('button', { name: 'New item' }).click()
  await edit(page, '"id": ""', '"id": "three"')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByRole('heading', { name: 'New item' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'New item' }).click()
  await edit(page, '"id": ""', '"id": "three"')
  await page.getByRole('button', { name: /^Create/ }).click()
  await page.getByRole('heading', { name: 'three' }).waitFor()
  await edit(page, '"three"', '"three", "n": 1')
  await page.locator('.pane').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete 1 item' }).click()
  await row(page, 'three').waitFor({ state: 'detached' })
  assert.equal(asked.length, questions)
})

explorer.test('an item that somebody else deletes leaves the list, and its pane says so', {}, async opened => {
  const { container, path } = await withItems([{ id: 'one', n: 7 }, { id: 'two' }])
  const { page } = opened
  await openItem(opened, path, 'one')
  await container.item('one', 'a').delete()
  await page.getByText('This item is gone: somebody has deleted it.').waitFor()
  await row(page, 'one').waitFor({ state: 'detached' })
  assert.equal(await rows(page).count(), 1)
  await page.getByRole('button', { name: 'Save as new…' }).click()
  await page.getByRole('button', { name: /^Create/ }).click()
  await page.getByRole('heading', { name: 'one' }).waitFor()
  assert.equal((await container.item('one', 'a').read()).resource.n, 7)
  // Also where nobody has opened it.
  await container.item('two', 'a').delete()
  await row(page, 'two').waitFor({ state: 'detached' })
})

explorer.test('a long name leaves room for what can be done', {}, async ({ page, open }) => {
  const { database } = await client.databases.createIfNotExists({ id: 'shop' })
  const id = 'n'.repeat(255)
  const { container } = await database.containers.create({ id, partitionKey: '/pk' })
  for (const width of [1440, 1024, 390]) {
    await page.setViewportSize({ width, height: 900 })
    await open(`data/shop/${id}/items`)
    const menu = await page
      .getByRole('button', { name: `More actions for ${id}` })
      .first()
      .boundingBox()
    assert.ok(menu && menu.x + menu.width <= width, `at ${width} px the menu is at ${menu?.x}`)
  }
  await page
    .getByRole('button', { name: `More actions for ${id}` })
    .first()
    .click()
  await page.getByRole('menuitem', { name: 'Delete container…' }).click()
  const keep = await page.getByRole('button', { name: 'Keep it' }).boundingBox()
  assert.ok(keep && keep.x > 0 && keep.width > 50, `the way out is at ${keep?.x}`)
  await container.delete()
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
  await explorer.admin('POST', 'purge', {})
  await page.getByText('It is removed.').waitFor()
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

/** Opens a list, scrolls, jumps to its end, and counts what that took. */
async function browse({ page, open }: OpenPage, path: string, last: string) {
  const seen = { calls: 0, bytes: 0 }
  page.on('requestfinished', async request => {
    if (!request.url().includes('/api/databases/')) return
    seen.calls++
    seen.bytes += (await request.sizes()).responseBodySize
  })
  await open(path)
  await row(page, 'i00000').waitFor()
  const grid = page.locator('.grid')
  for (let step = 1; step <= 5; step++) await grid.evaluate(each => each.scrollBy(0, 500))
  await page.waitForLoadState('networkidle')
  await grid.evaluate(each => each.scrollTo(0, each.scrollHeight))
  await row(page, last).waitFor()
  await page.waitForLoadState('networkidle')
  assert.ok((await rows(page).count()) <= 60, 'sixty rows are in the page')
  await page.goto('about:blank')
  return seen
}

explorer.test('what a long list asks for does not grow with it', {}, async opened => {
  const costs = []
  for (const size of [2_000, 50_000]) {
    const ttlOf = (n: number) => 5000 + Math.floor((n * 50_000) / size)
    const path = await withMany(size, n => ({ id: numbered(n), ttl: ttlOf(n) }), 3600)
    costs.push(await browse(opened, path, numbered(size - 1)))
  }
  const [small, large] = costs as [{ calls: number; bytes: number }, { calls: number; bytes: number }]
  assert.ok(large.calls <= small.calls + 4 && large.calls <= 20, `${large.calls} calls, ${small.calls} before`)
  assert.ok(large.bytes <= 2 * small.bytes, `${large.bytes} bytes, ${small.bytes} before`)
})

explorer.test('the end of a list is reached where nothing dies, in every order', {}, async ({ page, open }) => {
  const path = await withMany(5_000, n => ({ id: numbered(n), n }))
  const last = async (address: string, id: string, rowIndex: number) => {
    await open(address)
    await rows(page).first().waitFor()
    await page.locator('.gfoot', { hasText: /5,000( match)?$/ }).waitFor()
    await scrollToEnd(page)
    await row(page, id).waitFor()
    assert.equal(await row(page, id).getAttribute('aria-rowindex'), String(rowIndex))
    assert.ok((await rows(page).count()) <= 60, 'sixty rows are in the page')
  }
  await last(path, numbered(4_999), 5_001)
  // Each row on the way stands at its own place.
  await page.locator('.grid').evaluate(each => each.scrollTo(0, 2_500 * 30))
  await row(page, numbered(2_510)).waitFor()
  assert.equal(await row(page, numbered(2_510)).getAttribute('aria-rowindex'), '2512')
  await last(`${path}?order=newest`, numbered(0), 5_001)
  await last(`${path}?order=latest`, numbered(0), 5_001)
  await last(`${path}?filter=never`, numbered(4_999), 5_001)
  await last(`${path}?query=${encodeURIComponent('WHERE c.n >= 0')}`, numbered(4_999), 5_001)
})

explorer.test('the end of a list lies still: its last row ends where the grid ends', {}, async ({ page, open }) => {
  await open(await withMany(40, n => ({ id: numbered(n) })))
  await page.locator('.gfoot', { hasText: /40$/ }).waitFor()
  const grid = page.locator('.grid')
  for (let scrolled = 0; scrolled < 3; scrolled++) {
    await scrollToEnd(page)
    await row(page, numbered(39)).waitFor()
    await drawn(page)
    const last = await row(page, numbered(39)).boundingBox()
    const frame = await grid.boundingBox()
    assert.equal(Math.round(last!.y + last!.height), Math.round(frame!.y + frame!.height))
    assert.equal(await grid.evaluate(each => each.scrollHeight), 41 * 30, 'the rows and the head')
  }
})

explorer.test('behind the last deadline come the items that never die, each at its place', {}, async opened => {
  const { page, open } = opened
  const path = await withMany(1_000, n => ({ id: numbered(n), ttl: n < 400 ? 5_000 + n : -1 }), 3600)
  await open(path)
  await page.locator('.gfoot', { hasText: /of 1,000$/ }).waitFor()
  await scrollToEnd(page)
  await row(page, numbered(999)).waitFor()
  assert.equal(await row(page, numbered(999)).getAttribute('aria-rowindex'), '1001')
  await page.locator('.grid').evaluate(each => each.scrollTo(0, 400 * 30))
  await row(page, numbered(400)).waitFor()
  assert.equal(await row(page, numbered(400)).getAttribute('aria-rowindex'), '402')
  await page.locator('.grid').evaluate(each => each.scrollTo(0, 0))
  await row(page, numbered(0)).waitFor()
  // Pages that follow a jump go on with it.
  await page.locator('.grid').evaluate(each => each.scrollTo(0, 350 * 30))
  await row(page, numbered(355)).waitFor()
  await page.locator('.grid').evaluate(each => each.scrollTo(0, 500 * 30))
  await row(page, numbered(505)).waitFor()
})

explorer.test('a list that is too long to be kept says so, and is read from its other end', {}, async opened => {
  const { page, open } = opened
  const path = await withMany(12_000, n => ({ id: numbered(n) }))
  let pages = 0
  page.on('request', request => {
    if (/\/items\?/.test(request.url())) pages++
  })
  await open(path)
  await page.locator('.gfoot', { hasText: /of 12,000$/ }).waitFor()
  await scrollToEnd(page)
  await page.getByText('Scrolling ends after 10,000 rows.').waitFor()
  await row(page, numbered(9_999)).waitFor()
  assert.ok(pages <= 15, `${pages} pages`)
  await page.getByRole('button', { name: 'From the other end' }).click()
  await row(page, numbered(11_999)).waitFor()
  assert.equal(await row(page, numbered(11_999)).getAttribute('aria-rowindex'), '2')
  await page.getByRole('columnheader', { name: 'expires in' }).and(page.locator('[aria-sort=descending]')).waitFor()
  await assertAccessible(page, 'a long list')
})

explorer.test('columns are hidden, chosen from samples, written by hand, and remembered', {}, async opened => {
  const { page, open } = opened
  const { path } = await withItems(
    ['one', 'two', 'three'].map((id, n) => ({
      id,
      device: { os: `ios ${n}` },
      cart: [{ sku: `sku-${n}` }],
      size: `long ${n}`,
      'a/b': n,
      ...Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`f${at}`, at])),
    })),
  )
  await open(path)
  await row(page, 'one').waitFor()
  const heads = () => page.locator('.gr.hd [role=columnheader]').allTextContents()
  assert.deepEqual(await heads(), ['', 'id', '/pk', 'ttlsource', 'expires in▲', 'last written', 'size'])
  const opener = page.getByRole('button', { name: 'Choose columns' })
  await opener.click()
  const chooser = page.getByRole('dialog', { name: 'Columns' })
  await chooser.getByText('Paths, from 3 sampled items').waitFor()
  await assertAccessible(page, 'the column chooser')
  await chooser.getByLabel('last written').uncheck()
  // A path that is called like a fact is a column of its own.
  await chooser.getByLabel('size', { exact: true }).first().uncheck()
  await chooser.getByLabel('size', { exact: true }).last().check()
  await chooser.getByLabel('device.os').check()
  await row(page, 'two').getByText('ios 1', { exact: true }).waitFor()
  await row(page, 'two').getByText('long 1', { exact: true }).waitFor()
  assert.deepEqual(await heads(), ['', 'id', '/pk', 'size', 'device.os', 'ttlsource', 'expires in▲'])

  const another = chooser.getByLabel('Another path')
  await another.fill('cart..sku')
  await another.press('Enter')
  await chooser.getByRole('alert').getByText('Write a path as device.os or cart[0].sku.').waitFor()
  await another.fill('c.cart[0].sku')
  await another.press('Enter')
  await row(page, 'three').getByText('sku-2', { exact: true }).waitFor()
  for (const at of [0, 1, 2]) await chooser.getByLabel(`f${at}`).check()
  assert.ok(await chooser.getByLabel('f3').isDisabled(), 'six are the most')
  await another.fill('f3')
  await another.press('Enter')
  await chooser.getByRole('alert').getByText('At most 6 columns of your own.').waitFor()
  await another.press('Escape')
  await chooser.waitFor({ state: 'detached' })
  assert.ok(await opener.evaluate(button => button === button.ownerDocument.activeElement))

  const chosen = ['', 'id', '/pk', 'size', 'device.os', 'cart.0.sku', 'f0', 'f1', 'f2', 'ttlsource', 'expires in▲']
  assert.deepEqual(await heads(), chosen)
  await page.reload()
  await row(page, 'three').getByText('sku-2', { exact: true }).waitFor()
  assert.deepEqual(await heads(), chosen, 'remembered in this browser')
  await opener.click()
  await chooser.waitFor()
  await page.keyboard.press('Escape')
  await chooser.waitFor({ state: 'detached' })
  await opener.click()
  await chooser.locator('input:focus').waitFor()
  await page.keyboard.press('ControlOrMeta+k')
  await chooser.waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await opener.click()
  await chooser.getByLabel('device.os').uncheck()
  await page.getByRole('columnheader', { name: 'device.os' }).waitFor({ state: 'detached' })
  await page.mouse.click(700, 700)
  await chooser.waitFor({ state: 'detached' })
})

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
