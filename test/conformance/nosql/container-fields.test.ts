/** Every field of a container's definition comes back completed, as Azure completes it. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

/**
 * The definition that comes back. It is the same in the create answer, in a read, and after a replace with
 * itself.
 */
async function roundTrip(fields: object): Promise<Record<string, unknown>> {
  const database = await server.newDatabase()
  const body = { id: 'items', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 }, ...fields }
  const created = await server.send({ method: 'POST', path: `/dbs/${database.id}/colls`, body })
  assert.equal(created.status, 201, created.text)
  const container = database.container('items')
  const read = await server.send({ path: pathOf(container) })
  assert.deepEqual(read.json, created.json)
  const replaced = await server.send({ method: 'PUT', path: pathOf(container), body: read.json })
  assert.equal(replaced.status, 200, replaced.text)
  assert.deepEqual({ ...replaced.json, _etag: '' }, { ...read.json, _etag: '' })
  return read.json
}

test('A bare definition comes back complete, and its system properties name the container', async () => {
  const { _rid, _self, _etag, _ts, ...rest } = await roundTrip({})
  assert.deepEqual(rest, {
    id: 'items',
    indexingPolicy: {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
    },
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
    conflictResolutionPolicy: {
      mode: 'LastWriterWins',
      conflictResolutionPath: '/_ts',
      conflictResolutionProcedure: '',
    },
    geospatialConfig: { type: 'Geography' },
    _docs: 'docs/',
    _sprocs: 'sprocs/',
    _triggers: 'triggers/',
    _udfs: 'udfs/',
    _conflicts: 'conflicts/',
  })
  const rid = String(_rid)
  assert.equal(Buffer.from(rid.replaceAll('-', '/'), 'base64').length, 8)
  const databaseRid = Buffer.from(rid.replaceAll('-', '/'), 'base64').subarray(0, 4).toString('base64')
  assert.equal(_self, `dbs/${databaseRid.replaceAll('/', '-')}/colls/${rid}/`)
  assert.match(String(_etag), /^"[0-9a-f-]{36}"$/)
  assert.equal(_ts, server.db.clock.now())
})

const policies: Readonly<Record<string, readonly [given: unknown, returned: unknown]>> = {
  'indexingPolicy with excluded paths': [
    { indexingMode: 'Consistent', includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/big/*' }] },
    {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/big/*' }, { path: '/"_etag"/?' }],
    },
  ],
  'indexingPolicy with composite and spatial indexes': [
    {
      compositeIndexes: [[{ path: '/a' }, { path: '/b', order: 'descending' }]],
      spatialIndexes: [{ path: '/place/*', types: ['Point', 'Polygon'] }],
    },
    {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
      compositeIndexes: [
        [
          { path: '/a', order: 'ascending' },
          { path: '/b', order: 'descending' },
        ],
      ],
      spatialIndexes: [{ path: '/place/*', types: ['Point', 'LineString', 'Polygon', 'MultiPolygon'] }],
    },
  ],
  'indexingPolicy none': [
    { indexingMode: 'none' },
    { indexingMode: 'none', automatic: false, includedPaths: [], excludedPaths: [] },
  ],
  'analyticalStorageTtl for ever': [-1, -1],
  'analyticalStorageTtl of a day': [86_400, 86_400],
  'analyticalStorageTtl off': [0, undefined],
  uniqueKeyPolicy: [
    { uniqueKeys: [{ paths: ['/email'] }, { paths: ['/a/b', '/c'] }] },
    { uniqueKeys: [{ paths: ['/email'] }, { paths: ['/a/b', '/c'] }] },
  ],
  conflictResolutionPolicy: [
    { mode: 'LastWriterWins', conflictResolutionPath: '/version' },
    { mode: 'LastWriterWins', conflictResolutionPath: '/version', conflictResolutionProcedure: '' },
  ],
  geospatialConfig: [{ type: 'Geometry' }, { type: 'Geometry' }],
  changeFeedPolicy: [{ retentionDuration: 60 }, { retentionDuration: 60 }],
  computedProperties: [
    [{ name: 'lower', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
    [{ name: 'lower', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
  ],
  vectorEmbeddingPolicy: [
    { vectorEmbeddings: [{ path: '/v', dataType: 'float32', distanceFunction: 'cosine', dimensions: 8 }] },
    { vectorEmbeddings: [{ path: '/v', dataType: 'float32', distanceFunction: 'cosine', dimensions: 8 }] },
  ],
  fullTextPolicy: [
    { defaultLanguage: 'en-US', fullTextPaths: [{ path: '/text', language: 'en-US' }] },
    { defaultLanguage: 'en-US', fullTextPaths: [{ path: '/text', language: 'en-US' }] },
  ],
}

for (const [name, [given, returned]] of Object.entries(policies)) {
  test(`The field ${name} comes back completed`, async () => {
    const field = name.split(' ')[0]!
    assert.deepEqual((await roundTrip({ [field]: given }))[field], returned)
  })
}

test('Fields that nobody knows are ignored if they are null, and refused otherwise', async () => {
  const database = await server.newDatabase()
  for (const field of ['colour', 'constructor']) {
    const body = { id: 'items', partitionKey: { paths: ['/pk'] }, [field]: 'green' }
    const { status, text } = await server.send({ method: 'POST', path: `/dbs/${database.id}/colls`, body })
    assert.equal(status, 400)
    assert.ok(text.includes(field), text)
  }
  const resource = await roundTrip({ colour: null, constructor: null })
  assert.equal('colour' in resource, false)
  assert.equal(Object.hasOwn(resource, 'constructor'), false)
})

test('The SDK finds the partition key of a container', async () => {
  const container = await server.newContainer({
    partitionKey: { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 } as never,
  })
  const { resource } = await container.getPartitionKeyDefinition()
  assert.deepEqual(resource, { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 })
})
