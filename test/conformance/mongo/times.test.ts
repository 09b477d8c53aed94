/** Times that commands show: milliseconds of the clock, although expiry counts seconds. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Long } from 'mongodb'
import { startMongo } from './support/fixture.ts'

const manual = await startMongo()
const real = await startMongo({ clock: 'system' })

async function timesIn({ newCollection }: typeof manual): Promise<readonly Date[]> {
  const collection = newCollection()
  const { db } = collection
  const stream = await db.command({ aggregate: 'items', pipeline: [{ $changeStream: {} }], cursor: {} })
  await collection.insertOne({ _id: 1 as never })
  await collection.updateOne({ _id: 1 as never }, { $currentDate: { set: true } })
  await collection.updateOne({ _id: 1 as never }, [{ $set: { computed: '$$NOW' } }])
  await collection.updateOne({ _id: 2 as never }, { $currentDate: { set: true } }, { upsert: true })
  await collection.findOneAndUpdate({ _id: 3 as never }, { $currentDate: { set: { $type: 'date' } } }, { upsert: true })
  const [found] = await collection.aggregate([{ $match: { _id: 1 } }, { $project: { now: '$$NOW' } }]).toArray()
  const stored = await collection.find().sort({ _id: 1 }).toArray()
  const { cursor } = await db.command({ getMore: Long.fromValue(stream.cursor.id), collection: 'items', batchSize: 1 })
  return [
    found!.now,
    cursor.nextBatch[0].wallTime,
    ...stored.flatMap(({ set, computed }) => [set, ...(computed === undefined ? [] : [computed])]),
  ]
}

test('$$NOW, $currentDate and wallTime have milliseconds', async () => {
  const before = Date.now()
  let fractions: number[] = []
  // One of a hundred tries is enough: each time is on a full second once in a thousand.
  for (let tries = 0; tries < 100 && !(fractions.length === 6 && fractions.every(each => each > 0)); tries++) {
    const times = await timesIn(real)
    fractions = times.map(time => time.getTime() % 1000)
    for (const time of times) assert.ok(time.getTime() >= before && time.getTime() <= Date.now(), time.toISOString())
  }
  assert.equal(fractions.length, 6)
  assert.ok(
    fractions.every(each => each > 0),
    fractions.join(' '),
  )
})

test('With a manual clock they are whole seconds', async () => {
  const now = manual.db.clock.now() * 1000
  assert.deepEqual(
    (await timesIn(manual)).map(time => time.getTime()),
    [now, now, now, now, now, now],
  )
})
