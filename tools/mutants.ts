/**
 * npm run mutants: breaks the code in one place after the other, and runs the tests that must notice.
 *
 * A test suite is worth what it catches. Each mutant of `mutant-list.ts` is a small mistake in the rules of
 * time to live, durability or authorization. It is killed if one of its tests fails. Those tests are part of
 * `npm test`; only they are run, so that a mutant takes seconds. The command fails if fewer than 95 % are
 * killed, or if a mutant does not fit the code any more. With words as arguments, only mutants whose file or
 * mistake contains all of them run.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Mutant, mutants } from './mutant-list.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const killedMin = 0.95
/** A mutant that loops for ever is killed as well. */
const testMsMax = 180_000

/** A copy of the files that git knows, so that the checkout is never broken. */
function copyOfCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mayfly-mutants-'))
  const listed = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root })
  for (const file of String(listed.stdout).split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** At once, because a run takes long. */
function checkAllFit(chosen: readonly Mutant[]): void {
  for (const { file, from } of chosen) {
    const parts = readFileSync(join(root, file), 'utf8').split(from)
    if (parts.length !== 2) throw new Error(`${file} must contain this exactly once: ${from}`)
  }
}

function isKilled(copy: string, { file, from, to, tests }: Mutant): boolean {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  try {
    const { status } = spawnSync(process.execPath, ['--test', '--test-concurrency=1', ...tests], {
      cwd: copy,
      timeout: testMsMax,
      stdio: 'ignore',
    })
    return status !== 0
  } finally {
    writeFileSync(path, text)
  }
}

/** Without a mistake the tests must pass; otherwise every mutant would seem to be killed. */
function checkTestsPass(copy: string, chosen: readonly Mutant[]): void {
  const tests = new Set(chosen.flatMap(mutant => mutant.tests))
  for (const test of tests) {
    const { status } = spawnSync(process.execPath, ['--test', test], { cwd: copy, stdio: 'ignore' })
    if (status !== 0) throw new Error(`${test} fails without a mutant.`)
  }
}

const words = process.argv.slice(2)
const chosen = mutants.filter(({ file, mistake }) => words.every(word => `${file} ${mistake}`.includes(word)))
checkAllFit(chosen)
const copy = copyOfCheckout()
let killed = 0
try {
  checkTestsPass(copy, chosen)
  for (const mutant of chosen) {
    const isDead = isKilled(copy, mutant)
    if (isDead) killed++
    process.stdout.write(`${isDead ? 'killed  ' : 'SURVIVED'}  ${mutant.file}: ${mutant.mistake}\n`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
process.stdout.write(`${killed} of ${chosen.length} mutants killed\n`)
if (killed < chosen.length * killedMin) process.exitCode = 1
