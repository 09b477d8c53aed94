/** Where the key is one's own, the page asks for it. */

import assert from 'node:assert/strict'
import { startExplorer } from '../support/explorer.ts'

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
    await page.getByLabel('Account key').fill('not the key')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(/That is not the key of this server/).waitFor()
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
