/** A script that starts a server and never closes it still ends. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { temporaryDirectory } from '../support/start-server.ts'

const library = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)
const sdk = JSON.stringify(import.meta.resolve('@azure/cosmos'))
const directory = temporaryDirectory()

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Limits for the work of a script, which is slow on a busy machine, and for its end after the last line. */
const workMsMax = 120_000
const endMsMax = 10_000
const lastLine = 'the last line was reached\n'

/** The script must end before the limits, or it is killed and its code is not 0. */
function run(name: string, script: string): Promise<Ended> {
  const path = join(directory, `${name}.mjs`)
  writeFileSync(path, `${script}\nprocess.stdout.write(${JSON.stringify(lastLine)})\n`)
  return new Promise(resolve => {
    let limit: NodeJS.Timeout | undefined
    const child = execFile(process.execPath, [path], { timeout: workMsMax }, (error, stdout, stderr) => {
      clearTimeout(limit)
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout: stdout.replace(lastLine, ''), stderr })
    })
    let printed = ''
    child.stdout!.on('data', text => {
      printed += text
      if (printed.includes(lastLine)) limit ??= setTimeout(() => child.kill(), endMsMax)
    })
  })
}

const start = (options: string) => `import { mayfly } from ${library}
const db = await mayfly(${options})
console.log(db.endpoint)
`

test('A script that starts a server and never closes it ends with code 0', async () => {
  const { code, stdout, stderr } = await run('start', start(`{ clock: 'manual' }`))
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\n$/)
})

test('A script with the system clock and data in a directory ends too', async () => {
  const data = JSON.stringify(join(directory, 'data'))
  const { code, stderr } = await run('data', start(`{ data: ${data} }`))
  assert.equal(code, 0, stderr)
  const again = await run('again', start(`{ data: ${data} }`))
  assert.equal(again.code, 0, 'the directory can be used again')
})

test('A script that used the SDK, which keeps its connections open, ends too', async () => {
  const { code, stdout, stderr } = await run(
    'sdk',
    `import { CosmosClient } from ${sdk}
${start(`{ clock: 'manual' }`)}
const client = new CosmosClient({ endpoint: db.endpoint, key: db.key })
const { database } = await client.databases.create({ id: 'shop' })
const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 60 })
await container.items.create({ id: 'one', pk: 'a' })
await db.clock.advance('60s')
console.log((await container.item('one', 'a').read()).statusCode)
`,
  )
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\n404\n$/)
})

test('A script whose queries started the query thread ends too', async () => {
  const data = JSON.stringify(join(directory, 'queries'))
  const { code, stdout, stderr } = await run(
    'queries',
    `import { CosmosClient } from ${sdk}
${start(`{ data: ${data} }`)}
const client = new CosmosClient({ endpoint: db.endpoint, key: db.key })
const { database } = await client.databases.create({ id: 'shop' })
const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk' })
const ids = Array.from({ length: 600 }, (_, n) => 'i' + n)
await Promise.all(ids.map(id => container.items.create({ id, pk: 'a' })))
console.log((await container.items.query('SELECT VALUE c.id FROM c WHERE c.id > "i598"').fetchAll()).resources.length)
`,
  )
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\n\d+\n$/)
})

test('A script that fails while a server runs still ends, with its error', async () => {
  const { code, stderr } = await run('fails', `${start('{}')}\nthrow new Error('as it should')`)
  assert.equal(code, 1)
  assert.match(stderr, /as it should/)
})
