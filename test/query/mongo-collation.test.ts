/**
 * Collections with random strings: find, sort, distinct and unique indexes with a collation answer as a naive
 * model with Intl.Collator does, with an index and without one.
 */

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { type CollationOptions, type Collection, type Document, MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { fc } from '../support/property.ts'

const db = await mayfly({ clock: 'manual' })
const client = new MongoClient(db.mongoUri!)
after(async () => {
  await client.close()
  await db.close()
})

interface Named extends Document {
  readonly _id: number
  readonly s: string | number
}

interface Case {
  readonly collation: CollationOptions
  readonly compare: (a: string, b: string) => number
}

const cases: readonly Case[] = [
  { collation: { locale: 'en', strength: 1 }, compare: new Intl.Collator('en', { sensitivity: 'base' }).compare },
  { collation: { locale: 'en', strength: 2 }, compare: new Intl.Collator('en', { sensitivity: 'accent' }).compare },
  { collation: { locale: 'da' }, compare: new Intl.Collator('da').compare },
  { collation: { locale: 'cs', strength: 2 }, compare: new Intl.Collator('cs', { sensitivity: 'accent' }).compare },
  {
    collation: { locale: 'en', strength: 2, numericOrdering: true },
    compare: new Intl.Collator('en', { sensitivity: 'accent', numeric: true }).compare,
  },
]

const text = fc
  .array(
    fc.constantFrom('a', 'A', 'á', 'b', 'B', 'ch', 'CH', 'aa', 'å', 'ß', 'ss', 'é', 'E', '1', '2', '10', ' ', '漢'),
    {
      maxLength: 3,
    },
  )
  .map(parts => parts.join(''))
const value = fc.oneof({ weight: 8, arbitrary: text }, fc.integer({ min: 0, max: 3 }))

/** Numbers come before strings. */
function order(compare: Case['compare'], a: string | number, b: string | number): number {
  if (typeof a === 'number' || typeof b === 'number') {
    if (typeof a === typeof b) return Number(a) - Number(b)
    return typeof a === 'number' ? -1 : 1
  }
  return compare(a, b)
}

let collections = 0

test('find, sort and distinct with a collation are those of the model, with an index and without', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...cases),
      fc.array(value, { minLength: 1, maxLength: 12 }),
      value,
      fc.boolean(),
      async ({ collation, compare }, values, wanted, isIndexed) => {
        const collection = client.db('collation').collection<Named>(`c${collections++}`)
        const documents = values.map((s, _id): Named => ({ _id, s }))
        if (isIndexed) await collection.createIndex({ s: 1 }, { collation })
        await collection.insertMany(documents)
        const sorted = documents.toSorted((a, b) => order(compare, a.s, b.s) || a._id - b._id)
        const ids = (list: readonly Named[]) => list.map(({ _id }) => _id)
        const isSameType = (s: string | number) => typeof s === typeof wanted
        const found = await collection.find({ s: wanted }, { collation }).sort({ _id: 1 }).toArray()
        assert.deepEqual(ids(found), ids(documents.filter(({ s }) => order(compare, s, wanted) === 0)))
        const above = await collection
          .find({ s: { $gt: wanted } }, { collation })
          .sort({ _id: 1 })
          .toArray()
        const isAbove = ({ s }: Named) => isSameType(s) && order(compare, s, wanted) > 0
        assert.deepEqual(ids(above), ids(documents.filter(isAbove)))
        const notAbove = await collection
          .find({ s: { $lte: wanted } }, { collation })
          .sort({ _id: 1 })
          .toArray()
        const isNotAbove = ({ s }: Named) => isSameType(s) && order(compare, s, wanted) <= 0
        assert.deepEqual(ids(notAbove), ids(documents.filter(isNotAbove)))
        const all = await collection.find({}, { collation }).sort({ s: 1 }).batchSize(3).toArray()
        assert.deepEqual(ids(all), ids(sorted))
        const back = await collection.find({}, { collation }).sort({ s: -1 }).batchSize(3).toArray()
        assert.deepEqual(ids(back), ids(sorted).toReversed())
        const distinct = sorted.filter(({ s }, at) => at === 0 || order(compare, sorted[at - 1]!.s, s) !== 0)
        const answered = await collection.distinct('s', {}, { collation })
        assert.equal(answered.length, distinct.length)
        for (const [at, one] of answered.entries()) assert.equal(order(compare, one, distinct[at]!.s), 0)
        const groups = await collection.aggregate([{ $group: { _id: '$s' } }], { collation }).toArray()
        assert.equal(groups.length, distinct.length)
      },
    ),
    { numRuns: 60 },
  )
})

test('a unique index with a collation takes one of the strings that the model finds equal', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...cases),
      fc.array(value, { minLength: 1, maxLength: 12 }),
      async ({ collation, compare }, values) => {
        const collection = client.db('collation').collection<Named>(`u${collections++}`)
        await collection.createIndex({ s: 1 }, { collation, unique: true })
        const kept: (string | number)[] = []
        for (const [_id, s] of values.entries()) {
          const isTaken = kept.some(other => order(compare, other, s) === 0)
          const code = await collection.insertOne({ _id, s }).then(
            () => undefined,
            error => error.code,
          )
          assert.equal(code, isTaken ? 11000 : undefined, JSON.stringify([kept, s]))
          if (!isTaken) kept.push(s)
        }
      },
    ),
    { numRuns: 30 },
  )
})

test('a server with another version of ICU builds the indexes with a collation anew when it starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-test-'))
  after(() => rmSync(folder, { recursive: true }))
  const collation = { locale: 'en', strength: 2 }
  const open = async (work: (collection: Collection<Document>) => Promise<void>) => {
    const server = await mayfly({ clock: 'manual', data: folder })
    const connected = new MongoClient(server.mongoUri!)
    try {
      await work(connected.db('d').collection('c'))
    } finally {
      await connected.close()
      await server.close()
    }
  }
  await open(async collection => {
    await collection.db.createCollection('c', { collation })
    await collection.createIndex({ s: 1 }, { unique: true })
    await collection.insertMany([{ _id: 'One', s: 'X' } as never, { _id: 'two', s: 'y' } as never])
  })
  // Keys of another version are as good as none.
  const [file] = readdirSync(folder).filter(name => name.endsWith('.db') || name.endsWith('.sqlite'))
  const stored = new DatabaseSync(join(folder, file!))
  const version = process.versions.icu!
  stored.prepare('UPDATE indexes SET options = replace(options, ?, ?)').run(`"version":"${version}"`, '"version":"1.0"')
  for (const { name } of stored.prepare("SELECT name FROM sqlite_master WHERE name LIKE 'entries_%'").all()) {
    stored.exec(`DELETE FROM ${name}`)
  }
  stored.close()
  await open(async collection => {
    assert.equal((await collection.findOne({ s: 'x' }))?.s, 'X')
    assert.equal((await collection.findOne({ _id: 'TWO' as never }))?.s, 'y')
    const { queryPlanner } = await collection.find({ s: 'Y' }).explain('queryPlanner')
    assert.equal(queryPlanner.winningPlan.inputStage.stage, 'IXSCAN')
    for (const document of [
      { _id: 'THREE', s: 'Y' },
      { _id: 'ONE', s: 'z' },
    ]) {
      await assert.rejects(collection.insertOne(document as never), { code: 11000 })
    }
  })
})
