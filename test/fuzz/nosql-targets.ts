/** What the NoSQL side parses: bodies, queries, patches, tokens, definitions, and heads of HTTP requests. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { AccountKeys, wellKnownKey } from '../../src/base/account-keys.ts'
import type { EpochSeconds } from '../../src/base/clock.ts'
import { RequestError } from '../../src/base/error.ts'
import { nestingDepthMax } from '../../src/base/limits.ts'
import { issueToken, readToken } from '../../src/nosql/access/resource-token.ts'
import { parseBinaryBatch } from '../../src/nosql/batch/batch-binary.ts'
import { parseContainerDefinition } from '../../src/nosql/definitions/container-definition.ts'
import { canonicalPath, parseIndexPolicyPath } from '../../src/nosql/definitions/policy-path.ts'
import {
  decodeContinuation,
  decodeRangeContinuation,
  encodeContinuation,
  encodeRangeContinuation,
} from '../../src/nosql/http/continuation.ts'
import { decodeFeedEtag, encodeFeedEtag } from '../../src/nosql/http/feed-etag.ts'
import { parsePath } from '../../src/nosql/http/request.ts'
import { applyPatch, parsePatch } from '../../src/nosql/items/patch.ts'
import { binaryJsonToText } from '../../src/nosql/json/binary-json.ts'
import { FoundTexts, Names, scanObject, scanObjects } from '../../src/nosql/json/json-bytes.ts'
import { JsonTree } from '../../src/nosql/json/json-tree.ts'
import { parsePlainRequest } from '../../src/server/http/request-parser.ts'
import { featuresOf } from '../../src/sql/planning/features.ts'
import { makeQueryPlan } from '../../src/sql/planning/query-plan.ts'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { runQueryOver } from '../../src/sql/run.ts'
import { parseQuery } from '../../src/sql/syntax/parser.ts'
import { printQuery } from '../../src/sql/syntax/print.ts'
import { keywords, signs } from '../../src/sql/syntax/token.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import type { Random } from '../crash/random.ts'
import { binaryJson } from '../support/binary-json.ts'
import type { Target } from './fuzz.ts'
import { mutateBytes, mutateText } from './mutate.ts'

function texts(seeds: readonly string[], grammar: (random: Random) => string, run: (text: string) => unknown) {
  const make = (random: Random) =>
    random.chance(0.75) ? mutateText(random.pick(seeds), seeds, random) : grammar(random)
  return { make, run } satisfies Target<string>
}

function bytes(seeds: readonly Uint8Array[], run: (input: Buffer) => unknown): Target<Buffer> {
  return { make: random => mutateBytes(random.pick(seeds), seeds, random), run }
}

/** Words in a random order. */
function words(list: readonly string[], separator: string) {
  return (random: Random) => Array.from({ length: random.between(1, 40) }, () => random.pick(list)).join(separator)
}

const items = [
  {
    id: 'a',
    pk: 'p',
    ttl: 20,
    n: 1.5e3,
    list: [1, 'two', null, { x: [[]] }],
    o: { p: { q: [true] } },
    '': '\ud83d\ude00',
  },
  { id: 'b', pk: null, text: 'é\u2028\\"', deep: { a: { b: { c: { d: {} } } } }, big: 1e20 },
]
const itemTexts = items.map(item => JSON.stringify(item))

const jsonWords = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"a"',
  '"id"',
  '"ttl"',
  '1',
  '-0',
  '1e9',
  'true',
  'null',
  ' ',
  '"\\u0061"',
]

const asked = new Names(['id', 'pk', 'ttl', 'body'], { body: new Names(['id']) })

