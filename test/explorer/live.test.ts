import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { LiveConnection } from '../../src/explorer/live/connection.ts'
import { mayfly } from '../../src/index.ts'
import { apiClient, C } from './api-client.ts'

const db = await mayfly({ clock: 'manual' })
after(() => db.close())
const ask = apiClient(db.endpoint)
await ask('POST', 'api/databases', { body: { id: 'shop' } })
const c = C('shop', 'carts')
await ask('POST', 'api/databases/shop/containers', { body: { id: 'carts', partitionKey: ['/pk'], defaultTtl: 100 } })

interface LiveEvent {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: looked at field by field.
  readonly data: any
}

class Live {
  readonly events: LiveEvent[] = []
  readonly #res: IncomingMessage
  #text = ''
  #wake: () => void = () => {}
  isEnded = false

  constructor(res: IncomingMessage) {
    this.#res = res
    res.setEncoding('utf8')
    res.on('data', (chunk: string) => {
      this.#text += chunk
      const parts = this.#text.split('\n\n')
      this.#text = parts.pop()!
      for (const part of parts) {
        const event = /^event: (.*)$/m.exec(part)?.[1]
        if (event !== undefined) this.events.push({ event, data: JSON.parse(/^data: (.*)$/m.exec(part)![1]!) })
      }
      this.#wake()
    })
    const end = () => {
      this.isEnded = true
      this.#wake()
    }
    res.on('end', end).on('error', end).on('close', end)
  }

  static open(query: string, endpoint = db.endpoint): Promise<Live> {
    return new Promise((resolve, reject) => {
      const req = request(`${endpoint}/_explorer/api/live${query}`, res => {
        if (res.statusCode === 200) resolve(new Live(res))
        else reject(new Error(`live answered ${res.statusCode}`))
      })
      req.on('error', reject)
      req.end()
    })
  }

