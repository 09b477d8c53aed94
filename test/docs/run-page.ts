/** Runs a page: its blocks in their order, in one place. */

import type { TestContext } from 'node:test'
import { CosmosClient } from '@azure/cosmos'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { type CodeBlock, runLanguages } from './code-blocks.ts'
import { type Given, givens } from './givens.ts'
import { type Places, runScript, runShell, runTest, startServers } from './story.ts'

export const place = ({ page, line }: CodeBlock): string => `${page}:${line}`

export function isRunnable({ language, reasonNotRun }: CodeBlock): boolean {
  return reasonNotRun === undefined && runLanguages.includes(language)
}

/** `story`: the blocks of one page that can be run. */
export async function runPage(t: TestContext, story: readonly CodeBlock[], places: Places): Promise<void> {
  const given = givens[story[0]!.page] ?? {}
  await using servers = new AsyncDisposableStack()
  if (given.server !== undefined) servers.use(await startServers(`npx mayfly ${given.server.join(' ')}`, places))
  if (given.shell !== undefined) await runShell(given.shell, places)
  for (const [index, block] of story.entries()) {
    if (block.language === 'js' && continues(story, index)) continue
    await t.test(place(block), () => run(block, { story, index, given, places, servers }))
  }
}

/** A block of JavaScript that imports nothing goes on with the program of the block before. */
function isBeginning({ code }: CodeBlock): boolean {
  return /^import /m.test(code)
}

/** Whether the next block of JavaScript goes on with the program of this one. */
function continues(story: readonly CodeBlock[], index: number): boolean {
  const next = story.slice(index + 1).find(({ language }) => language === 'js')
  return next !== undefined && !isBeginning(next)
}

interface Surroundings {
  readonly story: readonly CodeBlock[]
  readonly index: number
  readonly given: Given
  readonly places: Places
  readonly servers: AsyncDisposableStack
}

async function run(block: CodeBlock, { story, index, given, places, servers }: Surroundings): Promise<void> {
  const { language, code, isServer, line, testFile } = block
  if (isServer) servers.use(await startServers(code, places))
  else if (language === 'sh') await runShell(code, places)
  else if (language === 'sql') await runQueries(code, places)
  else if (testFile !== undefined) await runTest(testFile, code, places)
  else await runScript(`line-${line}`, programUpTo(story.slice(0, index + 1), given), places)
}

/** The blocks of the program that ends with the last block. */
function programUpTo(story: readonly CodeBlock[], { before = '', behind = '' }: Given): string {
  const scripts = story.filter(({ language }) => language === 'js')
  const first = Math.max(scripts.findLastIndex(isBeginning), 0)
  return [before, ...scripts.slice(first).map(({ code }) => code), behind].join('\n')
}

/** Queries, with an empty line between two of them, over the container that the page has made before. */
async function runQueries(code: string, { ports }: Places): Promise<void> {
  const client = new CosmosClient({ endpoint: `http://127.0.0.1:${ports[8081]}`, key: wellKnownKey })
  const container = client.database('shop').container('carts')
  for (const query of code.split(/\n\n+/)) await container.items.query(query).fetchAll()
  client.dispose()
}
