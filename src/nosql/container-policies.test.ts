import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseContainerDefinition } from './definitions/container-definition.ts'

const create = (extra: object) =>
  parseContainerDefinition({ id: 'c', partitionKey: { paths: ['/users'] }, ...extra }, { apiVersion: '2020-07-15' })

/** Each line: what is added to a valid definition, and the expected error text. */
function refusals(lines: readonly [extra: object, text: string, kind?: string][]): void {
  for (const [extra, text, kind = 'malformed'] of lines) {
    test(`${JSON.stringify(extra).slice(0, 120)} is refused`, () => {
      assert.throws(
        () => create(extra),
        (error: Error & { kind?: string }) => {
          assert.deepEqual([error.kind, error.message.includes(text) || error.message], [kind, true])
          return true
        },
      )
    })
  }
}

describe('spatial indexes and the geospatial type', () => {
  const boundingBox = { xmin: 0, ymin: 0, xmax: 100, ymax: 100 }
  const index = (extra: object) => ({
    indexingPolicy: { spatialIndexes: [{ path: '/at/?', types: ['Point'], ...extra }] },
  })

  test('geography without and geometry with a bounding box are accepted', () => {
    assert.equal(create(index({})).indexingPolicy.spatialIndexes?.[0]?.boundingBox, undefined)
    const geometry = create({ ...index({ boundingBox }), geospatialConfig: { type: 'Geometry' } })
    assert.deepEqual(geometry.indexingPolicy.spatialIndexes?.[0]?.boundingBox, boundingBox)
  })

  refusals([
    [
      { ...index({}), geospatialConfig: { type: 'Geometry' } },
      "'boundingBox' because the geospatial type is 'Geometry'",
    ],
    [index({ boundingBox }), "'boundingBox' because the geospatial type is 'Geography'"],
    [{ geospatialConfig: { type: 'Flat' } }, 'One of the specified inputs is invalid'],
  ])
})

describe('unique keys', () => {
  const keys = (...paths: unknown[]) => ({ uniqueKeyPolicy: { uniqueKeys: [{ paths }] } })
  const bad = (path: string, at: number) =>
    `Error parsing the unique key path '${path}' at position ${at}. Make sure the unique key path does not ` +
    'contain wildcards and invalid characters.'

  test('up to ten keys of sixteen paths are accepted', () => {
    const paths = Array.from({ length: 16 }, (_, at) => `/p${at}`)
    const uniqueKeys = Array.from({ length: 10 }, () => ({ paths }))
    assert.deepEqual(create({ uniqueKeyPolicy: { uniqueKeys } }).uniqueKeyPolicy, { uniqueKeys })
  })

  refusals([
    [keys('/path,/ring'), bad('/path,/ring', 5)],
    [keys('name'), bad('name', 0)],
    [keys('/a/*'), bad('/a/*', 3)],
    [keys('/a/[]/b'), bad('/a/[]/b', 3)],
    [keys('/a/'), bad('/a/', 3)],
    [keys(), 'at least one path'],
    [keys(5), 'One of the specified inputs is invalid'],
    [keys(...new Array(17).fill('/a')), 'exceeds the maximum of 16'],
    [{ uniqueKeyPolicy: { uniqueKeys: new Array(11).fill({ paths: ['/a'] }) } }, 'exceeds the maximum of 10'],
    [{ uniqueKeyPolicy: [] }, 'One of the specified inputs is invalid'],
  ])
})

describe('conflict resolution', () => {
  test('another path for the last writer is kept', () => {
    assert.deepEqual(
      create({ conflictResolutionPolicy: { conflictResolutionPath: '/lww' } }).conflictResolutionPolicy,
      {
        mode: 'LastWriterWins',
        conflictResolutionPath: '/lww',
        conflictResolutionProcedure: '',
      },
    )
  })

  refusals([
    [{ conflictResolutionPolicy: { mode: 'FirstWriterWins' } }, 'One of the specified inputs is invalid'],
    [{ conflictResolutionPolicy: { conflictResolutionPath: 'lww' } }, "path 'lww' is invalid"],
    [{ conflictResolutionPolicy: { mode: 'Custom', conflictResolutionPath: '/a' } }, "'conflictResolutionPath'"],
    [{ conflictResolutionPolicy: { conflictResolutionProcedure: 'p' } }, "'conflictResolutionProcedure'"],
  ])
})

