import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BsonArray, BsonDocument, double, type Field, int32, objectId, string } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'
import type { UpdateContext } from './modifier.ts'
import { type CompileUpdatePipeline, compileUpdate } from './update.ts'
import { upsertDocument } from './upsert.ts'

const now = { epochMs: 1_700_000_000_000, timestamp: 1n << 32n }
const context: UpdateContext = { isInsert: false, now }

function code(expected: number): (error: unknown) => boolean {
  return error => error instanceof MongoError && error.code === expected
}

function document(...fields: readonly Field[]): BsonDocument {
  return BsonDocument.of(fields)
}

function stages(...names: readonly string[]): BsonArray {
  return BsonArray.of(names.map(name => document([name, document()])))
}

/** A pipeline that always returns the given document. */
function answering(result: BsonDocument): CompileUpdatePipeline {
  return () => () => encodeDocument(result)
}

describe('an update', () => {
  test('knows whether it is a replacement, and whether it needs a position', () => {
    const set = (path: string): BsonDocument => document(['$set', document([path, int32(1)])])
    assert.equal(compileUpdate(set('a')).kind, 'operators')
    assert.equal(compileUpdate(document(['a', int32(1)])).kind, 'replacement')
    assert.equal(compileUpdate(stages('$set'), { pipeline: answering(document()) }).kind, 'pipeline')
    assert.equal(compileUpdate(set('a.b')).needsPosition, false)
    assert.equal(compileUpdate(set('a.$.b')).needsPosition, true)
  })

  test('returns the given bytes when nothing changes', () => {
    const stored = encodeDocument([['a', int32(1)]])
    const update = compileUpdate(document(['$set', document(['a', int32(1)])]))
    assert.equal(update.apply(stored, context).document, stored)
  })

  test('can be applied to many documents', () => {
    const update = compileUpdate(document(['$inc', document(['a', int32(1)])]))
    for (const value of [1, 5, 9]) {
      const { document: after } = update.apply(encodeDocument([['a', int32(value)]]), context)
      assert.deepEqual(after, encodeDocument([['a', int32(value + 1)]]))
    }
  })

  test('keeps duplicate fields and changes the first', () => {
    const stored = encodeDocument([
      ['a', int32(1)],
      ['a', int32(2)],
    ])
    const update = compileUpdate(document(['$set', document(['a', int32(5)], ['b', int32(6)])]))
    const wanted = encodeDocument([
      ['a', int32(5)],
      ['a', int32(2)],
      ['b', int32(6)],
    ])
    assert.deepEqual(update.apply(stored, context).document, wanted)
  })

  test('that names one array element by two numbers is a conflict', () => {
    const update = compileUpdate(document(['$set', document(['a.1', int32(5)], ['a.01', int32(6)])]))
    const stored = encodeDocument([['a', BsonArray.of([int32(0), int32(1)])]])
    assert.throws(() => update.apply(stored, context), code(40))
  })

  test('that is a replacement cannot change many documents', () => {
    const replacement = document(['a', int32(1)])
    assert.throws(() => compileUpdate(replacement, { isMulti: true }), code(9))
    assert.equal(compileUpdate(replacement, { isMulti: false }).kind, 'replacement')
  })

  test('with a path of a million parts is refused at once', () => {
    const path = Array(1_000_000).fill('a').join('.')
    assert.throws(() => compileUpdate(document(['$set', document([path, int32(1)])])), code(15))
  })

  test('shows only a part of a large value in a message', () => {
    const large = string('x'.repeat(1_000_000))
    assert.throws(
      () => compileUpdate(document(['$inc', document(['a', large])])),
      (error: MongoError) => error.code === 14 && error.message.length < 1000,
    )
  })
})

describe('a pipeline', () => {
  const stored = encodeDocument([
    ['_id', int32(1)],
    ['a', int32(1)],
  ])

  test('gets the stages, the document and the context', () => {
    const spec = stages('$set', '$unset', '$addFields', '$project', '$replaceRoot', '$replaceWith')
    const update = compileUpdate(spec, {
      pipeline: given => {
        assert.equal(given, spec)
        return (bytes, at) => {
          assert.equal(bytes, stored)
          assert.equal(at, context)
          return bytes
        }
      },
    })
    assert.equal(update.apply(stored, context).isChanged, false)
  })

  test('may leave out the _id, which then stays', () => {
    const update = compileUpdate(stages('$replaceWith'), { pipeline: answering(document(['b', int32(2)])) })
    const wanted = encodeDocument([
      ['_id', int32(1)],
      ['b', int32(2)],
    ])
    assert.deepEqual(update.apply(stored, context).document, wanted)
  })

  test('may not change the _id, except for the type of a number', () => {
    const to = (id: Field[1]): CompileUpdatePipeline => answering(document(['b', int32(2)], ['_id', id]))
    const other = compileUpdate(stages('$replaceWith'), { pipeline: to(int32(2)) })
    assert.throws(() => other.apply(stored, context), code(66))
    const array = compileUpdate(stages('$replaceWith'), { pipeline: to(BsonArray.of([])) })
    assert.throws(() => array.apply(stored, context), code(53))
    const equal = compileUpdate(stages('$replaceWith'), { pipeline: to(double(1)) })
    const wanted = encodeDocument([
      ['_id', double(1)],
      ['b', int32(2)],
    ])
    assert.deepEqual(equal.apply(stored, context).document, wanted)
  })

  test('may create names that begin with a dollar sign', () => {
    const update = compileUpdate(stages('$replaceWith'), { pipeline: answering(document(['$b', int32(2)])) })
    assert.equal(update.apply(stored, context).isChanged, true)
  })

  test('may not nest deeper than documents do', () => {
    let deep = document()
    for (let level = 0; level < 100; level += 1) deep = document(['a', deep])
    const update = compileUpdate(stages('$replaceWith'), { pipeline: answering(deep) })
    assert.throws(() => update.apply(stored, context), code(15))
  })

  test('allows only the stages of updates, and no array filters', () => {
    const pipeline = answering(document())
    assert.throws(() => compileUpdate(stages('$set', '$match'), { pipeline }), code(72))
    assert.throws(() => compileUpdate(BsonArray.of([int32(1)]), { pipeline }), code(14))
    const arrayFilters = BsonArray.of([document(['e', int32(1)])])
    assert.throws(() => compileUpdate(stages('$set'), { pipeline, arrayFilters }), code(9))
  })

  test('of an upsert begins with the equalities of the filter', () => {
    const update = compileUpdate(stages('$set'), { pipeline: () => bytes => bytes })
    const { document: inserted, id } = upsertDocument(document(['a', int32(1)]), update, now, () => {
      return objectId(Buffer.alloc(12, 7))
    })
    const wanted = encodeDocument([
      ['_id', objectId(Buffer.alloc(12, 7))],
      ['a', int32(1)],
    ])
    assert.deepEqual(inserted, wanted)
    assert.deepEqual(Buffer.from((id as { value: Uint8Array }).value), Buffer.alloc(12, 7))
  })
})
