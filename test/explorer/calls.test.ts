import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { mayfly } from '../../src/index.ts'
import { testStore } from '../support/test-store.ts'
import { type ApiReply, type AskOptions, apiClient, C } from './api-client.ts'

const db = await mayfly({ clock: 'manual', ...(await testStore()) })
after(() => db.close())
const ask = apiClient(db.endpoint)

async function ok(method: string, path: string, body?: unknown, options: AskOptions = {}): Promise<ApiReply['json']> {
  const reply = await ask(method, path, { ...(body !== undefined && { body }), ...options })
  assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`)
  return reply.json
}

await ok('POST', 'api/databases', { id: 'shop' })
let made = 0
async function newContainer(more: object = {}): Promise<string> {
  const id = `c${++made}`
  const body = { api: 'nosql', id, partitionKey: ['/pk'], defaultTtl: 3600, ...more }
  await ok('POST', 'api/databases/shop/containers', body)
  return C('shop', id)
}
const create = (c: string, item: object) => ok('POST', `${c}/items`, { text: JSON.stringify(item) })
const collection = { api: 'mongo', partitionKey: [], defaultTtl: 3600 }

test('the tree has counts, TTL badges and the next to die; containers come and go', async () => {
  const id = (await newContainer()).split('/').at(-1)!
  const c = C('shop', id)
  await create(c, { id: 'a', pk: '1' })
  await create(c, { id: 'b', pk: '1', ttl: 7 })
  const { databases } = await ok('GET', 'api/tree')
  const shown = databases[0].containers.find((each: { id: string }) => each.id === id)
  const { rid, next, ...rest } = shown
  assert.deepEqual([next.id, next.deadline], ['b', db.clock.now() + 7])
  assert.deepEqual(rest, {
    ...{ id, api: 'nosql', partitionKey: ['/pk'], ttl: { kind: 'on', seconds: 3600 }, defaultTtl: 3600 },
    ...{ living: 2, dead: 0, isAbout: false, throughput: { kind: 'manual', ruPerSecond: 400 }, keepsLog: false },
  })
  const one = await ok('GET', c)
  assert.ok(one.bytes > 200 && one.bytes < 2000)
  assert.deepEqual(one.scripts, { procedures: 0, triggers: 0, functions: 0 })
  const overview = await ok('GET', 'api/overview')
  assert.equal(overview.withinMinute, 1)
  assert.equal((await ask('DELETE', c)).status, 204)
  assert.equal((await ask('GET', c)).status, 404)
  await ok('POST', 'api/databases', { id: 'gone' })
  await ok('POST', 'api/databases/gone/containers', { ...collection, id: 'docs' })
  assert.equal((await ask('DELETE', 'api/databases/gone')).status, 204)
  assert.equal((await ask('DELETE', 'api/databases/gone')).status, 404)
  assert.equal((await ask('POST', 'api/databases', { body: { id: 'shop' } })).status, 409)
})

test('a container is made with unique keys and throughput, and what is wrong is refused at its field', async () => {
  const uniqueKeys = [['/email'], ['/name', '/address/zip']]
  const throughput = { kind: 'autoscale', maxRuPerSecond: 2000 }
  const c = await newContainer({ uniqueKeys, throughput })
  const { definition, throughput: made } = await ok('GET', `${c}/settings`)
  assert.deepEqual(definition.uniqueKeyPolicy, { uniqueKeys: uniqueKeys.map(paths => ({ paths })) })
  assert.equal(made.maxRuPerSecond, 2000)
  await create(c, { id: 'a', pk: 'p', email: 'x', name: 'a' })
  const second = await ask('POST', `${c}/items`, { body: { text: '{"id":"b","pk":"p","email":"x","name":"b"}' } })
  assert.equal(second.status, 409)
  for (const [more, field] of [
    [{ uniqueKeys: '/email' }, 'uniqueKeys'],
    [{ uniqueKeys: ['/email'] }, 'uniqueKeys'],
    [{ uniqueKeys: Array(11).fill(['/email']) }, 'uniqueKeys'],
    [{ uniqueKeys: [['/email'], ['/first-name']] }, 'uniqueKeys/1'],
    [{ uniqueKeys: [[]] }, 'uniqueKeys/0'],
    [{ partitionKey: ['pk'] }, 'partitionKey'],
    [{ throughput: { kind: 'manual', ruPerSecond: 450 } }, 'throughput'],
    [{ throughput: { kind: 'manual', ruPerSecond: '500' } }, 'throughput'],
    [{ throughput: { kind: 'autoscale', maxRuPerSecond: 400 } }, 'throughput'],
    [{ throughput: { kind: 'often' } }, 'throughput'],
    [{ ...collection, uniqueKeys }, 'uniqueKeys'],
  ] as const) {
    const body = { api: 'nosql', id: 'refused', partitionKey: ['/pk'], ...more }
    const refused = await ask('POST', 'api/databases/shop/containers', { body })
    assert.deepEqual([refused.status, refused.json.field], [400, field], JSON.stringify(more))
  }
  assert.equal((await ask('GET', C('shop', 'refused'))).status, 404)
})

test('the demo makes 200 items that are dead after 30 s', async () => {
  assert.deepEqual(await ok('POST', 'api/demo'), { database: 'demo', container: 'sessions', items: 200, ttl: 30 })
  const c = C('demo', 'sessions')
  assert.equal((await ok('GET', `${c}/items/counts`)).minute, 200)
  const clock = await ok('POST', 'api/clock', { advance: '30s' })
  assert.equal(clock.died.containers.find((each: { container: string }) => each.container === 'sessions').count, 200)
  assert.equal((await ok('GET', `${c}/items/counts`)).all, 0)
})

test('SQL page by page, with the lives of its rows, its charge and its plan', async () => {
  const c = await newContainer()
  for (let n = 0; n < 5; n++) await create(c, { id: `i${n}`, pk: `p${n}`, n, ttl: 100 + n })
  const body = { id: 'q', text: 'SELECT c.id, c.n FROM c WHERE c.n >= @n ORDER BY c.n DESC', limit: 2 }
  const parameters = [{ name: '@n', value: 1 }]
  const rows: unknown[] = []
  let after: string | undefined
  do {
    const page = await ok('POST', `${c}/query`, { ...body, parameters, ...(after !== undefined && { after }) })
    rows.push(...page.rows)
    assert.equal(page.lives.length, page.rows.length)
    for (const [at, life] of page.lives.entries()) {
      assert.deepEqual([life.ts, life.deadline], [db.clock.now(), db.clock.now() + 100 + page.rows[at].n])
      assert.equal((await ok('GET', `${c}/item?key=${life.key}`)).id, page.rows[at].id)
    }
    assert.ok(page.chargeRu > 2 && page.elapsedMs >= 0)
    after = page.next
  } while (after !== undefined)
  assert.deepEqual(
    rows,
    [4, 3, 2, 1].map(n => ({ id: `i${n}`, n })),
  )
  const count = await ok('POST', `${c}/query`, { id: 'q', text: 'SELECT VALUE COUNT(1) FROM c' })
  assert.deepEqual([count.rows, count.lives], [[5], [null]])
  const point = await ok('POST', `${c}/query`, { id: 'q', text: 'SELECT c.id FROM c', partitionKey: ['p2'] })
  assert.deepEqual(point.rows, [{ id: 'i2' }])
  // A query that reads nothing in vain wishes no index.
  const keyed = { id: 'q', text: "SELECT c.id FROM c WHERE c.pk = 'p2'" }
  const [ran, planned] = [await ok('POST', `${c}/query`, keyed), await ok('POST', `${c}/query/plan`, keyed)]
  assert.deepEqual([ran.indexHit, ran.wishedIndexes, planned.wished], [1, [], []])
  assert.equal(planned.text, 'Reads every item of one partition.')
  const plain = await ok('POST', `${c}/query`, { id: 'q', text: 'SELECT * FROM c' })
  assert.deepEqual(
    plain.lives.map((life: { deadline: number }) => life.deadline),
    plain.rows.map(({ ttl }: { ttl: number }) => db.clock.now() + ttl),
  )
  const plan = await ok('POST', `${c}/query/plan`, { text: 'SELECT * FROM c WHERE c.n = 1' })
  assert.deepEqual([plan.source, plan.wished, plan.isCrossPartition], ['scan', ['/n/?'], true])
  const wrong = await ask('POST', `${c}/query`, { body: { id: 'q', text: 'SELECT c.id\nFROM c\nWHERE c.n = = 1' } })
  assert.deepEqual([wrong.status, wrong.json.code, wrong.json.line, wrong.json.column], [400, 'syntax', 3, 13])
  const other = await ask('POST', `${c}/query`, { body: { ...body, text: 'SELECT 1', after: 'x.y' } })
  assert.equal(other.status, 400)
  assert.equal((await ask('DELETE', 'api/queries/none')).status, 404)
})

test('rows have the lives of their items in large containers too; rows of several items have none', async () => {
  const c = await newContainer()
  // Above inlineRowsMax a scan runs in the query thread.
  const lines = Array.from({ length: 600 }, (_, n) => JSON.stringify({ id: `i${n}`, pk: 'p', n, ttl: 100 + n }))
  const headers = { 'content-type': 'application/octet-stream' }
  await ok('POST', `${c}/import?name=a.jsonl`, undefined, { rawBody: lines.join('\n'), headers })
  const first = async (text: string) => ok('POST', `${c}/query`, { id: 'q', text, limit: 2 })
  for (const order of ['', ' ORDER BY c.n DESC']) {
    const { rows, lives } = await first(`SELECT c.id, c.n FROM c WHERE c.n >= 590${order}`)
    assert.deepEqual(
      lives.map((life: { deadline: number } | null) => life?.deadline),
      rows.map(({ n }: { n: number }) => db.clock.now() + 100 + n),
      order,
    )
  }
  for (const text of ['SELECT DISTINCT VALUE c.n % 3 FROM c', 'SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n']) {
    assert.deepEqual((await first(text)).lives, [null, null], text)
  }
})

test('a running query is canceled by its id', async () => {
  const c = await newContainer()
  const list = Array.from({ length: 100 }, (_, at) => at)
  const lines = Array.from({ length: 400 }, (_, at) => JSON.stringify({ id: `i${at}`, pk: 'p', list }))
  const headers = { 'content-type': 'application/octet-stream' }
  await ok('POST', `${c}/import?name=a.jsonl`, undefined, { rawBody: lines.join('\n'), headers })
  const text = 'SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list WHERE a + b < 0'
  let isRunning = true
  const running = ask('POST', `${c}/query`, { body: { id: 'long', text } }).finally(() => {
    isRunning = false
  })
  while (isRunning && (await ask('DELETE', 'api/queries/long')).status === 404) {
    await new Promise(resolve => setImmediate(resolve))
  }
  const { status, json } = await running
  assert.deepEqual([status, json.code], [499, 'canceled'])
})

test('a Mongo document survives an edit: types, order, dates, 64-bit numbers, decimals, binary data', async () => {
  const c = await newContainer(collection)
  const text =
    '{"_id":{"$oid":"69170c8be41f6c2a90d1b104"},"2":{"$numberInt":"2"},"1":{"$numberLong":"9007199254740993"},' +
    '"at":{"$date":"2026-11-15T13:42:01.5Z"},"old":{"$date":{"$numberLong":"-99999999999999"}},' +
    '"price":{"$numberDecimal":"129.90"},"bytes":{"$binary":{"base64":"AQID","subType":"05"}},' +
    '"double":{"$numberDouble":"3.0"},"regex":{"$regularExpression":{"pattern":"^a","options":"i"}},' +
    '"ttl":{"$numberInt":"600"}}'
  const created = await ok('POST', `${c}/items`, { text })
  assert.deepEqual(
    [created.id, created.rule, created.ttl, created.isExact, created.system],
    ['{"$oid":"69170c8be41f6c2a90d1b104"}', 'own', 600, true, {}],
  )
  const squeezed = created.text.replaceAll(/\n\s*/g, '').replaceAll('": ', '":')
  assert.equal(squeezed, text.replace('01.5Z', '01.500Z'))
  const edited = created.text.replace('"129.90"', '"129.95"')
  const put = (to: string, etag: string) =>
    ask('PUT', `${c}/item?key=${created.key}`, { body: { text: to }, headers: { 'if-match': etag } })
  const saved = await put(edited, created.etag)
  assert.deepEqual([saved.status, saved.json.text], [200, edited])
  const conflict = await put(created.text, created.etag)
  assert.deepEqual([conflict.status, conflict.json.item.text], [412, edited])
  const more = await ok('POST', `${c}/item/life?key=${created.key}`, { set: '+1h' }, { headers: { 'if-match': '*' } })
  assert.equal(more.deadline, created.deadline + 3600)
  const inherits = await ok(
    'POST',
    `${c}/item/life?key=${created.key}`,
    { set: 'inherit' },
    { headers: { 'if-match': '*' } },
  )
  assert.deepEqual([inherits.rule, inherits.text.includes('"ttl"')], ['inherited', false])
  const wrong = await put('{\n  "_id": {"$oid": "x"}\n}', '*')
  assert.deepEqual([wrong.status, wrong.json.line, wrong.json.column], [400, 2, 10])
  assert.equal(
    (await ask('DELETE', `${c}/item?key=${created.key}`, { headers: { 'if-match': inherits.etag } })).status,
    204,
  )
  const noId = await ok('POST', `${c}/items`, { text: '{"a": 1}' })
  assert.match(noId.id, /^\{"\$oid":"[0-9a-f]{24}"\}$/)
})

test('documents are listed, filtered, queried by filter and pipeline, and deleted', async () => {
  const c = await newContainer({ ...collection, partitionKey: ['customer'] })
  for (let n = 0; n < 6; n++) {
    await create(c, { _id: n, customer: `u${n % 2}`, status: n < 4 ? 'open' : 'closed', ttl: 100 + n })
  }
  const filter = encodeURIComponent('{"status": "open"}')
  const list = await ok('GET', `${c}/items?query=${filter}&columns=/status,/customer&limit=3`)
  assert.deepEqual(
    list.items.map(({ id }: { id: string }) => id),
    ['0', '1', '2'],
  )
  assert.deepEqual([list.items[1].partitionKey, list.items[1].values['/status']], [['u1'], 'open'])
  const rows: unknown[] = []
  let after: string | undefined
  do {
    const body = {
      id: 'q',
      filter: '{"status":"open"}',
      sort: '{"_id":-1}',
      limit: 3,
      ...(after !== undefined && { after }),
    }
    const page = await ok('POST', `${c}/query`, body)
    rows.push(...page.rows.map(({ _id }: { _id: number }) => _id))
    for (const life of page.lives) assert.ok(life.deadline > db.clock.now() && life.key.length > 10)
    after = page.next
  } while (after !== undefined)
  assert.deepEqual(rows, [3, 2, 1, 0])
  const pipeline = '[{"$group":{"_id":"$status","n":{"$sum":1}}},{"$sort":{"_id":1}}]'
  const grouped = await ok('POST', `${c}/query`, { id: 'q', pipeline })
  assert.deepEqual(grouped.rows, [
    { _id: 'closed', n: 2 },
    { _id: 'open', n: 4 },
  ])
  const writes = await ask('POST', `${c}/query`, { body: { id: 'q', pipeline: '[{"$out":"x"}]' } })
  assert.deepEqual([writes.status, writes.json.field], [400, 'pipeline'])
  const wrong = await ask('POST', `${c}/query`, { body: { id: 'q', filter: '{"a": }' } })
  assert.deepEqual([wrong.status, wrong.json.field, wrong.json.column], [400, 'filter', 7])
  const plan = await ok('POST', `${c}/query/plan`, { filter: '{"status":"open"}' })
  assert.equal(plan.source, 'scan')
  await ok('POST', `${c}/items/delete`, { query: '{"status":"closed"}', expect: 2, job: `m${made}` })
  let job = await ok('GET', `api/jobs/m${made}`)
  while (job.state === 'running') job = await ok('GET', `api/jobs/m${made}`)
  assert.deepEqual([job.state, job.written], ['done', 2])
  assert.equal((await ok('GET', `${c}/items/counts`)).all, 4)
})

test('the TTL is changed through its preview, in both APIs', async () => {
  for (const more of [{}, collection]) {
    const c = await newContainer(more)
    for (let n = 0; n < 4; n++) await create(c, { ...(more === collection ? { _id: n } : { id: `i${n}`, pk: 'p' }) })
    await ok('POST', 'api/clock', { advance: '100s' })
    const preview = await ok('POST', `${c}/ttl/preview`, { defaultTtl: 60 })
    assert.deepEqual(preview, { now: 4, within1h: 0, within24h: 0, later: 0, never: 0, isAbout: false })
    const settings = await ok('GET', `${c}/settings`)
    assert.deepEqual([settings.shares.none, settings.ttl], [4, { kind: 'on', seconds: 3600 }])
    for (const [defaultTtl, kind] of [
      [-1, 'no default'],
      [null, 'off'],
      [7200, 'on'],
      [60, 'on'],
    ] as const) {
      const changed = await ok('PUT', `${c}/settings`, { defaultTtl, expectNow: 4 })
      assert.equal(changed.ttl.kind, kind)
    }
    assert.equal((await ok('GET', `${c}/items/counts`)).all, 0)
    assert.equal((await ask('PUT', `${c}/settings`, { body: { defaultTtl: 0 } })).json.field, 'defaultTtl')
    assert.equal((await ask('PUT', `${c}/settings`, { body: {} })).status, 400)
    const throughput = { kind: 'manual', ruPerSecond: 500 }
    assert.equal((await ok('PUT', `${c}/settings`, { throughput })).throughput.ruPerSecond, 500)
    const odd = await ask('PUT', `${c}/settings`, { body: { throughput: { kind: 'manual', ruPerSecond: 450 } } })
    assert.deepEqual([odd.status, odd.json.field], [400, 'throughput'])
  }
})

test('a change that would kill more than the user saw is refused', async () => {
  const c = await newContainer()
  for (let n = 0; n < 20; n++) await create(c, { id: `i${n}`, pk: 'p' })
  await ok('POST', 'api/clock', { advance: '100s' })
  const refused = await ask('PUT', `${c}/settings`, { body: { defaultTtl: 60, expectNow: 5 } })
  assert.deepEqual([refused.status, refused.json.code, refused.json.preview.now], [409, 'conflict', 20])
  assert.equal((await ok('GET', `${c}/items/counts`)).all, 20)
})

test('a definition is replaced with the checks of the protocol and its etag', async () => {
  const c = await newContainer()
  const { definition, etag } = await ok('GET', `${c}/settings`)
  definition.indexingPolicy.excludedPaths = [{ path: '/big/*' }, { path: '/"_etag"/?' }]
  const changed = await ok('PUT', `${c}/settings`, { definition }, { headers: { 'if-match': etag } })
  assert.equal(changed.definition.indexingPolicy.excludedPaths.length, 2)
  const stale = await ask('PUT', `${c}/settings`, { body: { definition }, headers: { 'if-match': etag } })
  assert.equal(stale.status, 412)
  const wrong = { ...definition, partitionKey: { paths: ['/other'], kind: 'Hash', version: 2 } }
  assert.equal(
    (await ask('PUT', `${c}/settings`, { body: { definition: wrong }, headers: { 'if-match': '*' } })).status,
    400,
  )
})

test('Mongo indexes: a date index ends documents; the switches', async () => {
  const c = await newContainer({ ...collection, defaultTtl: null })
  const settings = await ok('POST', `${c}/indexes`, { key: { closedAt: 1 }, expireAfterSeconds: 60 })
  const found = settings.indexes.find(({ name }: { name: string }) => name === 'closedAt_1')
  assert.deepEqual([found.kind, found.expireAfterSeconds], ['date', 60])
  const at = new Date((db.clock.now() + 100) * 1000).toISOString()
  const item = await ok('POST', `${c}/items`, { text: `{"_id":1,"closedAt":{"$date":"${at}"}}` })
  assert.deepEqual([item.rule, item.deadline], ['own', db.clock.now() + 160])
  const refused = await ask('POST', `${c}/item/life?key=${item.key}`, {
    body: { set: 'never' },
    headers: { 'if-match': '*' },
  })
  assert.equal(refused.status, 409)
  const changed = await ok('PUT', `${c}/indexes/closedAt_1`, { expireAfterSeconds: 10 })
  assert.equal(changed.indexes.at(-1).expireAfterSeconds, 10)
  const dropped = await ok('DELETE', `${c}/indexes/closedAt_1`)
  assert.deepEqual(
    dropped.indexes.map(({ name }: { name: string }) => name),
    ['_id_'],
  )
  assert.equal((await ask('DELETE', `${c}/indexes/none`)).status, 404)
  assert.deepEqual(await ok('POST', 'api/mongo', { documentTtl: false }), { documentTtl: false, expiryEvents: true })
  assert.deepEqual(await ok('POST', 'api/mongo', { documentTtl: true }), { documentTtl: true, expiryEvents: true })
  assert.equal((await ask('POST', 'api/mongo', { body: { documentTtl: 1 } })).json.field, 'documentTtl')
})

test('a date index that would end more than the user saw is refused, a new one and another time', async () => {
  const c = await newContainer({ ...collection, defaultTtl: null })
  const now = db.clock.now()
  const write = (_id: number, ago: number) => {
    const at = { $date: new Date((now - ago) * 1000).toISOString() }
    return ok('POST', `${c}/items`, { text: JSON.stringify({ _id, at }) })
  }
  for (let n = 0; n < 20; n++) await write(n, 100 + n)
  await write(20, -100)
  await write(21, 500)
  await ok('POST', `${c}/items`, { text: '{"_id":22,"at":"yesterday"}' })
  const key = { at: 1 }
  const partialFilterExpression = { _id: { $lt: 21 } }
  const preview = async (index: object) => (await ok('POST', `${c}/ttl/preview`, { index })).now
  assert.equal(await preview({ key, expireAfterSeconds: 0 }), 21)
  assert.equal(await preview({ key, expireAfterSeconds: 0, partialFilterExpression }), 20)
  assert.equal(await preview({ key, expireAfterSeconds: 119 }), 2, 'the last of them is dead at the second itself')
  assert.equal(await preview({ key, expireAfterSeconds: 120 }), 1)
  assert.equal(await preview({ key, expireAfterSeconds: 600 }), 0)
  for (const [index, field] of [
    [{ key, expireAfterSeconds: -1 }, 'expireAfterSeconds'],
    [{ key: {}, expireAfterSeconds: 0 }, 'key'],
    [{ key: { at: 1, n: 1 }, expireAfterSeconds: 0 }, 'key'],
    [{ key: { _ts: 1 }, expireAfterSeconds: 0 }, 'key'],
    [7, 'index'],
  ] as const) {
    const refused = await ask('POST', `${c}/ttl/preview`, { body: { index } })
    assert.deepEqual([refused.status, refused.json.field], [400, field], JSON.stringify(index))
  }

  const count = async () => (await ok('GET', `${c}/items/counts`)).all
  const index = { key, expireAfterSeconds: 300, partialFilterExpression }
  await ok('POST', `${c}/indexes`, { ...index, expectNow: 0 })
  assert.equal(await count(), 23)
  const put = (expectNow: number) => ask('PUT', `${c}/indexes/at_1`, { body: { expireAfterSeconds: 0, expectNow } })
  assert.equal(await preview({ name: 'at_1', expireAfterSeconds: 0 }), 20, 'the filter of the index counts')
  const shorter = await put(9)
  assert.deepEqual([shorter.status, shorter.json.code, shorter.json.preview.now], [409, 'conflict', 20])
  assert.equal(await count(), 23)
  assert.equal((await put(10)).status, 200)
  assert.equal(await count(), 3)

  const other = await newContainer({ ...collection, defaultTtl: null })
  for (let n = 0; n < 12; n++) {
    await ok('POST', `${other}/items`, { text: `{"_id":${n},"at":{"$date":"2020-01-01T00:00:00Z"}}` })
  }
  const refused = await ask('POST', `${other}/indexes`, { body: { key, expireAfterSeconds: 0, expectNow: 1 } })
  assert.deepEqual([refused.status, refused.json.preview], [409, { now: 12 }])
  const { indexes } = await ok('GET', `${other}/settings`)
  assert.equal(indexes.length, 1, 'nothing was made')
})

test('a definition with another default ttl is refused if more would die than the user saw', async () => {
  const c = await newContainer()
  for (let n = 0; n < 20; n++) await create(c, { id: `i${n}`, pk: 'p' })
  await ok('POST', 'api/clock', { advance: '100s' })
  const { definition, etag } = await ok('GET', `${c}/settings`)
  const put = (expectNow: number) =>
    ask('PUT', `${c}/settings`, {
      body: { definition: { ...definition, defaultTtl: 60 }, expectNow },
      headers: { 'if-match': etag },
    })
  const refused = await put(5)
  assert.deepEqual([refused.status, refused.json.preview.now], [409, 20])
  assert.equal((await ok('GET', `${c}/items/counts`)).all, 20)
  assert.equal((await put(20)).status, 200)
  assert.equal((await ok('GET', `${c}/items/counts`)).all, 0)
})

test('forecast, what lies behind, and the impact of a step of the clock come true', async () => {
  const c = await newContainer()
  await ok('POST', 'api/purge', { pause: true })
  for (let n = 0; n < 30; n++) await create(c, { id: `i${n}`, pk: 'p', ttl: 1 + n * 4 })
  const forecast = await ok('GET', `${c}/forecast?window=2m&buckets=2`)
  assert.deepEqual(
    forecast.buckets.map(({ own }: { own: number }) => own),
    [15, 15],
  )
  assert.equal((await ok('GET', `${c}/forecast?window=all&buckets=10`)).later, 0)
  const id = c.split('/').at(-1)
  const mine = ({ containers }: { containers: { container: string; count: number }[] }) =>
    containers.find(({ container }) => container === id)?.count
  assert.equal(mine(await ok('GET', 'api/clock/impact?advance=60s')), 15)
  await ok('GET', `${c}/behind`)
  assert.equal(mine((await ok('POST', 'api/clock', { advance: '60s' })).died), 15)
  const behind = await ok('GET', `${c}/behind?window=15m&buckets=15`)
  const sum = (name: 'waiting' | 'removed', of: { buckets: Record<string, number>[] }) =>
    of.buckets.reduce((total, bucket) => total + bucket[name]!, 0)
  assert.deepEqual([sum('waiting', behind), sum('removed', behind), behind.waitingLonger], [15, 0, 0])
  await ok('POST', 'api/purge', { pause: false })
  await ok('POST', 'api/purge', {})
  const purged = await ok('GET', `${c}/behind?window=15m&buckets=15`)
  assert.deepEqual([sum('waiting', purged), sum('removed', purged)], [0, 15])
  const load = await ok('GET', `${c}/load?seconds=3600`)
  assert.equal(load.requests.length, 3600)
  assert.ok(load.removed.reduce((total: number, each: number) => total + each, 0) <= 15)
  assert.deepEqual(load.now, { dead: 0, lagSeconds: 0, oldest: null, isPaused: false })
  for (const path of [
    'forecast?window=x',
    'forecast?buckets=0',
    'behind?window=2d',
    'behind?window=90s',
    'load?seconds=0',
  ]) {
    assert.equal((await ask('GET', `${c}/${path}`)).status, 400, path)
  }
  for (const body of [{}, { advance: '1h', set: 5 }, { advance: 'x' }, { set: 5 }, { set: 'x' }, { trust: 1 }]) {
    assert.equal((await ask('POST', 'api/clock', { body })).status, 400, JSON.stringify(body))
  }
})

test('the feed shows writes, and where a log is kept deletes and deaths', async () => {
  const c = await newContainer()
  const { definition } = await ok('GET', `${c}/settings`)
  await ok(
    'PUT',
    `${c}/settings`,
    { definition: { ...definition, changeFeedPolicy: { retentionDuration: 60 } } },
    { headers: { 'if-match': '*' } },
  )
  const item = await create(c, { id: 'a', pk: 'p', n: 1 })
  await ok('PUT', `${c}/item?key=${item.key}`, { text: '{"id":"a","pk":"p","n":2}' }, { headers: { 'if-match': '*' } })
  await create(c, { id: 'b', pk: 'p', ttl: 5 })
  await ask('DELETE', `${c}/item?key=${item.key}`, { headers: { 'if-match': '*' } })
  await ok('POST', 'api/clock', { advance: '5s' })
  await ok('POST', 'api/purge', {})
  const all = await ok('GET', `${c}/feed?mode=all`)
  assert.deepEqual(
    all.changes.map(({ kind, id }: { kind: string; id: string }) => `${kind} ${id}`),
    ['create a', 'replace a', 'create b', 'delete a', 'died b'],
  )
  assert.deepEqual(JSON.parse(all.changes[1].previousText).n, 1)
  assert.equal(all.changes[2].deadline, db.clock.now())
  const latest = await ok('GET', `${c}/feed?mode=latest`)
  assert.deepEqual(latest.changes, [])
  const plain = await newContainer()
  assert.equal((await ask('GET', `${plain}/feed?mode=all`)).status, 409)
  await create(plain, { id: 'x', pk: 'p' })
  const first = await ok('GET', `${plain}/feed`)
  assert.deepEqual([first.changes[0].kind, first.changes[0].id], ['create', 'x'])
  assert.deepEqual((await ok('GET', `${plain}/feed?after=${first.next}`)).changes, [])
})

test('a feed begins with its newest changes, however many there are', async () => {
  const c = await newContainer()
  const lines = Array.from({ length: 3000 }, (_, n) => `{"id":"old${n}","pk":"p"}`).join('\n')
  const headers = { 'content-type': 'application/octet-stream' }
  await ok('POST', `${c}/import?name=a.jsonl`, undefined, { rawBody: lines, headers })
  const crowd = await ok('GET', `${c}/feed`)
  assert.deepEqual([crowd.changes.length, crowd.isCut], [0, true], 'too many in one second to find the newest')
  await ok('POST', 'api/clock', { advance: '5s' })
  for (const id of ['x', 'y', 'z']) await create(c, { id, pk: 'p' })
  const found = await ok('GET', `${c}/feed?limit=2`)
  const ids = (page: { changes: { id: string }[] }) => page.changes.map(({ id }) => id)
  assert.deepEqual([ids(found), found.isCut], [['y', 'z'], true])
  const wider = await ok('GET', `${c}/feed?limit=5`)
  assert.deepEqual([ids(wider), wider.isCut], [['x', 'y', 'z'], true])
  await create(c, { id: 'next', pk: 'p' })
  assert.deepEqual(ids(await ok('GET', `${c}/feed?after=${found.next}`)), ['next'])
})

test('scripts are listed, saved, run with their log, and deleted', async () => {
  const c = await newContainer()
  const body = 'function hi(name) { console.log("called " + name); getContext().getResponse().setBody({ hi: name }) }'
  const script = await ok('POST', `${c}/scripts/procedures`, { id: 'hi', body })
  await ok('POST', `${c}/scripts/triggers`, { id: 't', body: 'function t() {}', type: 'Pre', operation: 'Create' })
  await ok('POST', `${c}/scripts/functions`, { id: 'twice', body: 'function twice(x) { return 2 * x }' })
  const list = await ok('GET', `${c}/scripts`)
  assert.deepEqual(
    [list.procedures.length, list.triggers[0].type, list.triggers[0].operation, list.functions[0].id],
    [1, 'Pre', 'Create', 'twice'],
  )
  assert.equal((await ok('GET', `${c}/scripts/procedures/hi`)).body, body)
  const run = await ok('POST', `${c}/scripts/procedures/hi/run`, { partitionKey: ['p'], arguments: ['you'] })
  assert.deepEqual([run.status, run.result, run.log.trim()], [200, { hi: 'you' }, 'called you'])
  const bad = 'function hi() { console.log("before"); throw new Error("no") }'
  await ok('PUT', `${c}/scripts/procedures/hi`, { body: bad }, { headers: { 'if-match': script.etag } })
  const failed = await ok('POST', `${c}/scripts/procedures/hi/run`, { partitionKey: ['p'] })
  assert.equal(failed.status, 400)
  assert.match(failed.message, /no/)
  await create(c, { id: 'i', pk: 'p', n: 4 })
  const query = await ok('POST', `${c}/query`, { id: 'u', text: 'SELECT VALUE udf.twice(c.n) FROM c' })
  assert.deepEqual(query.rows, [8])
  const listed = await ok('GET', `${c}/items?query=${encodeURIComponent('WHERE udf.twice(c.n) = 8')}`)
  assert.equal(listed.items.length, 1)
  assert.equal((await ask('DELETE', `${c}/scripts/procedures/hi`)).status, 204)
  assert.equal((await ask('GET', `${c}/scripts/procedures/hi`)).status, 404)
  assert.equal((await ask('GET', `${c}/scripts/none/x`)).status, 404)
})

test('completion offers functions and sampled paths', async () => {
  const c = await newContainer()
  await create(c, { id: 'a', pk: 'p', cart: [{ sku: 's' }] })
  await create(c, { id: 'b', pk: 'p', cart: null })
  const { paths, functions, sampled } = await ok('GET', `${c}/completion`)
  assert.equal(sampled, 2)
  const found = Object.fromEntries(paths.map((each: { path: string }) => [each.path, each]))
  assert.deepEqual(found['cart[].sku'], { path: 'cart[].sku', types: ['string'], share: 0.5 })
  assert.deepEqual(found.cart.types.sort(), ['array', 'null'])
  assert.ok(functions.some(({ name }: { name: string }) => name === 'ARRAY_LENGTH'))
  const mongo = await newContainer(collection)
  assert.ok((await ok('GET', `${mongo}/completion`)).operators.includes('$match'))
})

test('a file is imported as it arrives, refused lines are told; an export gives the items back', async () => {
  const c = await newContainer()
  const lines = Array.from({ length: 3000 }, (_, n) => JSON.stringify({ id: `i${n}`, pk: `p${n % 7}`, n }))
  lines[17] = '{"id": "bad", "ttl": 0, "pk": "p"}'
  lines[40] = '{"id":'
  const rawBody = gzipSync(lines.join('\n'))
  const headers = { 'content-type': 'application/octet-stream' }
  const job = await ok('POST', `${c}/import?job=imp&name=items.jsonl.gz&mode=create`, undefined, { rawBody, headers })
  assert.deepEqual([job.state, job.done, job.written, job.refused], ['done', 3000, 2998, 2])
  assert.deepEqual(
    job.refusals.map(({ line }: { line: number }) => line),
    [18, 41],
  )
  const refused = (await ask('GET', 'api/jobs/imp/refused')).text.trim().split('\n')
  assert.deepEqual([refused.length, JSON.parse(refused[1]!).text], [2, '{"id":'])
  assert.equal((await ok('GET', `${c}/items/counts`)).all, 2998)
  const again = `${c}/import?name=items.jsonl.gz&mode=create&skip=3000`
  const nothing = await ok('POST', again, undefined, { rawBody, headers })
  assert.deepEqual([nothing.state, nothing.done, nothing.written, nothing.refused], ['done', 3000, 0, 0])
  const exported = await ask('GET', `${c}/export?format=jsonl`)
  assert.equal(exported.status, 200)
  assert.match(String(exported.headers['content-disposition']), /attachment; filename="shop-c\d+\.jsonl"/)
  assert.equal(exported.text.trim().split('\n').length, 2998)
  const query = encodeURIComponent('SELECT c.id, c.n FROM c WHERE c.n < 3 ORDER BY c.n')
  assert.deepEqual(
    (await ask('GET', `${c}/export?format=json&query=${query}`)).json,
    [0, 1, 2].map(n => ({ id: `i${n}`, n })),
  )
  const csv = await ask('GET', `${c}/export?format=csv&query=${query}`)
  assert.equal(csv.text, 'id,n\r\ni0,0\r\ni1,1\r\ni2,2\r\n')
  // A table of whole items has what people wrote, and when. What a query names is there.
  const head = async (more = '') => (await ask('GET', `${c}/export?format=csv${more}`)).text.split('\r\n')[0]
  assert.equal(await head(), 'id,pk,n,_ts')
  assert.equal(await head(`&query=${encodeURIComponent('SELECT * FROM c WHERE c.n < 3')}`), 'id,pk,n,_ts')
  assert.equal(await head(`&query=${encodeURIComponent('SELECT c.id, c._etag FROM c')}`), 'id,_etag')
  assert.equal((await ask('GET', `${c}/export?query=${encodeURIComponent('SELEC')}`)).status, 400)
  assert.equal((await ask('POST', `${c}/import`, { rawBody: 'x' })).status, 400)
  const twice = await ok('POST', `${c}/import?name=items.jsonl.gz`, undefined, { rawBody, headers })
  assert.deepEqual([twice.written, twice.refused], [0, 3000], 'what is there is not replaced by default')
  const mongo = await newContainer(collection)
  const text = '{"_id":{"$oid":"69170c8be41f6c2a90d1b104"},"n":{"$numberLong":"5"}'
  const imported = await ok('POST', `${mongo}/import?name=a.jsonl`, undefined, { rawBody: `${text}}\n`, headers })
  assert.equal(imported.written, 1)
  const now = db.clock.now()
  const note = JSON.stringify({ exportedAt: now, expiresAt: now + 3600 })
  assert.equal((await ask('GET', `${mongo}/export`)).text, `${text},"_mayfly":${note}}\n`)
  assert.deepEqual(
    (await ask('GET', `${mongo}/export?format=json&query=${encodeURIComponent('[{"$count":"n"}]')}`)).json,
    [{ n: { $numberInt: '1' } }],
  )
})

test('an export of the page comes back with the lives that were left', async () => {
  const headers = { 'content-type': 'application/octet-stream' }
  for (const format of ['jsonl', 'json']) {
    for (const [more, key, item] of [
      [{}, '&partitionKey=["p"]', { pk: 'p' }],
      [collection, '', {}],
    ] as const) {
      const [from, to] = [await newContainer(more), await newContainer(more)]
      const idName = more === collection ? '_id' : 'id'
      await create(from, { [idName]: 'inherits', ...item })
      await db.clock.advance('20m')
      const { text } = await ask('GET', `${from}/export?format=${format}`)
      await db.clock.advance('5m')
      await ok('POST', `${to}/import?format=${format}&keepTtl=remaining`, undefined, { rawBody: text, headers })
      const { deadline, ts } = await ok('GET', `${to}/item?id=inherits${key}`)
      assert.equal(deadline - ts, 40 * 60, `${format} ${idName}`)
      const csv = (await ask('GET', `${from}/export?format=csv`)).text
      assert.doesNotMatch(csv, /_mayfly/)
    }
  }
})

test('an export and the demo wait for throughput', async () => {
  const limited = await mayfly({ clock: 'manual', rateLimit: true })
  try {
    const asked = apiClient(limited.endpoint)
    await asked('POST', 'api/databases', { body: { id: 'shop' } })
    const throughput = (ruPerSecond: number) => ({ throughput: { kind: 'manual', ruPerSecond } })
    const body = { api: 'nosql', id: 'c', partitionKey: ['/pk'], ...throughput(10_000) }
    await asked('POST', 'api/databases/shop/containers', { body })
    const c = C('shop', 'c')
    const text = (n: number) => JSON.stringify({ id: `i${n}`, pk: 'p', long: 'x'.repeat(10_000) })
    for (let n = 0; n < 100; n++)
      assert.equal((await asked('POST', `${c}/items`, { body: { text: text(n) } })).status, 201)
    assert.equal((await asked('PUT', `${c}/settings`, { body: throughput(1000) })).status, 200)
    const sizes = await Promise.all(
      Array.from({ length: 12 }, async () => (await asked('GET', `${c}/export`)).text.trim().split('\n').length),
    )
    assert.deepEqual(new Set(sizes), new Set([100]))
    assert.equal((await asked('POST', 'api/demo')).status, 201)
    assert.equal((await asked('GET', `${C('demo', 'sessions')}/items/counts`)).json.all, 200)
  } finally {
    await limited.close()
  }
})

test('an export of a query has its partition key, its sort and its projection', async () => {
  const c = await newContainer()
  for (const [id, pk, n] of [
    ['a', 'p', 2],
    ['b', 'q', 1],
    ['c', 'p', 3],
  ])
    await create(c, { id, pk, n })
  const exported = (of: string, parameters: Record<string, string>) =>
    ask('GET', `${of}/export?${new URLSearchParams({ format: 'json', ...parameters })}`)
  const inOrder = 'SELECT VALUE c.id FROM c ORDER BY c.n'
  assert.deepEqual((await exported(c, { query: inOrder })).json, ['b', 'a', 'c'])
  assert.deepEqual((await exported(c, { query: inOrder, partitionKey: '["p"]' })).json, ['a', 'c'])
  const mongo = await newContainer(collection)
  for (const n of [1, 3, 2]) await create(mongo, { _id: n, n: -n, is: 'odd' })
  const found = await exported(mongo, { query: '{"_id": {"$gt": 1}}', sort: '{"n": 1}', projection: '{"n": 1}' })
  assert.deepEqual(
    found.json.map((each: object) => JSON.stringify(each)),
    [3, 2].map(n => `{"_id":{"$numberInt":"${n}"},"n":{"$numberInt":"${-n}"}}`),
  )
  for (const wrong of [
    { query: '[]', sort: '{}' },
    { sort: '{}' },
    { query: inOrder, partitionKey: 'p' },
    { query: '{}', projection: '[' },
  ]) {
    assert.equal((await exported('partitionKey' in wrong ? c : mongo, wrong)).status, 400, JSON.stringify(wrong))
  }
})
