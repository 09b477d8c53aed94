/** What the Mongo side parses: frames, messages, BSON, pipelines, filters, updates, patterns, indexes. */

import assert from 'node:assert/strict'
import { type Document, deserialize, serialize } from 'bson'
import { toEpochSeconds } from '../../src/base/clock.ts'
import { MemoryAccount } from '../../src/base/memory-account.ts'
import { equalValues } from '../../src/document/bson/compare.ts'
import { validateDocument } from '../../src/document/bson/validate.ts'
import { type BsonArray, BsonDocument, type Value } from '../../src/document/bson/value.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { parseToken, tokenOf } from '../../src/mongo/change-streams/token.ts'
import { namedDocumentKey } from '../../src/mongo/collections/document-from-text.ts'
import { parseIndexSpec } from '../../src/mongo/index-specs/index-spec.ts'
import { parseCollation } from '../../src/mongo/requests/collation.ts'
import { unpack } from '../../src/mongo/wire/compression.ts'
import { FrameReader } from '../../src/mongo/wire/frame.ts'
import { parseOpMsg, wantsAnswer } from '../../src/mongo/wire/op-msg.ts'
import { parseOpQuery } from '../../src/mongo/wire/op-query.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import { Patterns } from '../../src/mql/filter/regex.ts'
import { compilePipeline } from '../../src/mql/pipeline/pipeline.ts'
import { prepareFilter, prepareProjection } from '../../src/mql/prepare.ts'
import { compileUpdate } from '../../src/mql/update/update.ts'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { runQueryOver } from '../../src/sql/run.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import { message, opMsg, sequence } from '../conformance/mongo/support/raw-client.ts'
import type { Random } from '../crash/random.ts'
import { expressionFamilies, stageFamilies, updateFamilies } from '../languages/mql/families.ts'
import { aggregateBytes, bsonValue, shown } from '../support/aggregate.ts'
import { readFindCases } from '../support/mql-cases.ts'
import { RandomBson } from '../support/random-bson.ts'
import type { Target } from './fuzz.ts'
import { mutateBytes, mutateText, mutateValue } from './mutate.ts'

const bson = new RandomBson(1)
const documents = Array.from({ length: 60 }, () =>
  encodeDocument([
    ['_id', bson.value(1)],
    ['a', bson.value(3)],
    ['b', bson.value(2)],
  ]),
)

const driverValues = (bytes: Uint8Array) => deserialize(bytes, { promoteValues: false, bsonRegExp: true })
const values: readonly unknown[] = [
  ...documents.map(each => driverValues(each).a),
  ...[0, -1, 1.5, 2 ** 31, Number.NaN, '', '$a', '$$ROOT', '$$NOW', 'a.b', null, true, [], {}, /^a/i, '2020-01-01'],
  ...[{ $literal: 1 }, { $range: [0, 10] }, { $toString: '$a' }, [[1, 2], [3]], { $gt: 1 }, { $in: [1, 'a'] }],
]

/** Any document is refused or read; what is read is written again as the same bytes. */
function bsonDocument(input: Buffer): void {
  const end = validateDocument(input)
  const document = BsonDocument.view(input.subarray(0, end))
  const again = BsonDocument.of(document.fields)
  const written = encodeDocument(again)
  assert.ok(validateDocument(written) === written.length)
  assert.ok(equalValues(BsonDocument.view(written), document), 'another document was written')
}

const command = serialize({ insert: 'c', documents: [{ _id: 1 }], $db: 'd', lsid: { id: 'x' } })
const messages = [
  opMsg(command),
  opMsg(serialize({ insert: 'c', $db: 'd' }), { sections: [sequence('documents', [serialize({ _id: 1 }), command])] }),
  opMsg(command, { flags: 1 << 16 }),
  message(
    2004,
    Buffer.concat([Buffer.alloc(4), Buffer.from('admin.$cmd\0'), Buffer.alloc(8), serialize({ hello: 1 })]),
  ),
  message(2012, Buffer.concat([Buffer.from([0xdd, 7, 0, 0, 20, 0, 0, 0, 2]), Buffer.from('789c636060606400', 'hex')])),
]

/** As many sequences as a stranger may send. */
function manySequences(random: Random): Buffer {
  const sections = Array.from({ length: random.between(1, 6000) }, (_, n) => sequence(n.toString(36), []))
  return opMsg(command, { sections })
}

