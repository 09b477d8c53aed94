/** The release: what the dry run makes, and what a real one does to a copy of the repository. */

import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newClone, run, succeed } from './project.ts'
import { release, releasedArchive, releasedPackage } from './released.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'mayfly-release-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))

test('a dry run makes the package, the executable, checksums and notes, and commits nothing', async () => {
  const { stdout } = await succeed('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: release })
  assert.equal(stdout.match(/: OK\n/g)?.length, 2)
  assert.ok(notesOf(checkout, version).length > 100)
})

/** The notes that were made are the section of the version, released or not. */
function notesOf(root: string, version: string): string {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').replaceAll(
    / \(\d{4}-\d\d-\d\d\)$/gm,
    ' (unreleased)',
  )
  const notes = readFileSync(join(root, 'release', 'NOTES.md'), 'utf8').trim()
  assert.ok(changelog.includes(`## ${version} (unreleased)\n\n${notes}\n`), notes)
  return notes
}

test('the package has the page and no sources, tests or executable', async () => {
  const { stdout } = await succeed('tar', ['-tzf', releasedPackage()], { cwd: folder })
  const files = stdout.trim().split('\n')
  for (const name of [
    'bin/mayfly.js',
    'dist/index.js',
    'dist/explorer/server.js',
    'dist/page/index.html',
    'docs/expiry.md',
    'LICENSE',
  ]) {
    assert.ok(files.includes(`package/${name}`), name)
  }
  const odd = files.filter(name => !/^package\/(bin|entry|dist|docs|examples)\/|^package\/[\w.-]+$/.test(name))
  assert.deepEqual(odd, [])
  assert.deepEqual(
    files.filter(name => /(?<!\.d)\.ts$|\.test\./.test(name) && !name.startsWith('package/examples/')),
    [],
  )
})

test('links of the packaged pages lead to packaged files, except those for people who work on Mayfly', async () => {
  await succeed('tar', ['-xzf', releasedPackage(), '-C', folder], { cwd: folder })
  const root = join(folder, 'package')
  const forDevelopers = /^(ARCHITECTURE\.md|CONTRIBUTING\.md|bench\/|\.github\/|src\/|test\/|tools\/)/
  const dead = globSync('{*.md,docs/**/*.md}', { cwd: root }).flatMap(page => {
    const links = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:)([^)#\s]+)/g)]
    const targets = links.map(([, link]) => normalize(join(dirname(page), link!)))
    return targets.filter(target => !forDevelopers.test(target) && !existsSync(join(root, target)))
  })
  assert.deepEqual(dead, [])
})

test('the archive has the executable beside README, docs and licences', async () => {
  await succeed('tar', ['-xzf', releasedArchive(), '-C', folder], { cwd: folder })
  const [name] = readdirSync(folder).filter(each => each.startsWith('mayfly-'))
  assert.equal(name, `mayfly-${version}-${process.platform}-${process.arch}`)
  const unpacked = join(folder, name!)
  assert.equal((await succeed(join(unpacked, 'mayfly'), ['--version'], { cwd: folder })).stdout, `${version}\n`)
  const files = readdirSync(unpacked)
  for (const each of ['README.md', 'LICENSE', 'docs']) assert.ok(files.includes(each), each)
  assert.match(readFileSync(join(unpacked, 'LICENSES.txt'), 'utf8'), /^quickjs-emscripten-core .*\(MIT\)$/m)
})

