/** The calls of the explorer about items: lists, filters, counts, edits and bulk deletes, with bad input. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { mayfly } from '../../src/index.ts'
import { testStore } from '../support/test-store.ts'
import { type ApiReply, apiClient, C } from './api-client.ts'

const db = await mayfly({ clock: 'manual', ...(await testStore()) })
after(() => db.close())
const ask = apiClient(db.endpoint)

async function ok(reply: Promise<ApiReply>, status = 200): Promise<ApiReply['json']> {
  const { status: found, json, text } = await reply
  assert.equal(found, status, text)
  return json
}

let made = 0
async function newContainer(defaultTtl: number | null = 100, api = 'nosql', partitionKey = ['/pk']): Promise<string> {
  const id = `c${++made}`
  await ask('POST', 'api/databases', { body: { id: 'shop' } })
  await ok(ask('POST', 'api/databases/shop/containers', { body: { api, id, partitionKey, defaultTtl } }), 201)
  return C('shop', id)
}

async function create(c: string, ...items: readonly object[]): Promise<ApiReply['json'][]> {
  return Promise.all(items.map(item => ok(ask('POST', `${c}/items`, { body: { text: JSON.stringify(item) } }), 201)))
}

const idsOf = ({ items }: { items: readonly { id: string }[] }) => items.map(({ id }) => id)

async function allPages(c: string, query: string): Promise<string[]> {
  const ids: string[] = []
  let next: string | undefined
  do {
    const page = await ok(ask('GET', `${c}/items?${query}${next === undefined ? '' : `&after=${next}`}`))
    ids.push(...idsOf(page))
    next = page.next
  } while (next !== undefined)
  return ids
}

test('a filter of documents that would take very long is ended', async () => {
  const c = await newContainer(null, 'mongo', [])
  await create(c, { _id: 1, n: 1 })
  const million = { $range: [0, { $add: [1_000_000, '$n'] }] }
  const each = { $size: { $filter: { input: million, cond: { $gt: ['$$this', '$$x'] } } } }
  const endless = { $expr: { $gt: [0, { $sum: { $map: { input: million, as: 'x', in: each } } }] } }
  for (const path of ['items?', 'items/counts?', 'items?order=natural&']) {
    const { status, text } = await ask('GET', `${c}/${path}query=${encodeURIComponent(JSON.stringify(endless))}`)
    assert.equal(status, 504, text)
    assert.match(text, /The filter takes more than/)
  }
  const { items } = await ok(ask('GET', `${c}/items?query=${encodeURIComponent('{"$expr":{"$gt":["$n",0]}}')}`))
  assert.equal(items.length, 1)
})

test('the soonest come first, in pages, then those that never die', async () => {
  const c = await newContainer()
  await create(
    c,
    { id: 'never', pk: 'a', ttl: -1 },
    { id: 'own90', pk: 'b', ttl: 90 },
    { id: 'inherits', pk: 'c' },
    { id: 'own10', pk: 'd', ttl: 10 },
    { id: 'own500', pk: 'a', ttl: 500 },
  )
  const expected = ['own10', 'own90', 'inherits', 'own500', 'never']
  for (const limit of [1, 2, 3, 100]) assert.deepEqual(await allPages(c, `limit=${limit}`), expected)
  const { items, examined } = await ok(ask('GET', `${c}/items?columns=/pk,/nothing`))
  assert.equal(examined, 5)
  const now = db.clock.now()
  assert.deepEqual(
    items.map(({ key, etag, bytes, ...item }: Record<string, unknown>) => {
      assert.ok(typeof key === 'string' && typeof etag === 'string' && (bytes as number) > 100)
      return item
    })[1],
    {
      ...{ id: 'own90', partitionKey: ['b'], ttl: 90, rule: 'own', ts: now, deadline: now + 90, isDead: false },
      values: { '/pk': 'b' },
    },
  )
  assert.equal(items[2].rule, 'inherited')
  assert.equal(items[2].ttl, null)
  assert.equal(items[4].deadline, null)
  for (const limit of [1, 2, 100]) {
    assert.deepEqual(await allPages(c, `order=latest&limit=${limit}`), expected.toReversed())
    const newest = await allPages(c, `order=newest&limit=${limit}`)
    assert.deepEqual(await allPages(c, `order=oldest&limit=${limit}`), newest.toReversed())
    assert.equal(newest.length, 5)
  }
  assert.deepEqual((await allPages(c, 'order=natural&limit=2')).sort(), [...expected].sort())
  assert.deepEqual(await allPages(c, `from=${now + 90}&limit=2`), ['inherits', 'own500', 'never'])
  assert.deepEqual(await allPages(c, `from=${now + 10}&to=${now + 100}`), ['own90', 'inherits'])
})

test('a list goes on after the rows of its last page have died', async () => {
  for (const order of ['soonest', 'latest']) {
    const c = await newContainer(1000)
    const items = Array.from({ length: 6 }, (_, n) => ({ id: `own${n}`, pk: 'a', ttl: 10 + n }))
    await create(c, ...items, { id: 'inherits', pk: 'a' })
    const first = await ok(ask('GET', `${c}/items?order=${order}&limit=2`))
    await db.clock.advance('12s')
    const rest = await ok(ask('GET', `${c}/items?order=${order}&limit=100&after=${first.next}`))
    const ids = rest.items.map(({ id }: { id: string }) => id)
    const living = order === 'soonest' ? ['own3', 'own4', 'own5', 'inherits'] : ['own4', 'own3']
    assert.deepEqual(ids, living, order)
  }
})

test('the latest first is the soonest first from its end, also of what comes at the same place', async () => {
  for (const defaultTtl of [null, -1, 100]) {
    const c = await newContainer(defaultTtl)
    for (let n = 0; n < 4; n++) {
      const ttl = n % 2 === 0 ? 100 : -1
      await create(c, { id: `inherits${n}`, pk: 'a' }, { id: `own${n}`, pk: 'a', ttl })
      await db.clock.advance('1s')
    }
    for (const filter of ['all', 'minute', 'never', 'dead']) {
      const soonest = await allPages(c, `filter=${filter}&limit=3`)
      assert.deepEqual(await allPages(c, `filter=${filter}&order=latest&limit=3`), soonest.toReversed(), filter)
    }
  }
})

test('filters, counts and the dead that are still present', async () => {
  const c = await newContainer()
  await ok(ask('POST', 'api/purge', { body: { pause: true } }))
  await create(
    c,
    { id: 'soon', pk: 'a', ttl: 30, kind: 'x' },
    { id: 'later', pk: 'a', kind: 'x' },
    { id: 'never', pk: 'a', ttl: -1 },
    { id: 'dies first', pk: 'a', ttl: 5 },
    { id: 'dies second', pk: 'a', ttl: 7, kind: 'x' },
  )
  assert.deepEqual(await ok(ask('GET', `${c}/items/counts`)), { all: 5, minute: 3, dead: 0, never: 1, isAbout: false })
  await ok(ask('POST', 'api/clock', { body: { advance: '10s' } }))
  assert.deepEqual(await ok(ask('GET', `${c}/items/counts`)), { all: 3, minute: 1, dead: 2, never: 1, isAbout: false })
  assert.deepEqual(await allPages(c, 'filter=dead&limit=1'), ['dies second', 'dies first'])
  assert.deepEqual(await allPages(c, 'filter=minute'), ['soon'])
  assert.deepEqual(await allPages(c, 'filter=never'), ['never'])
  assert.deepEqual(await allPages(c, 'filter=all'), ['soon', 'later', 'never'])
  const where = encodeURIComponent('WHERE c.kind = "x"')
  assert.deepEqual(await allPages(c, `query=${where}&limit=1`), ['soon', 'later'])
  assert.deepEqual(await allPages(c, `query=${where}&order=natural&limit=1`), ['later', 'soon'])
  assert.deepEqual(await allPages(c, `query=${where}&filter=dead`), ['dies second'])
  const counts = await ok(ask('GET', `${c}/items/counts?query=${where}`))
  assert.deepEqual(counts, { all: 2, minute: 1, dead: 1, never: 0, isAbout: false })
  const dead = (await ok(ask('GET', `${c}/items?filter=dead`))).items[0]
  const shown = await ok(ask('GET', `${c}/item?key=${dead.key}`))
  assert.deepEqual([shown.isDead, shown.explanation.state, JSON.parse(shown.text).id], [true, 'dead', 'dies second'])
  await ok(ask('POST', 'api/purge', { body: { pause: false } }))
  const purged = await ok(
    ask('POST', 'api/purge', { body: { database: 'shop', container: decodeURIComponent(c.split('/').at(-1)!) } }),
  )
  assert.equal(purged.removed, 2)
  assert.equal((await ask('GET', `${c}/item?key=${dead.key}`)).status, 404)
})

test('the text of an item keeps its digits, its order and repeated names, and is saved as it is', async () => {
  const c = await newContainer()
  const text = '{"id":"i","pk":"a","2":1.50,"1":12345678901234567890,"x":1,"x":2}'
  const created = await ok(ask('POST', `${c}/items`, { body: { text } }), 201)
  assert.equal(
    created.text,
    '{\n  "id": "i",\n  "pk": "a",\n  "2": 1.50,\n  "1": 12345678901234567890,\n  "x": 1,\n  "x": 2\n}',
  )
  assert.deepEqual(Object.keys(created.system), ['_rid', '_self', '_etag', '_attachments', '_ts'])
  const saved = await ok(
    ask('PUT', `${c}/item?key=${created.key}`, { body: { text: created.text }, headers: { 'if-match': created.etag } }),
  )
  assert.equal(saved.text, created.text)
  assert.notEqual(saved.etag, created.etag)
})

test('a conflict writes nothing and shows what is there now', async () => {
  const c = await newContainer()
  const [item] = await create(c, { id: 'i', pk: 'a', n: 1 })
  const put = (n: number, etag: string | undefined) =>
    ask('PUT', `${c}/item?key=${item.key}`, {
      body: { text: `{"id":"i","pk":"a","n":${n}}` },
      headers: { 'if-match': etag },
    })
  const second = await ok(put(2, item.etag))
  const refused = await put(3, item.etag)
  assert.equal(refused.status, 412)
  assert.equal(refused.json.code, 'precondition_failed')
  assert.deepEqual([refused.json.item.etag, JSON.parse(refused.json.item.text).n], [second.etag, 2])
  assert.equal((await put(4, undefined)).status, 400)
  await ok(put(5, '*'))
  assert.equal((await ask('DELETE', `${c}/item?key=${item.key}`, { headers: { 'if-match': item.etag } })).status, 412)
  const { etag } = await ok(ask('GET', `${c}/item?key=${item.key}`))
  assert.equal((await ask('DELETE', `${c}/item?key=${item.key}`, { headers: { 'if-match': etag } })).status, 204)
  const gone = await put(6, etag)
  assert.ok(gone.status === 412 || gone.status === 404, gone.text)
})

test('one hour more, never, and inherit', async () => {
  const c = await newContainer(3600)
  const [item] = await create(c, { id: 'i', pk: 'ä/b', note: 1.0 })
  const life = async (set: string, etag: string) =>
    ok(ask('POST', `${c}/item/life?key=${item.key}`, { body: { set }, headers: { 'if-match': etag } }))
  await ok(ask('POST', 'api/clock', { body: { advance: '600s' } }))
  const more = await life('+1h', item.etag)
  assert.deepEqual([more.rule, more.deadline], ['own', item.deadline + 3600])
  const never = await life('never', more.etag)
  assert.deepEqual([never.rule, never.deadline, JSON.parse(never.text).ttl], ['never', null, -1])
  const inherits = await life('inherit', never.etag)
  assert.deepEqual([inherits.rule, inherits.ttl], ['inherited', null])
  const again = await life('inherit', inherits.etag)
  assert.equal(again.etag, inherits.etag)
  const stale = await ask('POST', `${c}/item/life?key=${item.key}`, {
    body: { set: 'never' },
    headers: { 'if-match': item.etag },
  })
  assert.equal(stale.status, 412)
  const off = await newContainer(null)
  const [other] = await create(off, { id: 'i', pk: 'a' })
  const refused = await ask('POST', `${off}/item/life?key=${other.key}`, {
    body: { set: 'never' },
    headers: { 'if-match': other.etag },
  })
  assert.equal(refused.status, 400)
})

async function finished(id: string): Promise<ApiReply['json']> {
  for (;;) {
    const job = await ok(ask('GET', `api/jobs/${id}`))
    if (job.state !== 'running') return job
    await new Promise(resolve => setImmediate(resolve))
  }
}

test('many are deleted by key or by query, after their count was agreed upon', async () => {
  const c = await newContainer()
  const items = Array.from({ length: 60 }, (_, at) => ({ id: `i${at}`, pk: `p${at % 3}`, n: at }))
  const made = await create(c, ...items)
  const query = 'WHERE c.n >= 20'
  const refused = await ask('POST', `${c}/items/delete`, { body: { query, expect: 3 } })
  assert.deepEqual([refused.status, refused.json.code, refused.json.count], [409, 'conflict', 40])
  const job = await ok(ask('POST', `${c}/items/delete`, { body: { query, expect: 40, job: 'mine' } }), 202)
  assert.equal(job.id, 'mine')
  const done = await finished('mine')
  assert.deepEqual([done.state, done.written, done.done, done.total], ['done', 40, 40, 40])
  assert.equal((await ok(ask('GET', `${c}/items/counts`))).all, 20)
  const keys = made.slice(0, 30).map(({ key }) => key)
  const named = await finished((await ok(ask('POST', `${c}/items/delete`, { body: { keys } }), 202)).id)
  assert.deepEqual([named.state, named.written, named.skipped], ['done', 20, 10])
  assert.equal((await ok(ask('GET', `${c}/items/counts`))).all, 0)
})

test('bad input is refused with its place, and nothing happens', async () => {
  const c = await newContainer()
  const [item] = await create(c, { id: 'i', pk: 'a' })
  const cases: readonly (readonly [method: string, path: string, options: object, status: number, expected: object])[] =
    [
      ['POST', `${c}/items`, { body: { text: '{\n "id": \n}' } }, 400, { code: 'malformed', line: 3, column: 1 }],
      ['POST', `${c}/items`, { body: { text: '[1]' } }, 400, { field: 'text', line: 1 }],
      ['POST', `${c}/items`, { body: { text: '{"id":"i","pk":"a"}' } }, 409, { code: 'already_exists' }],
      ['POST', `${c}/items`, { body: { text: '{"id":"x","pk":"a","ttl":0}' } }, 400, { code: 'malformed' }],
      ['POST', `${c}/items`, { body: {} }, 400, { field: 'text' }],
      ['POST', `${c}/items`, { rawBody: '{"text":"{}"}' }, 400, { code: 'malformed' }],
      ['POST', `${c}/items`, { body: [1] }, 400, { code: 'malformed' }],
      ['GET', `${c}/items?limit=0`, {}, 400, { field: 'limit' }],
      ['GET', `${c}/items?limit=x`, {}, 400, { field: 'limit' }],
      ['GET', `${c}/items?filter=some`, {}, 400, { field: 'filter' }],
      ['GET', `${c}/items?order=natural&from=3`, {}, 400, { field: 'order' }],
      ['GET', `${c}/items?columns=a`, {}, 400, { field: 'columns' }],
      ['GET', `${c}/items?after=abc`, {}, 400, { code: 'malformed' }],
      [
        'GET',
        `${c}/items?query=${encodeURIComponent('WHERE c.a = = 1')}`,
        {},
        400,
        { field: 'query', line: 1, column: 13 },
      ],
      ['GET', `${c}/items?query=${encodeURIComponent('c.a = = 1')}`, {}, 400, { field: 'query', line: 1, column: 7 }],
      ['GET', `${c}/items?query=k1`, {}, 400, { field: 'query' }],
      ['GET', `${c}/items?query=${encodeURIComponent('ORDER BY c.a')}`, {}, 400, {}],
      ['GET', `${c}/item?key=zzz`, {}, 400, { code: 'malformed' }],
      ['GET', `${c}/item`, {}, 400, { field: 'key' }],
      ['GET', `${c}/item?id=none&partitionKey=["a"]`, {}, 404, { code: 'not_found' }],
      ['PATCH', `${c}/item?key=${item.key}`, {}, 405, { code: 'method_not_allowed' }],
      ['GET', `${c}/nothing`, {}, 404, { code: 'not_found' }],
      ['GET', C('shop', 'none'), {}, 404, { code: 'namespace_not_found' }],
      ['GET', 'api/databases/%zz', {}, 400, { code: 'malformed' }],
      [
        'POST',
        `${c}/item/life?key=${item.key}`,
        { body: { set: 'no' }, headers: { 'if-match': '*' } },
        400,
        { field: 'set' },
      ],
      ['POST', `${c}/items/delete`, { body: { keys: 'a' } }, 400, { field: 'keys' }],
      ['POST', `${c}/items/delete`, { body: { query: '' } }, 400, { field: 'expect' }],
      [
        'POST',
        `${c}/items`,
        { body: { text: `{"id":"big","pk":"a","t":"${'x'.repeat(2.2e6)}"}` } },
        413,
        { code: 'too_large' },
      ],
    ]
  for (const [method, path, options, status, expected] of cases) {
    const reply = await ask(method, path, options)
    assert.equal(reply.status, status, `${method} ${path}: ${reply.text.slice(0, 300)}`)
    assert.ok(typeof reply.json.message === 'string' && reply.json.activityId.length > 30, reply.text)
    for (const [name, value] of Object.entries(expected))
      assert.equal(reply.json[name], value, `${path}: ${reply.text}`)
  }
  assert.equal((await ok(ask('GET', `${c}/items/counts`))).all, 1)
})

test('large values are cut with their size told', async () => {
  const c = await newContainer()
  await create(c, { id: 'i', pk: 'a', long: 'y'.repeat(5000), deep: { list: [{ sku: 's' }] } })
  const { items } = await ok(ask('GET', `${c}/items?columns=/long,/deep/list/0/sku,/deep`))
  const { '/long': long, '/deep/list/0/sku': sku, '/deep': deep } = items[0].values
  assert.deepEqual([long.chars, long.$cut.length, sku, deep], [5002, 200, 's', { list: [{ sku: 's' }] }])
})
