/** Links between the pages lead somewhere, and the index knows every page. */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import test from 'node:test'
import { filesOf, textOf } from '../support/source-tree.ts'
import { pages } from './code-blocks.ts'

const root = join(import.meta.dirname, '../..')
const withoutCode = (text: string) => text.replaceAll(/^```.*?^```$/gms, '')

/** As GitHub makes them of headings. */
function anchorsOf(page: string): Set<string> {
  const headings = [...withoutCode(textOf(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!)
  const plain = headings.map(heading => heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase())
  return new Set(
    plain.map(heading =>
      heading
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  )
}

/** Targets of inline links, of pictures, and of links that a page lists at its end. */
function linksOf(page: string): string[] {
  const text = withoutCode(textOf(page))
  const inline = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
  const listed = [...text.matchAll(/^\[[^\]]+\]: (\S+)$/gm)]
  return [...inline, ...listed].map(([, target]) => target!).filter(target => !/^[a-z]+:/.test(target))
}

for (const page of [...pages, 'CHANGELOG.md']) {
  test(`the links of ${page} lead to files and headings that exist`, () => {
    const broken = linksOf(page).filter(link => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? page : normalize(join(dirname(page), file)).replaceAll('\\', '/')
      if (!existsSync(join(root, target))) return true
      return anchor !== undefined && !anchorsOf(target).has(anchor)
    })
    assert.deepEqual(broken, [])
  })
}

test('docs/index.md lists every page', () => {
  const listed = new Set(linksOf('docs/index.md').map(link => normalize(join('docs', link)).replaceAll('\\', '/')))
  assert.deepEqual(
    filesOf('docs/*.md').filter(page => page !== 'docs/index.md' && !listed.has(page)),
    [],
  )
})