const share = new MemoryAccount(1e9).share()

/** In chunks of any size the same messages come out; each is parsed as far as it goes. */
async function frames(input: Buffer): Promise<void> {
  const whole: Buffer[] = []
  const parts: Buffer[] = []
  const error = caught(() => readerInto(whole).push(input))
  const reader = readerInto(parts)
  const step = 1 + (input.length % 7)
  const partError = caught(() => {
    for (let at = 0; at < input.length; at += step) reader.push(input.subarray(at, at + step))
  })
  assert.deepEqual(parts.map(String), whole.map(String))
  assert.equal(partError?.message, error?.message)
  for (const found of whole) {
    const opcode = found.readInt32LE(12)
    wantsAnswer(found)
    if (opcode === 2013) for (const { documents: list } of parseOpMsg(found).sequences) assert.ok(list.length >= 0)
    else if (opcode === 2004) parseOpQuery(found)
    else if (opcode === 2012) await unpack(found, 100_000, {})
  }
  if (error !== undefined) throw error
}

function readerInto(found: Buffer[]): FrameReader {
  const hold = () => share.hold('bodies')
  return new FrameReader({ onMessage: message => found.push(message), hold, bytesMax: 1_000_000 })
}

function caught(work: () => void): Error | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** Documents with the parts of others, or those of the cases, with their bytes changed. */
function structures(seeds: readonly unknown[], run: (spec: Value) => unknown): Target<Buffer> {
  return {
    make: random => {
      const value = mutateValue(random.pick(seeds), seeds, values, random)
      const bytes = Buffer.from(serialized(value))
      return random.chance(0.1) ? mutateBytes(bytes, [bytes], random) : bytes
    },
    run: input => {
      validateDocument(input)
      const spec = BsonDocument.view(input).get('value')
      return spec && run(spec)
    },
  }
}

/** Some made values cannot be sent by a driver, as names that hold a NUL. */
function serialized(value: unknown): Uint8Array {
  try {
    return serialize({ value }, { ignoreUndefined: false })
  } catch {
    return serialize({ value: null })
  }
}

const variables = { constants: { now: 0n, random: () => 0.5 }, let: undefined }
const namespace = { database: 'test', collection: 'main' }
const asDocument = (spec: Value) => (spec instanceof BsonDocument ? spec : BsonDocument.of([]))

const stages = Object.values(stageFamilies).flatMap(family =>
  Object.values(family)
    .flat()
    .map(({ pipeline }) => pipeline),
)
const expressions = Object.values(expressionFamilies).flatMap(family =>
  Object.values(family).flatMap(cases => cases.map(([expression]) => [{ $project: { r: expression } }])),
)
const few = documents.slice(0, 4)

/** A pipeline that compiles runs over a few documents, and its results are documents. */
async function pipeline(spec: Value): Promise<void> {
  const list = bsonValue([]).constructor
  if (!(spec instanceof list)) return
  compilePipeline(spec as BsonArray, { ...variables, namespace })
  const { results } = await aggregateBytes(spec as BsonArray, {
    documents: few,
    others: { other: few },
    random: () => 0.5,
  })
  for (const result of results) validateDocument(result, { depthMax: 180 })
}

const findFilters = readFindCases().flatMap(({ cases }) => cases.map(({ filter }) => filter))
const filters = findFilters.map(filter => driverValues(encodeDocument(filter)))
const projections = readFindCases().flatMap(({ cases }) => cases.flatMap(({ projection }) => projection ?? []))

function filter(spec: Value): void {
  const { matches } = prepareFilter({ filter: asDocument(spec), allowsNear: false, variables })
  for (const document of few) matches(document)
}

function projection(spec: Value): void {
  const made = prepareProjection(asDocument(spec), variables)
  const plain = compileFilter(BsonDocument.of([]))
  for (const document of few) void [made, plain.matches(document)]
}

/** The driver reads it too, but refuses regular expressions with options that it does not know. */
function readable(bytes: Uint8Array): void {
  try {
    shown(bytes)
  } catch (error) {
    if (!/^The regular expression option/.test((error as Error).message)) throw error
  }
}

const updates = Object.values(updateFamilies).flatMap(family => family.map(({ update }) => update))
const now = { epochMs: 1_700_000_000_000, timestamp: 1n }

