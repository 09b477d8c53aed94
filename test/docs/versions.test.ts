/** The pages name the version of the package and the oldest Node as package.json does. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { namingFiles, withVersion } from '../../tools/release.ts'
import { textOf } from '../support/source-tree.ts'
import { pages } from './code-blocks.ts'

const { version, engines } = JSON.parse(textOf('package.json')) as { version: string; engines: { node: string } }

test('packages, archives and images are named by the version of package.json', () => {
  const old = namingFiles.filter(path => textOf(path) !== withVersion(textOf(path), version))
  assert.deepEqual(old, [])
})

test('a release would change the pages that name a version', () => {
  const changed = new Set(namingFiles.filter(path => textOf(path) !== withVersion(textOf(path), '99.0.0')))
  for (const path of ['README.md', 'compose.yaml', 'Dockerfile', 'docs/install.md', 'docs/production.md']) {
    assert.ok(changed.has(path), path)
  }
})

test('a version ends where the name of an archive goes on', () => {
  assert.equal(withVersion('mayfly-0.1.0-linux-x64.tar.gz', '0.2.0-rc.1'), 'mayfly-0.2.0-rc.1-linux-x64.tar.gz')
  assert.equal(withVersion('mayfly-0.2.0-rc.1-linux-x64.tar.gz', '0.2.0'), 'mayfly-0.2.0-linux-x64.tar.gz')
  assert.equal(withVersion('mayfly-0.2.0-rc.1.tgz', '0.2.0'), 'mayfly-0.2.0.tgz')
  assert.equal(withVersion('needs pg 8.23.1', '0.2.0'), 'needs pg 8.23.1')
})

test('the pages ask for the Node that package.json asks for', () => {
  const asked = pages.flatMap(page => [...textOf(page).matchAll(/Node (\d+\.\d+) or newer/g)].map(([, node]) => node))
  assert.ok(asked.length >= 3)
  assert.deepEqual([...new Set(asked)], [/^>=([\d.]+)/.exec(engines.node)?.[1]])
})
