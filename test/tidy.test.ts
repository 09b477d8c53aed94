/**
 * The shape of the code, checked by the code: layers, cycles, clocks, dead files, names, widths, and a
 * sentence on top of every file.
 */

import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { benchmarksPage } from '../bench/page.ts'
import { commandsPage } from '../tools/commands-page.ts'
import { readPage, updated } from '../tools/generated-page.ts'
import { limitsPage } from '../tools/limits-page.ts'
import { mongoPage } from '../tools/mongo-page.ts'
import { mutants } from '../tools/mutant-list.ts'
import { queryPage } from '../tools/query-page.ts'
import {
  cyclesIn,
  filesOf,
  type SourceTree,
  sourceTree,
  textOf,
  wideCodeLines,
  wideProseLines,
} from './support/source-tree.ts'

/** From the ground up; a file may import from its own layer's folder and from lower layers only. */
type Layers = readonly (readonly string[])[]

interface Program {
  readonly name: string
  readonly tree: SourceTree
  readonly layers: Layers
  /** What starts: nobody imports it. */
  readonly entries: readonly string[]
}

const server: Program = {
  name: 'the server',
  tree: sourceTree('src/**/*.ts'),
  layers: [
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
  ],
  // The library, the command (bin/mayfly.js), and the threads, which are started by their URL.
  entries: [
    'src/index.ts',
    'src/cli/main.ts',
    'src/server/query-thread/query-worker.ts',
    'src/server/query-thread/checkpoint-worker.ts',
    'src/scripts/script-thread.ts',
    'src/scripts/function-thread.ts',
  ],
}

const screens = ['expiry', 'feed', 'import-export', 'items', 'landing', 'load', 'login', 'query', 'scripts', 'settings']
const page: Program = {
  name: 'the explorer page',
  tree: sourceTree('web/src/**/*.{ts,tsx,css}'),
  layers: [
    ['web/src/browser/', 'web/src/text/'],
    ['web/src/time/'],
    ['web/src/api/'],
    ['web/src/live/', 'web/src/theme/'],
    ['web/src/components/', 'web/src/charts/'],
    ['web/src/navigation/'],
    ['web/src/containers/'],
    ['web/src/screens/screen-props.ts'],
    screens.map(screen => `web/src/screens/${screen}/`),
    ['web/src/shell/'],
    ['web/src/main.tsx', 'web/src/styles.d.ts'],
  ],
  // Also the types of imported style sheets, for the compiler only.
  entries: ['web/src/main.tsx', 'web/src/styles.d.ts'],
}

const programs = [server, page]
const code = server.tree.paths
/** Without the folder into which `npm run compat` installs the clients. */
const compat = ['compat/*.ts', 'compat/{javascript,mongo/*}/*.ts']

/** These know the adapters: the server when it opens the store, the query threads, and commands on files. */
const composition = [
  ...['src/server/open-store.ts', 'src/server/query-thread/', 'src/server/migrate.ts'],
  ...['src/server/check.ts', 'src/server/restore.ts'],
]
const adapters = ['src/adapters/sqlite/', 'src/adapters/postgres/']

function layerOf(path: string, layers: Layers): { level: number; folder: string } {
  const level = layers.findIndex(folders => folders.some(folder => path.startsWith(folder)))
  return { level, folder: layers[level]?.find(folder => path.startsWith(folder)) ?? '' }
}

/** Imports that go up, or into another folder of the same layer. */
function upwardImports({ tree, layers }: Program): string[] {
  return tree.paths.flatMap(path => {
    const from = layerOf(path, layers)
    const upward = tree.importsOf(path).filter(target => {
      const to = layerOf(target, layers)
      return to.level >= from.level && to.folder !== from.folder
    })
    return upward.map(target => `${path} imports ${target}`)
  })
}

for (const program of programs) {
  const { name, tree, layers, entries } = program

  test(`${name}: every file belongs to a layer`, () => {
    assert.deepEqual(
      tree.paths.filter(path => layerOf(path, layers).level === -1),
      [],
    )
  })

  test(`${name}: imports go down only`, () => {
    assert.deepEqual(upwardImports(program), [])
  })

  test(`${name}: no import cycles, neither between files nor between folders`, () => {
    assert.deepEqual(cyclesIn(tree.paths, tree.importsOf), [])
    // A folder is the files that lie directly in it: its sub-folders are folders of their own.
    assert.deepEqual(cyclesIn(tree.folders, tree.foldersUsedBy), [])
  })

  test(`${name}: every file is imported or started`, () => {
    const used = new Set([...entries, ...tree.paths.flatMap(tree.importsOf)])
    assert.deepEqual(
      tree.paths.filter(path => !used.has(path)),
      [],
    )
  })

  test(`${name}: no folder has more than 30 source files of its own`, () => {
    const filesIn = (folder: string) => tree.paths.filter(path => dirname(path) === folder).length
    assert.deepEqual(
      tree.folders.filter(folder => filesIn(folder) > 30),
      [],
    )
  })

  test(`${name}: the name of an exported type means one thing`, () => {
    const exported = /^export (?:declare |abstract )*(?:interface|type|class|enum) ([\w$]+)/gm
    const homes = Map.groupBy(
      tree.paths.flatMap(path => [...tree.text(path).matchAll(exported)].map(([, name]) => ({ name: name!, path }))),
      ({ name }) => name,
    )
    const twice = [...homes.values()].filter(found => found.length > 1)
    assert.deepEqual(
      twice.map(found => found.map(({ name, path }) => `${name} in ${path}`)),
      [],
    )
  })

  test(`${name}: every file opens with a sentence that says what it is for`, () => {
    const sentence = /^\/\*\*?(?:\s+\*)?\s[^*]{15,}(?:\s\*\s[^*]+)*[.:]\s/
    assert.deepEqual(
      tree.paths.filter(path => !sentence.test(tree.text(path))),
      [],
    )
  })

  test(`${name}: no file is called after nothing in particular, and nothing is exported by default`, () => {
    const vague = tree.paths.filter(path => /(utils?|helpers?|common|manager|misc)\.\w+$/.test(path))
    const defaults = tree.paths.filter(path => /^export default\b/m.test(tree.text(path)))
    assert.deepEqual({ vague, defaults }, { vague: [], defaults: [] })
  })
}

