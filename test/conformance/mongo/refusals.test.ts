/** What a client is told about databases and collections that are missing or taken, and what a miss costs. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Document } from 'mongodb'
import { newClient } from '../../support/start-server.ts'
import { failure, startMongo } from './support/fixture.ts'

const { db, newDatabase, newCollection } = await startMongo()

test('A name that is taken is refused, whichever API took it', async () => {
  const database = newDatabase()
  const name = database.databaseName
  const create = async (collection: string) => {
    const { code, message } = await failure(database.command({ create: collection }))
    return [code, message]
  }
  await database.createCollection('c')
  assert.deepEqual(await create('c'), [48, `Collection ${name}.c already exists.`])
  await newClient(db).database(name).containers.create({ id: 'theirs', partitionKey: '/pk' })
  const theirs = `The name ${name}.theirs is taken by a container of the NoSQL API.`
  assert.deepEqual(await create('theirs'), [48, theirs])
  assert.equal((await failure(database.collection('theirs').insertOne({ a: 1 }))).message, theirs)
  assert.equal(
    (await failure(database.command({ customAction: 'CreateDatabase' }))).message,
    `Database ${name} already exists.`,
  )
})

test('What is not there is missed by its name', async () => {
  const database = newDatabase()
  const name = database.databaseName
  const action = (customAction: string, rest: Document = {}) => failure(database.command({ customAction, ...rest }))
  for (const { code, message } of [await action('GetDatabase'), await action('UpdateDatabase')]) {
    assert.deepEqual([code, message], [26, `Database ${name} does not exist.`])
  }
  for (const { code, message } of [
    await action('GetCollection', { collection: 'none' }),
    await action('UpdateCollection', { collection: 'none', offerThroughput: 500 }),
    await failure(database.command({ validate: 'none' })),
  ]) {
    assert.deepEqual([code, message], [26, `ns does not exist: ${name}.none`])
  }
})

test('A find by _id that finds nothing answers an empty batch and costs a read', async () => {
  const collection = newCollection()
  await collection.insertOne({ _id: 1 as never })
  const requestUnits = async () => {
    const answer = await fetch(`${db.endpoint}/status`)
    return ((await answer.json()) as { requestUnits: number }).requestUnits
  }
  const before = await requestUnits()
  assert.deepEqual(await collection.find({ _id: 2 as never }).toArray(), [])
  assert.equal((await requestUnits()) - before, 1)
  assert.deepEqual(await collection.find({ _id: { $in: [2, 3] as never[] } }).toArray(), [])
  assert.equal((await requestUnits()) - before, 3)
})
