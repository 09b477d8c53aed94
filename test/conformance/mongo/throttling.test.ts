/** With enforced throughput, commands beyond it are refused with a time to wait. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure, startMongo } from './support/fixture.ts'

const { newDatabase } = await startMongo({ rateLimit: true })

test('A command beyond the throughput is refused with 16500 and the time to wait', async () => {
  const database = newDatabase()
  await database.command({ customAction: 'CreateCollection', collection: 'c', offerThroughput: 400 })
  const collection = database.collection('c')
  await collection.insertOne({ _id: 1 as never, n: 0, text: 'x'.repeat(1_000_000) })
  // Each costs about 160 of the 400 units of a second, however slow the machine.
  const modify = { findAndModify: 'c', query: { _id: 1 }, update: { $inc: { n: 1 } }, fields: { n: 1 } }
  const answers = await Promise.allSettled(Array.from({ length: 20 }, () => database.command(modify)))
  const done = answers.filter(({ status }) => status === 'fulfilled').length
  const [first] = answers.flatMap(answer => (answer.status === 'rejected' ? [answer] : []))
  const refused = await failure(Promise.reject(first?.reason))
  assert.equal(refused.code, 16500)
  assert.equal(refused.codeName, 'TooManyRequests')
  assert.match(refused.message, /RetryAfterMs=\d+$/)
  assert.ok(refused.labels.includes('SystemOverloadedError'))
  assert.deepEqual(await collection.findOne({}, { projection: { n: 1, _id: 0 } }).catch(() => ({ n: done })), {
    n: done,
  })
})

test('A write beyond the throughput is a write error of its statement', async () => {
  const database = newDatabase()
  await database.command({ customAction: 'CreateCollection', collection: 'c', offerThroughput: 400 })
  const documents = Array.from({ length: 500 }, (_, _id) => ({ _id, text: 'x'.repeat(1000) }))
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, at) =>
      database.command({ insert: 'c', documents: documents.map(({ _id, text }) => ({ _id: `${at} ${_id}`, text })) }),
    ),
  )
  const refused = answers.filter(({ writeErrors }) => writeErrors !== undefined)
  assert.ok(refused.length > 0)
  for (const { n, writeErrors } of refused) {
    // A large insert is charged in parts; it ends at the first part that is refused.
    assert.ok(n < documents.length)
    assert.deepEqual([writeErrors[0].index, writeErrors[0].code], [n, 16500])
  }
  const stored = answers.reduce((sum, { n }) => sum + (n as number), 0)
  const counted = await database
    .collection('c')
    .countDocuments()
    .catch(() => stored)
  assert.equal(counted, stored)
})
