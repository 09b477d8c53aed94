/**
 * Makes a release: `npm run release -- 0.2.0 [--dry-run]`.
 *
 * It sets the version wherever a file names it, dates the changelog, and writes the package, the executable
 * for this kind of machine, their checksums and the section of the changelog into the folder `release`. Then
 * it commits and tags. With `--dry-run`, or if something fails, it puts the changed files back instead. It
 * publishes nothing.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const checkout = fileURLToPath(new URL('..', import.meta.url))
const folder = join(checkout, 'release')

/** As in 0.2.0 and 0.2.0-rc.1. What follows in the name of an archive (`-linux-x64`) is no part of it. */
const versionForm = String.raw`\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?`
const isVersion = (text: string) => new RegExp(`^${versionForm}$`).test(text)

/** Files whose readers copy the name of the package, of an archive or of an image. */
export const namingFiles: readonly string[] = globSync(
  ['*.md', 'docs/**/*.md', 'compose.yaml', 'Dockerfile', 'examples/**/*.{md,yml,xml}'],
  { cwd: checkout, exclude: ['CHANGELOG.md'] },
)

/** Puts this version into `mayfly-0.1.0.tgz`, `mayfly:0.1.0`, and what the explorer's API answers. */
export function withVersion(text: string, version: string): string {
  const named = new RegExp(String.raw`(?<=\bmayfly[-:]|"product": "mayfly", "version": ")${versionForm}`, 'g')
  return text.replaceAll(named, version)
}

/** What the person who releases must mend. */
class ReleaseError extends Error {}

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: checkout, encoding: 'utf8', maxBuffer: 1e8 })
  if (status !== 0) throw new ReleaseError(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

const read = (path: string): string => readFileSync(join(checkout, path), 'utf8')
const write = (path: string, text: string): void => writeFileSync(join(checkout, path), text)

/** The section of a version, released or not. */
function changelogSection(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m)
  const found = sections.find(each => each.startsWith(`## ${version} (`))
  const [, body] = /^## [^\n]*\n(.*)$/s.exec(found ?? '') ?? []
  return body?.trim() ?? ''
}

/** In the form that `sha256sum --check` reads. */
function checksums(): string {
  const files = readdirSync(folder).filter(name => name.endsWith('gz'))
  return files
    .map(
      name =>
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('')
}

/** Throws if a release would be wrong. */
function requireReady(version: string): void {
  const { repository } = JSON.parse(read('package.json'))
  if (repository === undefined) {
    throw new ReleaseError('package.json has no "repository": give the project a public address first.')
  }
  if (run('git', 'status', '--porcelain') !== '') throw new ReleaseError('commit your changes first.')
  if (!read('CHANGELOG.md').includes(unreleased(version))) {
    throw new ReleaseError(`CHANGELOG.md has no section '${unreleased(version)}'.`)
  }
  if (run('git', 'tag', '--list', `v${version}`) !== '') throw new ReleaseError(`there is a tag v${version} already.`)
}

const unreleased = (version: string) => `## ${version} (unreleased)`

/** Sets the version wherever it stands. The texts of the files before that are put into `before`. */
function setVersion(version: string, present: string, before: Map<string, string>): void {
  const change = (path: string, changed: (text: string) => string) => {
    const text = read(path)
    if (changed(text) === text) return
    before.set(path, text)
    write(path, changed(text))
  }
  const day = new Date().toISOString().slice(0, 10)
  change('CHANGELOG.md', text => text.replace(unreleased(version), `## ${version} (${day})`))
  for (const path of namingFiles) change(path, text => withVersion(text, version))
  if (version !== present) {
    for (const path of ['package.json', 'package-lock.json']) before.set(path, read(path))
    run('npm', 'version', version, '--no-git-tag-version')
  }
}

/** Fills the folder `release` from the files as they are. Returns the checksums. */
function build(notes: string): string {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  run('npm', 'pack', '--pack-destination', folder)
  run('npm', 'run', 'executable')
  const sums = checksums()
  writeFileSync(join(folder, 'SHA256SUMS'), sums)
  writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`)
  return sums
}

function release(version: string, { isDry }: { readonly isDry: boolean }): void {
  const present = JSON.parse(read('package.json')).version as string
  if (!isVersion(version)) throw new ReleaseError(`'${version}' is not a version, for instance 0.2.0.`)
  if (!isDry) requireReady(version)
  const notes = changelogSection(read('CHANGELOG.md'), version)
  if (notes === '') throw new ReleaseError(`CHANGELOG.md has no section '${unreleased(version)}'.`)
  run('npm', 'run', 'docs')
  const changed = run('git', 'status', '--porcelain', 'docs')
  if (!isDry && changed !== '') {
    throw new ReleaseError(`the generated pages are not up to date; commit them first:\n${changed}`)
  }

  const before = new Map<string, string>()
  let isKept = false
  try {
    setVersion(version, present, before)
    const sums = build(notes)
    if (!isDry) {
      run('git', 'commit', '--all', '--message', `Release ${version}`)
      isKept = true
      run('git', 'tag', `v${version}`)
    }
    process.stdout.write(`${isDry ? 'Dry run: nothing was committed or tagged.\n' : ''}In the folder release:\n${sums}`)
  } finally {
    if (!isKept) for (const [path, text] of before) write(path, text)
  }
  const [packed] = readdirSync(folder).filter(name => name.endsWith('.tgz'))
  if (!isDry) process.stdout.write(`Next: git push --follow-tags && npm publish release/${packed}\n`)
}

function main(): void {
  const { values, positionals } = parseArgs({
    options: { 'dry-run': { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [version = JSON.parse(read('package.json')).version as string] = positionals
  // Ctrl-C ends the command that runs now. The release fails by that, and puts its files back.
  process.once('SIGINT', () => {})
  try {
    release(version, { isDry: values['dry-run'] })
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error
    process.stderr.write(`release: ${error.message}\n`)
    process.exitCode = 1
  }
}

if (import.meta.main) main()
