/** The update language by cases: every file `mql/update-*.ts` lists updates with the resulting documents. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Document, deserialize, ObjectId, serialize } from 'bson'
import { validateDocument } from '../../src/document/bson/validate.ts'
import { BsonArray, BsonDocument, objectId } from '../../src/document/bson/value.ts'
import { MongoError } from '../../src/mql/errors/mongo-error.ts'
import { Context, VariableScope } from '../../src/mql/expressions/core/scope.ts'
import { expressionCompiler } from '../../src/mql/expressions/expression.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import { addFieldsStage, projectStage, unsetStage } from '../../src/mql/stages/projection.ts'
import { replaceRootStage, replaceWithStage } from '../../src/mql/stages/replace.ts'
import { type CompileStage, documentBytes, type StageCompiler } from '../../src/mql/stages/stage.ts'
import { type CompileUpdatePipeline, compileUpdate, updateOperators } from '../../src/mql/update/update.ts'
import { upsertDocument } from '../../src/mql/update/upsert.ts'
import { updateFamilies as families } from './mql/families.ts'
import { caseMs, caseObjectId, type UpdateCase } from './mql/update-case.ts'

const now = { epochMs: caseMs, timestamp: (BigInt(caseMs / 1000) << 32n) | 1n }

function bytesOf(document: Document): Buffer {
  return Buffer.from(serialize('_id' in document ? document : { _id: 1, ...document }, { ignoreUndefined: false }))
}

function view(document: Document): BsonDocument {
  return BsonDocument.view(Buffer.from(serialize(document)))
}

function listOf(documents: readonly Document[]): BsonArray {
  const list = view({ list: documents }).get('list')
  assert.ok(list instanceof BsonArray)
  return list
}

const stages: Readonly<Record<string, CompileStage>> = {
  $set: addFieldsStage,
  $addFields: addFieldsStage,
  $project: projectStage,
  $unset: unsetStage,
  $replaceRoot: replaceRootStage,
  $replaceWith: replaceWithStage,
}

/** Runs the stages one after another, without the streams of an aggregation. */
const pipeline: CompileUpdatePipeline = spec => {
  const scope = VariableScope.outermost({ now: BigInt(caseMs), random: () => 0 })
  const compiler = { scope, expressions: expressionCompiler(scope) } as StageCompiler
  const compiled = (spec.elements as readonly BsonDocument[]).map(({ fields }) => {
    const [name, stage] = fields[0]!
    return stages[name]?.(stage, compiler, name)
  })
  return document => {
    const context = new Context()
    return documentBytes(
      compiled.reduce((each, stage) => stage!.change!(context.at(each)), BsonDocument.view(document)),
    )
  }
}

function run({ before, filter = {}, update, arrayFilters }: UpdateCase): { document: Uint8Array; isChanged: boolean } {
  const spec = Array.isArray(update) ? listOf(update) : view(update)
  const compiled = compileUpdate(spec, { arrayFilters: arrayFilters && listOf(arrayFilters), pipeline })
  if (before === undefined) {
    const upserted = upsertDocument(view(filter), compiled, now, () => objectId(Buffer.from(caseObjectId, 'hex')))
    return { document: upserted.document, isChanged: true }
  }
  const stored = bytesOf(before)
  const matcher = compileFilter(view(filter))
  assert.ok(matcher.matches(stored), 'the filter finds the document')
  const given = Buffer.from(stored)
  const result = compiled.apply(stored, { isInsert: false, position: matcher.position(stored), now })
  assert.deepEqual(stored, given, 'the stored bytes are left alone')
  assert.equal(result.isChanged, Buffer.compare(stored, result.document) !== 0)
  return result
}

function check(updateCase: UpdateCase): void {
  const { before, after, isUnchanged, error } = updateCase
  if (error !== undefined) {
    const [code, message] = error
    assert.throws(
      () => run(updateCase),
      (thrown: unknown) => {
        assert.ok(thrown instanceof MongoError, String(thrown))
        assert.equal(thrown.code, code, thrown.message)
        assert.ok(thrown.message.includes(message), thrown.message)
        return true
      },
    )
    return
  }
  const { document, isChanged } = run(updateCase)
  validateDocument(document, { end: document.length })
  const wanted = bytesOf((isUnchanged === true ? before : after)!)
  const options = { promoteValues: false, bsonRegExp: true }
  assert.deepEqual(deserialize(document, options), deserialize(wanted, options))
  assert.deepEqual(Buffer.from(document).toString('hex'), wanted.toString('hex'))
  assert.equal(isChanged, isUnchanged !== true)
}

for (const [family, cases] of Object.entries(families)) {
  describe(family, () => {
    for (const updateCase of cases) test(updateCase.name, () => check(updateCase))
  })
}

test('every operator has at least three cases, at least one of them an error', () => {
  const cases = Object.values(families).flat()
  const missing = updateOperators.filter(operator => {
    const about = cases.filter(({ update }) => Object.hasOwn(update, operator))
    return about.length < 3 || !about.some(({ error }) => error !== undefined)
  })
  assert.deepEqual(missing, [])
})

test('the names of cases are unique', () => {
  const names = Object.values(families)
    .flat()
    .map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  assert.equal(new ObjectId(caseObjectId).toHexString(), caseObjectId)
})
