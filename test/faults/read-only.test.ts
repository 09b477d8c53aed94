/** A disk that becomes read-only while the server runs, and that becomes writable again. */

import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { machine } from '../../src/base/clock.ts'
import { Client } from '../crash/client.ts'
import { Running } from '../crash/server-process.ts'
import { compileShim, scratch } from './shim.ts'

const directory = scratch('mayfly-read-only-')
after(() => rmSync(directory, { recursive: true }))
const library = compileShim(directory)
const skip = library === undefined && 'needs Linux and a C compiler'

/** The disk is tried again once a second. */
const healMsMax = 20_000

const feed = '/dbs/d/colls/c/docs'
const partition = { 'x-ms-documentdb-partitionkey': '["p"]' }

class Server implements AsyncDisposable {
  readonly #switch: string
  readonly #running: Running
  readonly #data: string
  http!: Client
  mongo!: MongoClient

  private constructor(name: string) {
    this.#data = join(directory, name)
    mkdirSync(this.#data, { recursive: true, mode: 0o700 })
    this.#switch = `${this.#data}.switch`
    const ports = ['--port', '0', '--mongo-port', '0']
    const env = { ...process.env, LD_PRELOAD: library!, FAULT_READ_ONLY: this.#switch }
    this.#running = new Running([...ports, '--data', this.#data, '--json', '--log-level', 'info'], { env })
  }

  static async start(name: string): Promise<Server> {
    const server = new Server(name)
    await server.#running.ready()
    server.http = new Client(server.#running.endpoint)
    server.mongo = new MongoClient(server.#running.mongoUri, { retryWrites: false })
    return server
  }

  /** The calls that fail: see shim.c. */
  makeReadOnly(calls: string): void {
    writeFileSync(this.#switch, calls)
  }

  makeWritable(): void {
    rmSync(this.#switch)
  }

  /** What the log says about the disk. */
  get news(): string[] {
    const lines = [...this.#running.stdout.split('\n'), ...this.#running.stderr.split('\n')]
    const records = lines.filter(line => line.startsWith('{') && line.includes('"msg"')).map(line => JSON.parse(line))
    return records.map(({ msg }) => msg as string).filter(message => /\bdisk\b/.test(message))
  }

  write(id: string) {
    const headers = { ...partition, 'x-ms-documentdb-is-upsert': 'true' }
    return this.http.send('POST', feed, { headers, body: JSON.stringify({ id, pk: 'p' }) })
  }

  async found(id: string): Promise<boolean> {
    const { status } = await this.http.send('GET', `${feed}/${id}`, { headers: partition })
    assert.ok(status === 200 || status === 404, `${status}`)
    return status === 200
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.http[Symbol.dispose]()
    await this.mongo.close()
    // As a crash: nothing is put right at the end.
    await this.#running.end('SIGKILL')
  }
}

async function furnish({ http, mongo }: Server): Promise<void> {
  await http.json('POST', '/dbs', { body: '{"id":"d"}' })
  await http.json('POST', '/dbs/d/colls', { body: '{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}' })
  await mongo
    .db('d')
    .collection('m')
    .insertOne({ _id: 'before' as never })
}

/** Reads of both APIs, by id and by queries that go to a query thread. */
async function checkReads(server: Server, n: number): Promise<void> {
  assert.ok(await server.found('before'))
  const headers = { ...partition, 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' }
  const body = JSON.stringify({ query: 'SELECT VALUE COUNT(1) FROM c WHERE ENDSWITH(c.id, "e")' })
  const answer = await server.http.json('POST', feed, { headers, body })
  assert.deepEqual(answer.Documents, [n])
  const documents = server.mongo.db('d').collection('m')
  assert.ok(await documents.findOne({ _id: 'before' as never }))
  const groups = await documents.aggregate([{ $group: { _id: { $type: '$_id' }, n: { $sum: 1 } } }]).toArray()
  assert.deepEqual(groups, [{ _id: 'string', n: 1 }])
}

async function checkRefused(server: Server, words: RegExp): Promise<void> {
  const { status, text } = await server.write('refused')
  assert.equal(status, 503, text)
  assert.match(text, words)
  const insert = server.mongo
    .db('d')
    .collection('m')
    .insertOne({ _id: 'refused' as never })
  await assert.rejects(insert, words)
}

test('a disk that becomes read-only refuses writes and serves reads, and takes writes when it is writable', {
  skip,
}, async () => {
  {
    await using server = await Server.start('heals')
    await furnish(server)
    assert.equal((await server.write('before')).status, 201)
    server.makeReadOnly('wtso')
    for (let again = 0; again < 3; again++) await checkRefused(server, /is read-only/)
    await checkReads(server, 1)
    assert.equal(server.news.length, 1, server.news.join('\n'))
    assert.match(server.news[0]!, /The disk of .* is read-only\. Nothing is written until it is writable again/)
    server.makeWritable()
    const beganMs = machine.monotonicMs()
    while ((await server.write('afterwards')).status !== 201) {
      assert.ok(machine.monotonicMs() - beganMs < healMsMax, 'it does not write again')
      await new Promise<void>(resolve => machine.setTimeout(resolve, 50))
    }
    await server.mongo
      .db('d')
      .collection('m')
      .insertOne({ _id: 7 as never })
    assert.equal(server.news.length, 2, server.news.join('\n'))
    assert.match(server.news[1]!, /accepts writes again/)
  }
  await using again = await Server.start('heals')
  assert.ok(await again.found('before'))
  assert.ok(await again.found('afterwards'))
  assert.equal(await again.found('refused'), false)
})

test('a sync that fails because the disk became read-only stops writes until a restart, and reads go on', {
  skip,
}, async () => {
  {
    await using server = await Server.start('syncs')
    await furnish(server)
    assert.equal((await server.write('before')).status, 201)
    server.makeReadOnly('so')
    for (let again = 0; again < 3; again++) await checkRefused(server, /became read-only/)
    // It would take writes again, but nobody knows what the system has dropped.
    server.makeWritable()
    // Once a second the store tries what it may take again.
    await new Promise(resolve => setTimeout(resolve, 1500))
    await checkRefused(server, /until a restart/)
    await checkReads(server, 1)
    assert.equal(server.news.length, 1, server.news.join('\n'))
  }
  await using again = await Server.start('syncs')
  assert.ok(await again.found('before'))
  assert.equal((await again.write('afterwards')).status, 201)
})
