/**
 * The shape of the code, checked by the code: layers, cycles, clocks, and a sentence on top of every file.
 */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { readPage, updated } from '../tools/generated-page.ts'
import { mongoPage } from '../tools/mongo-page.ts'
import { queryPage } from '../tools/query-page.ts'

const root = join(import.meta.dirname, '..')
const sources = globSync('src/**/*.ts', { cwd: root }).map(path => normalize(path).replaceAll('\\', '/'))
const code = sources.filter(path => !path.endsWith('.test.ts'))
const texts = new Map(sources.map(path => [path, readFileSync(join(root, path), 'utf8')]))

/** From the ground up; a file may import from its own layer's folder and from lower layers only. */
const layers: readonly (readonly string[])[] = [
  ['src/base/'],
  ['src/document/'],
  ['src/store/'],
  ['src/units/'],
  ['src/ttl/'],
  ['src/adapters/'],
  ['src/query/'],
  ['src/sql/', 'src/mql/', 'src/scripts/'],
  ['src/engine/'],
  ['src/nosql/', 'src/mongo/', 'src/admin/'],
  ['src/server/'],
  ['src/index.ts', 'src/cli/'],
]

/**
 * Only the composition root knows which adapter is used, and the thread that it starts to read from SQLite.
 */
const composition = ['src/server/start.ts', 'src/server/query-thread/', 'src/server/migrate.ts']
const adapters = ['src/adapters/sqlite/', 'src/adapters/postgres/']

function layerOf(path: string): { level: number; folder: string } {
  const level = layers.findIndex(folders => folders.some(folder => path.startsWith(folder)))
  return { level, folder: layers[level]?.find(folder => path.startsWith(folder)) ?? '' }
}

function importsOf(path: string): string[] {
  const found = texts.get(path)!.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)
  return [...found].map(([, target]) => normalize(join(dirname(path), target!)).replaceAll('\\', '/'))
}

test('every file belongs to a layer', () => {
  assert.deepEqual(
    code.filter(path => layerOf(path).level === -1),
    [],
  )
})

test('imports go down only', () => {
  const upward: string[] = []
  for (const path of code) {
    const from = layerOf(path)
    for (const target of importsOf(path)) {
      const to = layerOf(target)
      const isDown = to.level < from.level || to.folder === from.folder
      if (!isDown) upward.push(`${path} imports ${target}`)
      const isForeign = adapters.some(adapter => target.startsWith(adapter) && !path.startsWith(adapter))
      if (isForeign && !composition.some(part => path.startsWith(part))) {
        upward.push(`${path} knows an adapter: ${target}`)
      }
    }
  }
  assert.deepEqual(upward, [])
})

test('no file imports itself by a detour', () => {
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
    if (done.has(path) || trail.includes(path)) return
    for (const target of importsOf(path)) if (texts.has(target)) visit(target, [...trail, path])
    done.add(path)
  }
  for (const path of code) visit(path, [])
  assert.deepEqual(cycles, [])
})

test('one file reads the time', () => {
  const clock = 'src/base/clock.ts'
  const reading = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|(?<![.\w])set(Timeout|Interval|Immediate)\(/
  const readers = code.filter(path => path !== clock && reading.test(texts.get(path)!))
  assert.deepEqual(readers, [])
})

test('every file opens with a sentence that says what it is for', () => {
  const silent = code.filter(path => !/^\/\*\*(?:\s+\*)?\s[^*]{15,}(?:\s\*\s[^*]+)*[.:]\s/.test(texts.get(path)!))
  assert.deepEqual(silent, [])
})

test('no file is called after nothing in particular, and nothing is exported by default', () => {
  const vague = code.filter(path => /(utils?|helpers?|common|manager|misc)\.ts$/.test(path))
  const defaults = code.filter(path => /^export default\b/m.test(texts.get(path)!))
  assert.deepEqual({ vague, defaults }, { vague: [], defaults: [] })
})

test('the pages about queries and about Mongo list the functions, commands and operators there are', () => {
  for (const page of [queryPage, mongoPage]) assert.equal(readPage(page), updated(page), 'run "npm run docs"')
})

test('every source file that a page names exists', () => {
  const files = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'tools/*.ts'], { cwd: root })
  const paths = files.map(path => `/${path.replaceAll('\\', '/')}`)
  const missing = globSync(['*.md', 'docs/**/*.md', 'bench/*.md'], { cwd: root }).flatMap(page =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/(?<![\w*./-])[\w-][\w./-]*\.ts\b/g)]
      .filter(([name]) => !paths.some(path => path.endsWith(`/${name}`)))
      .map(([name]) => `${page} names ${name}`),
  )
  assert.deepEqual(missing, [])
})
