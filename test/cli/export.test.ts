/** mayfly export, query, ls and seed: what goes out comes in again, equal. */

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { EJSON } from 'bson'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { fc } from '../support/property.ts'
import { runCli, serveCli } from '../support/run-cli.ts'
import { startServer, temporaryDirectory } from '../support/start-server.ts'

const server = await startServer()
const { endpoint } = server.db
const mongo = new MongoClient(server.db.mongoUri!)
after(() => mongo.close())
const folder = temporaryDirectory()
const at = ['--endpoint', endpoint]

let count = 0

async function ran(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli([...args, ...at])
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
  return stdout
}

const system = ['_rid', '_self', '_etag', '_attachments', '_ts']

function withoutSystem(items: readonly object[]): string[] {
  return items
    .map(item => JSON.stringify(Object.fromEntries(Object.entries(item).filter(([name]) => !system.includes(name)))))
    .toSorted()
}

const value = fc.jsonValue({ maxDepth: 2 })
const item = fc.record(
  {
    id: fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }).filter(id => id.isWellFormed()),
    pk: fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
    ttl: fc.oneof(fc.constant(-1), fc.integer({ min: 50, max: 500 })),
    data: value,
    'a "b", c': value,
    text: fc.string({ unit: 'grapheme' }),
  },
  { requiredKeys: ['id'] },
)

test('what is exported and imported again is equal, whatever the items, formats and lives', async () => {
  const formats = ['jsonl', 'json', 'jsonl.gz', 'json.zst']
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(item, { maxLength: 30, selector: ({ id }) => id }),
      fc.constantFrom(...formats),
      fc.constantFrom('remaining', 'absolute'),
      fc.integer({ min: 0, max: 60 }),
      async (items, format, keepTtl, passed) => {
        const source = await server.newContainer({ defaultTtl: 400 })
        const target = await server.newContainer({ defaultTtl: 400 })
        for (const each of items) await source.items.create(each)
        await server.db.clock.advance('20s')
        const file = join(folder, `${++count}.${format}`)
        await ran(['export', '--database', source.database.id, '--container', 'items', '--output', file])
        const living = await source.items.readAll<{ id: string; _ts: number; ttl?: number }>().fetchAll()
        const exportedAt = server.db.clock.now()
        if (passed > 0) await server.db.clock.advance(`${passed}s`)
        await ran(['import', file, '--database', target.database.id, '--container', 'items', '--keep-ttl', keepTtl])
        const now = server.db.clock.now()
        // By the rules: what an item has left at the export, or until its deadline.
        const expected = living.resources.flatMap(each => {
          const ends = each._ts + (each.ttl ?? 400)
          const left = each.ttl === -1 ? -1 : ends - (keepTtl === 'remaining' ? exportedAt : now)
          return each.ttl !== -1 && left <= 0 ? [] : [{ ...each, ttl: left }]
        })
        const found = (await target.items.readAll<{ id: string }>().fetchAll()).resources
        const sorted = (rows: readonly object[]) =>
          withoutSystem(
            rows.map(row => Object.fromEntries(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))),
          )
        assert.deepEqual(sorted(found), sorted(expected))
      },
    ),
    { numRuns: 6 },
  )
})

test('documents keep their types on the way out and in, also through CSV', async () => {
  const documents = [
    { _id: 1, n: 1.5, at: new Date(5), tags: ['a', 'b'], text: 'x,"y"\nz' },
    { _id: 'two', empty: '', yes: true, none: null, like: '7' },
  ]
  const source = mongo.db('docs').collection<{ _id: unknown }>('source')
  await source.insertMany(documents as never)
  for (const format of ['jsonl', 'csv']) {
    const file = join(folder, `documents.${format}`)
    await ran(['export', '--database', 'docs', '--container', 'source', '--output', file])
    await ran(['import', file, '--database', 'docs', '--container', `to-${format}`, '--api', 'mongo'])
    const raw = { promoteValues: false }
    const texts = (found: object[]) => found.map(each => EJSON.stringify(each, { relaxed: false })).toSorted()
    const target = mongo.db('docs').collection(`to-${format}`)
    if (format === 'jsonl') {
      assert.deepEqual(texts(await target.find({}, raw).toArray()), texts(await source.find({}, raw).toArray()))
    } else assert.equal(await target.countDocuments({ like: '7', yes: true, empty: '' }), 1)
  }
})

test('queries print JSON to programs, and tables, lines and CSV when asked', async () => {
  const container = await server.newContainer()
  for (const n of [1, 2, 3]) await container.items.create({ id: `i${n}`, pk: 'p', n })
  const place = ['--database', container.database.id, '--container', 'items']
  const text = 'SELECT c.id, c.n FROM c WHERE c.n > 1 ORDER BY c.n DESC'
  assert.deepEqual(JSON.parse(await ran(['query', text, ...place])), [
    { id: 'i3', n: 3 },
    { id: 'i2', n: 2 },
  ])
  assert.equal(await ran(['query', text, ...place, '--output', 'jsonl']), '{"id":"i3","n":3}\n{"id":"i2","n":2}\n')
  assert.equal(await ran(['query', text, ...place, '--output', 'csv']), 'id,n\r\ni3,3\r\ni2,2\r\n')
  assert.equal(await ran(['query', text, ...place, '--output', 'table']), 'id  n\ni3  3\ni2  2\n2 rows\n')
  assert.deepEqual(JSON.parse(await ran(['query', 'SELECT VALUE SUM(c.n) FROM c', ...place, '--json'])), [6])
  const wrong = await runCli(['query', 'SELECT FROM', ...place, ...at])
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /Syntax error/)
  const documents = ['--database', 'docs', '--container', 'source', '--output', 'jsonl']
  assert.match(await ran(['query', '{"_id":"two"}', ...documents]), /^\{"_id":"two","empty":""/)
  const pipeline = '[{"$group":{"_id":null,"n":{"$sum":1}}}]'
  assert.equal(await ran(['query', pipeline, ...documents]), '{"_id":null,"n":{"$numberInt":"2"}}\n')
  assert.match((await runCli(['query', '[{"$out":"x"}]', ...documents, ...at])).stderr, /it runs no \$out/)
})

