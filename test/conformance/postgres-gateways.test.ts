/**
 * Three servers in three processes share one PostgreSQL. An answer of one holds for the others, an item that
 * one saw dead is alive to none, and killing them or PostgreSQL loses no acknowledged write.
 */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client, ConnectionLost, type Reply, type RequestParts } from '../crash/client.ts'
import { Running } from '../crash/server-process.ts'
import { randomNumbers } from '../support/faulty-proxy.ts'
import { startPostgres, type TestServer } from '../support/postgres.ts'

const seed = Number(process.env.MAYFLY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const random = randomNumbers(seed)
const container = '/dbs/d/colls/c'
const definition = { id: 'c', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } }

interface Gateway {
  process: Running
  endpoint: string
}

let postgres: TestServer
let store: string
const gateways: Gateway[] = []

async function startGateway(): Promise<Gateway> {
  const flags = ['--port', '0', '--memory', '--json', '--log-level', 'error', '--clock', 'manual', '--no-mongo']
  const process = new Running([...flags, '--store', store])
  return { process, endpoint: await process.ready() }
}

before(async () => {
  postgres = await startPostgres()
  store = await postgres.createDatabase()
  gateways.push(...(await Promise.all([startGateway(), startGateway(), startGateway()])))
  using client = new Client(gateways[0]!.endpoint)
  await client.json('POST', '/dbs', { body: '{"id":"d"}' })
  await client.json('POST', '/dbs/d/colls', { body: JSON.stringify(definition) })
})

after(async () => {
  await Promise.all(gateways.map(({ process }) => process.end('SIGKILL')))
  await postgres[Symbol.asyncDispose]()
})

function partition(pk: string): RequestParts {
  return { headers: { 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) } }
}

function item(id: string, more: object = {}): RequestParts {
  return { ...partition(id), body: JSON.stringify({ id, pk: id, ...more }) }
}

function upsert(client: Client, id: string, more: object = {}): Promise<Reply> {
  const { headers, body } = item(id, more)
  return client.send('POST', `${container}/docs`, {
    headers: { ...headers, 'x-ms-documentdb-is-upsert': 'true' },
    body,
  })
}

function read(client: Client, id: string): Promise<Reply> {
  return client.send('GET', `${container}/docs/${id}`, partition(id))
}

async function setDefault(client: Client, defaultTtl: number | null): Promise<void> {
  const body = JSON.stringify({ ...definition, ...(defaultTtl === null ? {} : { defaultTtl }) })
  await client.json('PUT', container, { body })
}

async function advance(client: Client, seconds: number): Promise<void> {
  await client.json('POST', '/_mayfly/clock', { body: JSON.stringify({ advance: `${seconds}s` }) })
}

test('a default that was changed through one server is in force on the others as soon as it was answered', async () => {
  const clients = gateways.map(({ endpoint }) => new Client(endpoint))
  await upsert(clients[0]!, 'a')
  await advance(clients[1]!, 100)
  for (let round = 0; round < 12; round++) {
    const by = round % 3
    const others = clients.filter((_, n) => n !== by)
    const defaultTtl = 1000 + round
    await setDefault(clients[by]!, defaultTtl)
    const shown = await Promise.all(others.map(client => client.json('GET', container)))
    assert.deepEqual(
      shown.map(each => each.defaultTtl),
      [defaultTtl, defaultTtl],
    )
    // Nothing revives a dead item, so use a new one each time.
    await upsert(clients[(by + 1) % 3]!, `r${round}`)
    await advance(others[0]!, 10)
    await setDefault(clients[by]!, 10)
    assert.deepEqual(
      (await Promise.all(others.map(client => read(client, `r${round}`)))).map(({ status }) => status),
      [404, 404],
    )
    await setDefault(others[1]!, null)
    assert.deepEqual(
      (await Promise.all(clients.map(client => read(client, `r${round}`)))).map(({ status }) => status),
      [404, 404, 404],
    )
  }
  for (const client of clients) client[Symbol.dispose]()
})

