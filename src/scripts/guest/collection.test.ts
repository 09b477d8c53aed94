import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { MemoryScriptHost, testLinks } from '../../../test/support/memory-script-host.ts'
import { runStoredProcedure } from '../../../test/support/run-script.ts'
import type { HostCall } from '../host.ts'
import { ScriptError } from '../script-error.ts'
import { ScriptRunner } from '../script-runner.ts'

const runner = new ScriptRunner()
after(() => runner[Symbol.asyncDispose]())

async function execute(body: string, host = new MemoryScriptHost()): Promise<unknown> {
  const run = { id: 'proc', body, links: testLinks, host, epochMs: 0, args: '[]' }
  return JSON.parse((await runStoredProcedure(runner, run)).body)
}

const document = { rid: 'MQ==' }
const link = `${testLinks.self}docs/MQ==/`

describe('each function makes its call', () => {
  const paged = { pageSize: 100, continuation: undefined }
  const cases: readonly [script: string, call: HostCall][] = [
    [`__.readDocument('${link}')`, { kind: 'read', document, ifNoneMatch: undefined }],
    [`__.readDocument('${link.slice(0, -1)}', { ifNoneMatch: 'x' })`, { kind: 'read', document, ifNoneMatch: 'x' }],
    [`__.readDocument(__.getAltLink() + '/docs/1')`, { kind: 'read', document: { id: '1' }, ifNoneMatch: undefined }],
    ['__.readDocuments(__.getSelfLink())', { kind: 'readFeed', ...paged }],
    [
      `__.readDocuments(__.getAltLink(), { pageSize: 5, continuation: '5' })`,
      { kind: 'readFeed', pageSize: 5, continuation: '5' },
    ],
    [
      '__.readDocuments(__.getAltLink(), { pageSize: 1e9 })',
      { kind: 'readFeed', pageSize: 1000, continuation: undefined },
    ],
    ['__.readDocuments(__.getAltLink(), { pageSize: -1 })', { kind: 'readFeed', ...paged }],
    ["__.queryDocuments(__.getSelfLink(), 'SELECT 1')", { kind: 'query', spec: '{"query":"SELECT 1"}', ...paged }],
    [
      "__.queryDocuments(__.getSelfLink(), { query: 'SELECT @a', parameters: [{ name: '@a', value: 1 }] }, { " +
        'pageSize: 2 })',
      {
        kind: 'query',
        spec: '{"query":"SELECT @a","parameters":[{"name":"@a","value":1}]}',
        pageSize: 2,
        continuation: undefined,
      },
    ],
    ["__.createDocument(__.getSelfLink(), { id: '7', a: 1 })", { kind: 'create', body: '{"id":"7","a":1}' }],
    [`__.createDocument(__.getSelfLink(), '{ "id":"7" }')`, { kind: 'create', body: '{ "id":"7" }' }],
    [
      '__.createDocument(__.getSelfLink(), { a: 1 }, { disableAutomaticIdGeneration: true })',
      { kind: 'create', body: '{"a":1}' },
    ],
    ["__.upsertDocument(__.getSelfLink(), { id: '7' })", { kind: 'upsert', body: '{"id":"7"}', etag: undefined }],
    [
      `__.replaceDocument('${link}', { id: '1' }, { etag: 'e0' })`,
      { kind: 'replace', document, body: '{"id":"1"}', etag: 'e0' },
    ],
    [
      `__.patchDocument('${link}', [{ op: 'remove', path: '/a' }])`,
      { kind: 'patch', document, operations: '[{"op":"remove","path":"/a"}]', etag: undefined },
    ],
    [`__.deleteDocument('${link}')`, { kind: 'delete', document, etag: undefined }],
  ]
  for (const [script, call] of cases) {
    test(script, async () => {
      const host = new MemoryScriptHost([{ id: '1' }])
      assert.equal(await execute(`() => __.response.setBody(${script})`, host), true)
      assert.deepEqual(host.calls, [call])
    })
  }
})

