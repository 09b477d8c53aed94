/**
 * The shape of the code, checked by the code: layers, cycles, clocks, dead files, names, widths, and a
 * sentence on top of every file.
 */

import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { readPage, updated } from '../tools/generated-page.ts'
import { mongoPage } from '../tools/mongo-page.ts'
import { queryPage } from '../tools/query-page.ts'
import {
  cyclesIn,
  filesOf,
  foldersUsedBy,
  importsOf,
  sources,
  textOf,
  wideCodeLines,
  wideProseLines,
} from './support/source-tree.ts'

const code = [...sources.keys()]
/** Without the folder into which `npm run compat` installs the clients. */
const compat = ['compat/*.ts', 'compat/{javascript,mongo/*}/*.ts']
const folders = [...new Set(code.map(path => dirname(path)))]

/** From the ground up; a file may import from its own layer's folder and from lower layers only. */
const layers: readonly (readonly string[])[] = [
  ['src/base/'],
  ['src/document/'],
  ['src/store/'],
  ['src/units/'],
  ['src/ttl/'],
  ['src/adapters/'],
  ['src/query/'],
  ['src/sql/', 'src/mql/', 'src/scripts/', 'src/transfer/'],
  ['src/engine/'],
  ['src/nosql/', 'src/mongo/', 'src/admin/', 'src/explorer/'],
  ['src/server/'],
  ['src/index.ts', 'src/cli/'],
]

/**
 * Only the composition root knows which adapter is used, and the thread that it starts to read from SQLite.
 */
const composition = [
  ...['src/server/start.ts', 'src/server/query-thread/', 'src/server/migrate.ts'],
  ...['src/server/check.ts', 'src/server/restore.ts'],
]
const adapters = ['src/adapters/sqlite/', 'src/adapters/postgres/']

function layerOf(path: string): { level: number; folder: string } {
  const level = layers.findIndex(folders => folders.some(folder => path.startsWith(folder)))
  return { level, folder: layers[level]?.find(folder => path.startsWith(folder)) ?? '' }
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

test('edges reach the store through the engine only', () => {
  const edges = ['src/nosql/', 'src/mongo/', 'src/admin/', 'src/explorer/', 'src/index.ts', 'src/cli/']
  const around: string[] = []
  for (const path of code.filter(each => edges.some(edge => each.startsWith(edge)))) {
    const targets = importsOf(path).filter(
      target => target.startsWith('src/adapters/') || target === 'src/store/port.ts',
    )
    around.push(...targets.map(target => `${path} imports ${target}`))
    if (/\bengine\.store\b/.test(sources.get(path)!)) around.push(`${path} mentions engine.store`)
  }
  assert.deepEqual(around, [])
})

test('no import cycles, neither between files nor between folders', () => {
  assert.deepEqual(cyclesIn(code, importsOf), [])
  // A folder is the files that lie directly in it: its sub-folders are folders of their own.
  assert.deepEqual(cyclesIn(folders, foldersUsedBy), [])
})

test('every file is imported or started', () => {
  /** The library, the command (bin/mayfly.js), and the threads, which are started by their URL. */
  const entries = [
    'src/index.ts',
    'src/cli/main.ts',
    'src/server/query-thread/query-worker.ts',
    'src/scripts/script-thread.ts',
    'src/scripts/function-thread.ts',
  ]
  const used = new Set([...entries, ...code.flatMap(importsOf)])
  assert.deepEqual(
    code.filter(path => !used.has(path)),
    [],
  )
})

test('no folder has more than 30 source files of its own', () => {
  const filesIn = (folder: string) => code.filter(path => dirname(path) === folder).length
  assert.deepEqual(
    folders.filter(folder => filesIn(folder) > 30),
    [],
  )
})

test('the name of an exported type means one thing', () => {
  const exported = /^export (?:declare |abstract )*(?:interface|type|class|enum) ([\w$]+)/gm
  const homes = Map.groupBy(
    code.flatMap(path => [...sources.get(path)!.matchAll(exported)].map(([, name]) => ({ name: name!, path }))),
    ({ name }) => name,
  )
  const twice = [...homes.values()].filter(found => found.length > 1)
  assert.deepEqual(
    twice.map(found => found.map(({ name, path }) => `${name} in ${path}`)),
    [],
  )
})

test('property tests import fast-check where seed and path come from the environment', () => {
  const importers = filesOf('{src,test,bench,tools}/**/*.ts').filter(path =>
    /^import .*'fast-check'/m.test(textOf(path)),
  )
  assert.deepEqual(importers, ['test/support/property.ts'])
})

test('one file reads the time', () => {
  const clock = 'src/base/clock.ts'
  const reading = /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|(?<![.\w])set(Timeout|Interval|Immediate)\(/
  const readers = code.filter(path => path !== clock && reading.test(sources.get(path)!))
  assert.deepEqual(readers, [])
})

test('every file opens with a sentence that says what it is for', () => {
  const silent = code.filter(path => !/^\/\*\*(?:\s+\*)?\s[^*]{15,}(?:\s\*\s[^*]+)*[.:]\s/.test(sources.get(path)!))
  assert.deepEqual(silent, [])
})

test('no file is called after nothing in particular, and nothing is exported by default', () => {
  const vague = code.filter(path => /(utils?|helpers?|common|manager|misc)\.ts$/.test(path))
  const defaults = code.filter(path => /^export default\b/m.test(sources.get(path)!))
  assert.deepEqual({ vague, defaults }, { vague: [], defaults: [] })
})

test('lines of code end before column 120, lines of comment before column 110', () => {
  const files = filesOf('{src,test,bench,tools,bin}/**/*.{ts,js}', ...compat)
  assert.deepEqual(files.flatMap(wideCodeLines), [])
})

test('lines of prose end before column 110', () => {
  const pages = filesOf('*.md', '{docs,bench,test,.github}/**/*.md')
  assert.deepEqual(pages.flatMap(wideProseLines), [])
})

test('the pages about queries and about Mongo list the functions, commands and operators there are', () => {
  for (const page of [queryPage, mongoPage]) assert.equal(readPage(page), updated(page), 'run "npm run docs"')
})

test('every source file that a page names exists', () => {
  const paths = filesOf('{src,test,bench,tools}/**/*.ts', ...compat).map(path => `/${path}`)
  const missing = filesOf('*.md', '{docs,bench}/**/*.md').flatMap(page =>
    [...textOf(page).matchAll(/(?<![\w*./-])[\w-][\w./-]*\.ts\b/g)]
      .filter(([name]) => !paths.some(path => path.endsWith(`/${name}`)))
      .map(([name]) => `${page} names ${name}`),
  )
  assert.deepEqual(missing, [])
})
