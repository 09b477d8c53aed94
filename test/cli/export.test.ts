/** mayfly export, query, ls and seed: what goes out comes in again, equal. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { EJSON } from 'bson'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { fc } from '../support/property.ts'
import { runCli, serveCli, startCli } from '../support/run-cli.ts'
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
/** The official client refuses the others. */
const id = fc
  .string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
  .filter(text => text.isWellFormed() && !/[/\\?#]| $/.test(text))
const item = fc.record(
  {
    id,
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
  const refusal = async (text: string, where = place) => {
    const { code, stdout, stderr } = await runCli(['query', text, ...where, ...at])
    assert.deepEqual([code, stdout], [1, ''])
    return stderr
  }
  const near = "mayfly: Syntax error, incorrect syntax near 'FORM', at"
  assert.equal(await refusal('SELECT * FORM c'), `${near} column 10.\n`)
  assert.equal(await refusal('SELECT *\n FORM c'), `${near} line 2, column 2.\n`)
  assert.match(await refusal('SELECT'), /^mayfly: Syntax error, unexpected end of query, at column 7\.\n$/)
  assert.match(await refusal('{"n": 1}'), /^mayfly: A container takes SQL: SELECT …/)
  const documents = ['--database', 'docs', '--container', 'source', '--output', 'jsonl']
  assert.match(await ran(['query', '{"_id":"two"}', ...documents]), /^\{"_id":"two","empty":""/)
  const sql = 'mayfly: A collection takes a filter {…} or a pipeline […], not SQL.\n'
  assert.equal(await refusal('SELECT * FROM c', documents), sql)
  const pipeline = '[{"$group":{"_id":null,"n":{"$sum":1}}}]'
  assert.equal(await ran(['query', pipeline, ...documents]), '{"_id":null,"n":{"$numberInt":"2"}}\n')
  assert.match((await runCli(['query', '[{"$out":"x"}]', ...documents, ...at])).stderr, /It cannot use \$out/)
})

test('ls lists databases and containers', async () => {
  const container = await server.newContainer({ defaultTtl: 3600 })
  await container.items.create({ id: 'a', pk: 'p' })
  const json = JSON.parse(await ran(['ls', container.database.id]))
  const row = { database: container.database.id, container: 'items', api: 'nosql', partitionKey: '/pk' }
  const listed = { ...row, ttl: 3600, items: 1, dead: 0, nextDeath: server.db.clock.now() + 3600 }
  assert.deepEqual(json.containers, [listed])
  assert.equal(await ran(['ls', container.database.id, '--output', 'jsonl']), `${JSON.stringify(listed)}\n`)
  assert.equal(
    await ran(['ls', container.database.id, '--output', 'csv']),
    `${Object.keys(listed).join()}\r\n${Object.values(listed).join()}\r\n`,
  )
  const wrong = await runCli(['ls', '--output', 'xml', ...at])
  assert.match(wrong.stderr, /^mayfly: --output takes table, json, jsonl, csv, not 'xml'\.\n$/)
  const table = await ran(['ls', container.database.id, '--output', 'table'])
  assert.match(
    table,
    /^DATABASE +CONTAINER +API .* DEAD +NEXT DEATH\n.* items +nosql +\/pk +1 h 00 m +1 +0 +\S+Z, in 1 h 00 m\n$/,
  )
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

test('a seed with a mistake leaves nothing behind, and is loaded when it was mended', async () => {
  const data = join(temporaryDirectory(), 'data')
  const file = join(folder, 'mended.jsonl')
  const args = ['--data', data, '--port', '0', '--no-mongo', '--json', '--seed', file]
  const line = (container: string, item: object) =>
    `${JSON.stringify({ database: 'shop', container, partitionKey: '/pk', item })}\n`
  writeFileSync(file, line('a', { id: 'x', pk: 1 }) + line('b', { id: 'x', pk: 1 }) + line('b', { pk: 1 }))
  const refused = await runCli(args)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /line 3 \(shop\/b\)/)
  writeFileSync(file, line('a', { id: 'x', pk: 1 }) + line('b', { id: 'y', pk: 1 }))
  await using served = await serveCli(args)
  const listed = await runCli([
    'query',
    'SELECT VALUE c.id FROM c',
    '--database',
    'shop',
    '--container',
    'b',
    '--endpoint',
    served.endpoint,
  ])
  assert.deepEqual(JSON.parse(listed.stdout), ['y'])
})

test('a compression for a folder is refused where one container is exported', async () => {
  const { code, stderr } = await runCli(['export', '--database', 'd', '--container', 'c', '--compress', 'rar'])
  assert.equal(code, 1)
  assert.match(stderr, /^mayfly: --compress is for files in a folder/)
})

const wrongSeeds = [
  ['null', /a seed is \{"databases"/],
  ['{"databases":[{}]}', /a seed is \{"databases"/],
  ['{"databases":[{"id":7}]}', /a seed is \{"databases"/],
  ['{"databases":[{"id":"a/b"}]}', /invalid character '\/'/],
  ['{"databases":[{"id":""}]}', /input name '' is invalid/],
  ['{"databases":[{"id":"x","containers":{}}]}', /The seed .* cannot be read/],
  ['{"databases":[{"id":"x","containers":[{"id":"c","api":"mongo","defaultTtl":5}]}]}', /TTL index on _ts/],
] as const

for (const [text, reason] of wrongSeeds) {
  test(`the seed ${text} is refused in one sentence`, async () => {
    const file = join(folder, 'refused.json')
    writeFileSync(file, text)
    const { code, stderr } = await runCli(['--memory', '--port', '0', '--no-mongo', '--seed', file])
    assert.equal(code, 1)
    assert.match(stderr, reason)
    assert.match(stderr, /^mayfly: .*\n$/)
  })
}

test('a server that a wrong file stops makes no data directory', async () => {
  const data = join(temporaryDirectory(), 'data')
  for (const flags of [
    ['--seed', 'none'],
    ['--entra', 'none'],
    ['--tls-cert', 'none', '--tls-key', 'none'],
  ]) {
    const { code } = await runCli(['--data', data, '--port', '0', '--no-mongo', ...flags])
    assert.deepEqual([code, existsSync(data)], [1, false])
  }
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

/** A server with one container, whose export is what the test says. */
async function stubServer(answer: (res: ServerResponse) => void) {
  const container = { id: 'c', api: 'nosql', partitionKey: ['/pk'], defaultTtl: null, living: 9, backlog: 0 }
  const stub = createServer((req, res) => {
    if (req.url!.includes('/export/')) answer(res)
    else if (req.url!.includes('/clock')) res.end('{"now":1800000000,"mode":"system"}')
    else res.end(JSON.stringify({ databases: [{ id: 'd', containers: [container] }] }))
  })
  await once(stub.listen(0, '127.0.0.1'), 'listening')
  return {
    endpoint: `http://127.0.0.1:${(stub.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      stub.closeAllConnections()
      stub.close()
    },
  }
}

test('a seed that cannot be read is reported in one sentence, before anything is loaded', async () => {
  const inside = mkdtempSync(join(folder, 'seeds-'))
  const keyless = join(inside, 'keyless.jsonl')
  writeFileSync(keyless, '{"database":"seeds","container":"a","partitionKey":"pk"}\n')
  const cut = join(inside, 'cut')
  mkdirSync(cut)
  const listed = { database: 'seeds', container: 'a', api: 'mongo', partitionKey: [], file: 'a.jsonl' }
  writeFileSync(join(cut, 'mayfly-export.json'), JSON.stringify({ containers: [listed] }))
  for (const [path, message] of [
    [join(inside, 'none.json'), /^mayfly: \S+none\.json is not there\.\n$/],
    [inside, /^mayfly: \S+mayfly-export\.json is not there\.\n$/],
    [cut, /^mayfly: \S+a\.jsonl is not there\.\n$/],
    [keyless, /keyless\.jsonl: the "partitionKey" of seeds\/a begins with \/: "\/pk"\.\n$/],
  ] as const) {
    const { code, stderr } = await runCli(['seed', path, ...at])
    assert.equal(code, 1)
    assert.match(stderr, message)
  }
})

test('an interrupted export removes its incomplete file, and says which files are complete', async () => {
  let begun = Promise.withResolvers<void>()
  await using stub = await stubServer(res => {
    res.write('{"id":"a"}\n')
    begun.resolve()
  })
  const inside = mkdtempSync(join(folder, 'interrupted-'))
  const old = join(inside, 'old.jsonl')
  writeFileSync(old, 'old')
  mkdirSync(join(inside, 'all'))
  writeFileSync(join(inside, 'all', 'mayfly-export.json'), '{}')
  const temporary = mkdtempSync(join(folder, 'temporary-'))
  const one = ['--database', 'd', '--container', 'c']
  for (const [args, message] of [
    [[...one, '--output', join(inside, 'new.jsonl')], /^mayfly: Interrupted\. \S+new\.jsonl was not written\.\n$/],
    [[...one, '--output', old], /^mayfly: Interrupted\. \S+old\.jsonl is as it was\.\n$/],
    [[...one, '--format', 'csv'], /^mayfly: Interrupted\. Not everything was printed\.\n$/],
    [
      ['--output', join(inside, 'all')],
      /c\.jsonl was not written\. 0 files are complete in \S+, which cannot be used as a seed without mayfly-export/,
    ],
  ] as const) {
    begun = Promise.withResolvers()
    const running = startCli(['export', ...args, '--endpoint', stub.endpoint], { env: { TMPDIR: temporary } })
    const part = join(inside, 'new.jsonl.part')
    await begun.promise
    while (args.at(-1) === join(inside, 'new.jsonl') && !existsSync(part)) await setImmediate()
    running.process.kill('SIGINT')
    const { code, stderr } = await running.ended
    assert.equal(code, 130, stderr)
    assert.match(stderr, message)
  }
  assert.deepEqual(readdirSync(inside).toSorted(), ['all', 'old.jsonl'])
  assert.equal(readFileSync(old, 'utf8'), 'old')
  assert.deepEqual(readdirSync(join(inside, 'all', 'd')), [])
  assert.deepEqual(readdirSync(join(inside, 'all')), ['d'])
  assert.deepEqual(readdirSync(temporary), [])
})

test('an answer that breaks off fails the export, and leaves no file', async () => {
  await using stub = await stubServer(res => {
    res.write('{"id":"a"}\n', () => res.destroy())
  })
  const file = join(folder, 'cut.jsonl')
  const args = ['export', '--database', 'd', '--container', 'c', '--endpoint', stub.endpoint]
  const { code, stderr } = await runCli([...args, '--output', file])
  assert.equal(code, 1)
  assert.match(stderr, /^mayfly: The server at \S+ did not finish its answer\. \S+cut\.jsonl was not written\.\n$/)
  assert.ok(!existsSync(file) && !existsSync(`${file}.part`))
  const printed = await runCli(args)
  assert.deepEqual([printed.code, printed.stdout], [1, '{"id":"a"}\n'])
  assert.match(printed.stderr, /^mayfly: The server at \S+ did not finish its answer\.\n$/)
})

test('a target that cannot be written, or that exists, is reported in one sentence', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'a', pk: 'p' })
  const one = ['export', '--database', container.database.id, '--container', 'items', ...at]
  const inside = mkdtempSync(join(folder, 'targets-'))
  const file = join(inside, 'a.jsonl')
  const link = join(inside, 'link.jsonl')
  assert.doesNotMatch((await runCli([...one, '--output', file])).stderr, /replaced/)
  symlinkSync(file, link)
  assert.match((await runCli([...one, '--output', link])).stderr, /link\.jsonl, which was there and is replaced, as of/)
  assert.ok(lstatSync(link).isSymbolicLink())
  for (const [args, message] of [
    [[...one, '--output', inside], /targets-\S+ is a folder\. Name a file in it\.\n$/],
    [
      [...one, '--output', join(inside, 'none', 'a.jsonl')],
      /^mayfly: There is no folder \S+none\. Create it first\.\n$/,
    ],
    [
      [...one, '--output', join(inside, 'a.xml')],
      /The name \S+a\.xml tells no format that can be written: \.jsonl, \.ndjson,/,
    ],
    [[...one, '--output', join(inside, 'a.tsv.gz')], /tells no format that can be written: .* Or give --format\.\n$/],
    [['export', '--output', file, ...at], /a\.jsonl is a file\. Name a folder for the files of the containers\.\n$/],
  ] as const) {
    const { code, stderr } = await runCli(args)
    assert.equal(code, 1)
    assert.match(stderr, /^mayfly: [^\n]+\n$/)
    assert.match(stderr, message)
  }
  assert.deepEqual(readdirSync(inside).toSorted(), ['a.jsonl', 'link.jsonl'])
})

const fullDisk = '/dev/full'
const full = existsSync(fullDisk) ? {} : { skip: `there is no ${fullDisk}` }

test('a full disk is reported in one sentence, and an output device is not replaced by a file', full, async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'a', pk: 'p' })
  const one = ['export', '--database', container.database.id, '--container', 'items', ...at]
  const { code, stderr } = await runCli([...one, '--output', fullDisk])
  assert.equal(code, 1)
  assert.match(stderr, /^mayfly: \/dev\/full cannot be written: ENOSPC: no space left on device, write\.\n$/)
  assert.ok(lstatSync(fullDisk).isCharacterDevice())
})

test('a reader that closes the output early causes no error', async () => {
  for (const args of [['ls'], ['ls', '--output', 'table'], ['clock']]) {
    const running = startCli([...args, ...at])
    running.process.stdout!.destroy()
    const { code, stderr } = await running.ended
    assert.deepEqual([code, stderr], [0, ''], args.join(' '))
  }
})
