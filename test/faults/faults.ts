/** Fails every write and sync of a fixed script once, and checks that nothing acknowledged is lost. */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const kinds = ['EIO', 'ENOSPC', 'EFBIG', 'short'] as const

/** undefined: there is no compiler, or no Linux. */
export function compileShim(directory: string): string | undefined {
  const library = join(directory, 'shim.so')
  try {
    const source = join(import.meta.dirname, 'shim.c')
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  return process.platform === 'linux' ? library : undefined
}

function run(library: string, directory: string, faults: Record<string, string>) {
  const script = join(import.meta.dirname, 'script.ts')
  const env = { ...process.env, LD_PRELOAD: library, FAULT_COUNT: '1', ...faults }
  const { stdout, stderr } = spawnSync(process.execPath, [script, directory], { env, encoding: 'utf8' })
  assert.notEqual(stdout, '', `the process ended without a word: ${stderr}`)
  const calls = Number(/calls (\d+)/.exec(stderr)?.[1])
  return { calls, ...(JSON.parse(stdout) as { acknowledged: number[]; end: string }) }
}

/** `every`: only one of so many calls is failed. Returns how many runs there were, and how they ended. */
export function failEachCall(library: string, every: number) {
  const ends: Record<string, number> = {}
  const fresh = () => mkdtempSync(join(tmpdir(), 'mayfly-faults-'))
  const first = fresh()
  const { calls, acknowledged } = run(library, first, {})
  rmSync(first, { recursive: true })
  assert.equal(acknowledged.length, 30)
  assert.ok(calls > 60, `${calls} calls`)
  for (let at = 1; at <= calls; at += every) {
    for (const kind of kinds) {
      const directory = fresh()
      const result = run(library, directory, { FAULT_AT: `${at}`, FAULT_KIND: kind })
      const place = `call ${at}, ${kind}, ${result.end}`
      assert.doesNotMatch(result.end, /lost/, place)
      if (result.acknowledged.length > 0) check(directory, result.acknowledged, place)
      ends[result.end] = (ends[result.end] ?? 0) + 1
      rmSync(directory, { recursive: true })
    }
  }
  return { calls, ends }
}

function check(directory: string, acknowledged: readonly number[], place: string): void {
  using db = new DatabaseSync(join(directory, 'mayfly.db'))
  assert.equal(db.prepare('PRAGMA integrity_check').get()!.integrity_check, 'ok', place)
  const ids = new Set(
    db
      .prepare('SELECT id FROM items_1')
      .all()
      .map(({ id }) => String(id)),
  )
  const lost = acknowledged.filter(n => !ids.has(`${n}`))
  assert.deepEqual(lost, [], place)
}
