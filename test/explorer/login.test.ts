/** Where the page asks for a key, what a read-only key may do, and a key that is taken away. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  assertAccessible,
  assertAccessibleInBoth,
  type OpenPage,
  pageTests,
  startConfigured,
  startExplorer,
} from '../support/explorer.ts'
import { searchPalette } from '../support/page-states.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'

const key = Buffer.from('a key that nobody else has, for this test only, 64 bytes long ok').toString('base64')
const explorer = await startExplorer({ key })

explorer.test(
  'with a key of one’s own the page asks for it, and keeps a cookie in its place',
  { failures: [401] },
  async ({ page, context, open }) => {
    await explorer.client.databases.create({ id: 'secret' })
    await open('data/secret/none/items')
    await page.getByRole('heading', { name: /^Sign in to/ }).waitFor()
    assert.equal(await page.getByText('secret').count(), 0, 'nothing is shown before the login')
    await assertAccessibleInBoth(page, 'the login')
    await page.getByLabel('Account key').fill('not the key')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(/That is not the key of this server/).waitFor()
    await assertAccessibleInBoth(page, 'a refused login')
    await page.getByLabel('Account key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.tree').getByText('secret').waitFor()
    const [cookie] = await context.cookies()
    assert.deepEqual(
      { httpOnly: cookie!.httpOnly, sameSite: cookie!.sameSite, path: cookie!.path },
      { httpOnly: true, sameSite: 'Strict', path: '/_explorer' },
    )
    assert.equal(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])'), '[{},{},""]')
    assert.equal((await page.content()).includes(key), false, 'the key is not in the page')
  },
)

explorer.test(
  'without a login the API answers nobody, and too many wrong keys have to wait',
  { failures: [401, 429] },
  async ({ page, open }) => {
    const call = (path: string, headers: Record<string, string> = {}) =>
      fetch(`${explorer.db.endpoint}/_explorer/api/${path}`, { headers })
    assert.equal((await call('tree')).status, 401)
    assert.equal((await call('tree', { cookie: 'mayfly-session=made-up' })).status, 401)
    await open()
    const field = page.getByLabel('Account key')
    const refused = page.getByText(/again in \d+ s|in a minute|wait/i)
    for (let attempt = 0; attempt < 12 && !(await refused.count()); attempt += 1) {
      await field.fill(`wrong ${attempt}`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Sign in' }).and(page.locator(':enabled')).waitFor()
    }
    await refused.first().waitFor()
  },
)

const outside = Object.values(networkInterfaces())
  .flatMap(each => each ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)

if (outside === undefined) {
  test('NOT RUN, this machine has no address but loopback: login from beyond loopback', { skip: true }, () => {})
} else {
  const reachable = await startConfigured({
    host: '0.0.0.0',
    insecureAllowWellKnownKey: true,
    allowedHosts: outside.address,
  })
  const { port } = new URL(reachable.endpoint)
  pageTests(`http://${outside.address}:${port}`).test(
    'from beyond loopback the page asks for the key, also for the well-known one',
    { failures: [401] },
    async ({ page, open }) => {
      await open()
      await page.getByRole('heading', { name: `Sign in to ${outside.address}:${port}` }).waitFor()
      await page.getByLabel('Account key').fill(reachable.key)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Data that dies on time').waitFor()
      const local = await fetch(`http://127.0.0.1:${port}/_explorer/api/session`)
      assert.equal(((await local.json()) as { needsLogin: boolean }).needsLogin, false, 'loopback stays open')
    },
  )
}

const keyNamed = (name: string) => Buffer.from(`a key named ${name}`.padEnd(64, '.')).toString('base64')
const keyFile = join(temporaryDirectory(), 'keys')
const writeKeys = (...lines: string[]) => writeFileSync(keyFile, `${lines.join('\n')}\n`, { mode: 0o600 })
writeKeys(keyNamed('first'), `${keyNamed('reader')} read-only`)
const rotating = await startConfigured({ keyFile })
const rotated = pageTests(rotating.endpoint)

async function signIn({ page, open }: OpenPage, given: string, path = ''): Promise<void> {
  await open(path)
  await page.getByLabel('Account key').fill(given)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: /^Sign in to/ }).waitFor({ state: 'detached' })
}

rotated.test('with a read-only key one can look and not change', { failures: [401, 403] }, async opened => {
  const { page } = opened
  const client = newClient({ endpoint: rotating.endpoint, key: keyNamed('first') })
  const { database } = await client.databases.create({ id: 'shop' })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 60 })
  await container.items.create({ id: 'one', pk: 'a' })
  await signIn(opened, keyNamed('reader'), 'data/shop/carts/items')
  await page.locator('.gr[data-key]').first().click()
  await page.locator('.cm-content[aria-readonly=true]').waitFor()
  for (const name of ['New item', 'Import', 'Save', 'Never'])
    assert.equal(await page.getByRole('button', { name, exact: true }).and(page.locator(':enabled')).count(), 0, name)
  await assertAccessible(page, 'with a read-only key')
  await page.goto(`${rotating.endpoint}/_explorer/data/shop/carts/load`)
  assert.ok(await page.getByRole('button', { name: 'Pause purge' }).isDisabled())
  const refused = await page.evaluate<number>(
    `fetch('/_explorer/api/purge', { method: 'POST', headers: { 'x-mayfly-explorer': '1', 'content-type':
      'application/json' }, body: '{"pause":true}' }).then(answer => answer.status)`,
  )
  assert.equal(refused, 403, 'the server does not rely on the page')
})

rotated.test('who signs out leaves nothing behind, and the session is over', { failures: [401] }, async opened => {
  const { page, context, open } = opened
  await signIn(opened, keyNamed('first'), 'data/shop/carts/settings')
  await page.locator('.tree').getByText('carts').first().waitFor()
  const [cookie] = await context.cookies()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: /^Sign in to/ }).waitFor()
  assert.equal(await page.getByText('carts').count(), 0)
  assert.deepEqual(await context.cookies(), [])
  const kept = await fetch(`${rotating.endpoint}/_explorer/api/tree`, {
    headers: { cookie: `${cookie!.name}=${cookie!.value}` },
  })
  assert.equal(kept.status, 401, 'the server has forgotten the session, also for who kept the cookie')
  await page.reload()
  await page.getByRole('heading', { name: /^Sign in to/ }).waitFor()

  await signIn(opened, keyNamed('first'), 'data/shop/carts/settings?part=throughput')
  await page.getByLabel('RU per second').waitFor()
  await searchPalette(page, 'sign out')
  await page.keyboard.press('Enter')
  await page.getByLabel('Account key').fill(keyNamed('first'))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('RU per second').waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  await open()
  await page.locator('.tree').getByText('carts').first().waitFor()
})

rotated.test('a key that is taken away ends the sessions that it began', { failures: [401] }, async opened => {
  const { page } = opened
  await signIn(opened, keyNamed('first'))
  await page.getByText('Data that dies on time').waitFor()
  writeKeys(keyNamed('second'))
  const headers = { authorization: `Bearer ${keyNamed('first')}` }
  const answer = await fetch(`${rotating.endpoint}/_mayfly/keys/reload`, { method: 'POST', headers })
  assert.equal(answer.status, 200, await answer.text())
  // Nobody touches the page: the server says it.
  await page.getByRole('heading', { name: /^Sign in to/ }).waitFor()
  await page.getByLabel('Account key').fill(keyNamed('second'))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Data that dies on time').waitFor()
})
