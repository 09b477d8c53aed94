/**
 * Walks through the package as its users do: `npm run walk`. It knows only the packed file.
 *
 * In empty folders, with each supported Node: `import`, `require`, types, the command, and the test runners
 * of `examples/`. It needs the npm registry, so it is no part of `npm test`. `.ci/run` runs it.
 */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { blocksOf } from '../docs/code-blocks.ts'
import { isRunnable, runPage } from '../docs/run-page.ts'
import { placesIn } from '../docs/story.ts'
import { serveCli } from '../support/run-cli.ts'
import { textOf } from '../support/source-tree.ts'
import { newClone, newProject, nodeOf, run, succeed } from './project.ts'
import { releasedPackage } from './released.ts'
import { loadExplorer, useKillAndUseAgain } from './story.ts'

const packages = ['@azure/cosmos@4', 'mongodb@7', 'vitest@5', 'mocha@12', 'jest@30']
const [, oldest] = /^>=([\d.]+)/.exec(JSON.parse(textOf('package.json')).engines.node)!
/** The oldest one, and the newest of each kind. */
const supported = [`${oldest}.0`, '22', '24']
const tooOld = '20'

const folder = mkdtempSync(join(tmpdir(), 'mayfly-walk-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const checkout = fileURLToPath(new URL('../..', import.meta.url))
/** As the package brings them. */
const examplesOf = (project: string) => join(project, 'node_modules/mayfly/examples')

function write(project: string, name: string, text: string): void {
  writeFileSync(join(project, name), text)
}

const seeded = { id: 'carts', partitionKey: '/customer', items: [{ id: 'c1', customer: 'ann' }] }

/** Words that must not stand in the output of somebody's tests. */
const noise = /ExperimentalWarning|experimental feature|DeprecationWarning|MaxListeners/

let tarball: string
/** A project with the package, the official clients and the test runners. Each Node gets a copy. */
let installed: string
before(async () => {
  tarball = releasedPackage()
  installed = await newProject(join(folder, 'installed'), [tarball, ...packages])
})

const script = `
const db = await mayfly({ clock: 'manual' })
const before = db.clock.now()
await db.clock.advance(60)
await db.clock.advance('1m')
const answer = await fetch(db.endpoint + '/alive')
console.log(answer.status, db.clock.now() - before, db.mongoUri.startsWith('mongodb://'))
await db.close()
`

for (const version of supported) {
  describe(`Node ${version}`, async () => {
    let node: string | undefined
    let project: string
    before(async () => {
      node = await nodeOf(version, join(folder, `node-${version}`))
      project = join(folder, `project-${version}`)
      mkdirSync(project)
      for (const name of ['node_modules', 'package.json']) symlinkSync(join(installed, name), join(project, name))
    })
    const options = () => ({ cwd: project, ...(node !== undefined && { node }) })

    test('`import` works, prints nothing of its own, and a script that never closes the server ends', async () => {
      write(project, 'esm.mjs', `import { mayfly } from 'mayfly'${script}`)
      const ended = await succeed('node', ['esm.mjs'], options())
      assert.deepEqual([ended.stdout, ended.stderr], ['200 120 true\n', ''])
      write(project, 'open.mjs', `import { mayfly } from 'mayfly'\nawait mayfly()`)
      await succeed('node', ['open.mjs'], options())
    })

    test('`require` works and prints nothing of its own', async () => {
      write(project, 'cjs.cjs', `const { mayfly } = require('mayfly');\n(async () => {${script}})()`)
      const ended = await succeed('node', ['cjs.cjs'], options())
      assert.deepEqual([ended.stdout, ended.stderr], ['200 120 true\n', ''])
    })

    test('data in a directory is there after a restart', async () => {
      const text = `import { mayfly } from 'mayfly'
import { MongoClient } from 'mongodb'
for (const n of [1, 2]) {
  const db = await mayfly({ data: 'kept' })
  const client = new MongoClient(db.mongoUri)
  await client.db('shop').collection('carts').insertOne({ n })
  if (n === 2) console.log(await client.db('shop').collection('carts').countDocuments())
  await client.close()
  await db.close()
}`
      write(project, 'kept.mjs', text)
      assert.equal((await succeed('node', ['kept.mjs'], options())).stdout, '2\n')
    })

    test('the command serves, answers other commands, and stops', async () => {
      const started = await succeed('npx', ['mayfly', '--version'], options())
      assert.match(started.stdout, /^\d+\.\d+\.\d+\n$/)
      const story = `npx mayfly exec --clock manual -- node -e '
        const body = JSON.stringify({ advance: "1h" })
        fetch(process.env.COSMOS_ENDPOINT + "/_mayfly/clock", { method: "POST", body })
          .then(answer => answer.json()).then(state => console.log(state.mode))'`
      assert.equal((await succeed('sh', ['-c', story], options())).stdout, 'manual\n')
    })

    test('the installed command does everything, in threads too, and loses nothing by kill -9', async () => {
      const cwd = join(project, 'served')
      mkdirSync(cwd)
      const executable = join(project, 'node_modules/.bin/mayfly')
      const env = { PATH: [node ?? dirname(process.execPath), process.env.PATH].join(delimiter), HOME: cwd }
      const args = ['--port', '0', '--mongo-port', '0', '--json', '--data', 'data']
      await useKillAndUseAgain(() => serveCli(args, { executable, cwd, env }), { namesThreads: version === '24' })
      await using server = await serveCli(args, { executable, cwd, env })
      await loadExplorer(server)
    })

    test('the installed command exports, backs up, restores and checks', async () => {
      const cwd = join(project, 'kept-safe')
      mkdirSync(cwd)
      const mayfly = (...args: string[]) => run('npx', ['mayfly', ...args], { ...options(), cwd })
      write(cwd, 'seed.json', JSON.stringify({ databases: [{ id: 'shop', containers: [seeded] }] }))
      const story = `set -e
npx mayfly export --database shop --container carts --output carts.jsonl
npx mayfly backup saved.db
npx mayfly check`
      const used = await mayfly('exec', '--seed', 'seed.json', '--data', 'data', '--', 'sh', '-c', story)
      assert.match(readFileSync(join(cwd, 'carts.jsonl'), 'utf8'), /^\{"id":"c1","customer":"ann".*\}\n$/)
      assert.equal((await mayfly('check', '--data', 'data')).code, 0)
      assert.equal(used.code, 0, used.stderr)
      assert.equal((await mayfly('restore', 'saved.db', '--data', 'restored')).code, 0)
      const query = ['query', 'SELECT VALUE c.id FROM c', '--database', 'shop', '--container', 'carts', '--json']
      const found = await mayfly('exec', '--data', 'restored', '--', 'npx', 'mayfly', ...query)
      assert.deepEqual(JSON.parse(found.stdout), ['c1'])
    })

    test('what the README shows works, in its order', async t => {
      const readme = 'node_modules/mayfly/README.md'
      assert.equal(readFileSync(join(project, readme), 'utf8'), textOf('README.md'))
      await runPage(t, blocksOf('README.md').filter(isRunnable), await placesIn(project, { node }))
    })

    const runners = [
      { name: 'node-test', command: ['node', '--test'], passed: /pass 1\n/ },
      { name: 'vitest', command: ['npx', 'vitest', 'run'], passed: /1 passed/ },
      { name: 'mocha', command: ['npx', 'mocha', 'carts.test.js'], passed: /1 passing/ },
      { name: 'jest', command: ['npx', 'jest'], passed: /1 passed/ },
    ] as const
    for (const { name, command, passed } of runners) {
      test(`examples/${name} passes, and its output has no warning`, async () => {
        const own = join(project, name)
        cpSync(join(examplesOf(installed), name), own, { recursive: true })
        write(own, 'package.json', JSON.stringify({ type: name === 'jest' ? 'commonjs' : 'module' }))
        const [program, ...args] = command
        const { stdout, stderr } = await succeed(program, args, { ...options(), cwd: own })
        assert.match(stdout + stderr, passed)
        assert.doesNotMatch(stdout + stderr, noise)
      })
    }
  })
}

describe('a checkout', () => {
  test('`npx mayfly` serves the explorer, keeps data, and leaves nothing for git to see', async () => {
    const clone = await newClone(checkout, join(folder, 'clone'))
    const look = `fetch(process.env.COSMOS_ENDPOINT + '/_explorer/').then(async page => {
      if (!(await page.text()).includes('<script')) process.exit(1)
    })`
    const command = ['mayfly', 'exec', '--data', 'mayfly-data', '--', 'node', '-e', look]
    await succeed('npx', command, { cwd: clone })
    assert.ok(existsSync(join(clone, 'mayfly-data', 'mayfly.db')))
    assert.equal((await succeed('git', ['status', '--porcelain'], { cwd: clone })).stdout, '')
  })
})

describe(`Node ${tooOld}`, async () => {
  test('the library and the command say which Node they need, and nothing else', async t => {
    const node = await nodeOf(tooOld, join(folder, `node-${tooOld}`))
    if (node === undefined) return t.skip('no Node for this machine on npm')
    const project = installed
    const sentence = new RegExp(
      `Mayfly needs Node ${oldest} or newer, but not 23; this is ${tooOld}\\.[\\d.]+ "npm install --save-dev node@24"`,
    )
    write(project, 'cjs.cjs', "require('mayfly')")
    write(project, 'esm.mjs', "import 'mayfly'")
    for (const args of [['cjs.cjs'], ['esm.mjs'], ['node_modules/.bin/mayfly']]) {
      const { code, stderr } = await run('node', args, { cwd: project, node })
      assert.equal(code, 1)
      assert.match(stderr, sentence)
    }
  })
})

describe('the package', () => {
  test('a production install brings few packages and runs no install script', async () => {
    const project = await newProject(join(folder, 'production'), [tarball, '--ignore-scripts'], { omitDev: true })
    const { stdout } = await succeed('npm', ['ls', '--all', '--parseable'], { cwd: project })
    const packages = stdout.trim().split('\n').length - 1
    assert.ok(packages <= 20, `${packages} packages`)
    write(project, 'esm.mjs', `import { mayfly } from 'mayfly'${script}`)
    assert.equal((await succeed('node', ['esm.mjs'], { cwd: project })).stdout, '200 120 true\n')
  })

  test('what the Dockerfile sets suits the command, and its health check finds the server', async () => {
    const image = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')
    const [, settings] = /^ENV (.*)$/m.exec(image) ?? []
    const [, check] = /^ *CMD node -e "(.*)"$/m.exec(image) ?? []
    const cwd = join(folder, 'image')
    mkdirSync(cwd, { mode: 0o700 })
    const own = Object.fromEntries(settings!.split(' ').map(setting => setting.split('=')))
    assert.equal(own.MAYFLY_DATA, '/data')
    const env = { PATH: process.env.PATH!, ...own, MAYFLY_DATA: cwd, MAYFLY_PORT: '0', MAYFLY_MONGO_PORT: '0' }
    const executable = join(folder, 'production/node_modules/.bin/mayfly')
    await using server = await serveCli(['--json'], { executable, cwd, env })
    const { port } = new URL(server.endpoint)
    assert.ok(check!.includes(':8081/'))
    const healthy = check!.replace('8081', port)
    assert.equal((await run('node', ['-e', healthy], { cwd })).code, 0)
    assert.equal((await run('node', ['-e', healthy.replace('/ready', '/nothing')], { cwd })).code, 1)
  })

  test('publint and are-the-types-wrong find nothing', async () => {
    const tools = await newProject(join(folder, 'tools'), ['publint@0.3', '@arethetypeswrong/cli@0.18'])
    const { stdout } = await succeed('npx', ['publint', 'run', tarball, '--strict'], { cwd: tools })
    assert.match(stdout, /All good/)
    await succeed('npx', ['attw', tarball], { cwd: tools })
  })

  before(() => newProject(join(folder, 'types'), [tarball, 'typescript@5']))
  const strict = { strict: true, noEmit: true, target: 'es2022', lib: ['es2022'], types: [] }
  const setups = [
    { name: 'an ES module', file: 'a.mts', options: { module: 'nodenext' } },
    { name: 'CommonJS', file: 'a.cts', options: { module: 'nodenext' } },
    { name: 'a bundler', file: 'a.ts', options: { module: 'esnext', moduleResolution: 'bundler' } },
    { name: 'an old resolver', file: 'a.ts', options: { module: 'commonjs', moduleResolution: 'node10' } },
  ]
  for (const { name, file, options } of setups) {
    test(`the types work in ${name}, under strict, without @types/node`, async () => {
      const project = join(folder, 'types')
      const text = `import { mayfly, type Mayfly } from 'mayfly'
export async function start(): Promise<string> {
  const db: Mayfly = await mayfly({ clock: 'manual' })
  await db.clock.advance(60)
  const uri: string = db.mongoUri
  const without = await mayfly({ mongoPort: null })
  // @ts-expect-error Mongo is not served.
  const none: string = without.mongoUri
  // @ts-expect-error There is no such option.
  await mayfly({ clok: 'manual' })
  await db.close()
  return uri + none
}
`
      write(project, file, text)
      write(project, 'tsconfig.json', JSON.stringify({ compilerOptions: { ...strict, ...options }, files: [file] }))
      await succeed('npx', ['tsc'], { cwd: project })
    })
  }

  test('examples/pytest passes with `mayfly exec`', async t => {
    if (spawnSync('python3', ['-c', 'import venv']).status !== 0) return t.skip('no Python with venv')
    const project = join(folder, 'production')
    cpSync(join(examplesOf(project), 'pytest'), project, { recursive: true })
    await succeed('python3', ['-m', 'venv', 'venv'], { cwd: project })
    await succeed('venv/bin/pip', ['install', '-q', 'pytest', 'azure-cosmos'], { cwd: project })
    const command = ['mayfly', 'exec', '--clock', 'manual', '--', 'venv/bin/pytest', '-q']
    const { stdout } = await succeed('npx', command, { cwd: project })
    assert.match(stdout, /1 passed/)
  })

  test('examples/junit passes with `mayfly exec`', async t => {
    if (spawnSync('mvn', ['--version']).status !== 0) return t.skip('no Maven')
    const production = join(folder, 'production')
    const project = join(folder, 'junit')
    cpSync(join(examplesOf(production), 'junit'), project, { recursive: true })
    symlinkSync(join(production, 'node_modules'), join(project, 'node_modules'))
    write(project, 'package.json', '{}')
    const command = ['mayfly', 'exec', '--clock', 'manual', '--', 'mvn', '--batch-mode', 'test']
    const { stdout } = await succeed('npx', command, { cwd: project })
    assert.match(stdout, /Tests run: 1, Failures: 0, Errors: 0, Skipped: 0/)
  })
})
