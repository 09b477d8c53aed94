/** Stored procedures through the SDK: one transaction per partition key, over living items, with rollback. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, ContainerRequest } from '@azure/cosmos'
import { assertServiceError } from '../../support/service-error.ts'
import { idsOf, pathOf, readFeed, startServer, temporaryDirectory } from '../../support/start-server.ts'
import { storeName } from '../../support/test-store.ts'

const server = await startServer()
// A thread that could read the file itself must read what the procedure has written.
const places = {
  'as usual': server,
  ...(storeName !== 'postgres' && { 'on disk': await startServer({ data: temporaryDirectory() }) }),
}

/** A container with procedures by name; the text of each is that of its function. */
async function withProcedures(
  procedures: Record<string, string>,
  definition: Partial<ContainerRequest> = {},
): Promise<Container> {
  const container = await server.newContainer({ defaultTtl: -1, ...definition })
  for (const [id, body] of Object.entries(procedures)) await container.scripts.storedProcedures.create({ id, body })
  return container
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
const run = async (container: Container, id: string, ...args: unknown[]): Promise<any> =>
  (await container.scripts.storedProcedure(id).execute('a', args)).resource

const failure = (container: Container, id: string, ...args: unknown[]) =>
  run(container, id, ...args).then(
    () => assert.fail('it should have failed'),
    error => error as { code: number; substatus?: number; message: string },
  )

test('A procedure gets its arguments and may answer with any JSON', async () => {
  const container = await withProcedures({
    echo: 'function (...args) { getContext().getResponse().setBody(args) }',
    none: 'function () {}',
  })
  const args = [1, 'ä', null, true, [1, [2]], { a: { b: 1 } }]
  assert.deepEqual(await run(container, 'echo', ...args), args)
  assert.deepEqual(await run(container, 'echo'), [])
  assert.equal(await run(container, 'none'), '')
})

const writes = `function (id, mode) {
  const c = getContext().getCollection()
  const response = getContext().getResponse()
  const next = (e, doc) => {
    if (e) throw e
    doc.v = 2
    c.replaceDocument(doc._self, doc, { etag: doc._etag }, (e, replaced) => {
      if (e) throw e
      c.readDocument(c.getAltLink() + '/docs/' + id, (e, read) => {
        if (e) throw e
        c.patchDocument(read._self, [{ op: 'incr', path: '/v', value: 1 }], (e, patched) => {
          if (e) throw e
          c.queryDocuments(c.getSelfLink(), 'SELECT VALUE c.v FROM c WHERE c.id = "' + id + '"', (e, found) => {
            if (e) throw e
            response.setBody({ read: read.v, patched: patched.v, found, item: patched })
            if (mode === 'throw') throw new Error('no')
            if (mode === 'abort') getContext().abort(new Error('no'))
          })
        })
      })
    })
  }
  c.createDocument(c.getSelfLink(), { id, pk: 'a', v: 1 }, next)
}`

test('A procedure sees its own writes, and all of them are stored together', async () => {
  const container = await withProcedures({ writes })
  const { read, patched, found, item } = await run(container, 'writes', 'new')
  assert.deepEqual([read, patched, found], [2, 3, [3]])
  const { resource } = await container.item('new', 'a').read()
  assert.equal(resource?.v, 3)
  assert.deepEqual(item, resource, 'also its _rid and _etag are those that it has now')
})

for (const mode of ['throw', 'abort']) {
  test(`A procedure that ends with ${mode} leaves no trace`, async () => {
    const container = await withProcedures({ writes })
    await container.items.create({ id: 'old', pk: 'a' })
    const before = await readFeed(server, container)
    const error = await failure(container, 'writes', 'new', mode)
    assert.equal(error.code, 400)
    assert.match(error.message, /Encountered exception while executing function\. Exception = Error: no/)
    assert.deepEqual(await readFeed(server, container), before)
  })
}

test('The number of an error that is thrown is the sub-status', async () => {
  const container = await withProcedures({
    fails: 'function () { throw new Error(4711, "no") }',
    broken: 'function ( {',
  })
  const thrown = await failure(container, 'fails')
  assert.deepEqual([thrown.code, thrown.substatus], [400, 4711])
  const broken = await failure(container, 'broken')
  assert.deepEqual([broken.code, broken.substatus], [400, 65535])
})

test('A procedure may handle a failed operation and continue', async () => {
  const container = await withProcedures({
    tries: `function () {
      const c = __, seen = []
      const note = name => (e, r) => seen.push(name + ' ' + (e ? e.number : 'ok'))
      c.readDocument(c.getAltLink() + '/docs/none', note('read'))
      c.createDocument(c.getSelfLink(), { id: 'there', pk: 'a' }, note('create'))
      c.createDocument(c.getSelfLink(), { id: 'x', pk: 'b' }, note('elsewhere'))
      c.createDocument(c.getSelfLink(), { id: 'y', pk: 'a', ttl: 0 }, note('ttl'))
      c.replaceDocument(c.getAltLink() + '/docs/none', { id: 'none', pk: 'a' }, note('replace'))
      c.replaceDocument(c.getAltLink() + '/docs/there', { id: 'there', pk: 'a' }, { etag: '"x"' }, note('etag'))
      c.deleteDocument(c.getAltLink() + '/docs/none', note('delete'))
      c.upsertDocument(c.getSelfLink(), { id: 'u', pk: 'a' }, note('upsert'))
      c.queryDocuments(c.getSelfLink(), 'SELECT', (e) => {
        seen.push('query ' + e.number)
        c.getContext
        getContext().getResponse().setBody(seen)
      })
    }`,
  })
  await container.items.create({ id: 'there', pk: 'a' })
  assert.deepEqual(await run(container, 'tries'), [
    'read 404',
    'create 409',
    'elsewhere 400',
    'ttl 400',
    'replace 404',
    'etag 412',
    'delete 404',
    'upsert ok',
    'query 400',
  ])
  assert.deepEqual(idsOf(await readFeed(server, container)), ['there', 'u'])
})

test('A dead item does not exist for a procedure, and its id is free', async () => {
  const container = await withProcedures({
    looks: `function () {
      const c = __, seen = {}
      c.readDocument(c.getAltLink() + '/docs/dead', (e, d) => { seen.read = e ? e.number : d.id })
      c.queryDocuments(c.getSelfLink(), 'SELECT VALUE c.id FROM c', (e, ids) => { seen.query = ids })
      c.readDocuments(c.getSelfLink(), (e, docs) => { seen.feed = docs.map(d => d.id) })
      c.createDocument(c.getSelfLink(), { id: 'dead', pk: 'a', ttl: 20 }, (e) => {
        seen.create = e ? e.number : 'ok'
        getContext().getResponse().setBody(seen)
      })
    }`,
  })
  await container.items.create({ id: 'dead', pk: 'a', ttl: 10 })
  await container.items.create({ id: 'alive', pk: 'a' })
  await server.db.clock.advance('10s')
  assert.deepEqual(await run(container, 'looks'), { read: 404, query: ['alive'], feed: ['alive'], create: 'ok' })
  await server.db.clock.advance('19s')
  assert.equal((await container.item('dead', 'a').read()).statusCode, 200)
  await server.db.clock.advance('1s')
  assert.equal((await container.item('dead', 'a').read()).statusCode, 404)
})

test('A procedure sees its own partition key and no other', async () => {
  const container = await withProcedures({
    all:
      'function () { __.queryDocuments(__.getSelfLink(), "SELECT VALUE c.id FROM c", (e, r) => ' +
      'getContext().getResponse().setBody(r)) }',
  })
  await container.items.create({ id: 'mine', pk: 'a' })
  await container.items.create({ id: 'theirs', pk: 'b' })
  assert.deepEqual(await run(container, 'all'), ['mine'])
})

/** Almost Azure's sample: deletes in pages until no time is left, and says how far it came. */
const bulkDelete = `function (query) {
  const c = getContext().getCollection(), response = getContext().getResponse()
  let deleted = 0
  step()
  function step(continuation) {
    if (!c.queryDocuments(c.getSelfLink(), query, { pageSize: 20, continuation }, (e, docs, options) => {
      if (e) throw e
      if (docs.length > 0) remove(docs, options.continuation)
      else if (options.continuation) step(options.continuation)
      else response.setBody({ deleted, continuation: false })
    })) response.setBody({ deleted, continuation: true })
  }
  function remove(docs, continuation) {
    if (docs.length === 0) return step(continuation)
    c.deleteDocument(docs[0]._self, {}, e => { if (e) throw e; deleted++; docs.shift(); remove(docs, continuation) })
  }
}`

test('The pages of a query skip nothing while the procedure deletes the items that it read', async () => {
  const container = await withProcedures({ bulkDelete })
  const items = Array.from({ length: 90 }, (_, n) => ({
    operationType: 'Create',
    resourceBody: { id: String(n), pk: 'a', odd: n % 2 === 1 },
  }))
  await container.items.bulk(items as never)
  assert.deepEqual(await run(container, 'bulkDelete', 'SELECT * FROM c WHERE c.odd'), {
    deleted: 45,
    continuation: false,
  })
  assert.equal((await readFeed(server, container, { pageSize: 100 })).length, 45)
})

for (const [place, { newContainer }] of Object.entries(places)) {
  test(`Every kind of query sees what the procedure wrote, ${place}`, () => queryWritten(newContainer))
}

async function queryWritten(newContainer: typeof server.newContainer): Promise<void> {
  const container = await newContainer({ defaultTtl: -1 })
  await container.scripts.userDefinedFunctions.create({ id: 'double', body: 'n => 2 * n' })
  await container.scripts.storedProcedures.create({
    id: 'queries',
    body: `function (query) {
      const c = __
      c.createDocument(c.getSelfLink(), { id: 'new', pk: 'a', n: 7, tags: ['x', 'y'] }, e => {
        if (e) throw e
        c.deleteDocument(c.getAltLink() + '/docs/2', e => {
          if (e) throw e
          const rows = []
          const add = (e, page, options) => {
            if (e) throw e
            rows.push(...page)
            if (options.continuation) next(options.continuation)
            else getContext().getResponse().setBody(rows)
          }
          const next = continuation =>
            c.queryDocuments(c.getSelfLink(), query, { pageSize: 2, continuation }, add)
          next()
        })
      })
    }`,
  })
  for (let n = 0; n < 5; n++) await container.items.create({ id: String(n), pk: 'a', n, tags: ['t'] })
  const ask = async (query: string) => {
    const rows = await run(container, 'queries', query)
    await container.items.upsert({ id: '2', pk: 'a', n: 2, tags: ['t'] })
    await container.item('new', 'a').delete()
    return rows
  }
  assert.deepEqual(await ask('SELECT VALUE c.n FROM c'), [0, 1, 3, 4, 7])
  assert.deepEqual(await ask('SELECT VALUE c.n FROM c ORDER BY c.n DESC'), [7, 4, 3, 1, 0])
  assert.deepEqual(await ask('SELECT VALUE COUNT(1) FROM c'), [5])
  assert.deepEqual(await ask('SELECT VALUE t FROM c JOIN t IN c.tags'), ['t', 't', 't', 't', 'x', 'y'])
  assert.deepEqual(await ask('SELECT TOP 3 VALUE c.n FROM c WHERE c.n > 0'), [1, 3, 4])
  assert.deepEqual((await ask('SELECT c.n > 3 AS big, COUNT(1) AS count FROM c GROUP BY c.n > 3')).length, 2)
  assert.deepEqual(await ask('SELECT VALUE udf.double(c.n) FROM c'), [0, 2, 6, 8, 14])
  assert.deepEqual(await ask('SELECT VALUE udf.double(c.n) FROM c ORDER BY c.n DESC'), [14, 8, 6, 2, 0])
}

test('A continuation belongs to its query', async () => {
  const container = await withProcedures({
    page: `(query, continuation) => __.queryDocuments(__.getSelfLink(), query, { pageSize: 1, continuation },
      (error, rows, options) => {
        if (error) throw error
        getContext().getResponse().setBody({ rows, continuation: options.continuation })
      })`,
  })
  for (const n of [1, 2]) await container.items.create({ id: String(n), pk: 'a', n })
  const { rows, continuation } = await run(container, 'page', 'SELECT VALUE c.n FROM c')
  assert.deepEqual(rows, [1])
  assert.deepEqual((await run(container, 'page', 'SELECT VALUE c.n FROM c', continuation)).rows, [2])
  for (const [query, token] of [
    ['SELECT VALUE c.id FROM c', continuation],
    ['SELECT VALUE c.n FROM c', '{"after":"1","skip":0}'],
  ]) {
    assert.match((await failure(container, 'page', query, token)).message, /Invalid Continuation Token/)
  }
})

test('Procedures that change the same item at the same time all take effect', async () => {
  const container = await withProcedures({
    add: `function (n) {
      const c = __
      c.readDocument(c.getAltLink() + '/docs/counter', (e, doc) => {
        if (e) throw e
        doc.n += n
        c.replaceDocument(doc._self, doc, e => { if (e) throw e })
      })
    }`,
  })
  await container.items.create({ id: 'counter', pk: 'a', n: 0 })
  await Promise.all(Array.from({ length: 4 }, () => run(container, 'add', 1)))
  assert.equal((await container.item('counter', 'a').read()).resource?.n, 4)
})

test('A procedure that violates a unique key is rolled back', async () => {
  const container = await withProcedures(
    {
      two:
        'function () { for (const id of ["1", "2"]) __.createDocument(__.getSelfLink(), { id, pk: "a", email: "x" ' +
        '}) }',
    },
    { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } },
  )
  assert.equal((await failure(container, 'two')).code, 409)
  assert.deepEqual(await readFeed(server, container), [])
})

