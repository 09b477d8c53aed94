/**
 * Walks through the package as its users do: `npm run walk`. It knows only the packed file.
 *
 * In empty folders, with each supported Node: `import`, `require`, types, the command, and the test runners
 * of `examples/`. It needs the npm registry, so it is no part of `npm test`. `.ci/run` runs it.
 */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newProject, nodeOf, pack, run, succeed } from './project.ts'

const packages = ['@azure/cosmos@4', 'mongodb@7', 'vitest@5', 'mocha@12', 'jest@30']
const supported = [22, 24]
const tooOld = 20

const folder = mkdtempSync(join(tmpdir(), 'mayfly-walk-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const examples = fileURLToPath(new URL('../../examples', import.meta.url))

function write(project: string, name: string, text: string): void {
  writeFileSync(join(project, name), text)
}

/** Words that must not stand in the output of somebody's tests. */
const noise = /ExperimentalWarning|experimental feature|DeprecationWarning|MaxListeners/

let tarball: string
/** A project with the package, the official clients and the test runners. Each Node gets a copy. */
let installed: string
before(async () => {
  tarball = await pack(folder)
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

for (const major of supported) {
  describe(`Node ${major}`, async () => {
    let node: string | undefined
    let project: string
    before(async () => {
      node = await nodeOf(major, join(folder, `node-${major}`))
      project = join(folder, `project-${major}`)
      cpSync(installed, project, { recursive: true, verbatimSymlinks: true })
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

    const runners = [
      { name: 'node-test', command: ['node', '--test'], passed: /pass 1\n/ },
      { name: 'vitest', command: ['npx', 'vitest', 'run'], passed: /1 passed/ },
      { name: 'mocha', command: ['npx', 'mocha', 'carts.test.js'], passed: /1 passing/ },
      { name: 'jest', command: ['npx', 'jest'], passed: /1 passed/ },
    ] as const
    for (const { name, command, passed } of runners) {
      test(`examples/${name} passes, and its output has no warning`, async () => {
        const own = join(project, name)
        cpSync(join(examples, name), own, { recursive: true })
        write(own, 'package.json', JSON.stringify({ type: name === 'jest' ? 'commonjs' : 'module' }))
        const [program, ...args] = command
        const { stdout, stderr } = await succeed(program, args, { ...options(), cwd: own })
        assert.match(stdout + stderr, passed)
        assert.doesNotMatch(stdout + stderr, noise)
      })
    }
  })
}

describe(`Node ${tooOld}`, async () => {
  test('the library and the command say which Node they need, and nothing else', async t => {
    const node = await nodeOf(tooOld, join(folder, `node-${tooOld}`))
    if (node === undefined) return t.skip('no Node for this machine on npm')
    const project = installed
    const sentence = new RegExp(`Mayfly needs Node 22\\.13 or newer; this is ${tooOld}\\.`)
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
    assert.ok(packages <= 40, `${packages} packages`)
    write(project, 'esm.mjs', `import { mayfly } from 'mayfly'${script}`)
    assert.equal((await succeed('node', ['esm.mjs'], { cwd: project })).stdout, '200 120 true\n')
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
    cpSync(join(examples, 'pytest'), project, { recursive: true })
    await succeed('python3', ['-m', 'venv', 'venv'], { cwd: project })
    await succeed('venv/bin/pip', ['install', '-q', 'pytest', 'azure-cosmos'], { cwd: project })
    const command = ['mayfly', 'exec', '--clock', 'manual', '--', 'venv/bin/pytest', '-q']
    const { stdout } = await succeed('npx', command, { cwd: project })
    assert.match(stdout, /1 passed/)
  })
})
