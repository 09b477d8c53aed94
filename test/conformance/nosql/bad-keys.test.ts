/** Partition keys that are missing, do not fit the container or the item, or are malformed. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { Witness } from '../../support/refusal.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const witness = await Witness.make(server)
const header = 'x-ms-documentdb-partitionkey'

test('An operation on one item without a partition key is refused', async () => {
  const path = pathOf(witness.container, 'docs', 'one')
  const text = 'PartitionKey value must be supplied for this operation.'
  for (const method of ['GET', 'DELETE']) await witness.assertRefused({ method, path }, { status: 400, text })
  for (const kind of ['create', 'upsert', 'replace'] as const) {
    const request = witness.write(kind, { id: 'one', pk: 'a' }, { [header]: undefined })
    await witness.assertRefused(request, { status: 400, text })
  }
})

test('An item whose partition key differs from the header is refused with sub-status 1001', async () => {
  const mismatch = { status: 400, substatus: 1001, text: /doesn't match the one specified in the header/ }
  const bodies = ['{"id":"one","pk":"b"}', '{"id":"one","pk":1}', '{"id":"one","pk":null}', '{"id":"one"}']
  const nested = ['{"id":"one","pk":{"a":"a"}}', '{"id":"one","pk":["a"]}', '{"id":"one","PK":"a"}']
  for (const kind of ['create', 'upsert', 'replace'] as const) {
    for (const body of [...bodies, ...nested]) await witness.assertRefused(witness.write(kind, body), mismatch)
  }
})

test('Values that look alike are different partition keys', async () => {
  const mismatch = { status: 400, substatus: 1001 }
  for (const [named, written] of [
    ['["1"]', '1'],
    ['[1]', '"1"'],
    ['[true]', '"true"'],
    ['[null]', '{}'],
    ['[{}]', 'null'],
    ['["é"]', '"e\\u0301"'],
  ] as const) {
    const escaped = named.replace('é', '\\u00e9')
    const body = `{"id":"two","pk":${written}}`
    await witness.assertRefused(witness.write('create', body, { [header]: escaped }), mismatch)
  }
})

test('A key with the wrong number of components is refused with sub-status 1001', async () => {
  const path = pathOf(witness.container, 'docs', 'one')
  for (const key of ['[]', '["a","b"]', '["a","b","c"]']) {
    const refusal = { status: 400, substatus: 1001 }
    await witness.assertRefused({ path, headers: { [header]: key } }, refusal)
    await witness.assertRefused({ method: 'DELETE', path, headers: { [header]: key } }, refusal)
    await witness.assertRefused(witness.write('create', { id: 'two', pk: 'a' }, { [header]: key }), refusal)
  }
})

test('A hierarchical key must be complete for one item and may be a prefix for a feed', async () => {
  const partitionKey = { paths: ['/tenant', '/user', '/session'], kind: 'MultiHash', version: 2 } as never
  const container = await server.newContainer({ partitionKey })
  await container.items.create({ id: '1', tenant: 't', user: 'u', session: 's' })
  await container.items.create({ id: '2', tenant: 't', user: 'v', session: 's' })
  const get = (key: string, ...rest: string[]) =>
    server.send({ path: pathOf(container, 'docs', ...rest), headers: { [header]: key } })
  assert.equal((await get('["t","u","s"]', '1')).status, 200)
  for (const key of ['["t"]', '["t","u"]', '[]']) {
    const { status, headers } = await get(key, '1')
    assert.deepEqual([status, headers['x-ms-substatus']], [400, '1001'])
  }
  assert.equal((await get('["t"]')).json._count, 2)
  assert.equal((await get('["t","v"]')).json._count, 1)
  assert.equal((await get('["t","v","s"]')).json._count, 1)
  assert.equal((await get('["t","v","x"]')).json._count, 0)
  assert.equal((await get('["t","u","s","more"]')).status, 400)
})

const noKeys: readonly string[] = [
  '',
  'a',
  '"a"',
  '5',
  'null',
  '{}',
  '[',
  '["a"',
  "['a']",
  '[undefined]',
  '[["a"]]',
  '[{"a":1}]',
  '[1e400]',
  `["${'x'.repeat(2049)}"]`,
  `[${'['.repeat(5000)}${']'.repeat(5000)}]`,
]

for (const key of noKeys) {
  const shown = key.length > 24 ? `${key.slice(0, 24)}… (${key.length} characters)` : key
  test(`The header ${shown} is not a partition key and is refused`, async () => {
    const path = pathOf(witness.container, 'docs', 'one')
    await witness.assertRefused({ path, headers: { [header]: key } }, { status: 400 })
    const request = witness.write('create', { id: 'two', pk: 'a' }, { [header]: key })
    await witness.assertRefused(request, { status: 400 })
  })
}

test('A partition key of 2,048 bytes is allowed and one of 2,049 is not', async () => {
  const container = await server.newContainer()
  const pk = 'x'.repeat(2048)
  assert.equal((await container.items.create({ id: '1', pk })).statusCode, 201)
  assert.equal((await container.item('1', pk).read()).resource?.pk, pk)
})

test('A partition key number beyond the range of numbers is refused in the item as well', async () => {
  await witness.assertRefused(witness.write('create', '{"id":"two","pk":1e400}'), { status: 400 })
})