test(`an item that one server saw dead is dead on all, while clocks and defaults change (seed ${seed})`, async () => {
  const clients = gateways.map(({ endpoint }) => new Client(endpoint))
  const watchers = gateways.flatMap(({ endpoint }) => [
    new Client(endpoint),
    new Client(endpoint),
    new Client(endpoint),
  ])
  await setDefault(clients[0]!, 5)
  const ids = Array.from({ length: 60 }, (_, n) => `w${n}`)
  await Promise.all(ids.map((id, n) => upsert(clients[n % 3]!, id, n % 2 === 0 ? { ttl: 1 + (n % 20) } : {})))
  const dead = new Set<string>()
  let isOver = false
  let looks = 0
  const watching = watchers.map(async client => {
    while (!isOver) {
      const id = ids[Math.floor(random() * ids.length)]!
      const wasDead = dead.has(id)
      const { status } = await read(client, id)
      looks++
      assert.ok(status === 200 || status === 404, `${status}`)
      if (status === 404) dead.add(id)
      else assert.ok(!wasDead, `${id} was seen dead before this was asked`)
    }
  })
  for (let step = 0; step < 25; step++) {
    const client = clients[step % 3]!
    if (step % 3 === 0) await setDefault(client, [5, 8, -1, null, 3, 20][Math.floor(random() * 6)]!)
    else await advance(client, 1)
  }
  isOver = true
  await Promise.all(watching)
  assert.ok(dead.size > 10 && looks > 300, `${dead.size} died in ${looks} looks`)
  for (const client of [...clients, ...watchers]) client[Symbol.dispose]()
})

test('a feed that started on one server continues on another', async () => {
  const clients = gateways.map(({ endpoint }) => new Client(endpoint))
  await setDefault(clients[0]!, null)
  await Promise.all(Array.from({ length: 20 }, (_, n) => upsert(clients[n % 3]!, `page${String(n).padStart(2, '0')}`)))
  const found: string[] = []
  let continuation: string | undefined
  for (let turn = 0; turn === 0 || continuation !== undefined; turn++) {
    const headers: Record<string, string> = { 'x-ms-max-item-count': '3' }
    if (continuation !== undefined) headers['x-ms-continuation'] = continuation
    const reply = await clients[turn % 3]!.send('GET', `${container}/docs`, { headers })
    assert.equal(reply.status, 200)
    found.push(...(JSON.parse(reply.text).Documents as { id: string }[]).map(({ id }) => id))
    continuation = reply.continuation
  }
  const pages = found.filter(id => id.startsWith('page')).sort()
  assert.deepEqual(
    pages,
    Array.from({ length: 20 }, (_, n) => `page${String(n).padStart(2, '0')}`),
  )
  for (const client of clients) client[Symbol.dispose]()
})

test(`killing servers and PostgreSQL loses no acknowledged write (seed ${seed})`, async () => {
  let isOver = false
  let acknowledged = 0
  const states = Array.from({ length: 12 }, (_, n) => ({ id: `k${n}`, heard: 0, sent: 0 }))
  const writing = states.map(async (state, n) => {
    while (!isOver) {
      using client = new Client(gateways[(n + state.sent) % 3]!.endpoint)
      try {
        const { status } = await upsert(client, state.id, { n: ++state.sent })
        assert.ok(status === 200 || status === 201 || status === 503 || status === 408, `${status}`)
        if (status >= 300) continue
        state.heard = state.sent
        acknowledged++
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
      }
    }
  })
  for (let kill = 0; kill < 5; kill++) {
    await new Promise(resolve => setTimeout(resolve, 200 + random() * 300))
    if (kill === 2 && postgres.end !== undefined) {
      await (await postgres.end('SIGKILL'))()
      continue
    }
    const gateway = gateways[Math.floor(random() * 3)]!
    await gateway.process.end('SIGKILL')
    Object.assign(gateway, await startGateway())
  }
  isOver = true
  await Promise.all(writing)
  assert.ok(acknowledged > 50, `${acknowledged} acknowledged`)
  for (const { endpoint } of gateways) {
    using client = new Client(endpoint)
    for (const { id, heard, sent } of states) {
      const { status, text } = await read(client, id)
      if (heard === 0 && status === 404) continue
      const { n } = JSON.parse(text)
      assert.ok(n >= heard && n <= sent, `${id} is at ${n}; ${heard} was acknowledged and ${sent} sent last`)
    }
  }
})