describe('callbacks', () => {
  const cases: readonly [what: string, script: string, expected: unknown][] = [
    [
      'get the document and the options',
      `getContext().getCollection().createDocument(__.getSelfLink(), { id: 'n' }, {}, (e, d, o) => ` +
        '__.response.setBody([e === undefined, d.id, o]))',
      [true, 'n', { statusCode: 201 }],
    ],
    ['may take the position of options', `__.readDocument('${link}', (e, d) => __.response.setBody(d.id))`, '1'],
    [
      'get a number, a body and a message on failure',
      `__.readDocument(__.getAltLink() + '/docs/none', (e, d) => __.response.setBody([e.number, e.body, ` +
        'e.message, e instanceof Error, d === undefined]))',
      [404, '{"Errors":["Resource Not Found"]}', '{"Errors":["Resource Not Found"]}', true, true],
    ],
    [
      'get options only after a delete',
      `__.deleteDocument('${link}', {}, (e, o) => __.response.setBody(o))`,
      { statusCode: 204 },
    ],
    [
      'learn that nothing was modified',
      `__.readDocument('${link}', { ifNoneMatch: 'e0' }, (e, d, o) => __.response.setBody([d === undefined, ` +
        'o.notModified]))',
      [true, true],
    ],
    [
      'see what earlier calls wrote',
      `__.upsertDocument(__.getSelfLink(), { id: '1', n: 1 }, (e, d) => { d.n++; __.replaceDocument(d._self, d, ` +
        '{ etag: d._etag }, (e, d) => __.response.setBody(d.n)) })',
      2,
    ],
    [
      'come in the order of the calls',
      `const seen = []; for (const id of ['a', 'b', 'c']) __.createDocument(__.getSelfLink(), { id }, (e, d) => ` +
        '{ seen.push(d.id); __.response.setBody(seen) })',
      ['a', 'b', 'c'],
    ],
    [
      'can be awaited',
      `const create = id => new Promise((done, fail) =>
         __.createDocument(__.getSelfLink(), { id }, (e, d) => e ? fail(e) : done(d)));
       (async () => {
         const seen = []
         for (const id of ['a', 'b', '1']) {
           try { seen.push((await create(id)).id) } catch (e) { seen.push(e.number) }
         }
         __.response.setBody(seen)
       })()`,
      ['a', 'b', 409],
    ],
    [
      'follow a feed to its end',
      `let n = 0
       const read = continuation => __.readDocuments(__.getSelfLink(), { pageSize: 1, continuation }, next)
       const next = (e, feed, o) => {
         n += feed.length
         o.continuation ? read(o.continuation) : __.response.setBody(n)
       }
       __.createDocument(__.getSelfLink(), { id: '2' })
       __.createDocument(__.getSelfLink(), { id: '3' })
       read()`,
      3,
    ],
  ]
  for (const [what, script, expected] of cases) {
    test(what, async () =>
      assert.deepEqual(await execute(`() => { ${script} }`, new MemoryScriptHost([{ id: '1' }])), expected),
    )
  }

  test('a document without an id gets one, and the object of the script is not changed', async () => {
    const body =
      '() => { const d = { a: 1 }; __.createDocument(__.getSelfLink(), d, (e, made) => __.response.setBody([d, ' +
      'made.id])) }'
    const [own, id] = (await execute(body)) as [object, string]
    assert.deepEqual(own, { a: 1 })
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  })

  test('without a callback an error ends the script with its status as the number', async () => {
    const error = await execute(`() => { __.deleteDocument(__.getAltLink() + '/docs/none') }`).catch(
      thrown => thrown as ScriptError,
    )
    assert.ok(error instanceof ScriptError)
    assert.equal(error.number, 404)
    assert.match(error.message, /Exception = Error: \{"Errors":\["Resource Not Found"\]\}/)
  })
})

describe("wrong arguments are refused with the service's words", () => {
  const cases: readonly [script: string, message: string][] = [
    [
      '__.readDocument()',
      'The function "readDocument" requires at least 1 argument(s) but was called with 0 argument(s).',
    ],
    [
      '__.createDocument(__.getSelfLink())',
      'The function "createDocument" requires at least 2 argument(s) but was called with 1 argument(s).',
    ],
    ["__.createDocument('dbs/x', {})", 'Invalid collection link: "dbs/x".'],
    [
      "__.readDocuments('dbs/other/colls/carts')",
      'Function is not allowed to operate on resources outside current collection. Make sure that the link ' +
        'provided, "dbs/other/colls/carts", belongs to current collection.',
    ],
    ['__.readDocuments(1)', 'Invalid collection link: "1".'],
    ["__.readDocument('dbs/shop/colls/carts/docs/a/b')", 'Invalid document link: "dbs/shop/colls/carts/docs/a/b".'],
    [
      "__.readDocument('dbs/shop/colls/other/docs/a')",
      'Function is not allowed to operate on resources outside current collection. Make sure that the link ' +
        'provided, "dbs/shop/colls/other/docs/a", belongs to current collection.',
    ],
    [
      "__.readDocuments(__.getSelfLink(), 'x')",
      'The "options" parameter must be of type "object". Actual type is: "string".',
    ],
    [
      '__.readDocuments(__.getSelfLink(), {}, 5)',
      'The "callback" parameter must be of type "function". Actual type is: "number".',
    ],
    [
      '__.queryDocuments(__.getSelfLink(), 5)',
      'The "filterQuery" parameter must be of type "string" or "object". Actual type is: "number".',
    ],
    [
      '__.createDocument(__.getSelfLink(), 5)',
      'The document body must be an object or a string representing a JSON-serialized object.',
    ],
  ]
  for (const [script, message] of cases) {
    test(script, async () => {
      const host = new MemoryScriptHost()
      const body = `() => { try { ${script} } catch (error) { __.response.setBody([error.number, error.message]) } }`
      assert.deepEqual(await execute(body, host), [400, message])
      assert.deepEqual(host.calls, [])
    })
  }
})