/** What is accepted is what JSON.parse accepts, with the same values. */
function jsonBody(text: string): void {
  const body = Buffer.from(text)
  let expected: unknown
  let isJson = true
  try {
    expected = JSON.parse(body.toString())
  } catch {
    isJson = false
  }
  try {
    scanObjects(body, asked)
    const found = new FoundTexts(body).objectOf(scanObject(body, asked))
    assert.ok(isJson, 'accepted what JSON.parse refuses')
    for (const name of ['id', 'pk', 'ttl', 'body']) {
      assert.equal(JSON.stringify(found[name]), JSON.stringify((expected as Record<string, unknown>)[name]))
    }
  } catch (error) {
    if (error instanceof RequestError && isJson && expected?.constructor === Object) {
      assert.ok(depthOf(expected) > nestingDepthMax, `refused what JSON.parse accepts: ${error.message}`)
    }
    throw error
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

const queryFolder = new URL('../languages/sql/', import.meta.url)
const queries = readdirSync(queryFolder)
  .flatMap(name => JSON.parse(readFileSync(new URL(name, queryFolder), 'utf8')) as { query?: string; value?: string }[])
  .map(({ query, value }) => query ?? `SELECT VALUE ${value}`)

const parameters = new Map<string, SqlValue>([['@p', 'a']])

/** What the parser accepts prints as a query that is the same again. */
function sql(text: string): void {
  const printed = printQuery(parseQuery(text))
  assert.equal(printQuery(parseQuery(printed)), printed)
  const prepared = prepareQuery(text)
  featuresOf(prepared.query)
  makeQueryPlan(prepared.query, { parameters })
  JSON.stringify(runQueryOver(prepared, { momentMs: 1_700_000_000_000, parameters }, items as SqlValue[]))
}

const patches = [
  '{"operations":[{"op":"add","path":"/list/-","value":{"a":1}},{"op":"set","path":"/o/p","value":"x"}]}',
  '[{"op":"incr","path":"/n","value":-1.5},{"op":"remove","path":"/list/0"},{"op":"move","from":"/o","path":"/q"}]',
  '{"condition":"from c where c.n > 1","operations":[{"op":"replace","path":"/o/p/q/0","value":[null]}]}',
]

/** What is left of the item is JSON. */
function patch(text: string): void {
  const { operations, condition } = parsePatch(text)
  if (condition !== undefined) prepareQuery(`SELECT * ${condition}`)
  const tree = new JsonTree(itemTexts[0]!)
  applyPatch(tree, operations)
  JSON.parse(tree.toString())
}

const keys = new AccountKeys([{ text: wellKnownKey, isReadOnly: false }])
const range = { min: '', maxExclusive: '05C1' }
const grant = {
  path: ['shop', 'colls', 'carts'],
  container: 7,
  permission: '1',
  mode: 'read',
  partitionKey: undefined,
  expires: 2_000_000_000 as EpochSeconds,
}
const plainToken = encodeContinuation(keys, 'feed', { epk: '05C1', pk: '["a"]', id: 'x' })
const rangeToken = encodeRangeContinuation(keys, 'feed', range, [1, 'a', { after: 2 }])
const resourceToken = issueToken(keys, grant as never)
const etags = [
  encodeFeedEtag('latest', { position: '17' }),
  encodeFeedEtag('latest', { position: '1a.b2', since: 1_700_000_000 }),
  encodeFeedEtag('all', { position: '99', since: 5 }),
]
const tokens = [
  plainToken,
  rangeToken,
  resourceToken,
  ...etags,
  `${Buffer.from('{"position":"1"}').toString('base64')}.x`,
]

/** Nobody else can make a signed token: the only ones that are accepted are those that were given out. */
function token(text: string): void {
  const results = [
    () => assert.equal(text, text === plainToken ? decoded(text) : decodeContinuation(keys, 'feed', text)),
    () => assert.equal(text, text === rangeToken ? decoded(text) : decodeRangeContinuation(keys, 'feed', text)),
    () => readToken(keys, text) === undefined || assert.equal(signedPart(text), signedPart(resourceToken)),
    () => assert.ok(/^[0-9a-z.]+$/.test(decodeFeedEtag('latest', text).position)),
    () => assert.ok(/^[0-9a-z.]+$/.test(decodeFeedEtag('all', text).position)),
  ]
  const refusals = results.flatMap(result => {
    try {
      result()
      return []
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      return [error]
    }
  })
  if (refusals.length >= 4) throw refusals[0]
}

function decoded(text: string): string {
  if (text === plainToken) decodeContinuation(keys, 'feed', text)
  else decodeRangeContinuation(keys, 'feed', text)
  return text
}

/** Behind the second semicolon a token may have anything. */
function signedPart(text: string): string {
  let plain = text
  try {
    plain = decodeURIComponent(text)
  } catch {}
  const [signature = '', payload] = plain.slice(plain.indexOf('sig=')).split(';')
  return `${Buffer.from(signature.slice(4), 'base64').toString('hex')};${payload}`
}

const paths = ['/*', '/?', '/a/?', '/"a b"/*', "/'x'/[]/?", '/a/[]/b/?', '/"_etag"/?', '/"\\"q"/*', '/a-b/*']

function indexPath(text: string): void {
  const parsed = parseIndexPolicyPath(text)
  assert.notEqual(parsed.end, '')
  assert.match(canonicalPath(parsed), /^\/.*[?*]$/s)
}

const definitions = [
  { id: 'c', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 }, defaultTtl: 60 },
  {
    id: 'c',
    partitionKey: { paths: ['/a/b', '/c'], kind: 'MultiHash', version: 2 },
    indexingPolicy: {
      indexingMode: 'consistent',
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
      compositeIndexes: [[{ path: '/a', order: 'ascending' }, { path: '/b' }]],
      spatialIndexes: [{ path: '/g/*', types: ['Point', 'Polygon'] }],
    },
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/u', '/v/w'] }] },
    conflictResolutionPolicy: { mode: 'LastWriterWins', conflictResolutionPath: '/_ts' },
    computedProperties: [{ name: 'lower', query: 'SELECT VALUE LOWER(c.name) FROM c' }],
    changeFeedPolicy: { retentionDuration: 5 },
  },
].map(definition => JSON.stringify(definition))

function definition(text: string): void {
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch {
    throw new RequestError('malformed', 'not JSON')
  }
  parseContainerDefinition(input, { apiVersion: '2020-07-15' })
}

const heads = [
  'GET /dbs/a/colls/b/docs/c HTTP/1.1\r\nHost: localhost:8081\r\nx-ms-date: Sun, 15 Nov 2026 10:00:00 GMT\r\n\r\n',
  'POST /dbs HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\nConnection: Keep-Alive\r\n\r\n{"id":1}',
  'PUT /dbs/%61/colls/b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
]

/** What the fast parser reads has one head and one body, and no header twice. */
function head(input: Buffer): void {
  const read = parsePlainRequest(input)
  if (read === undefined) throw new RequestError('malformed', 'left to node:http')
  assert.ok(read.missingBytes >= 0 && read.body.length <= input.length)
  assert.ok(/^[A-Z]+$/.test(read.method) && read.url.startsWith('/'))
  for (const [name, value] of Object.entries(read.headers)) assert.doesNotMatch(`${name}${value}`, /[\r\n\0]/)
  assert.equal(
    Object.getPrototypeOf(read.headers) === Object.prototype || Object.getPrototypeOf(read.headers) === null,
    true,
  )
  parsePath(read.url)
}

const batches = [
  'gfDY/38BCgAAAIHx2P9/TQAAAJKKVRCBcFThf1MFAAAAAgAAAANvbmU6eyJpZCI6Im9uZSIsInRlbmFudCI6InUxIiwia2luZCI6InJlcGx' +
    'hY2VtZW50IiwiY291bnQiOjk5fYHx2P9/FgAAAAtBUkGBcFThfxMEAAAAAgAAAAdtaXNzaW5n',
].map(text => Buffer.from(text, 'base64'))

export const nosqlTargets: Readonly<Record<string, Target>> = {
  'json-body': texts(itemTexts, words(jsonWords, ''), jsonBody),
  'binary-json': bytes(
    items.map(item => binaryJson(item)),
    body => JSON.parse(binaryJsonToText(body).toString()),
  ),
  'binary-batch': bytes(batches, parseBinaryBatch),
  sql: texts(queries, words([...keywords, ...signs, 'c', 'c.n', '"a"', '1', '@p', 'ABS(', 'udf.f('], ' '), sql),
  patch: texts(patches, words([...jsonWords, '"op":"set"', '"path":"/a"', '"value":', '"operations":['], ''), patch),
  token: texts(
    tokens,
    words(['9', '12', '"', '.', 'e30', '{"token":"', '","range":', 'type=resource&ver=1&sig='], ''),
    token,
  ),
  'index-path': texts(
    paths,
    words(['/', '*', '?', '"', "'", '[', ']', '\\', 'a', '[]', '/?', '/*', ' '], ''),
    indexPath,
  ),
  definition: texts(definitions, words(jsonWords, ''), definition),
  'http-head': bytes(
    heads.map(text => Buffer.from(text)),
    head,
  ),
}
