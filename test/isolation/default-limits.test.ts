/**
 * The limit of work for which nobody has set one: a minute, as in the services. Here the machine's clock
 * jumps over it.
 */

import assert from 'node:assert/strict'
import { after, beforeEach, mock, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { machine } from '../../src/base/clock.ts'
import { failureOf } from '../support/service-error.ts'
import { startServer } from '../support/start-server.ts'

const minuteMs = 60_000
/** So long the work goes on before its minute is over. */
const workedMs = 100

/** Far less than the work would take, and than any other limit. */
const options = { timeout: 30_000 }

const { setTimeout, monotonicMs } = machine
let jumpedMs = 0
let minutes = 0
const isMinute = (ms: number) => ms > minuteMs - 1000 && ms <= minuteMs + 1

mock.method(machine, 'monotonicMs', () => monotonicMs() + jumpedMs)
mock.method(machine, 'setTimeout', (work: () => void, ms: number) => {
  if (!isMinute(ms)) return setTimeout(work, ms)
  minutes++
  const atEnd = () => {
    jumpedMs += ms
    work()
  }
  return setTimeout(atEnd, workedMs)
})

const server = await startServer()
const container = await server.newContainer()
const list = Array.from({ length: 3000 }, (_, n) => n)
for (let n = 0; n < 300; n++) await container.items.create({ id: `i${n}`, pk: 'a', list })
const client = new MongoClient(server.db.mongoUri!)
after(() => client.close())
const items = client.db('d').collection<{ _id: number; n?: unknown }>('items')
await items.insertOne({ _id: 1 })

/** Minutes of work on one document. */
const million = { $range: [0, { $add: [1_000_000, '$_id'] }] }
const greater = { $size: { $filter: { input: million, cond: { $gt: ['$$this', '$$x'] } } } }
const endless = { $sum: { $map: { input: million, as: 'x', in: greater } } }

beforeEach(() => {
  minutes = 0
})

test('a query that works for a minute is answered with 408', options, async () => {
  const text = 'SELECT VALUE COUNT(1) FROM c JOIN x IN c.list WHERE ARRAY_CONTAINS(c.list, x + 3000)'
  const asked = container.items.query(text, { partitionKey: 'a' }).fetchAll()
  const failed = asked.then(
    () => assert.fail('it did not fail'),
    error => error as Error,
  )
  assert.equal(await failureOf(asked), 408)
  assert.match((await failed).message, /The request worked for more than 60 seconds/)
  assert.ok(minutes > 0)
})

const expired = { code: 50, codeName: 'MaxTimeMSExpired' }

test('a command that reads for a minute is ended as by maxTimeMS', options, async () => {
  await assert.rejects(items.find({ $expr: { $gt: [0, endless] } }).toArray(), expired)
  await assert.rejects(items.aggregate([{ $project: { n: endless } }]).toArray(), expired)
  assert.ok(minutes >= 2)
})

test('a command that writes is ended if it works for a minute on one document', options, async () => {
  await assert.rejects(items.updateOne({ _id: 1 }, [{ $set: { n: endless } }]), expired)
  assert.deepEqual(await items.find().toArray(), [{ _id: 1 }])
  assert.ok(minutes > 0)
})
