/** The errors that docs/troubleshooting.md explains are those that the sources have. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { filesOf, textOf } from '../support/source-tree.ts'

/** Without the breaks between the parts of a long sentence, so that it can be found as it is said. */
const texts = filesOf('{src,entry,bin}/**/*.{ts,cjs,js}')
  .filter(path => !path.endsWith('.test.ts'))
  .map(path => textOf(path).replaceAll(/['`] \+\s+['`]/g, ''))

/** Texts in code within the headings, and in the first column of tables if they are sentences. */
function errorsOf(page: string): string[] {
  const headings = page.match(/^### .+$/gm) ?? []
  const cells = [...page.matchAll(/^\| .*?(`[^`]+\.`)/gm)].map(([, cell]) => cell!)
  return [...headings, ...cells].flatMap(text => [...text.matchAll(/`([^`]+)`/g)].map(([, error]) => error!))
}

/** Where the page has `…`, the source has an expression. */
function isSaid(error: string): boolean {
  const parts = error.split('…').map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const pattern = new RegExp(parts.join('[^\\n]{1,200}?').replaceAll("'", "\\\\?'"))
  return texts.some(text => pattern.test(text))
}

const errors = errorsOf(textOf('docs/troubleshooting.md'))

for (const error of errors) test(`the sources say “${error}”`, () => assert.ok(isSaid(error)))

test('there are errors, and a text that nobody says is noticed', () => {
  assert.ok(errors.length > 20)
  assert.ok(!isSaid('The data directory … is haunted'))
})
