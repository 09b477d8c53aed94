import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { RequestError } from '../../base/error.ts'
import {
  type ContainerDefinition,
  parseContainerDefinition,
  replaceContainerDefinition,
} from './container-definition.ts'
import { toPartitionKeyDefinition } from './partition-key-policy.ts'

const context = { apiVersion: '2020-07-15' }
const legacy = { apiVersion: '2018-06-18' }
const pk = { partitionKey: { paths: ['/pk'] } }

const create = (extra: object) => parseContainerDefinition({ id: 'c', ...pk, ...extra }, context)

function refuses(run: () => unknown, text: string, kind = 'malformed'): void {
  assert.throws(run, (error: RequestError) => {
    assert.ok(error instanceof RequestError, String(error))
    assert.deepEqual([error.kind, error.message.includes(text) || error.message], [kind, true])
    return true
  })
}

const defaults =
  '{"id":"c","indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],' +
  '"excludedPaths":[{"path":"/\\"_etag\\"/?"}]},"partitionKey":{"paths":["/pk"],"kind":"Hash","version":1},' +
  '"conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts",' +
  '"conflictResolutionProcedure":""},' +
  '"geospatialConfig":{"type":"Geography"}}'

describe('a created container', () => {
  test('has the service’s defaults, in the service’s order', () => {
    assert.equal(JSON.stringify(create({})), defaults)
  })

  test('has no field that is undefined', () => {
    assert.equal('defaultTtl' in create({ defaultTtl: null }), false)
    assert.deepEqual(Object.keys(create({})), Object.keys(JSON.parse(defaults)))
  })

  test('keeps every given field, in the service’s order, whatever the order of the body', () => {
    const given = {
      clientEncryptionPolicy: {
        policyFormatVersion: 2,
        includedPaths: [
          {
            path: '/secret',
            clientEncryptionKeyId: 'k',
            encryptionType: 'Randomized',
            encryptionAlgorithm: 'AEAD_AES_256_CBC_HMAC_SHA256',
          },
        ],
      },
      fullTextPolicy: { defaultLanguage: 'en-US', fullTextPaths: [{ path: '/text', language: 'fr-FR' }] },
      vectorEmbeddingPolicy: {
        vectorEmbeddings: [{ path: '/v', dataType: 'float32', dimensions: 256, distanceFunction: 'cosine' }],
      },
      computedProperties: [{ name: 'lower', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
      changeFeedPolicy: { retentionDuration: 5 },
      analyticalStorageTtl: -1,
      geospatialConfig: { type: 'Geometry' },
      conflictResolutionPolicy: { mode: 'Custom', conflictResolutionProcedure: 'dbs/d/colls/c/sprocs/s' },
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/name', '/address/zip'] }, { paths: ['/email'] }] },
      defaultTtl: 60,
      partitionKey: { version: 2, kind: 'MultiHash', paths: ['/tenant', '/user', '/"session id"'] },
      indexingPolicy: {
        fullTextIndexes: [{ path: '/text' }],
        vectorIndexes: [{ path: '/v', type: 'diskANN', quantizationByteSize: 128, indexingSearchListSize: 100 }],
        spatialIndexes: [{ path: '/at/?', types: ['Point'], boundingBox: { xmin: 0, ymin: 0, xmax: 10, ymax: 10 } }],
      },
      id: 'everything',
    }
    assert.equal(
      JSON.stringify(parseContainerDefinition(given, context)),
      '{"id":"everything","indexingPolicy":{"indexingMode":"consistent","automatic":true,' +
        '"includedPaths":[{"path":"/*"}],' +
        '"excludedPaths":[{"path":"/\\"_etag\\"/?"}],' +
        '"spatialIndexes":[{"path":"/at/?","types":["Point","LineString","Polygon","MultiPolygon"],' +
        '"boundingBox":{"xmin":0,"ymin":0,"xmax":10,"ymax":10}}],' +
        '"vectorIndexes":[{"path":"/v","type":"diskANN","quantizationByteSize":128,"indexingSearchListSize":100}],' +
        '"fullTextIndexes":[{"path":"/text"}]},' +
        '"partitionKey":{"paths":["/tenant","/user","/\\"session id\\""],"kind":"MultiHash","version":2},' +
        '"defaultTtl":60,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/name","/address/zip"]},{"paths":["/email"]}]},' +
        '"conflictResolutionPolicy":{"mode":"Custom","conflictResolutionPath":"",' +
        '"conflictResolutionProcedure":"dbs/d/colls/c/sprocs/s"},' +
        '"geospatialConfig":{"type":"Geometry"},"analyticalStorageTtl":-1,"changeFeedPolicy":{"retentionDuration":5},' +
        '"computedProperties":[{"name":"lower","query":"SELECT VALUE LOWER(c.name) FROM c"}],' +
        '"vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":256,' +
        '"distanceFunction":"cosine"}]},' +
        '"fullTextPolicy":{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/text","language":"fr-FR"}]},' +
        '"clientEncryptionPolicy":{"includedPaths":[{"path":"/secret","clientEncryptionKeyId":"k",' +
        '"encryptionType":"Randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}],' +
        '"policyFormatVersion":2}}',
    )
  })

  test('ignores system properties, and null', () => {
    const sentBack = {
      _rid: 'x',
      _self: 'y',
      _etag: '"z"',
      _ts: 1,
      _docs: 'docs/',
      _sprocs: 'sprocs/',
      surprise: null,
    }
    assert.equal(JSON.stringify(create(sentBack)), defaults)
  })

  for (const [property, text] of [
    ['surprise', 'The container property "surprise" is unknown.'],
    ['defaultTTL', 'The container property "defaultTTL" is unknown.'],
    ['constructor', 'The container property "constructor" is unknown.'],
    ['globalSecondaryIndexDefinition', 'Global secondary indexes are not available'],
    ['materializedViewDefinition', 'Materialized views are not available'],
  ] as const) {
    test(`has no ${property}`, () => {
      const change = { [property]: { deep: [1] } }
      refuses(() => create(change), text)
      refuses(() => replaceContainerDefinition(create({}), { id: 'c', ...pk, ...change }, context), text)
    })
  }

  test('is not changed by a __proto__ in the body', () => {
    const body = JSON.parse('{"id":"c","partitionKey":{"paths":["/pk"]},"__proto__":{"defaultTtl":5}}')
    assert.equal(JSON.stringify(parseContainerDefinition(body, context)), defaults)
  })

  test('is not changed by inherited properties', () => {
    const body = Object.assign(Object.create({ defaultTtl: 5 }) as object, { id: 'c', ...pk })
    assert.equal(JSON.stringify(parseContainerDefinition(body, context)), defaults)
  })

  for (const body of [undefined, null, [], 'c', 7, true]) {
    test(`is not made from ${JSON.stringify(body)}`, () => {
      refuses(() => parseContainerDefinition(body, context), 'One of the specified inputs is invalid')
    })
  }
})

describe('defaultTtl', () => {
  for (const [input, expected] of [
    [undefined, undefined],
    [null, undefined],
    [-1, -1],
    [1, 1],
    [2147483647, 2147483647],
  ] as const) {
    test(`${input} is accepted`, () => assert.equal(create({ defaultTtl: input }).defaultTtl, expected))
  }

  // The JSON, and the value in the error text.
  const refused: [json: string, shown: string][] = [
    ['0', '0'],
    ['-0', '0'],
    ['-2', '-2'],
    ['-10', '-10'],
    ['1.5', '1.5'],
    ['"10"', '"10"'],
    ['true', 'true'],
    ['false', 'false'],
    ['2147483648', '2147483648'],
    ['1e400', 'Infinity'],
    ['-1e400', '-Infinity'],
    ['{}', '{}'],
    ['{"a":1}', '{"a":1}'],
    ['[]', '[]'],
    ['[10]', '[10]'],
  ]
  for (const [json, shown] of refused) {
    const text =
      `The input ttl '${shown}' is invalid. Ensure to provide a nonzero positive integer less than or equal to ` +
      `'2147483647', or '-1' which means never expire.`
    test(`${json} is refused on create and on replace`, () => {
      const extra = { defaultTtl: JSON.parse(json) as unknown }
      refuses(() => create(extra), text)
      refuses(() => replaceContainerDefinition(create({}), { id: 'c', ...pk, ...extra }, context), text)
    })
  }
})

describe('indexing mode none and a default TTL exclude each other', () => {
  const text = "Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection"
  const none = { indexingPolicy: { indexingMode: 'none' } }

  for (const defaultTtl of [-1, 1, 60]) {
    test(`on create with ${defaultTtl}`, () => refuses(() => create({ ...none, defaultTtl }), text))
    test(`when ${defaultTtl} is set on a container that indexes nothing`, () => {
      refuses(() => replaceContainerDefinition(create(none), { id: 'c', ...pk, ...none, defaultTtl }, context), text)
    })
    test(`when indexing is turned off on a container with ${defaultTtl}`, () => {
      const current = create({ defaultTtl })
      refuses(() => replaceContainerDefinition(current, { id: 'c', ...pk, ...none, defaultTtl }, context), text)
    })
  }

  test('but not when TTL is off, and not when everything is excluded', () => {
    assert.equal(create({ ...none, defaultTtl: null }).indexingPolicy.indexingMode, 'none')
    assert.equal(create({ defaultTtl: 5, indexingPolicy: { excludedPaths: [{ path: '/*' }] } }).defaultTtl, 5)
  })

  test('one replace can turn one off and the other on', () => {
    const ttl = replaceContainerDefinition(create(none), { id: 'c', ...pk, defaultTtl: 5 }, context)
    assert.equal(ttl.defaultTtl, 5)
    assert.equal(
      replaceContainerDefinition(ttl, { id: 'c', ...pk, ...none }, context).indexingPolicy.indexingMode,
      'none',
    )
  })
})

describe('the settings related to TTL', () => {
  for (const [input, expected] of [
    [null, undefined],
    [0, undefined],
    [-1, -1],
    [3600, 3600],
  ] as const) {
    test(`analyticalStorageTtl ${input} is accepted`, () => {
      assert.equal(create({ analyticalStorageTtl: input }).analyticalStorageTtl, expected)
    })
  }
  for (const input of [-2, 1.5, '10', 2147483648, Number.POSITIVE_INFINITY, {}]) {
    test(`analyticalStorageTtl ${JSON.stringify(input)} is refused`, () => {
      refuses(() => create({ analyticalStorageTtl: input }), 'The input analyticalStorageTtl')
    })
  }

  test('ttlPropertyPath needs a default TTL, and is not supported with one', () => {
    refuses(() => create({ ttlPropertyPath: '/created' }), "'ttlPropertyPath' cannot be specified when 'defaultTtl'")
    refuses(() => create({ ttlPropertyPath: '/created', defaultTtl: 10 }), 'obsolete and not supported', 'unsupported')
    assert.equal(create({ ttlPropertyPath: null, defaultTtl: 10 }).defaultTtl, 10)
  })

  for (const input of [-1, 1.5, '5', {}]) {
    test(`a change feed retention of ${JSON.stringify(input)} is refused`, () => {
      refuses(() => create({ changeFeedPolicy: { retentionDuration: input } }), 'The change feed retention duration')
    })
  }
})

describe('the partition key', () => {
  const withKey = (partitionKey: unknown) => parseContainerDefinition({ id: 'c', partitionKey }, context).partitionKey

  for (const [input, expected] of [
    [{ paths: ['/pk'] }, { paths: ['/pk'], kind: 'Hash', version: 1 }],
    [
      { paths: ['/pk'], kind: 'hash', version: 2 },
      { paths: ['/pk'], kind: 'Hash', version: 2 },
    ],
    [
      { paths: ['/pk'], kind: 'Hash', Version: 2 },
      { paths: ['/pk'], kind: 'Hash', version: 2 },
    ],
    [
      { paths: ['/a/b'], kind: 'Range' },
      { paths: ['/a/b'], kind: 'Range', version: 1 },
    ],
    [
      { paths: ['/a'], kind: 'MultiHash', version: 2 },
      { paths: ['/a'], kind: 'MultiHash', version: 2 },
    ],
    [{ paths: ['/_partitionKey'] }, { paths: ['/_partitionKey'], kind: 'Hash', version: 1 }],
  ] as const) {
    test(`${JSON.stringify(input)} is completed`, () => assert.deepEqual(withKey(input), expected))
  }

  const refused: [input: unknown, text: string][] = [
    [{ paths: '/id' }, 'One of the specified inputs is invalid'],
    [{ paths: [7] }, 'One of the specified inputs is invalid'],
    [{ kind: 'Hash' }, 'One of the specified inputs is invalid'],
    ['/pk', 'One of the specified inputs is invalid'],
    [{ paths: [] }, 'at least one path'],
    [{ paths: ['/a', '/b'] }, 'Too many partition key paths (2) specified. A maximum of 1 is allowed.'],
    [
      { paths: ['/a', '/b', '/c', '/d'], kind: 'MultiHash', version: 2 },
      'Too many partition key paths (4) specified. A maximum of 3 is allowed.',
    ],
    [{ paths: ['/a', '/b'], kind: 'MultiHash' }, 'requires version 2'],
    [{ paths: ['/a', '/b'], kind: 'MultiHash', version: 1 }, 'requires version 2'],
    [{ paths: ['/a'], version: 3 }, 'One of the specified inputs is invalid'],
    [{ paths: ['/a'], kind: 'Modulo' }, 'One of the specified inputs is invalid'],
    [
      { paths: ['/id ds'] },
      'Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character',
    ],
    [{ paths: ['/a/'] }, 'trailing slash'],
    [
      { paths: ['id', '/id2'], kind: 'MultiHash', version: 2 },
      "The partition key component definition path 'id' could not be accepted, failed near position '0'.",
    ],
  ]
  for (const [input, text] of refused) {
    test(`${JSON.stringify(input)} is refused`, () => refuses(() => withKey(input), text))
  }

  test('is required since the protocol version 2018-12-31', () => {
    for (const apiVersion of ['2018-12-31', '2020-07-15', '2020-11-05']) {
      refuses(
        () => parseContainerDefinition({ id: 'c' }, { apiVersion }),
        'A Partition key definition is not specified in the request.',
      )
    }
  })

  test('of a container created without one by an older protocol is a system key', () => {
    const definition = parseContainerDefinition({ id: 'c' }, legacy)
    assert.equal(JSON.stringify(definition.partitionKey), '{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true}')
    assert.deepEqual(toPartitionKeyDefinition(definition.partitionKey), {
      paths: ['/_partitionKey'],
      kind: 'Hash',
      version: 1,
      systemKey: true,
    })
    assert.deepEqual(replaceContainerDefinition(definition, { id: 'c' }, context), definition)
    assert.deepEqual(replaceContainerDefinition(definition, definition, context), definition)
  })
})

describe('a replaced container', () => {
  const replace = (current: ContainerDefinition, input: unknown) => replaceContainerDefinition(current, input, context)
  const body = (extra: object) => ({ id: 'c', ...pk, ...extra })

  test('returns to the defaults of fields that the replacement leaves out', () => {
    const current = create({
      defaultTtl: 10,
      indexingPolicy: {
        indexingMode: 'consistent',
        includedPaths: [{ path: '/a/?' }],
        excludedPaths: [{ path: '/*' }],
      },
      geospatialConfig: { type: 'Geometry' },
      changeFeedPolicy: { retentionDuration: 5 },
      computedProperties: [{ name: 'x', query: 'SELECT VALUE 1 FROM c' }],
      fullTextPolicy: { fullTextPaths: [{ path: '/text' }] },
    })
    assert.equal(JSON.stringify(replace(current, body({}))), defaults)
  })

  test('turns TTL off with null, too', () => {
    assert.equal('defaultTtl' in replace(create({ defaultTtl: 10 }), body({ defaultTtl: null })), false)
  })

  test('keeps its analytical TTL until 0 turns it off', () => {
    const current = create({ analyticalStorageTtl: 100 })
    assert.equal(replace(current, body({})).analyticalStorageTtl, 100)
    assert.equal(replace(current, body({ analyticalStorageTtl: -1 })).analyticalStorageTtl, -1)
    assert.equal(replace(current, body({ analyticalStorageTtl: 0 })).analyticalStorageTtl, undefined)
    assert.equal(replace(current, body({ analyticalStorageTtl: null })).analyticalStorageTtl, undefined)
  })

  test('can get a spatial index and another geometry', () => {
    // azure-sdk-for-js, container.spec: a definition is read, changed and sent back.
    const spatialIndexes = [
      { path: '/region/?', types: ['Polygon'], boundingBox: { xmin: 0, ymin: 0, xmax: 10, ymax: 10 } },
    ]
    const read = create({ indexingPolicy: { indexingMode: 'consistent' } })
    const next = replace(read, {
      ...read,
      indexingPolicy: { ...read.indexingPolicy, spatialIndexes },
      geospatialConfig: { type: 'Geometry' },
      _rid: 'x',
      _etag: 'y',
    })
    assert.equal(next.geospatialConfig.type, 'Geometry')
    assert.equal(next.indexingPolicy.spatialIndexes?.[0]?.path, '/region/?')
  })

  const unique = { uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/a', '/b'] }, { paths: ['/c'] }] } }
  const custom = { conflictResolutionPolicy: { mode: 'Custom' } }
  const embedding = { path: '/v', dataType: 'float32', dimensions: 256, distanceFunction: 'euclidean' }
  const vectors = {
    vectorEmbeddingPolicy: { vectorEmbeddings: [embedding] },
    indexingPolicy: { vectorIndexes: [{ path: '/v', type: 'flat' }] },
  }
  const partitionKeyText = 'Document collection partition key cannot be changed.'
  const uniqueText =
    'The unique index cannot be modified. To change the unique index, remove the collection and re-create a new one.'

  const refused: [name: string, current: ContainerDefinition, input: object, text: string, kind?: string][] = [
    ['another id', create({}), { ...body({}), id: 'd' }, 'id cannot be changed'],
    ['no id', create({}), pk, "the required properties - 'id; ' - are missing"],
    ['another partition key', create({}), { id: 'c', partitionKey: { paths: ['/key'] } }, partitionKeyText],
    ['another kind', create({}), { id: 'c', partitionKey: { paths: ['/pk'], kind: 'Range' } }, partitionKeyText],
    ['another version', create({}), { id: 'c', partitionKey: { paths: ['/pk'], version: 2 } }, partitionKeyText],
    [
      'no version where there was 2',
      create({ partitionKey: { paths: ['/pk'], version: 2 } }),
      { id: 'c', partitionKey: { paths: ['/pk'] } },
      partitionKeyText,
    ],
    ['no partition key', create({}), { id: 'c' }, 'A Partition key definition is not specified in the request.'],
    ['no unique keys where there were some', create(unique), body({}), uniqueText, 'forbidden'],
    ['unique keys where there were none', create({}), body(unique), uniqueText, 'forbidden'],
    [
      'no conflict policy where there was one',
      create(custom),
      body({}),
      "'conflictResolutionPolicy' cannot be changed",
    ],
    [
      'a conflict policy where there was none',
      create({}),
      body(custom),
      "'conflictResolutionPolicy' cannot be changed",
    ],
    [
      'a client encryption policy where there was none',
      create({}),
      body({ clientEncryptionPolicy: { includedPaths: [] } }),
      "'clientEncryptionPolicy' cannot be changed as part of collection replace operation.",
    ],
    [
      'the vector index alone',
      create(vectors),
      body({ indexingPolicy: vectors.indexingPolicy }),
      "The Vector Indexing Policy's path::/v not matching in Embedding's path.",
    ],
    [
      'another vector index',
      create(vectors),
      body({ ...vectors, indexingPolicy: { vectorIndexes: [{ path: '/v', type: 'quantizedFlat' }] } }),
      'Paths in existing vector indexing policy cannot be modified in Collection Replace',
    ],
    [
      'another vector embedding',
      create(vectors),
      body({ ...vectors, vectorEmbeddingPolicy: { vectorEmbeddings: [{ ...embedding, dimensions: 384 }] } }),
      'Paths in existing embedding policy cannot be modified in Collection Replace',
    ],
    ['no vectors at all', create(vectors), body({}), 'Paths in existing embedding policy cannot be modified'],
  ]
  for (const [name, current, input, text, kind] of refused) {
    test(`refuses ${name}`, () => refuses(() => replace(current, input), text, kind))
  }

  const accepted: [name: string, current: ContainerDefinition, input: object][] = [
    [
      'the same unique keys in another order',
      create(unique),
      body({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/c'] }, { paths: ['/b', '/a'] }] } }),
    ],
    ['an empty unique key policy where there was none', create({}), body({ uniqueKeyPolicy: { uniqueKeys: [] } })],
    [
      'the default conflict policy said aloud',
      create({}),
      body({ conflictResolutionPolicy: { mode: 'LastWriterWins', conflictResolutionPath: '/_ts' } }),
    ],
    [
      'one more vector',
      create(vectors),
      body({ ...vectors, vectorEmbeddingPolicy: { vectorEmbeddings: [{ ...embedding, path: '/w' }, embedding] } }),
    ],
    ['the vector index dropped', create(vectors), body({ ...vectors, indexingPolicy: {} })],
  ]
  for (const [name, current, input] of accepted) {
    test(`accepts ${name}`, () => assert.equal(replace(current, input).id, 'c'))
  }
})

describe('whatever a client sends', () => {
  const mostly = <Good>(good: fc.Arbitrary<Good>) =>
    fc.oneof({ weight: 12, arbitrary: good as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: fc.jsonValue() })
  const path = fc.constantFrom('/a', '/b/c', '/"d-e"', '/f/?', '/*', '/_etag/?', '/', 'g', '/h/[]/?')
  const pathList = fc.array(mostly(fc.record({ path: mostly(path) })), { maxLength: 3 })
  const fields = fc.record(
    {
      partitionKey: mostly(fc.constantFrom({ paths: ['/pk'] }, { paths: ['/a', '/b'], kind: 'MultiHash', version: 2 })),
      indexingPolicy: mostly(
        fc.record(
          {
            indexingMode: mostly(fc.constantFrom('consistent', 'Lazy', 'none')),
            excludedPaths: pathList.map(paths => [{ path: '/*' }, ...paths]),
            includedPaths: pathList,
            compositeIndexes: fc.array(pathList, { maxLength: 2 }),
          },
          { requiredKeys: [] },
        ),
      ),
      defaultTtl: mostly(fc.constantFrom(-1, 1, 60, null)),
      uniqueKeyPolicy: mostly(fc.constantFrom({ uniqueKeys: [] }, { uniqueKeys: [{ paths: ['/a', '/b/c'] }] })),
      analyticalStorageTtl: mostly(fc.constantFrom(-1, 0, 10)),
      conflictResolutionPolicy: mostly(fc.constantFrom({ mode: 'custom' }, { conflictResolutionPath: '/a' })),
      vectorEmbeddingPolicy: mostly(fc.constant({ vectorEmbeddings: [] })),
      fullTextPolicy: mostly(fc.constant({})),
      clientEncryptionPolicy: mostly(fc.constant({ includedPaths: [] })),
      computedProperties: mostly(fc.constant([{ name: 'x', query: 'SELECT VALUE 1 FROM c' }])),
    },
    { requiredKeys: ['partitionKey'] },
  )

  test('is refused, or becomes a definition that can replace itself without change', () => {
    let accepted = 0
    fc.assert(
      fc.property(fields, extra => {
        let definition: ContainerDefinition
        try {
          definition = parseContainerDefinition({ id: 'c', ...extra }, context)
        } catch (error) {
          assert.ok(error instanceof RequestError, String(error))
          return
        }
        accepted++
        const stored = JSON.parse(JSON.stringify(definition)) as ContainerDefinition
        assert.deepEqual(stored, definition)
        assert.equal(JSON.stringify(replaceContainerDefinition(stored, stored, context)), JSON.stringify(definition))
      }),
      { numRuns: 2000, seed: 7 },
    )
    assert.ok(accepted > 200 && accepted < 1800, `${accepted} of 2000 definitions were accepted`)
  })
})
