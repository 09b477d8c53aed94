/** Rows sent to a server: what becomes of each, and that a batch that is sent again is done once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container } from '@azure/cosmos'
import { encodeRows } from '../../src/transfer/frames.ts'
import type { ImportAnswer } from '../../src/transfer/target.ts'
import { idsOf, startServer } from '../support/start-server.ts'

const server = await startServer()

interface Answer {
  readonly status: number
  readonly result: ImportAnswer & { readonly message?: string }
}

async function put(container: Container, rows: readonly (string | Buffer | object)[], query = ''): Promise<Answer> {
  const input = rows.map((row, at) => {
    const isText = typeof row === 'string' || Buffer.isBuffer(row)
    return { line: at + 1, bytes: Buffer.from(isText ? row : JSON.stringify(row)), end: 0, endLine: 0 }
  })
  const path = `_mayfly/import/${container.database.id}/${container.id}?${query}`
  const response = await fetch(new URL(path, server.db.endpoint), { method: 'POST', body: encodeRows(input) })
  return { status: response.status, result: (await response.json()) as Answer['result'] }
}

async function itemsOf(container: Container): Promise<{ id: string; [name: string]: unknown }[]> {
  return (await container.items.readAll().fetchAll()).resources as { id: string }[]
}

const good = { id: 'good', pk: 'a' }

/** Every row that is no item of a container with `/pk`, and the reason that its line gets. */
const refusals: readonly [row: string | Buffer | object, reason: RegExp][] = [
  ['{"id":"a","pk":', /^a value must come here, not the end \(line \d+, column 16\)$/],
  ["{'id':'a'}", /^a string must come here, not ''id':'a'}' \(line 3, column 2\)$/],
  ['{"id":"a","pk":"a",}', /^remove this comma: nothing follows it \(line 4, column 19\)$/],
  ['{"id":"a\0","pk":"a"}', /^the string has a wrong escape, or a line break or tab.* \(line 5, column 7\)$/],
  ['7', /^The row is a number, not a JSON object\.$/],
  ['[{"id":"a"}]', /^The row is a list, not a JSON object\.$/],
  ['null', /^The row is null, not a JSON object\.$/],
  [Buffer.from([0x7b, 0xff, 0x7d]), /^The row is not UTF-8\.$/],
  [Buffer.from('{"id":"ä","pk":"a"}', 'latin1'), /^The row is not UTF-8\.$/],
  [{ pk: 'a' }, /required properties - 'id; ' - are missing/],
  [{ id: null, pk: 'a' }, /required properties - 'id; ' - are missing/],
  [{ id: 7, pk: 'a' }, /invalid/],
  [{ id: '', pk: 'a' }, /Ensure to provide a unique non-empty string/],
  [{ id: 'i'.repeat(1024), pk: 'a' }, /Ensure to provide a unique non-empty string/],
  [{ id: 'a' }, /^The item has no value at the partition key \/pk\.$/],
  [{ id: 'a', pk: { b: 1 } }, /^The item has no value at the partition key \/pk\.$/],
  [{ id: 'a', pk: 'k'.repeat(2049) }, /at most 2048 bytes/],
  ['{"id":"a","pk":1e999}', /partition key number is out of range/],
  [{ id: 'a', pk: 'a', ttl: 0 }, /The input ttl '0' is invalid/],
  [{ id: 'a', pk: 'a', ttl: -2 }, /The input ttl '-2' is invalid/],
  [{ id: 'a', pk: 'a', ttl: '60' }, /The input ttl '"60"' is invalid/],
  [{ id: 'a', pk: 'a', ttl: 2147483648 }, /is invalid/],
  [{ id: 'a', pk: 'a', text: 'x'.repeat(3 * 1024 * 1024) }, /^The item has 3\.00 MB; the limit is 2 MB\.$/],
  [`{"id":"a","pk":"a","x":${'['.repeat(200)}${']'.repeat(200)}}`, /nested deeper/],
  ['['.repeat(100_000), /nested deeper/],
  [`{"id":"a","x":"${'y'.repeat(300_000)}",}`, /^The row is not valid JSON: /],
  [{ id: 'a', pk: 'a', _mayfly: 'mine' }, /^The property _mayfly is reserved for Mayfly's exports/],
  [good, /^There is an item with this id and partition key already\.$/],
]

test('a row that cannot be an item is refused at its line, and the others are stored', async () => {
  const container = await server.newContainer()
  const rows = [good, ...refusals.map(([row]) => row), { id: 'last', pk: 'a' }]
  const { result } = await put(container, rows)
  assert.deepEqual(
    result.refused.map(({ line }) => line),
    refusals.map((_, at) => at + 2),
  )
  for (const [at, [row, reason]] of refusals.entries()) {
    assert.match(result.refused[at]!.reason, reason, JSON.stringify(row).slice(0, 60))
  }
  assert.deepEqual(result.counts, { created: 2, replaced: 0, skipped: 0, dead: 0, refused: refusals.length })
  assert.deepEqual(idsOf(await itemsOf(container)), ['good', 'last'])
})

test('the mode says what happens to items that are there', async () => {
  for (const [mode, counts, value] of [
    ['create', { created: 1, replaced: 0, skipped: 0, dead: 0, refused: 2 }, 'old'],
    ['upsert', { created: 1, replaced: 2, skipped: 0, dead: 0, refused: 0 }, 'again'],
    ['skip', { created: 1, replaced: 0, skipped: 2, dead: 0, refused: 0 }, 'old'],
  ] as const) {
    const container = await server.newContainer()
    await container.items.create({ id: 'a', pk: 'p', value: 'old' })
    const rows = [
      { id: 'a', pk: 'p', value: 'new' },
      { id: 'b', pk: 'p' },
      { id: 'a', pk: 'p', value: 'again' },
    ]
    const { result } = await put(container, rows, `mode=${mode}`)
    assert.deepEqual(result.counts, counts, mode)
    assert.equal((await container.item('a', 'p').read()).resource.value, value, mode)
  }
})

test('a row whose unique key is taken is refused alone', async () => {
  const container = await server.newContainer({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] } })
  const rows = ['x', 'y', 'x', 'z', 'y'].map((mail, at) => ({ id: String(at), pk: 'p', mail }))
  const { result } = await put(container, rows)
  assert.deepEqual(
    result.refused.map(({ line, reason }) => [line, reason]),
    [3, 5].map(line => [line, 'Another item has the same value of a unique key.']),
  )
  assert.deepEqual(idsOf(await itemsOf(container)), ['0', '1', '3'])
})

