/** The long form: `npm run faults` fails every call with every error. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileShim, failEachCall } from './faults.ts'

const directory = mkdtempSync(join(tmpdir(), 'mayfly-shim-'))
const library = compileShim(directory)
if (library === undefined) throw new Error('This needs Linux and a C compiler (cc).')
process.stdout.write(`${JSON.stringify(failEachCall(library, 1))}\n`)
rmSync(directory, { recursive: true })
