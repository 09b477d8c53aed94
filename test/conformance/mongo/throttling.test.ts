/** With enforced throughput, whoever asks for too much is told to wait. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure, startMongo } from './support/fixture.ts'

const { newDatabase } = await startMongo({ rateLimit: true })

test('A command beyond the throughput is refused with 16500 and the time to wait', async () => {
  const database = newDatabase()
  await database.command({ customAction: 'CreateCollection', collection: 'c', offerThroughput: 400 })
  const collection = database.collection('c')
  await collection.insertOne({ _id: 1 as never, text: 'x'.repeat(100_000) })
  let refused: Awaited<ReturnType<typeof failure>> | undefined
  for (let attempt = 0; attempt < 500 && refused === undefined; attempt++) {
    refused = await collection.findOne({ _id: 1 as never }).then(() => undefined, () => failure(database.command({ find: 'c', filter: { _id: 1 } })))
  }
  assert.equal(refused?.code, 16500)
  assert.equal(refused?.codeName, 'TooManyRequests')
  assert.match(refused!.message, /RetryAfterMs=\d+$/)
  assert.ok(refused!.labels.includes('SystemOverloadedError'))
})

test('A write beyond the throughput is an error of its statement', async () => {
  const database = newDatabase()
  await database.command({ customAction: 'CreateCollection', collection: 'c', offerThroughput: 400 })
  const documents = Array.from({ length: 200 }, (_, _id) => ({ _id, text: 'x'.repeat(1000) }))
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, at) => database.command({ insert: 'c', documents: documents.map(({ _id, text }) => ({ _id: `${at} ${_id}`, text })) })),
  )
  const refused = answers.filter(({ writeErrors }) => writeErrors !== undefined)
  assert.ok(refused.length > 0)
  for (const { n, writeErrors } of refused) {
    assert.equal(n, 0)
    assert.deepEqual([writeErrors[0].index, writeErrors[0].code], [0, 16500])
  }
})
