/**
 * What somebody can see of the explorer page: every screen, and what is opened on it. Tests look at each of
 * them, and `npm run shots` takes their pictures. A server for them has the databases `shop` and `support`,
 * with `sessions` (items, scripts, a log), `wishlists` (empty), `tickets` and `presence` (date indexes).
 */

import type { Page } from 'playwright-core'

export interface PageState {
  readonly path: string
  /** What is on the page when it is there. Not looked for in the tree. */
  readonly text: string | RegExp
  /** What somebody does first. */
  readonly act?: (page: Page) => Promise<void>
  /** Only in windows of this kind. */
  readonly only?: 'narrow' | 'wide'
  readonly needs?: 'manual clock'
}

const settings = 'data/shop/sessions/settings'

export const pageStates: Readonly<Record<string, PageState>> = {
  landing: { path: '', text: 'Data that dies on time' },
  'server-load': { path: 'load', text: 'Load of the whole server' },
  items: { path: 'data/shop/sessions/items', text: 'sess-' },
  query: { path: 'data/shop/sessions/query', text: 'History' },
  settings: { path: settings, text: 'Time to Live' },
  indexing: { path: `${settings}?part=indexing`, text: 'Indexes that are there now' },
  throughput: { path: `${settings}?part=throughput`, text: 'Autoscale' },
  'unique-keys': { path: `${settings}?part=unique`, text: 'no unique keys' },
  'change-feed': { path: `${settings}?part=feed`, text: 'Kept for' },
  definition: { path: `${settings}?part=definition`, text: 'The whole definition' },
  expiry: { path: 'data/shop/sessions/expiry', text: 'When items die' },
  load: { path: 'data/shop/sessions/load', text: 'RU per second' },
  feed: { path: 'data/shop/sessions/feed', text: 'Following the newest' },
  scripts: { path: 'data/shop/sessions/scripts', text: 'Stored procedures' },
  'mongo-items': { path: 'data/support/tickets/items', text: '_id' },
  'mongo-query': { path: 'data/support/tickets/query', text: 'History' },
  'mongo-settings': { path: 'data/support/presence/settings', text: 'Indexes that end documents' },
  'mongo-indexes': { path: 'data/support/tickets/settings?part=indexes', text: 'All indexes' },
  'mongo-shard': { path: 'data/support/tickets/settings?part=shard', text: 'unsharded' },
  'mongo-streams': { path: 'data/support/tickets/settings?part=streams', text: 'Deaths in change streams' },
  'mongo-expiry': { path: 'data/support/presence/expiry', text: 'When documents die' },
  'mongo-load': { path: 'data/support/tickets/load', text: 'RU per second' },
  'mongo-feed': { path: 'data/support/tickets/feed', text: 'Following the newest' },

  empty: { path: 'data/shop/wishlists/items', text: 'This container is empty' },
  'not-found': { path: 'data/shop/nothing/items', text: 'There is no container shop / nothing.' },
  'query-rows': { path: 'data/shop/sessions/query', text: /RU/, act: runQuery },
  'query-stats': {
    path: 'data/shop/sessions/query',
    text: 'Request charge',
    act: async page => {
      await runQuery(page)
      await page.getByRole('tab', { name: 'Stats' }).click()
    },
  },
  'query-plan': {
    path: 'data/shop/sessions/query',
    text: 'Items come from',
    act: async page => {
      await runQuery(page)
      await page.getByRole('tab', { name: 'Plan' }).click()
    },
  },
  item: { path: 'data/shop/sessions/items', text: 'Inherit', act: openFirst },
  conflict: { path: 'data/shop/sessions/items', text: 'Someone else saved this item at', act: makeConflict },
  dead: { path: 'data/shop/sessions/items?filter=dead', text: 'Remove them now' },
  'mongo-item': { path: 'data/support/tickets/items', text: 'Inherit', act: openFirst },
  change: {
    path: 'data/shop/sessions/feed',
    text: '"userId"',
    act: page => page.locator('.feed-row:not(.hd)').first().click(),
  },
  'ttl-preview': {
    path: settings,
    text: 'They stay gone, whatever you set later.',
    act: page => page.getByLabel('Time to live in seconds').fill('20'),
  },
  'new-container': {
    path: 'data/shop/sessions/items',
    text: 'Maximum RU per second',
    act: async page => {
      await searchPalette(page, 'New container')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Add unique key' }).click()
      await page.keyboard.type('/email')
      await page.getByRole('button', { name: 'Autoscale' }).click()
    },
  },
  'date-index': {
    path: 'data/support/presence/settings',
    text: /the moment you save/,
    act: async page => {
      await page.getByRole('button', { name: 'Add date index' }).click()
      await page.getByLabel('Field with the date').fill('seenAt')
    },
  },
  'run-procedure': {
    path: 'data/shop/sessions/scripts?kind=procedures&script=closeIdle',
    text: '"done"',
    act: async page => {
      await openRun(page)
      await page.getByLabel(/^Partition key/).fill('"u103"')
      await page.getByRole('button', { name: /^Run/ }).click()
    },
  },
  'run-function': {
    path: 'data/shop/sessions/scripts?kind=functions&script=minutesLeft',
    text: /^200$/,
    act: async page => {
      await openRun(page)
      await page.getByLabel(/^Arguments/).fill('[{"ttl": 600}]')
      await page.getByRole('button', { name: /^Run/ }).click()
    },
  },
  trigger: {
    path: 'data/shop/sessions/scripts?kind=triggers&script=stampLocale',
    text: 'A trigger runs before a write',
    act: openRun,
  },
  import: {
    path: 'data/shop/wishlists/items',
    text: /^JSON Lines,/,
    act: async page => {
      await choose(page, 'Import a file')
      await page.locator('[data-test=import-file]').setInputFiles(importedFile)
    },
  },
  imported: {
    path: 'data/shop/wishlists/items',
    text: 'Refused, 1 row',
    act: async page => {
      await choose(page, 'Import a file')
      await page.locator('[data-test=import-file]').setInputFiles({ ...importedFile, buffer: Buffer.from('{"a":1}\n') })
      await page.getByRole('button', { name: 'Start import' }).last().click()
    },
  },
  export: { path: 'data/shop/sessions/items', text: 'Export shop / sessions', act: page => choose(page, 'Export') },
  drop: { path: 'data/shop/sessions/items', text: 'Drop to import into shop / sessions', act: dragFileOver },
  palette: {
    path: 'data/shop/sessions/items',
    text: 'sessions, Settings',
    act: page => searchPalette(page, 'se'),
  },
  shortcuts: { path: 'data/shop/sessions/items', text: 'Keyboard shortcuts', act: page => page.keyboard.press('?') },
  confirm: {
    path: settings,
    text: 'It cannot be undone.',
    act: page => choose(page, 'Delete container'),
  },
  'set-clock': {
    path: 'data/shop/sessions/items',
    text: 'The clock only goes forward. What dies stays dead.',
    act: page => page.getByRole('button', { name: 'Set…' }).click(),
    needs: 'manual clock',
  },
  drawer: {
    path: 'data/shop/sessions/items',
    text: 'Databases',
    act: page => page.getByRole('button', { name: 'Open databases' }).click(),
    only: 'narrow',
  },
}

