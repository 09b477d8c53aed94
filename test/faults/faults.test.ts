/** A part of the calls of a fixed script fails, each in a run of its own. `npm run faults` fails all. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { compileShim, failEachCall } from './faults.ts'

const directory = mkdtempSync(join(tmpdir(), 'mayfly-shim-'))
after(() => rmSync(directory, { recursive: true }))
const library = compileShim(directory)

test('a write or sync that fails loses nothing that was acknowledged', {
  skip: library === undefined && 'needs Linux and a C compiler',
}, () => {
  const { ends } = failEachCall(library!, 83)
  assert.ok(ends.done! > 0, JSON.stringify(ends))
})
