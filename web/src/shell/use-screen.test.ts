import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noScreenText } from './use-screen.ts'

test('code that did not come is loaded anew with the page; an error of its own is shown', () => {
  for (const lost of [
    'Failed to fetch dynamically imported module: http://127.0.0.1/_explorer/assets/load-screen.js',
    'error loading dynamically imported module: http://127.0.0.1/_explorer/assets/load-screen.js',
    'Importing a module script failed.',
    'Unable to preload CSS for /_explorer/assets/load-screen.css',
  ]) {
    assert.match(noScreenText(new TypeError(lost), false), /^The page did not load this screen\. Reload the page/)
    assert.match(noScreenText(new TypeError(lost), true), /^The server does not answer\./)
  }
  const own = new RangeError('Incorrect locale information provided')
  assert.equal(noScreenText(own, false), 'This screen failed: Incorrect locale information provided')
})
