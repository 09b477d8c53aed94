/** Bodies that are not items: not JSON, not an object, not UTF-8, too deep or too large. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { Witness } from '../../support/refusal.ts'
import { assertServiceError } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const witness = await Witness.make(server)

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

const noObjects: Readonly<Record<string, string | Buffer>> = {
  nothing: '',
  blanks: ' \n\t ',
  'half an object': '{"id":"one","pk":"a"',
  'half a string': '{"id":"one","pk":"a',
  'a comma too many': '{"id":"one","pk":"a",}',
  'single quotes': "{'id':'one','pk':'a'}",
  'names without quotes': '{id:"one",pk:"a"}',
  'a comment': '{"id":"one",/* */"pk":"a"}',
  'two objects': '{"id":"one","pk":"a"}{"id":"two","pk":"a"}',
  'something behind the object': '{"id":"one","pk":"a"} x',
  'a number that JSON does not know': '{"id":"one","pk":"a","n":NaN}',
  'a number with a leading zero': '{"id":"one","pk":"a","n":01}',
  'a control character in a string': '{"id":"one","pk":"a","s":"\u0000"}',
  'a list': '[{"id":"one","pk":"a"}]',
  'a number': '5',
  'a string': '"one"',
  null: 'null',
  true: 'true',
  'a byte order mark before the object': '\ufeff{"id":"one","pk":"a"}',
  'UTF-16': Buffer.from('{"id":"one","pk":"a"}', 'utf16le'),
  'a byte that no UTF-8 has': bytes('{"id":"one","pk":"a","s":"', [0xff], '"}'),
  'a letter cut in two': bytes('{"id":"one","pk":"a","s":"', [0xe2, 0x82], '"}'),
  'an overlong slash': bytes('{"id":"one","pk":"a","s":"', [0xc0, 0xaf], '"}'),
  'half a surrogate pair in UTF-8': bytes('{"id":"one","pk":"a","s":"', [0xed, 0xa0, 0x80], '"}'),
}

for (const [name, body] of Object.entries(noObjects)) {
  test(`A body of ${name} is refused`, async () => {
    for (const kind of ['create', 'upsert', 'replace'] as const) {
      await witness.assertRefused(witness.write(kind, body), { status: 400 })
    }
  })

  test(`A definition of ${name} is refused`, async () => {
    const before = (await server.send({ path: '/dbs' })).text
    assertServiceError(await server.send({ method: 'POST', path: '/dbs', body }), 400)
    assert.equal((await server.send({ path: '/dbs' })).text, before)
    const path = `/dbs/${witness.container.database.id}/colls`
    await witness.assertRefused({ method: 'POST', path, body }, { status: 400 })
    await witness.assertRefused({ method: 'PUT', path: pathOf(witness.container), body }, { status: 400 })
  })
}

/** An item that is `depth` levels deep, counting the item itself. */
function nested(depth: number, [open, close]: readonly [string, string]): string {
  return `{"id":"deep","pk":"a","v":${open.repeat(depth - 1)}1${close.repeat(depth - 1)}}`
}

test('Items may be 128 levels deep and no deeper', async () => {
  for (const brackets of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    const container = await server.newContainer()
    const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }
    const body = nested(128, brackets)
    const created = await server.send({ method: 'POST', path: pathOf(container, 'docs'), headers, body })
    assert.equal(created.status, 201, created.text)
    const read = await server.send({ path: pathOf(container, 'docs', 'deep'), headers })
    assert.ok(read.text.startsWith(body.slice(0, -1)))
    const tooDeep = { status: 400, text: /nested deeper than the 128 levels/ }
    for (const depth of [129, 1000, 100_000]) {
      await witness.assertRefused(witness.write('create', nested(depth, brackets)), tooDeep)
    }
  }
})

test('Brackets within strings do not count as levels', async () => {
  const container = await server.newContainer()
  const { statusCode } = await container.items.create({ id: '1', pk: 'a', text: '[{"\\'.repeat(5000) })
  assert.equal(statusCode, 201)
})

test('Brackets that are never closed are refused, however many', async () => {
  for (const text of ['['.repeat(100_000), '{"a":'.repeat(100_000), '[{'.repeat(100_000)]) {
    await witness.assertRefused(witness.write('create', text), { status: 400 })
  }
})

const twoMegabytes = 2 * 1024 * 1024

function itemOf(size: number): string {
  const frame = '{"id":"big","pk":"a","s":""}'
  return frame.replace('""}', `"${'x'.repeat(size - frame.length)}"}`)
}

const tooLarge = { status: 413, text: 'Request size is too large' }

test('An item of exactly 2 MB is stored and read back whole', async () => {
  const container = await server.newContainer()
  const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }
  const body = itemOf(twoMegabytes)
  assert.equal((await server.send({ method: 'POST', path: pathOf(container, 'docs'), headers, body })).status, 201)
  const { text } = await server.send({ path: pathOf(container, 'docs', 'big'), headers })
  assert.ok(text.startsWith(body.slice(0, -1)))
})

test('An item over 2 MB is refused with 413', async () => {
  for (const size of [twoMegabytes + 1, twoMegabytes + 100_000]) {
    for (const kind of ['create', 'upsert'] as const) {
      await witness.assertRefused(witness.write(kind, itemOf(size)), tooLarge)
    }
  }
})

test('The limit of 2 MB counts bytes, not characters', async () => {
  const body = `{"id":"big","pk":"a","s":"${'€'.repeat(800_000)}"}`
  await witness.assertRefused(witness.write('create', body), tooLarge)
})

test('A body of 50 MB is refused with 413 and not held in memory', async () => {
  const body = Buffer.alloc(50 * 1024 * 1024, 'x')
  await witness.assertRefused(witness.write('create', body), tooLarge)
})

test('A body of 50 MB without a stated length is refused with 413', async () => {
  const body = Buffer.alloc(50 * 1024 * 1024, 'x')
  const headers = { 'transfer-encoding': 'chunked', 'content-length': undefined }
  await witness.assertRefused(witness.write('create', body, headers), tooLarge)
})
