/** Compiles the library that makes calls fail, and tells it what to do: through the environment. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'

/** What a store keeps: as a process that ends leaves it. */
export const storeFiles = [dataFile, `${dataFile}-wal`, `${dataFile}-mark`]

export const faultKinds = ['EIO', 'ENOSPC', 'EFBIG', 'EDQUOT', 'EROFS', 'short'] as const

/** In memory where there is such a place: the faults are made, so nothing need reach a real disk. */
export function scratch(name: string): string {
  try {
    return mkdtempSync(join('/dev/shm', name))
  } catch {
    return mkdtempSync(join(tmpdir(), name))
  }
}

export type FaultKind = (typeof faultKinds)[number]

/** undefined: there is no compiler, or no Linux. */
export function compileShim(directory: string): string | undefined {
  const library = join(directory, 'shim.so')
  if (process.platform !== 'linux') return undefined
  try {
    const source = join(import.meta.dirname, 'shim.c')
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  return library
}

let runs = 0

/** Begins a new run, in which one call fails or none. */
export function beginRun(at = 0, kind: FaultKind = 'EIO'): void {
  process.env.FAULT_RUN = `${++runs}`
  process.env.FAULT_AT = `${at}`
  process.env.FAULT_KIND = kind
}

/** Of the run that is on. */
export function callsSoFar(): number {
  return readFileSync(process.env.FAULT_COUNT!).readUInt32LE(0)
}
