/** What the pages show of the files in `examples` stands there literally. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { filesOf, textOf } from '../support/source-tree.ts'
import { blocksOf } from './code-blocks.ts'
import { place } from './run-page.ts'

const quoted = [
  { page: 'docs/test-runners.md', language: 'python', files: 'examples/pytest/*.py', quotes: 2 },
  { page: 'docs/test-runners.md', language: 'java', files: 'examples/junit/*.java', quotes: 2 },
] as const

/** Without the margin that a method has inside of its class. */
const atMargin = (text: string) => text.replaceAll(/^ {4}/gm, '')

for (const { page, language, files, quotes } of quoted) {
  const texts = filesOf(files).map(textOf)
  for (const block of blocksOf(page).filter(each => each.language === language)) {
    test(`${place(block)} quotes ${files}`, () => {
      // What stands at the margin begins a quote of its own: between two of them the file has more.
      const parts = block.code.split(/\n\n(?=\S)/)
      assert.equal(parts.length, quotes)
      const isQuoted = (part: string) => texts.some(text => `\n${text}\n${atMargin(text)}`.includes(`\n${part}\n`))
      assert.deepEqual(
        parts.filter(part => !isQuoted(part)),
        [],
      )
    })
  }
}

test('the first workflow of docs/github-actions.md is the file of the example', () => {
  const [block] = blocksOf('docs/github-actions.md').filter(({ language }) => language === 'yaml')
  assert.equal(`${block!.code}\n`, textOf('examples/github-actions/test.yml'))
})