describe('computed properties', () => {
  const query = 'SELECT VALUE LOWER(c.name) FROM c'
  const spatial = { indexingPolicy: { spatialIndexes: [{ path: '/spatial/*', types: ['Point'] }] } }

  // azure-cosmos-dotnet-v3, ContainerNegativeComputedPropertyTest.
  refusals([
    [
      {
        computedProperties: [
          { name: 'lowerName', query },
          { name: 'lowerName', query },
        ],
      },
      "Computed property name 'lowerName' cannot be used in multiple definitions.",
    ],
    [{ computedProperties: [{ query }] }, 'One of the specified inputs is invalid'],
    [{ computedProperties: [{ name: '', query }] }, "Computed property 'name' is either empty or unspecified."],
    [{ computedProperties: [{ name: 'lowerName' }] }, 'One of the specified inputs is invalid'],
    [
      { computedProperties: [{ name: 'lowerName', query: '' }] },
      "Computed property 'query' is either empty or unspecified.",
    ],
    [
      { computedProperties: [{ name: 'id', query }] },
      "The system property name 'id' cannot be used as a computed property name.",
    ],
    [
      { ...spatial, computedProperties: [{ name: 'spatial', query }] },
      "Computed property 'spatial' at index (0) has a spatial index. Remove the spatial index on this path.",
    ],
    // azure-sdk-for-python, test_replace_with_incorrect_computed_properties.
    [{ computedProperties: { name: 'cp_lower', query } }, 'One of the specified inputs is invalid'],
    [{ computedProperties: ['x'] }, 'One of the specified inputs is invalid'],
    [
      { computedProperties: Array.from({ length: 21 }, (_, at) => ({ name: `p${at}`, query })) },
      'exceeds the maximum of 20',
    ],
  ])
})

describe('vectors', () => {
  const embedding = (extra: object) => ({
    path: '/vector1',
    dataType: 'float32',
    dimensions: 256,
    distanceFunction: 'euclidean',
    ...extra,
  })
  const policy = (extra: object) => ({ vectorEmbeddingPolicy: { vectorEmbeddings: [embedding(extra)] } })
  const index = (extra: object, embeddingExtra: object = {}) => ({
    ...policy(embeddingExtra),
    indexingPolicy: { vectorIndexes: [{ path: '/vector1', type: 'diskANN', ...extra }] },
  })

  // azure-sdk-for-python, test_create_vector_embedding_container: the definition is returned as sent.
  test('policies and indexes come back as they were sent', () => {
    const vectorEmbeddings = [
      embedding({}),
      { path: '/vector2', dataType: 'int8', dimensions: 200, distanceFunction: 'dotproduct' },
      { path: '/vector3', dataType: 'uint8', dimensions: 400, distanceFunction: 'cosine' },
    ]
    const vectorIndexes = [
      { path: '/vector1', type: 'flat' },
      { path: '/vector2', type: 'quantizedFlat', quantizerType: 'product', quantizationByteSize: 8 },
      {
        path: '/vector3',
        type: 'diskANN',
        quantizerType: 'product',
        quantizationByteSize: 8,
        vectorIndexShardKey: ['/country/city'],
        indexingSearchListSize: 50,
      },
    ]
    const definition = create({ vectorEmbeddingPolicy: { vectorEmbeddings }, indexingPolicy: { vectorIndexes } })
    assert.deepEqual(definition.vectorEmbeddingPolicy, { vectorEmbeddings })
    assert.deepEqual(definition.indexingPolicy.vectorIndexes, vectorIndexes)
  })

  refusals([
    [policy({ dataType: 'float33' }), 'Vector Embedding Policy has an invalid DataType'],
    [
      policy({ distanceFunction: 'handMeasured' }),
      'The Vector Embedding Policy has an invalid DistanceFunction:handMeasured',
    ],
    [
      policy({ dimensions: 8000 }),
      'Vector Embedding Policy has Dimensions:8000 which is more than the maximum supported value',
    ],
    [policy({ dimensions: -1 }), 'The Vector Embedding Policy has Dimensions:-1'],
    [policy({ dimensions: 1.5 }), 'The Vector Embedding Policy has Dimensions:1.5'],
    [policy({ path: '/a/[]/b' }), 'The Vector Embedding Policy has an invalid Path:/a/[]/b. Specify the correct path'],
    [policy({ path: '/embedding/' }), 'The Vector Embedding Policy has an invalid Path:/embedding/.'],
    [
      policy({ embeddingSource: {} }),
      "'embeddingSource' is not a valid property in the current payload.",
      'unsupported',
    ],
    [{ vectorEmbeddingPolicy: { vectorEmbeddings: [embedding({}), embedding({})] } }, 'duplicate Path:/vector1'],
    [
      { indexingPolicy: { vectorIndexes: [{ path: '/vector1', type: 'flat' }] } },
      "The Vector Indexing Policy's path::/vector1 not matching in Embedding's path.",
    ],
    [index({ path: '/vector3' }), "vector3 not matching in Embedding's path"],
    [index({ type: 'notFlat' }), 'Index Type::notFlat is invalid'],
    [index({ type: 'flat' }, { dimensions: 506 }), 'maximum supported value 505'],
    [
      index({ quantizationByteSize: 0 }),
      'The Vector Indexing Policy parameter QuantizationByteSize value :: 0 is out of range. The allowed range ' +
        'is between 1 and 256.',
    ],
    [
      index({ quantizationByteSize: 513 }, { dimensions: 550 }),
      'The Vector Indexing Policy parameter QuantizationByteSize value :: 513 is out of range.',
    ],
    [
      index({ indexingSearchListSize: 5 }),
      'IndexingSearchListSize value :: 5 is out of range. The allowed range is between 25 and 500.',
    ],
    [index({ vectorIndexShardKey: ['country'] }), 'The Vector Indexing Policy has an invalid Shard Path: country.'],
    [
      index({ vectorIndexShardKey: ['/country', '/city', '/zipcode'] }),
      'The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1.',
    ],
    [index({ vectorIndexShardKey: '/country' }), 'One of the specified inputs is invalid'],
  ])
})