describe('a release of a copy', () => {
  const copy = join(folder, 'copy')
  const packageFile = join(copy, 'package.json')
  const changelogFile = join(copy, 'CHANGELOG.md')
  const git = async (...args: string[]) =>
    (await succeed('git', args, { cwd: copy, environment: author })).stdout.trim()
  const make = (args: readonly string[], environment = {}) =>
    run('node', ['tools/release.ts', ...args], { cwd: copy, environment: { ...author, ...environment } })
  const describePackage = (description: object) => writeFileSync(packageFile, JSON.stringify(description, null, 2))
  const untouched = async () => {
    assert.equal(await git('status', '--porcelain', '--untracked-files=no'), '')
    assert.equal(await git('tag', '--list'), '')
    assert.equal(await git('log', '-1', '--format=%s'), 'Prepare')
  }
  /** A packed file, as its users have it. */
  const packed = async (name: string) =>
    (await succeed('tar', ['-xzOf', 'release/mayfly-9.0.0.tgz', `package/${name}`], { cwd: copy })).stdout

  let described: object
  before(async () => {
    await newClone(checkout, copy)
    // Compiles nothing, and makes no executable: that is what the dry run of the checkout is for.
    const { repository: _, scripts, ...description } = JSON.parse(readFileSync(packageFile, 'utf8'))
    const quick = { prepack: 'true', dependencies: 'true', executable: 'test "$IS_BROKEN" = ""' }
    described = { ...description, scripts: { ...scripts, ...quick } }
    describePackage(described)
    const rest = readFileSync(changelogFile, 'utf8').replace('# Changelog\n', '')
    writeFileSync(changelogFile, `# Changelog\n\n## 9.0.0 (unreleased)\n\n- Everything.\n${rest}`)
  })

  test('it is refused without an address, with open changes, or without a section of the changelog', async () => {
    assert.match((await make(['9.0.0'])).stderr, /package\.json has no "repository": .*\.\n$/)
    describePackage({ ...described, repository: 'https://git.example/mayfly' })
    assert.match((await make(['9.0.0'])).stderr, /commit your changes first/)
    await git('commit', '--quiet', '--all', '--message', 'Prepare')
    assert.match((await make(['9.1.0'])).stderr, /CHANGELOG.md has no section '## 9.1.0 \(unreleased\)'/)
    assert.match((await make(['nine'])).stderr, /'nine' is not a version/)
    await untouched()
  })

  test('a dry run packs the version that it is given, and puts every file back', async () => {
    const made = await make(['9.0.0', '--dry-run'])
    assert.equal(made.code, 0, made.stderr)
    assert.equal(JSON.parse(await packed('package.json')).version, '9.0.0')
    assert.match(await packed('docs/install.md'), /mayfly-9\.0\.0\.tgz/)
    await untouched()
  })

  test('a build that fails leaves no commit, no tag and no changed file', async () => {
    const { code, stderr } = await make(['9.0.0'], { IS_BROKEN: 'yes' })
    assert.equal(code, 1)
    assert.match(stderr, /^release: npm run executable failed/)
    await untouched()
  })

  test('it sets the version wherever it stands, dates the changelog, commits and tags', async () => {
    const made = await make(['9.0.0'])
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stdout, /npm publish release\/mayfly-9\.0\.0\.tgz/)
    assert.equal(JSON.parse(readFileSync(packageFile, 'utf8')).version, '9.0.0')
    assert.equal(JSON.parse(readFileSync(join(copy, 'package-lock.json'), 'utf8')).version, '9.0.0')
    assert.match(readFileSync(changelogFile, 'utf8'), /^## 9\.0\.0 \(\d{4}-\d\d-\d\d\)$/m)
    assert.match(await packed('CHANGELOG.md'), /^## 9\.0\.0 \(\d{4}-\d\d-\d\d\)$/m)
    assert.equal(await git('describe', '--tags', '--exact-match'), 'v9.0.0')
    assert.equal(await git('status', '--porcelain', '--untracked-files=no'), '')
    assert.equal(notesOf(copy, '9.0.0'), '- Everything.')
    const old = await run('git', ['grep', '-nF', `mayfly-${version}`, '--', '*.md', '*.yaml', 'Dockerfile'], {
      cwd: copy,
    })
    assert.equal(old.stdout, '')
  })

  test('what follows a release passes: the dry run of the workflow, and the test of its notes', async () => {
    const { code, stderr } = await make(['--dry-run'])
    assert.equal(code, 0, stderr)
    assert.equal(notesOf(copy, '9.0.0'), '- Everything.')
    assert.equal(await git('status', '--porcelain', '--untracked-files=no'), '')
    assert.match((await make(['9.0.0'])).stderr, /no section '## 9.0.0 \(unreleased\)'/, 'no version comes twice')
  })
})

const author = {
  ...{ GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.com' },
  ...{ GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.com' },
}
