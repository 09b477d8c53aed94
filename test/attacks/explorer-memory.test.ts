/**
 * Large items through the explorer: what a call holds is counted, so many at once are refused instead of
 * filling the memory, and lists end early instead of holding everything.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test, { after } from 'node:test'
import { parseConfig, settings } from '../../src/server/config.ts'
import { startServer } from '../../src/server/start.ts'
import { apiClient, C } from '../explorer/api-client.ts'
import { eventually } from '../support/server-with-time.ts'
import { call } from '../support/signed-request.ts'

const megabyte = 'x'.repeat(1_000_000)
const itemsMade = 40

const log = { error: assert.fail, warn() {}, info() {}, debug() {} }

/** Half of the budget is handed out, and half of that to one connection. */
async function serverOf(budgetMb: number) {
  const flags = { port: '0', mongoPort: '0', memory: true, clock: 'manual', memoryBudget: String(budgetMb) }
  const server = await startServer(parseConfig(settings(flags, {})), log, { holdsProcess: false })
  after(() => server[Symbol.asyncDispose]())
  const ask = apiClient(server.endpoint)
  await ask('POST', 'api/databases', { body: { id: 'shop' } })
  for (const [api, id, key] of [
    ['nosql', 'items', 'id'],
    ['mongo', 'documents', '_id'],
  ] as const) {
    const body = { api, id, partitionKey: api === 'nosql' ? ['/id'] : [] }
    assert.equal((await ask('POST', 'api/databases/shop/containers', { body })).status, 201)
    for (let at = 0; at < itemsMade; at++) {
      const text = JSON.stringify({ [key]: `i${at}`, megabyte })
      assert.equal((await ask('POST', `${C('shop', id)}/items`, { body: { text } })).status, 201)
    }
  }
  const port = Number(new URL(server.endpoint).port)
  return { ask, port, heldBytes: async () => (await call(server.endpoint, 'GET', '/status')).json.memory.heldBytes }
}

const large = await serverOf(512)
const small = await serverOf(64)
const containers = ['items', 'documents']

for (const order of ['soonest', 'newest', 'natural']) {
  test(`a list in the order ${order} ends after 16 MB and says where it goes on`, async () => {
    for (const container of containers) {
      let items = 0
      let after = ''
      for (let pages = 0; pages === 0 || after !== ''; pages++) {
        assert.ok(pages < 10)
        const { json } = await large.ask('GET', `${C('shop', container)}/items?limit=1000&order=${order}${after}`)
        assert.ok(json.items.length <= 18, `${json.items.length} items of a megabyte`)
        items += json.items.length
        after = json.next === undefined ? '' : `&after=${json.next}`
      }
      assert.equal(items, itemsMade)
    }
  })
}

test('the newest changes are as many as fit into 16 MB, and the answer says that there are more', async () => {
  for (const container of containers) {
    const { json } = await large.ask('GET', `${C('shop', container)}/feed`)
    assert.equal(json.isCut, true)
    assert.ok(json.changes.length <= 16 && json.changes.length > 10)
    assert.equal(json.changes.at(-1).id, `i${itemsMade - 1}`)
    assert.ok(
      json.changes.every(({ text, isCut }: { text: string; isCut: boolean }) => text.length === 20_000 && isCut),
    )
  }
})

test('calls that together hold more than the memory budget are refused, and the server goes on', async () => {
  for (const path of ['items?limit=1000', 'items?limit=1000&order=natural', 'feed', 'completion']) {
    for (const container of containers) {
      const replies = await Promise.all(
        Array.from({ length: 24 }, () => small.ask('GET', `${C('shop', container)}/${path}`)),
      )
      const statuses = new Set(replies.map(({ status }) => status))
      assert.ok(statuses.has(429) || statuses.has(413), `${path} of ${container}: ${[...statuses]}`)
      assert.ok([...statuses].every(status => [200, 413, 429].includes(status)))
    }
    assert.equal((await small.ask('GET', 'api/tree')).status, 200)
  }
  assert.equal(await small.heldBytes(), 0)
})

test('answers that nobody reads are counted, and more of them are refused', async () => {
  const document = C('shop', 'documents')
  const text = JSON.stringify({ _id: 'large', text: 'x'.repeat(14_000_000) })
  assert.equal((await small.ask('POST', `${document}/items`, { body: { text } })).status, 201)
  const sockets = Array.from({ length: 6 }, () => connect(small.port, '127.0.0.1'))
  try {
    const statuses = await Promise.all(
      sockets.map(async socket => {
        socket.write(`GET /_explorer/${document}/item?id=large HTTP/1.1\r\nhost: localhost\r\n\r\n`)
        const [head] = (await once(socket, 'data')) as [Buffer]
        socket.pause()
        return head.toString('latin1', 9, 12)
      }),
    )
    assert.deepEqual(statuses.sort(), ['200', '429', '429', '429', '429', '429'])
    assert.equal((await small.ask('GET', 'api/tree')).status, 200)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
})

for (const path of ['_mayfly/export/shop/items', `_explorer/${C('shop', 'items')}/export`]) {
  test(`what waits for clients that do not read ${path} is counted as text and as bytes`, async () => {
    const sockets = Array.from({ length: 4 }, () => connect(small.port, '127.0.0.1'))
    try {
      for (const socket of sockets) {
        socket.write(`GET /${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
        await once(socket, 'data')
        socket.pause()
      }
      await eventually(async () => (await small.heldBytes()) > 7_000_000)
    } finally {
      for (const socket of sockets) socket.destroy()
    }
    await eventually(async () => (await small.heldBytes()) === 0)
  })
}
