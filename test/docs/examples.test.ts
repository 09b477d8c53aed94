/**
 * Every code block of the README and of the pages that can run is run, in the order of its page, as a reader
 * would. What cannot run says why.
 */

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { startPostgres, type TestServer } from '../support/postgres.ts'
import { filesOf, textOf } from '../support/source-tree.ts'
import { blocksOf, type CodeBlock, pages, parsedLanguages, runLanguages, shownLanguages } from './code-blocks.ts'
import { givens } from './givens.ts'
import { isRunnable, place, runPage } from './run-page.ts'
import { newPlaces, usualPostgres } from './story.ts'

const blocks = pages.flatMap(blocksOf)

test('a block is run, parsed or shown by its language, or says why it is not run', () => {
  const known = [...runLanguages, ...parsedLanguages, ...shownLanguages]
  const silent = blocks.filter(({ language, reasonNotRun }) => reasonNotRun === undefined && !known.includes(language))
  assert.deepEqual(silent.map(place), [], 'give the reason in the line above: <!-- not run: … -->')
  const needless = blocks.filter(
    ({ language, reasonNotRun }) => reasonNotRun !== undefined && shownLanguages.includes(language),
  )
  assert.deepEqual(needless.map(place), [], 'a block that is only shown needs no reason')
})

test('a marker stands right above a block', () => {
  const marked = pages.flatMap(page => textOf(page).match(/^<!-- (not run|runs until).*$/gm) ?? [])
  assert.equal(marked.length, blocks.filter(block => block.reasonNotRun !== undefined || block.isServer).length)
})

test('every script of npm that a page names exists', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
  const named = pages.flatMap(page => [...textOf(page).matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!))
  assert.deepEqual(
    named.filter(name => scripts[name] === undefined),
    [],
  )
})

for (const block of blocks.filter(({ reasonNotRun }) => reasonNotRun === undefined)) {
  if (!parsedLanguages.includes(block.language)) continue
  test(`${place(block)} is valid ${block.language.toUpperCase()}`, () => parse(block))
}

for (const file of filesOf('*.{yml,yaml}', '{examples,.github}/**/*.{yml,yaml}')) {
  test(`${file} is valid YAML`, () => parseYaml(textOf(file)))
}

function parse({ language, code }: CodeBlock): void {
  if (language === 'yaml') parseYaml(code)
  // Several texts may follow each other, each at the margin.
  else for (const text of code.split(/\n(?=[{[])/)) JSON.parse(text)
}

function parseYaml(text: string): void {
  for (const { errors } of parseAllDocuments(text)) assert.deepEqual(errors, [])
}

const runnable = blocks.filter(isRunnable)
const stories = [...Map.groupBy(runnable, ({ page }) => page)]

let postgres: TestServer | undefined
before(async () => {
  if (runnable.some(({ code }) => code.includes(usualPostgres))) postgres = await startPostgres()
})
after(() => postgres?.[Symbol.asyncDispose]())

for (const [page, story] of stories) {
  test(page, async t => {
    const url = story.some(({ code }) => code.includes(usualPostgres)) ? await postgres!.createDatabase() : undefined
    await runPage(t, story, await newPlaces({ postgres: url, isOnPath: givens[page]?.isOnPath }))
  })
}

test('there are pages with examples', () => {
  assert.ok(stories.length >= 10)
})