  async next(name: string, isWanted: (data: LiveEvent['data']) => boolean = () => true): Promise<LiveEvent['data']> {
    for (;;) {
      const at = this.events.findIndex(({ event, data }) => event === name && isWanted(data))
      if (at !== -1) return this.events.splice(at, 1)[0]!.data
      if (this.isEnded) throw new Error(`the connection ended before ${name}`)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  close(): void {
    this.#res.destroy()
  }
}

const create = (item: object) => ask('POST', `${c}/items`, { body: { text: JSON.stringify(item) } })

test('a page hears of writes, counts, steps of the clock, deaths, pauses and changes of the catalog', async () => {
  const live = await Live.open('?database=shop&container=carts&columns=/n')
  const hello = await live.next('hello')
  assert.deepEqual([hello.now, hello.mode, hello.isPaused], [db.clock.now() * 1000, 'manual', false])
  await live.next('totals')
  const { json: item } = await create({ id: 'a', pk: 'p', n: 5, ttl: 10 })
  const { changes, skipped } = await live.next('changes')
  assert.deepEqual([changes[0].kind, changes[0].id, changes[0].values['/n'], skipped], ['create', 'a', 5, 0])
  const counts = await live.next('counts', ({ containers }) => containers[0].living > 0)
  assert.deepEqual(
    [counts.containers[0].container, counts.containers[0].living, counts.containers[0].next.id],
    ['carts', 1, 'a'],
  )
  await ask('POST', 'api/purge', { body: { pause: true } })
  assert.equal((await live.next('purge')).isPaused, true)
  await db.clock.advance('10s')
  const step = await live.next('clock')
  assert.deepEqual([step.to - step.from, step.died.total], [10, 1])
  const deaths = await live.next('deaths')
  assert.deepEqual([deaths.count, deaths.keys, deaths.upTo], [1, [item.key], db.clock.now()])
  const after = await live.next('counts', ({ containers }) => containers[0].dead === 1)
  assert.equal(after.containers[0].living, 0)
  const load = await live.next('load', ({ dead }) => dead === 1)
  assert.equal(load.lagSeconds, 0)
  await ask('POST', 'api/databases/shop/containers', { body: { id: 'other', partitionKey: ['/pk'] } })
  await live.next('catalog')
  await ask('POST', 'api/purge', { body: { pause: false } })
  assert.equal((await live.next('purge')).isPaused, false)
  await ask('POST', `${c}/items/delete`, { body: { keys: [], job: 'nothing' } })
  assert.equal((await live.next('job')).id, 'nothing')
  live.close()
})

test('each new page hears all counts once, as what it has loaded may be older', async () => {
  const first = await Live.open('')
  const counts = await first.next('counts')
  const names = counts.containers.map(({ container }: { container: string }) => container)
  assert.ok(names.includes('carts'))
  const second = await Live.open('')
  assert.deepEqual((await second.next('counts')).containers, counts.containers)
  first.close()
  second.close()
})

test('wrong names and too many connections are refused', async () => {
  assert.equal((await ask('GET', 'api/live?database=shop&container=none')).status, 404)
  assert.equal((await ask('GET', 'api/live?database=shop')).status, 400)
  assert.equal((await ask('GET', 'api/live?database=shop&container=carts&feed=all')).status, 400)
  assert.equal((await ask('POST', 'api/live')).status, 405)
  const open = await Promise.all(Array.from({ length: 64 }, () => Live.open('')))
  const refused = await ask('GET', 'api/live')
  assert.deepEqual([refused.status, refused.json.code], [429, 'throttled'])
  for (const live of open) live.close()
  // The server notices in its own time.
  for (let isFull = true; isFull; ) {
    const live = await Live.open('').catch(() => undefined)
    isFull = live === undefined
    live?.close()
  }
})

test('what waits for a slow reader is bounded; it is told that it missed something', () => {
  const written: string[] = []
  const res = Object.assign(new EventEmitter(), {
    writableLength: 0,
    writeHead: () => {},
    write(text: string) {
      written.push(text)
      this.writableLength += text.length
    },
  })
  const connection = new LiveConnection(res as never, () => true)
  for (let at = 0; at < 100; at++) connection.send('changes', { now: at, text: 'x'.repeat(50_000) })
  assert.ok(res.writableLength < 1.2e6, `${res.writableLength} bytes wait`)
  const before = written.length
  res.writableLength = 0
  connection.send('totals', { now: 200 })
  connection.send('totals', { now: 201 })
  assert.deepEqual(
    written.slice(before).map(text => text.split('\n')[0]),
    ['event: resync', 'event: totals'],
  )
})

test('a reader that does not read does not stop the server', async () => {
  const { port } = new URL(db.endpoint)
  const socket = connect(Number(port), '127.0.0.1')
  socket.pause()
  socket.write(`GET /_explorer/api/live?database=shop&container=carts HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
  const watching = await Live.open('?database=shop&container=carts')
  const long = 'x'.repeat(19_000)
  for (let round = 0; round < 6; round++) {
    await Promise.all(Array.from({ length: 90 }, (_, at) => create({ id: `${round}-${at}`, pk: 'p', long })))
  }
  assert.equal((await ask('GET', 'api/tree')).status, 200)
  socket.destroy()
  watching.close()
})

test('a look at a large container counts no rows that did not change', async () => {
  const { mayfly: start } = await import('../../src/index.ts')
  const big = await start({ clock: 'manual' })
  const asked = apiClient(big.endpoint)
  await asked('POST', 'api/databases', { body: { id: 'd' } })
  await asked('POST', 'api/databases/d/containers', { body: { id: 'c', partitionKey: ['/pk'], defaultTtl: 3600 } })
  const path = C('d', 'c')
  const lines = Array.from({ length: 20_000 }, (_, n) => `{"id":"i${n}","pk":"p"}`).join('\n')
  const headers = { 'content-type': 'application/octet-stream' }
  await asked('POST', `${path}/import?name=a.jsonl`, { rawBody: lines, headers })
  const { DatabaseSync } = await import('node:sqlite')
  const statement = Object.getPrototypeOf(new DatabaseSync(':memory:').prepare('SELECT 1'))
  const { all, get } = statement
  let rows = 0
  let statements = 0
  statement.all = function (...values: unknown[]) {
    const found = all.apply(this, values)
    statements++
    rows += found.length
    return found
  }
  statement.get = function (...values: unknown[]) {
    statements++
    rows++
    return get.apply(this, values)
  }
  try {
    const live = await Live.open('?database=d&container=c', big.endpoint)
    await live.next('totals')
    rows = 0
    statements = 0
    await live.next('totals')
    await live.next('totals')
    // Two seconds are at least three looks; each asks the census and the purger does the same once a second.
    assert.ok(statements < 150, `${statements} statements`)
    assert.ok(rows < 150, `${rows} rows`)
    live.close()
  } finally {
    Object.assign(statement, { all, get })
    await big.close()
  }
})

test('a server that stops says goodbye and ends', async () => {
  const other = await mayfly({ clock: 'manual' })
  const now = (await other.clock.advance('90d')) * 1000
  const live = await Live.open('', other.endpoint)
  await live.next('hello')
  const closing = other.close()
  const bye = await live.next('bye')
  assert.deepEqual([bye.reason, bye.now], ['stopping', now])
  await closing
})