test('ls lists what there is', async () => {
  const container = await server.newContainer({ defaultTtl: 3600 })
  await container.items.create({ id: 'a', pk: 'p' })
  const json = JSON.parse(await ran(['ls', container.database.id]))
  const row = { database: container.database.id, container: 'items', api: 'nosql', partitionKey: '/pk' }
  assert.deepEqual(json.containers, [{ ...row, ttl: 3600, items: 1, dead: 0 }])
  const table = await ran(['ls', container.database.id, '--output', 'table'])
  assert.match(table, /^DATABASE +CONTAINER +API +KEY +TTL +ITEMS +DEAD\n.* items +nosql +\/pk +1 h 00 m +1 +0\n$/)
  assert.equal((await runCli(['ls', 'nowhere', ...at])).code, 1)
})

const seedFile = join(folder, 'seed.json')
writeFileSync(
  seedFile,
  JSON.stringify({
    databases: [
      {
        id: 'shop',
        containers: [
          {
            id: 'carts',
            partitionKey: '/pk',
            defaultTtl: 600,
            items: [
              { id: 'a', pk: 'p' },
              { id: 'b', pk: 'q', ttl: 500 },
            ],
          },
          { id: 'people', api: 'mongo', items: [{ _id: { $oid: '6917a0c2e4b0a1b2c3d4e5f6' }, name: 'Ada' }] },
        ],
      },
    ],
  }),
)

test('a seed is loaded before the server is ready, once', async () => {
  const data = join(temporaryDirectory(), 'data')
  const idsAt = async (url: string) => {
    const query = ['query', 'SELECT VALUE c.id FROM c ORDER BY c.id', '--database', 'shop', '--container', 'carts']
    return JSON.parse((await runCli([...query, '--endpoint', url])).stdout)
  }
  const args = ['--data', data, '--port', '0', '--json', '--clock', 'manual', '--seed']
  {
    await using served = await serveCli([...args, seedFile])
    assert.deepEqual(await idsAt(served.endpoint), ['a', 'b'])
    const one = ['query', '{}', '--database', 'shop', '--container', 'people', '--endpoint', served.endpoint]
    assert.deepEqual(JSON.parse((await runCli(one)).stdout), [
      { _id: { $oid: '6917a0c2e4b0a1b2c3d4e5f6' }, name: 'Ada' },
    ])
    const again = await runCli(['seed', seedFile, '--endpoint', served.endpoint])
    assert.equal(again.code, 0)
    assert.match(again.stderr, /The server has databases \(shop\)\. A seed is for an empty one: nothing was done\./)
  }
  const other = join(folder, 'other.jsonl')
  writeFileSync(other, '{"database":"other","container":"x","partitionKey":"/pk","item":{"id":"c","pk":1}}\n')
  {
    await using served = await serveCli([...args, other])
    assert.deepEqual(await idsAt(served.endpoint), ['a', 'b'])
  }
  const wrong = join(folder, 'wrong.jsonl')
  writeFileSync(wrong, '\n{"database":"other","container":"x","partitionKey":"/pk","item":{"id":7,"pk":1}}\n')
  const refused = await runCli(['--memory', '--port', '0', '--seed', wrong])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /wrong\.jsonl, line 2 \(other\/x\): /)
})

test('an exported folder is a seed', async () => {
  const all = join(folder, 'all')
  {
    await using db = await mayfly({ clock: 'manual' })
    assert.equal((await runCli(['seed', seedFile, '--endpoint', db.endpoint])).code, 0)
    const exported = await runCli(['export', '--output', all, '--compress', 'gz', '--endpoint', db.endpoint])
    assert.equal(exported.code, 0, exported.stderr)
  }
  const people = gunzipSync(readFileSync(join(all, 'shop', 'people.jsonl.gz'))).toString()
  assert.equal(people, '{"_id":{"$oid":"6917a0c2e4b0a1b2c3d4e5f6"},"name":"Ada"}\n')
  await using db = await mayfly({ clock: 'manual' })
  const seeded = await runCli(['seed', all, '--json', '--endpoint', db.endpoint])
  assert.deepEqual(JSON.parse(seeded.stdout), { loaded: true, containers: 2, items: 3 })
  const { status } = await db.ttl
    .status('shop', 'carts')
    .then(({ defaultTtl, living }) => ({ status: [defaultTtl, living] }))
  assert.deepEqual(status, [600, 2])
})