function update(spec: Value): void {
  if (!('fields' in spec) && !('elements' in spec)) return
  const compiled = compileUpdate(spec as BsonDocument)
  for (const document of few) {
    const { document: after } = compiled.apply(document, { isInsert: false, position: 0, now })
    validateDocument(after, { depthMax: 180 })
    readable(after)
  }
}

const patterns = [
  '^abc',
  '(a+)+b|a',
  '[a-z]{2,5}\\d*',
  '(?i)x(?:y|z)?$',
  '\\p{L}+',
  'a{1,100}',
  '(?<n>a)\\1',
  '[[:alpha:]]',
  '.*.*.*',
]
const letters = [...'ab*+?|()[]{}^$.\\d-,0129', '(?:', '(?=', '(?i)', '{1,9}', '\\b', '\\u', '[^', '\\p{L}', 'é']
const subjects = ['', 'abc', 'a'.repeat(500), 'ab'.repeat(200), 'é\u{1f600}x', `${'x'.repeat(300)}y`]

const regexQuery = prepareQuery('SELECT VALUE RegexMatch(c.s, @p) FROM c')

/** One evaluation by one of the two languages: they have the same engine, with different limits and texts. */
function pattern(text: string): void {
  const s = subjects[text.length % subjects.length]!
  if (text.charCodeAt(0) % 2 === 0) new Patterns().finder(text.replaceAll('\0', ''), '')(s)
  else runQueryOver(regexQuery, { momentMs: 0, parameters: new Map([['@p', text]]) }, [{ s }])
}

const names = [
  '7',
  '"abc"',
  '{"$oid":"65537f5c0000000000000001"}',
  '{"$date":{"$numberLong":"1"}}',
  '{"a":[1,{"$numberDecimal":"1.5"}]}',
]
const container = {
  definition: {},
  partitionKey: { paths: ['/_id'], kind: 'Hash', version: 2 },
} as unknown as ContainerRecord

/** A key for every text: what is not extended JSON is a string. */
function id(text: string): void {
  assert.equal(typeof namedDocumentKey(container, text, null).id, 'string')
}

const streamToken = tokenOf({
  tick: 17,
  seconds: toEpochSeconds(5),
  isInvalidate: false,
  owesInvalidate: true,
  fragment: 2,
})
const streamText = (streamToken.get('_data') as { value: string }).value

const indexes: readonly Document[] = [
  { key: { a: 1 }, name: 'a_1', expireAfterSeconds: 60 },
  { key: { 'a.b': -1, c: 'hashed' }, name: 'x', unique: true, sparse: true },
  { key: { '$**': 1 }, name: 'w', wildcardProjection: { a: 0 } },
  {
    key: { g: '2dsphere' },
    name: 'g',
    partialFilterExpression: { a: { $gt: 1 } },
    collation: { locale: 'de', strength: 2 },
  },
]

function index(spec: Value): void {
  parseIndexSpec(asDocument(spec))
  const collation = asDocument(spec).get('collation')
  if (collation instanceof BsonDocument) parseCollation(collation)
}

function textTarget(
  seeds: readonly string[],
  run: (text: string) => unknown,
  pieces: readonly string[] = seeds,
): Target<string> {
  const grammar = (random: Random) => Array.from({ length: random.between(1, 20) }, () => random.pick(pieces)).join('')
  return { make: random => (random.chance(0.7) ? mutateText(random.pick(seeds), seeds, random) : grammar(random)), run }
}

export const mongoTargets: Readonly<Record<string, Target>> = {
  bson: { make: random => mutateBytes(random.pick(documents), documents, random), run: bsonDocument },
  'op-msg': {
    make: random =>
      random.chance(0.005) ? manySequences(random) : mutateBytes(random.pick(messages), messages, random),
    run: frames,
  },
  pipeline: structures([...stages, ...expressions], pipeline),
  filter: structures(filters, filter),
  projection: structures(
    projections.map(each => driverValues(encodeDocument(each))),
    projection,
  ),
  update: structures(updates, update),
  regex: textTarget(patterns, pattern, letters),
  'extended-json-id': textTarget(names, id),
  'stream-token': textTarget([streamText], text => parseToken(bsonValue({ _data: text }))),
  'mongo-index': structures(indexes, index),
}
