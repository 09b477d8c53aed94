/** With a Node that is too old, the command says so in one sentence instead of failing somewhere inside. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import test from 'node:test'
import { runCli } from '../support/run-cli.ts'

/** Any Node on the path that is older than 22. */
function findOldNode(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map(directory => join(directory, 'node'))
  return candidates.filter(existsSync).find(path => {
    const [, major] = /^v(\d+)\./.exec(execFileSync(path, ['--version'], { encoding: 'utf8' })) ?? []
    return Number(major) < 22
  })
}

const node = findOldNode()
const name = 'A Node that is too old is refused with what is needed'

if (node === undefined) {
  test.skip(`${name} (skipped: no Node older than 22 is on the path)`)
} else {
  test(name, async () => {
    const { code, stdout, stderr } = await runCli(['--memory', '--port', '0'], { node })
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(
      stderr,
      /^Mayfly needs Node 22\.\d+ or newer, but not 23; this is \d+\.\d+\.\d+\. "npm ci && npm start" installs/,
    )
    assert.doesNotMatch(stderr, /\n\s+at /)
  })
}
