/**
 * Makes a release: `npm run release -- 0.2.0 [--dry-run]`.
 *
 * It writes the package, its checksum and the section of the changelog into the folder `release`. Without
 * `--dry-run` it also sets the version, dates the changelog, commits and tags. It publishes nothing.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const checkout = fileURLToPath(new URL('..', import.meta.url))
const folder = join(checkout, 'release')

function fail(sentence: string): never {
  process.stderr.write(`release: ${sentence}\n`)
  process.exit(1)
}

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: checkout, encoding: 'utf8', maxBuffer: 1e8 })
  if (status !== 0) fail(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

/** The section of a version, or of what is not released yet. */
function changelogSection(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m)
  const found = sections.find(each => each.startsWith(`## ${version} `) || each.startsWith(`## ${version}\n`))
  const [, body] = /^## [^\n]*\n(.*)$/s.exec(found ?? '') ?? []
  return body?.trim() ?? ''
}

function main(): void {
  const { values, positionals } = parseArgs({
    options: { 'dry-run': { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const isDry = values['dry-run']
  const present = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')).version as string
  const [version = present] = positionals
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) fail(`'${version}' is not a version, for instance 0.2.0.`)
  if (!isDry && run('git', 'status', '--porcelain') !== '') fail('commit your changes first.')
  const changelog = readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8')
  const notes = changelogSection(changelog, version)
  if (notes === '') fail(`CHANGELOG.md has no section '## ${version}'.`)
  run('npm', 'run', 'docs')
  const changed = run('git', 'status', '--porcelain', 'docs')
  if (!isDry && changed !== '') fail(`the generated pages are not up to date; commit them first:\n${changed}`)

  if (!isDry) {
    const day = new Date().toISOString().slice(0, 10)
    writeFileSync(
      join(checkout, 'CHANGELOG.md'),
      changelog.replace(`## ${version} (unreleased)`, `## ${version} (${day})`),
    )
    if (version !== present) run('npm', 'version', version, '--no-git-tag-version')
    run('git', 'commit', '--all', '--message', `Release ${version}`)
    run('git', 'tag', `v${version}`)
  }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const packed = /"filename": "([^"]+)"/.exec(run('npm', 'pack', '--json', '--pack-destination', folder))![1]!
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, packed)))
    .digest('hex')
  writeFileSync(join(folder, 'SHA256SUMS'), `${digest}  ${packed}\n`)
  writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`)
  process.stdout.write(`${isDry ? 'Dry run: nothing was committed or tagged.\n' : ''}release/${packed}  ${digest}\n`)
  if (!isDry) process.stdout.write(`Next: git push --follow-tags && npm publish release/${packed}\n`)
}

if (import.meta.main) main()
