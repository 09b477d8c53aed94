/** The end of a row on the system clock, where time is not turned by hand: the row folds, and is gone. */

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { startExplorer } from '../support/explorer.ts'

const explorer = await startExplorer({ clock: 'system' })

/** Runs in the page: writes down what becomes of the row, however short it is to be seen. */
const watchRow = `
  globalThis.over = new Promise(resolve => {
    const seen = []
    const note = text => seen.at(-1) !== text && seen.push(text)
    const isOfIt = node => node.matches?.('.gr') && node.querySelector('.c-id')?.textContent === 'goes'
    const rows = document.querySelector('.grid-rows')
    new MutationObserver(changes => {
      for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes]).filter(isOfIt)) {
        const moves = getComputedStyle(node).animationName !== 'none'
        note(!node.matches('.folding') ? 'row' : moves ? 'folds' : 'folds without moving')
      }
      if (seen.length === 0 || [...rows.children].some(isOfIt)) return
      note('gone')
      resolve(seen)
    }).observe(rows, { childList: true, subtree: true })
  })
  undefined`

async function watchDeath(page: Page, open: (path: string) => Promise<void>): Promise<string[]> {
  const container = await explorer.newContainer({ defaultTtl: 3600 })
  await container.items.create({ id: 'stays', pk: 'p' })
  await open(`data/${container.database.id}/items/items`)
  await page.locator('.gr[data-key]', { hasText: 'stays' }).waitFor()
  await page.evaluate(watchRow)
  await container.items.create({ id: 'goes', pk: 'p', ttl: 2 })
  const seen = await page.evaluate<string[]>('globalThis.over')
  assert.equal(await page.locator('.gr[data-key]').count(), 1)
  return seen
}

explorer.test('a row folds when its item dies, and is gone', {}, async ({ page, open }) => {
  assert.deepEqual(await watchDeath(page, open), ['row', 'folds', 'gone'])
})

explorer.test('with reduced motion a row goes without folding', { isMotionReduced: true }, async ({ page, open }) => {
  assert.deepEqual(await watchDeath(page, open), ['row', 'gone'])
})