test('The answer carries the log if the request asks for it', async () => {
  const container = await withProcedures({
    logs: 'function () { console.log("ä %s", 1); getContext().getResponse().setBody(1) }',
  })
  const procedure = container.scripts.storedProcedure('logs')
  const { headers } = await procedure.execute('a', [], { enableScriptLogging: true })
  assert.match(decodeURIComponent(headers['x-ms-documentdb-script-log-results'] as string), /^ä 1/)
  assert.equal((await procedure.execute('a', [])).headers['x-ms-documentdb-script-log-results'], undefined)
})

test('A procedure that does not end is stopped, and nobody else waits for it', async () => {
  const container = await withProcedures({
    spins: 'function () { __.createDocument(__.getSelfLink(), { id: "1", pk: "a" }); while (true) {} }',
  })
  await container.items.create({ id: 'other', pk: 'b' })
  let isOver = false
  const spinning = failure(container, 'spins').finally(() => {
    isOver = true
  })
  let slowestMs = 0
  let reads = 0
  while (!isOver) {
    const startMs = performance.now()
    await container.item('other', 'b').read()
    slowestMs = Math.max(slowestMs, performance.now() - startMs)
    reads++
  }
  assert.equal((await spinning).code, 408)
  assert.ok(reads > 100)
  assert.ok(slowestMs < 1000, `${slowestMs} ms`)
  assert.equal((await container.item('1', 'a').read()).statusCode, 404)
})

test('Malformed calls of procedures are refused', async () => {
  const container = await withProcedures({ one: 'function () {}' })
  const post = (name: string, headers: Record<string, string>, body: unknown = []) =>
    server.send({ method: 'POST', path: pathOf(container, 'sprocs', name), headers, body })
  const key = { 'x-ms-documentdb-partitionkey': '["a"]' }
  assert.equal((await post('one', key)).status, 200)
  assert.equal((await post('one', key, '')).status, 200)
  assert.match(assertServiceError(await post('one', {}), 400), /^PartitionKey value must be supplied/)
  assertServiceError(await post('one', { 'x-ms-documentdb-partitionkey': '["a","b"]' }), 400, 1001)
  assertServiceError(await post('none', key), 404, 0)
  assertServiceError(await post('one', key, { a: 1 }), 400)
  assertServiceError(await post('one', key, '['), 400)
})
