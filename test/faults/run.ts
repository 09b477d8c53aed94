/** The long form: every call fails with every error, and the power goes before every write. */

import { rmSync } from 'node:fs'
import { failEachCall } from './faults.ts'
import { losePower } from './power-loss.ts'
import { compileShim, scratch } from './shim.ts'

const directory = scratch('mayfly-shim-')
const library = compileShim(directory)
if (library === undefined) throw new Error('This needs Linux and a C compiler (cc).')

function tell(what: string, result: object): void {
  process.stdout.write(`${what.padEnd(30)}${JSON.stringify(result)}\n`)
}

tell('each call fails once', failEachCall(library, 1))
const cuts = { seed: 1, every: 1, imagesPerCut: 5 }
const full = losePower(library, 'FULL', cuts)
tell('power loss', full)
const normal = losePower(library, 'NORMAL', cuts)
tell('control: synchronous=NORMAL', normal)
if (full.losses > 0 || normal.losses === 0) process.exitCode = 1
rmSync(directory, { recursive: true })
