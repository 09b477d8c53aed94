/** Runs the JavaScript of the README and of the pages, in order, against one server, as a reader would. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Served, serveCli } from '../support/run-cli.ts'
import { temporaryDirectory } from '../support/start-server.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const exampleMsMax = 60_000

/** What the prose of a page takes for granted. */
const cosmos = `
import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos'
import { ChangeFeedStartFrom, CosmosClient } from '@azure/cosmos'
const { database } = await new CosmosClient(process.env.COSMOS_CONNECTION_STRING).databases.create({ id: PAGE })
const { container } = await database.containers.create({ id: 'items', partitionKey: '/pk', defaultTtl: -1 })
const use = item => item
`
const preludes: Readonly<Record<string, string>> = {
  'docs/change-feed.md': `${cosmos}\nawait container.items.create({ id: '1', pk: 'a' })\n`,
  'docs/scripts.md': `${cosmos}\nawait container.items.create({ id: 'account', pk: 'alice', total: 1 })\n`,
}
const postludes: Readonly<Record<string, string>> = {
  'docs/change-feed.md': '\nprocess.exit(everything.hasMoreResults ? 0 : 1)\n',
  'docs/scripts.md': '\nprocess.exit(total === 6 ? 0 : 1)\n',
  'docs/mongo.md': `
if ((await ann.db().collection('carts').countDocuments()) < 3) process.exit(1)
await ann.close()
await client.close()
`,
}

const pages = ['README.md', ...readdirSync(join(checkout, 'docs')).map(name => `docs/${name}`)].filter(name =>
  name.endsWith('.md'),
)

function examplesOf(page: string): readonly string[] {
  const text = readFileSync(join(checkout, page), 'utf8')
  const blocks = [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => code!)
  // The README has whole scripts. A page is one story.
  if (page === 'README.md' || blocks.length === 0) return blocks
  const prelude = (preludes[page] ?? '').replace('PAGE', JSON.stringify(page.replace('/', ' ')))
  return [`${prelude}${blocks.join('\n')}${postludes[page] ?? ''}`]
}

let server: Served
const folder = temporaryDirectory()
before(async () => {
  server = await serveCli(['--memory', '--port', '0', '--json'])
  mkdirSync(join(folder, 'node_modules'))
  for (const [name, target] of [
    ['@azure', 'node_modules/@azure'],
    ['mongodb', 'node_modules/mongodb'],
    ['mayfly', '.'],
  ] as const) {
    symlinkSync(join(checkout, target), join(folder, 'node_modules', name))
  }
})
after(() => server[Symbol.asyncDispose]())

function runExample(name: string, code: string): Promise<void> {
  const { endpoint, ready } = server
  const { port: mongoPort } = new URL(ready.mongoUri)
  // Readers use the usual ports; other tests run at the same time.
  const text = code
    .replaceAll('http://127.0.0.1:8081', endpoint)
    .replaceAll('127.0.0.1:10255', `127.0.0.1:${mongoPort}`)
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, text)
  const key = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='
  const env = {
    ...process.env,
    MONGODB_URI: ready.mongoUri,
    COSMOS_CONNECTION_STRING: `AccountEndpoint=${endpoint}/;AccountKey=${key};`,
  }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [file], { cwd: folder, env, timeout: exampleMsMax }, (error, _stdout, stderr) => {
      if (error === null) resolve()
      else reject(new Error(`${stderr || error.message}\n${text}`))
    })
  })
}

for (const page of pages) {
  for (const [index, code] of examplesOf(page).entries()) {
    test(`${page}: example ${index + 1} runs`, () => runExample(`${page.replaceAll(/\W/g, '-')}-${index}`, code))
  }
}

test('There are examples', () => {
  assert.ok(pages.flatMap(examplesOf).length >= 7)
})
