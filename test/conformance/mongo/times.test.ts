/** Times that commands show: milliseconds of the clock, although expiry counts seconds. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMongo } from './support/fixture.ts'

const manual = await startMongo()
const real = await startMongo({ clock: 'system' })

async function timesIn({ newCollection }: typeof manual): Promise<readonly Date[]> {
  const collection = newCollection()
  await collection.insertOne({ _id: 1 as never })
  await collection.updateOne({ _id: 1 as never }, { $currentDate: { set: true } })
  await collection.updateOne({ _id: 1 as never }, [{ $set: { computed: '$$NOW' } }])
  await collection.updateOne({ _id: 2 as never }, { $currentDate: { set: true } }, { upsert: true })
  await collection.findOneAndUpdate({ _id: 3 as never }, { $currentDate: { set: { $type: 'date' } } }, { upsert: true })
  const [found] = await collection.aggregate([{ $match: { _id: 1 } }, { $project: { now: '$$NOW' } }]).toArray()
  const stored = await collection.find().sort({ _id: 1 }).toArray()
  return [found!.now, ...stored.flatMap(({ set, computed }) => [set, ...(computed === undefined ? [] : [computed])])]
}

test('$$NOW and $currentDate have milliseconds', async () => {
  const before = Date.now()
  let fractions: number[] = []
  // One of a hundred tries is enough: all five on a full second are one in 10^15.
  for (let tries = 0; tries < 100 && !(fractions.length === 5 && fractions.every(each => each > 0)); tries++) {
    const times = await timesIn(real)
    fractions = times.map(time => time.getTime() % 1000)
    for (const time of times) assert.ok(time.getTime() >= before && time.getTime() <= Date.now(), time.toISOString())
  }
  assert.equal(fractions.length, 5)
  assert.ok(
    fractions.every(each => each > 0),
    fractions.join(' '),
  )
})

test('With a manual clock they are whole seconds', async () => {
  const now = manual.db.clock.now() * 1000
  assert.deepEqual(
    (await timesIn(manual)).map(time => time.getTime()),
    [now, now, now, now, now],
  )
})