test('an item is stored as it is written, with new system properties', async () => {
  const container = await server.newContainer()
  const text = '{"2":1, "1":2.50, "id":"a","_rid":"old","pk":"p","_ts":5,"n":12345678901234567890,"_etag":"x"}'
  await put(container, [text])
  const found = await server.send({
    path: `/dbs/${container.database.id}/colls/items/docs/a`,
    headers: { 'x-ms-documentdb-partitionkey': '["p"]' },
  })
  assert.match(found.text, /^\{"2":1, "1":2\.50, "id":"a","pk":"p","n":12345678901234567890,"_rid":"/)
  assert.ok(found.json._ts > 5)
})

const now = () => server.db.clock.now()

test('the time to live of a row goes on as --keep-ttl says', async () => {
  const exportedAt = now() - 100
  const note = (expiresAt?: number) => ({ _mayfly: { exportedAt, ...(expiresAt !== undefined && { expiresAt }) } })
  const rows: readonly [row: Record<string, unknown>, reset: unknown, remaining: unknown, absolute: unknown][] = [
    [{}, undefined, undefined, undefined],
    [{ ttl: 500 }, 500, 500, 500],
    [{ ttl: -1 }, -1, -1, -1],
    [{ ttl: 500, ...note() }, 500, 500, 500],
    [{ ttl: -1, ...note() }, -1, -1, -1],
    [{ ttl: 500, ...note(exportedAt + 400) }, 500, 400, 300],
    [note(exportedAt + 400), undefined, 400, 300],
    [{ ttl: 500, ...note(exportedAt + 100) }, 500, 100, 'dead'],
    [{ ttl: 500, ...note(exportedAt) }, 500, 'dead', 'dead'],
    [{ ttl: 500, _ts: now() - 100 }, 500, 500, 400],
    [{ ttl: 500, _ts: now() - 500 }, 500, 500, 'dead'],
    [{ _ts: now() - 500 }, undefined, undefined, undefined],
    [note(now() + 2 ** 40), undefined, 2147483647, 2147483647],
  ]
  for (const [column, keepTtl] of ['reset', 'remaining', 'absolute'].entries()) {
    const container = await server.newContainer({ defaultTtl: 1000 })
    const { result } = await put(
      container,
      rows.map(([row], at) => ({ id: String(at).padStart(2, '0'), pk: 'p', ...row })),
      `keepTtl=${keepTtl}`,
    )
    const wanted = rows.map(row => row[column + 1])
    assert.equal(result.counts.dead, wanted.filter(each => each === 'dead').length, keepTtl)
    assert.deepEqual(result.refused, [])
    const found = new Map((await itemsOf(container)).map(item => [item.id, item]))
    for (const [at, ttl] of wanted.entries()) {
      const item = found.get(String(at).padStart(2, '0'))
      assert.equal(item === undefined ? 'dead' : item.ttl, ttl, `${keepTtl}, row ${at}`)
      assert.equal(item === undefined ? undefined : item._mayfly, undefined)
    }
  }
})

test('a batch that is sent again is done once, and has the same answer', async () => {
  const container = await server.newContainer()
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, at) =>
      (from + at) % 10 === 3 ? 'broken' : { id: String(from + at), pk: 'p', value: Math.floor((from + at) / 300) },
    )
  const first = await put(container, rows(0, 600), 'job=import-1&from=0')
  assert.deepEqual(first.result.counts, { created: 540, replaced: 0, skipped: 0, dead: 0, refused: 60 })
  const etags = (await itemsOf(container)).map(({ _etag }) => _etag)
  const again = await put(container, rows(0, 600), 'job=import-1&from=0')
  assert.deepEqual(again, first)
  // Somebody deletes an item: it does not come back with a batch that is done.
  await container.item('0', 'p').delete()
  assert.deepEqual(await put(container, rows(0, 600), 'job=import-1&from=0'), first)
  assert.deepEqual(
    (await itemsOf(container)).map(({ _etag }) => _etag),
    etags.slice(1),
  )
  // The next rows overlap with what is done, as after an answer that was lost in the middle.
  const next = await put(container, rows(500, 200), 'job=import-1&from=500')
  assert.deepEqual(next.result.counts, { created: 180, replaced: 0, skipped: 0, dead: 0, refused: 20 })
  assert.equal((await itemsOf(container)).length, 540 + 90 - 1)
  for (const [from, message] of [
    [0, /^The import continues at row 700\. Send the rows from there on, not from 0\.$/],
    [701, /^The import continues at row 700\. Send the rows from there on, not from 701\.$/],
  ] as const) {
    const { status, result } = await put(container, rows(from, 1), `job=import-1&from=${from}`)
    assert.equal(status, 410)
    assert.match(result.message!, message)
  }
})

