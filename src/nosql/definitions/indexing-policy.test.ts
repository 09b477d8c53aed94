import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type IndexingPolicy, parseIndexingPolicy } from './indexing-policy.ts'

const etag = { path: '/"_etag"/?' }
const everything: IndexingPolicy = {
  indexingMode: 'consistent',
  automatic: true,
  includedPaths: [{ path: '/*' }],
  excludedPaths: [etag],
}
const mandatory = 'The special mandatory indexing path "/" is not provided in any of the path type sets.'
const paths = (...list: string[]) => list.map(path => ({ path }))

describe('an indexing policy', () => {
  const completed: [name: string, input: unknown, expected: IndexingPolicy][] = [
    ['none at all', undefined, everything],
    ['an empty one', {}, everything],
    ['one with nulls', { indexingMode: null, automatic: null, includedPaths: null, excludedPaths: null }, everything],
    ['lazy, which is consistent now', { indexingMode: 'lazy' }, everything],
    ['another case of the mode', { indexingMode: 'Consistent' }, everything],
    ['only the root included', { includedPaths: paths('/*') }, everything],
    ['the root in its old spelling', { includedPaths: paths('/') }, everything],
    ['unknown properties', { annotation: 'x', includedPaths: [{ path: '/*', x: 1 }] }, everything],
    [
      'index kinds of old',
      { includedPaths: [{ path: '/*', indexes: [{ kind: 'Range', dataType: 'String' }] }] },
      everything,
    ],
    ['not automatic', { automatic: false }, { ...everything, automatic: false }],
    [
      'an excluded path, which keeps its place before _etag',
      { includedPaths: paths('/*'), excludedPaths: paths('/"systemMetadata"/*') },
      { ...everything, excludedPaths: [{ path: '/"systemMetadata"/*' }, etag] },
    ],
    [
      '_etag already excluded, in any spelling',
      { includedPaths: paths('/*'), excludedPaths: paths('/_etag/?') },
      { ...everything, excludedPaths: paths('/_etag/?') },
    ],
    [
      'everything excluded but one path',
      { includedPaths: paths('/a/[]/b/?'), excludedPaths: paths('/*') },
      { ...everything, includedPaths: paths('/a/[]/b/?'), excludedPaths: [{ path: '/*' }, etag] },
    ],
    [
      'everything excluded and nothing said of the rest',
      { excludedPaths: paths('/*') },
      { ...everything, includedPaths: [], excludedPaths: [{ path: '/*' }, etag] },
    ],
    [
      'no indexing',
      { indexingMode: 'none' },
      { indexingMode: 'none', automatic: false, includedPaths: [], excludedPaths: [] },
    ],
    [
      'composite indexes, ascending unless they say otherwise',
      {
        compositeIndexes: [[{ path: '/name' }, { path: '/"a-b"/c', order: 'descending' }]],
      },
      {
        ...everything,
        compositeIndexes: [
          [
            { path: '/name', order: 'ascending' },
            { path: '/"a-b"/c', order: 'descending' },
          ],
        ],
      },
    ],
    [
      'a spatial index, which gets all four types',
      { spatialIndexes: [{ path: '/location/?', types: ['LineString'] }] },
      {
        ...everything,
        spatialIndexes: [{ path: '/location/?', types: ['Point', 'LineString', 'Polygon', 'MultiPolygon'] }],
      },
    ],
    [
      'the empty lists that SDKs send',
      { compositeIndexes: [], spatialIndexes: [], vectorIndexes: [], fullTextIndexes: [] },
      { ...everything, compositeIndexes: [], spatialIndexes: [], vectorIndexes: [], fullTextIndexes: [] },
    ],
  ]
  for (const [name, input, expected] of completed) {
    test(`is completed: ${name}`, () =>
      assert.equal(JSON.stringify(parseIndexingPolicy(input)), JSON.stringify(expected)))
  }

  const notAccepted = (path: string, at: number) =>
    `The indexing path '${path}' could not be accepted, failed near position '${at}'. Please ensure that the ` +
    'path is a valid path.'
  const refused: [input: unknown, text: string][] = [
    ['consistent', 'One of the specified inputs is invalid'],
    [[], 'One of the specified inputs is invalid'],
    [{ indexingMode: 'eager' }, 'One of the specified inputs is invalid'],
    [{ indexingMode: 1 }, 'One of the specified inputs is invalid'],
    [{ automatic: 'yes' }, 'One of the specified inputs is invalid'],
    [{ includedPaths: '/*' }, 'One of the specified inputs is invalid'],
    [{ includedPaths: ['/*'] }, 'One of the specified inputs is invalid'],
    [{ includedPaths: [{}] }, 'One of the specified inputs is invalid'],
    [{ includedPaths: new Array(1501).fill({ path: '/*' }) }, 'exceeds the maximum of 1500'],
    [{ includedPaths: [], excludedPaths: [] }, mandatory],
    [{ includedPaths: paths('/user_id/?') }, mandatory],
    [{ excludedPaths: paths('/displayName/?') }, mandatory],
    [{ includedPaths: paths('/*'), excludedPaths: paths('/*') }, 'specified both in'],
    [{ includedPaths: paths('/*', '/a/?'), excludedPaths: paths('/"a"/?') }, 'specified both in'],
    // From IdentityServer4.Contrib.CosmosDB #4, with this position.
    [{ includedPaths: paths('/*', '/expiration') }, notAccepted('/expiration', 11)],
    [{ includedPaths: paths('/*', 'a/?') }, notAccepted('a/?', 0)],
    [{ includedPaths: paths('/*', '/a-b/?') }, notAccepted('/a-b/?', 2)],
    [{ includedPaths: paths('/*', '/a/*/b/?') }, notAccepted('/a/*/b/?', 4)],
    [{ includedPaths: paths('/?/Age/?') }, notAccepted('/?/Age/?', 2)],
    [{ includedPaths: paths('/*', '/"a/?') }, notAccepted('/"a/?', 1)],
    [{ includedPaths: paths('/*', '/a//?') }, notAccepted('/a//?', 3)],
    [{ includedPaths: paths('/?') }, 'Please ensure that the path has at least'],
    [{ compositeIndexes: [[{ path: '/a' }]] }, 'must have at least 2 paths'],
    [{ compositeIndexes: [{ path: '/a' }] }, 'One of the specified inputs is invalid'],
    [{ compositeIndexes: [[{ path: '/a' }, { path: '/"a"' }]] }, 'was specified more than once'],
    [{ compositeIndexes: [[{ path: '/a' }, { path: '/b/?' }]] }, notAccepted('/b/?', 3)],
    [{ compositeIndexes: [[{ path: '/a' }, { path: '/b', order: 'up' }]] }, "The composite order 'up' is invalid."],
    [{ compositeIndexes: [new Array(9).fill({ path: '/a' })] }, 'exceeds the maximum of 8'],
    [
      { spatialIndexes: [{ path: '/a/*' }] },
      'The spatial data types array cannot be empty. Assign at least one spatial type',
    ],
    [{ spatialIndexes: [{ path: '/a/*', types: ['Circle'] }] }, 'One of the specified inputs is invalid'],
    [
      { spatialIndexes: [{ path: '/a/*', types: ['Point'], boundingBox: { xmin: 0, ymin: 0, xmax: 1 } }] },
      'One of the specified inputs is invalid',
    ],
    [
      { spatialIndexes: [{ path: '/a/*', types: ['Point'], boundingBox: { xmin: 1, ymin: 0, xmax: 1, ymax: 2 } }] },
      'boundingBox',
    ],
    [{ fullTextIndexes: [{ not_path: '/a' }] }, 'One of the specified inputs is invalid'],
    [{ fullTextIndexes: [{ path: 'abstract' }] }, 'invalid Path: abstract'],
  ]
  for (const [input, text] of refused) {
    test(`is refused: ${JSON.stringify(input).slice(0, 90)}`, () => {
      assert.throws(
        () => parseIndexingPolicy(input),
        (error: Error & { kind?: string }) => error.kind === 'malformed' && error.message.includes(text),
      )
    })
  }
})
