/** A killed server keeps every acknowledged write, and all or nothing of a transaction. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, type Document, MongoClient } from 'mongodb'
import { type Running, startCli } from '../../support/run-cli.ts'
import { temporaryDirectory } from '../../support/start-server.ts'

const accounts = 6
const total = accounts * 100

async function serve(data: string): Promise<{ running: Running; uri: string }> {
  const running = startCli(['--data', data, '--port', '0', '--json', '--log-level', 'error'])
  const [line] = await running.said(/\{"ready":true.*\}/)
  return { running, uri: JSON.parse(line).mongoUri }
}

/**
 * Moves money and adds to a counter until the server is gone; returns how many increments were acknowledged.
 */
async function load(uri: string, isOver: () => boolean): Promise<number> {
  await using client = new MongoClient(uri, { serverSelectionTimeoutMS: 300, retryWrites: false })
  const collection: Collection<Document> = client.db('bank').collection('accounts')
  let acknowledged = 0
  const transfers = async (worker: number) => {
    const session = client.startSession()
    for (let turn = 0; !isOver(); turn++) {
      const from = (worker + turn) % accounts
      const to = (from + 1 + (turn % (accounts - 1))) % accounts
      try {
        session.startTransaction()
        await collection.updateOne({ _id: from as never }, { $inc: { n: -1 } }, { session })
        await collection.updateOne({ _id: to as never }, { $inc: { n: 1 } }, { session })
        await session.commitTransaction()
      } catch {
        await session.abortTransaction().catch(() => {})
      }
    }
    await session.endSession()
  }
  const counts = async () => {
    while (!isOver()) {
      try {
        await collection.updateOne({ _id: 'counter' as never }, { $inc: { n: 1 } })
        acknowledged++
      } catch {
        return
      }
    }
  }
  await Promise.all([transfers(0), transfers(2), transfers(4), counts()])
  return acknowledged
}

test('Kills in the middle of transactions keep the sum, and lose nothing acknowledged', async () => {
  const data = temporaryDirectory()
  let expected = 0
  for (let round = 0; round < 3; round++) {
    const { running, uri } = await serve(data)
    await using client = new MongoClient(uri)
    const collection: Collection<Document> = client.db('bank').collection('accounts')
    if (round === 0) {
      await collection.insertMany([...Array(accounts).keys()].map(_id => ({ _id: _id as never, n: 100 })))
      await collection.insertOne({ _id: 'counter' as never, n: 0 })
    }
    const found = await collection.find({ _id: { $type: 'int' } as never }).toArray()
    assert.equal(
      found.reduce((sum, { n }) => sum + n, 0),
      total,
      `before round ${round}`,
    )
    const counter = (await collection.findOne({ _id: 'counter' as never }))!.n
    assert.ok(counter >= expected, `${counter} of ${expected} increments are there`)
    let isOver = false
    const loading = load(uri, () => isOver)
    // Wait until there is enough work that the kill interrupts some.
    while ((await collection.findOne({ _id: 'counter' as never }))!.n < counter + 30);
    running.process.kill('SIGKILL')
    await running.ended
    isOver = true
    expected = counter + (await loading)
  }
})