test('an import that the store does not know cannot go on', async () => {
  const container = await server.newContainer()
  const { status, result } = await put(container, [good], 'job=import-2&from=5')
  assert.equal(status, 410)
  assert.match(result.message!, /^The server does not know this import/)
  await put(container, [good], 'job=import-3&from=0')
  await container.delete()
  await container.database.containers.create({ id: 'items', partitionKey: '/pk' })
  assert.match(
    (await put(container, [good], 'job=import-3&from=1')).result.message!,
    /^The container was deleted and made again since the import began\.$/,
  )
})

test('two clients that continue one import at the same time do not double a row', async () => {
  const container = await server.newContainer()
  const rows = Array.from({ length: 1000 }, (_, at) => ({ id: String(at), pk: 'p' }))
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => put(container, rows, 'job=import-4&from=0&mode=create')),
  )
  assert.equal((await itemsOf(container)).length, 1000)
  for (const { status, result } of answers) {
    if (status === 200) assert.equal(result.counts.created, 1000)
    else assert.match(result.message!, /^Another client continues this import at the same time\.$/)
  }
  assert.ok(answers.some(({ status }) => status === 200))
})

test('a call that is wrong is refused, and nothing is created by it', async () => {
  const container = await server.newContainer()
  for (const [query, message] of [
    ['mode=replace', /"mode" is create, upsert, skip, not 'replace'/],
    ['keepTtl=yes', /"keepTtl" is reset, remaining, absolute/],
    ['from=-1', /"from" is a number of rows/],
    ['job=..', /"job" has 8 to 64/],
  ] as const) {
    const { status, result } = await put(container, [good], query)
    assert.equal(status, 400)
    assert.match(result.message!, message)
  }
  const path = (name: string) => `import/${container.database.id}/${name}`
  assert.equal((await server.admin('POST', path('other'))).status, 404)
  assert.equal((await server.admin('POST', path('items'))).json.api, 'nosql')
  const made = await server.admin('POST', `${path('new')}?create=nosql&partitionKey=/a,/b&defaultTtl=60`)
  assert.deepEqual([made.json.partitionKey, made.json.defaultTtl], [['/a', '/b'], 60])
  assert.equal((await server.admin('POST', `${path('newer')}?create=nosql`)).status, 400)
  assert.equal((await server.admin('GET', path('items'))).status, 405)
})