/** Goes to a state, and waits until it is there. */
export async function showState(page: Page, base: string, { path, text, act }: PageState): Promise<void> {
  await page.goto(base + path)
  await page.locator('.status, .login').first().waitFor()
  if (act) {
    await page.locator('.chead').waitFor()
    await act(page)
  }
  await page
    .locator('#main, dialog, .tree-head, .clock-set, .login')
    .getByText(text)
    .first()
    .waitFor({ state: 'attached' })
}

/** Opens the palette; what is typed before it is there would be shortcuts. */
export async function searchPalette(page: Page, text: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox', { name: 'Search or run' }).fill(text)
  await page.getByRole('option').first().waitFor()
}

/** From the menu of the container, which is there at every width. */
async function choose(page: Page, label: string): Promise<void> {
  await page
    .getByRole('button', { name: /^More actions for/ })
    .first()
    .click()
  await page.getByRole('menuitem', { name: label }).click()
}

async function runQuery(page: Page): Promise<void> {
  await page.locator('.cm-content').first().click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText('SELECT c.id, c.userId, c.device, c.ttl\nFROM c\nWHERE c.userId = "u103"')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Shift+Enter')
  await page.locator('.results tbody tr').first().waitFor()
}

async function openFirst(page: Page): Promise<void> {
  await page.locator('.gr[data-key]').last().click()
  await page.locator('.cm-content').waitFor()
}

/** Types into the open item, and lets somebody else be faster with saving. */
async function makeConflict(page: Page): Promise<void> {
  await openFirst(page)
  await page.locator('.cm-line').first().click()
  await page.keyboard.press('ControlOrMeta+Home')
  await page.keyboard.press('End')
  await page.keyboard.insertText('\n  "qty": 2,')
  await page.evaluate(`(async () => {
    const [, database, container] = /data\\/(.+?)\\/(.+?)\\//.exec(location.pathname)
    const key = encodeURIComponent(new URLSearchParams(location.search).get('item'))
    const call = '/_explorer/api/databases/' + database + '/containers/' + container + '/item?key=' + key
    const { text, etag } = await (await fetch(call)).json()
    const headers = { 'x-mayfly-explorer': '1', 'content-type': 'application/json', 'if-match': etag }
    const body = JSON.stringify({ text: text.replace('{', '{ "locale": "ga-IE", "seen": ' + Math.random() + ',') })
    await fetch(call, { method: 'PUT', headers, body })
  })()`)
  await page.keyboard.press('ControlOrMeta+s')
}

/** In a narrow window the code and the run are two panes. */
async function openRun(page: Page): Promise<void> {
  await page.locator('.script-body .cm-content').waitFor()
  const toRun = page.locator('.script-body .btn.onlym')
  if (await toRun.isVisible()) await toRun.click()
}

const importedFile = {
  name: 'wishlists.jsonl',
  mimeType: 'text/plain',
  buffer: Buffer.from('{"id":"w-1","customerId":"c1","ttl":600}\n{"id":"w-2","customerId":"c2"}\n'),
}

async function dragFileOver(page: Page): Promise<void> {
  const transfer = await page.evaluateHandle(`(() => {
    const data = new DataTransfer()
    data.items.add(new File(['{}'], 'a.jsonl'))
    return data
  })()`)
  await page.dispatchEvent('body', 'dragenter', { dataTransfer: transfer })
}