describe('full text', () => {
  const policy = (...fullTextPaths: object[]) => ({ fullTextPolicy: { defaultLanguage: 'en-US', fullTextPaths } })

  test('a policy and its index come back as they were sent', () => {
    const sent = policy({ path: '/abstract', language: 'en-US' }, { path: '/title' })
    const definition = create({ ...sent, indexingPolicy: { fullTextIndexes: [{ path: '/abstract' }] } })
    assert.deepEqual(definition.fullTextPolicy, sent.fullTextPolicy)
    assert.deepEqual(definition.indexingPolicy.fullTextIndexes, [{ path: '/abstract' }])
  })

  refusals([
    [policy({ path: 'abstract' }), 'The Full Text Policy contains an invalid Path: abstract'],
    [policy({ path: '/abstract', language: 'spa-SPA' }), 'The Full Text Policy contains an unsupported language'],
    [{ fullTextPolicy: { defaultLanguage: 'spa-SPA' } }, 'The Full Text Policy contains an unsupported language'],
    [policy({ path: '/a/*' }), 'invalid Path: /a/*'],
    [{ ...policy(), indexingPolicy: { fullTextIndexes: [{ path: '/path' }] } }, '/path not matching'],
  ])
})

describe('client encryption', () => {
  const policy = (extra: object, policyFormatVersion: unknown = 2) => ({
    clientEncryptionPolicy: {
      includedPaths: [
        {
          path: '/secret',
          clientEncryptionKeyId: 'k',
          encryptionType: 'Randomized',
          encryptionAlgorithm: 'AEAD_AES_256_CBC_HMAC_SHA256',
          ...extra,
        },
      ],
      policyFormatVersion,
    },
  })

  test('the id and the partition key can be encrypted deterministically', () => {
    for (const path of ['/id', '/users']) {
      const sent = policy({ path, encryptionType: 'Deterministic' })
      assert.deepEqual(create(sent).clientEncryptionPolicy, sent.clientEncryptionPolicy)
    }
  })

  refusals([
    [policy({}, 3), 'Supported versions of client encryption policy are 1 and 2.'],
    [policy({ encryptionType: 'Plain' }), "EncryptionType should be either 'Deterministic' or 'Randomized'."],
    [policy({ encryptionAlgorithm: 'ROT13' }), "EncryptionAlgorithm should be 'AEAD_AES_256_CBC_HMAC_SHA256'."],
    [policy({ path: '/a/b' }), "Invalid path '/a/b'."],
    [policy({ path: '/id' }), 'Only Deterministic encryption type is supported for path: /id.'],
    [policy({ path: '/id' }, 1), 'Path: /id cannot be encrypted with PolicyFormatVersion: 1.'],
    [
      policy({ path: '/users' }),
      'Path: /users which is part of the partition key has to be encrypted with Deterministic type Encryption.',
    ],
    [
      policy({ path: '/users' }, 1),
      'Path: /users which is part of the partition key cannot be encrypted with PolicyFormatVersion: 1.',
    ],
    [
      {
        clientEncryptionPolicy: {
          includedPaths: [1, 2].map(() => policy({}).clientEncryptionPolicy.includedPaths[0]),
        },
      },
      'Duplicate Path found: /secret.',
    ],
  ])
})