test('every mutant fits the code', () => {
  assert.deepEqual(
    mutants.filter(({ file, from }) => textOf(file).split(from).length !== 2),
    [],
  )
})

test('an adapter is known where the server is composed only', () => {
  const knowing: string[] = []
  for (const path of code) {
    for (const target of server.tree.importsOf(path)) {
      const isForeign = adapters.some(adapter => target.startsWith(adapter) && !path.startsWith(adapter))
      if (isForeign && !composition.some(part => path.startsWith(part))) {
        knowing.push(`${path} knows an adapter: ${target}`)
      }
    }
  }
  assert.deepEqual(knowing, [])
})

test('edges reach the store through the engine only', () => {
  const edges = ['src/nosql/', 'src/mongo/', 'src/admin/', 'src/explorer/', 'src/index.ts', 'src/cli/']
  const around: string[] = []
  for (const path of code.filter(each => edges.some(edge => each.startsWith(edge)))) {
    const targets = server.tree
      .importsOf(path)
      .filter(target => target.startsWith('src/adapters/') || target === 'src/store/port.ts')
    around.push(...targets.map(target => `${path} imports ${target}`))
    if (/\bengine\.store\b/.test(server.tree.text(path))) around.push(`${path} mentions engine.store`)
  }
  assert.deepEqual(around, [])
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
  const readers = code.filter(path => path !== clock && reading.test(server.tree.text(path)))
  assert.deepEqual(readers, [])
})

test('the page shows the time of the server, and measures with a clock that nobody sets', () => {
  const { paths, text } = page.tree
  assert.deepEqual(
    paths.filter(path => /\bDate\.now\(|\bnew Date\(\)/.test(text(path))),
    [],
  )
  assert.deepEqual(paths.filter(path => /\bperformance\.now\(/.test(text(path))).toSorted(), [
    'web/src/live/refresh.ts',
    'web/src/time/clock.ts',
  ])
})

test('lines of code end before column 120, lines of comment before column 110', () => {
  const files = filesOf('{src,test,bench,tools,bin,web}/**/*.{ts,tsx,css,js}', ...compat)
  assert.deepEqual(files.flatMap(wideCodeLines), [])
})

test('lines of prose end before column 110', () => {
  const pages = filesOf('*.md', '{docs,bench,test,.github}/**/*.md')
  assert.deepEqual(pages.flatMap(wideProseLines), [])
})

test('pages list the functions, commands, operators, flags and limits that there are', () => {
  for (const page of [queryPage, mongoPage, commandsPage, limitsPage, benchmarksPage])
    assert.equal(readPage(page), updated(page), 'run "npm run docs"')
})

test('every function that a flow of ARCHITECTURE.md names is in the file beside it', () => {
  const steps = [...textOf('ARCHITECTURE.md').matchAll(/^ *([\w/.-]+\.ts) +([a-z]+[A-Z]\w*)\b/gm)]
  const wrong = steps.filter(([, file, name]) => {
    const homes = code.filter(path => path.endsWith(`/${file}`))
    return !homes.some(path => new RegExp(`\\b${name}\\b`).test(server.tree.text(path)))
  })
  assert.ok(steps.length > 10)
  assert.deepEqual(
    wrong.map(([step]) => step.trim()),
    [],
  )
})

test('every source file that a page names exists', () => {
  const paths = filesOf('{src,test,bench,tools,web}/**/*.{ts,tsx}', ...compat).map(path => `/${path}`)
  const missing = filesOf('*.md', '{docs,bench}/**/*.md').flatMap(page =>
    [...textOf(page).matchAll(/(?<![\w*./-])[\w-][\w./-]*\.tsx?\b/g)]
      .filter(([name]) => !paths.some(path => path.endsWith(`/${name}`)))
      .map(([name]) => `${page} names ${name}`),
  )
  assert.deepEqual(missing, [])
})
