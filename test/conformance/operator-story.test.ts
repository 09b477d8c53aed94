/**
 * A week of an operator in one test: two gateways over one PostgreSQL with a certificate of their own,
 * watched by Prometheus, through the loss of the database, a rolling restart under load, and the rotation of
 * a key.
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { CosmosClient } from '@azure/cosmos'
import { MongoClient } from 'mongodb'
import { makeLocalCertificate } from '../../src/server/tls/x509.ts'
import { startPostgres, type TestServer } from '../support/postgres.ts'
import { parsePrometheus } from '../support/prometheus.ts'
import { type Served, serveCli } from '../support/run-cli.ts'
import { temporaryDirectory } from '../support/start-server.ts'

let postgres: TestServer
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres[Symbol.asyncDispose]())

const dayMs = 86_400_000
const made = makeLocalCertificate({
  authorityName: 'Operator',
  names: ['localhost', '127.0.0.1'],
  notBefore: new Date(Date.now() - dayMs),
  notAfter: new Date(Date.now() + dayMs),
})
const agent = new Agent({ ca: made.authority, keepAlive: true })
const key = (name: string) => Buffer.from(`${name} key of an operator, long enough`).toString('base64')
const [oldKey, newKey] = [key('old'), key('new')]

/** The address of a scraper elsewhere; on a machine that has none, a second loopback address. */
const otherAddress =
  Object.values(networkInterfaces())
    .flatMap(addresses => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2'

/** Over https to another address, with the Host that a scraper in a cluster would send. */
function scrape(gateway: Served, bearer: string): Promise<{ status: number; text: string }> {
  const { port } = new URL(gateway.endpoint)
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${bearer}`, host: 'mayfly.monitoring.svc:9090' }
    const options = { host: otherAddress, servername: 'localhost', port, path: '/metrics', headers, agent }
    request(options, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      answer.on('end', () => resolve({ status: answer.statusCode!, text }))
    })
      .on('error', reject)
      .end()
  })
}

async function metricOf(gateway: Served, bearer: string, name: string): Promise<number | undefined> {
  const { status, text } = await scrape(gateway, bearer)
  assert.equal(status, 200)
  return parsePrometheus(text).get(name)?.samples[0]?.value
}

/** Connections to PostgreSQL: by what they do, and how many there are. */
async function connectionsOf(gateway: Served, bearer: string) {
  const { samples } = parsePrometheus((await scrape(gateway, bearer)).text).get('mayfly_store_connections')!
  const open = samples.filter(({ labels }) => labels.state !== 'waiting')
  return { states: samples.map(({ labels }) => labels.state), open: open.reduce((sum, { value }) => sum + value, 0) }
}

/** A slow machine needs minutes for all of this, and each gateway runs through most of it. */
const storyMsMax = 300_000

const count = (text: string, words: string) => text.split(words).length - 1

test('Two gateways go through the loss of PostgreSQL, a rolling restart and a new key', async t => {
  if (postgres.end === undefined) return t.skip('the server is not ours to stop')
  const directory = temporaryDirectory()
  const [certificate, tlsKey, keys] = ['tls.crt', 'tls.key', 'keys'].map(name => join(directory, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(certificate, made.leaf + made.authority)
  writeFileSync(tlsKey, made.key)
  writeFileSync(keys, `${oldKey}\n`)
  const url = await postgres.createDatabase()
  const start = (port = '0', mongoPort = '0') =>
    serveCli(
      ['--store', url, '--host', '0.0.0.0', '--port', port, '--mongo-port', mongoPort, '--json'].concat([
        ...['--key-file', keys, '--tls-cert', certificate, '--tls-key', tlsKey, '--data', join(directory, 'unused')],
      ]),
      { msMax: storyMsMax },
    )
  const gateways = [await start(), await start()]
  // Also after a failure: a gateway that runs keeps the test file from ending.
  await using rest = new AsyncDisposableStack()
  rest.defer(async () => {
    for (const each of [...mongos, ...gateways]) await each[Symbol.asyncDispose]()
  })
  const secure = (gateway: Served) => gateway.endpoint.replace('http:', 'https:').replace('0.0.0.0', 'localhost')
  const clientOf = (gateway: Served, signer: string) =>
    new CosmosClient({
      endpoint: secure(gateway),
      key: signer,
      agent,
      connectionPolicy: { enableEndpointDiscovery: false },
    })

  const mongoOf = ({ ready }: Served, serverSelectionTimeoutMS: number) => {
    const address = new URL(ready.mongoUri)
    Object.assign(address, { hostname: 'localhost', password: encodeURIComponent(oldKey!) })
    return new MongoClient(address.href, { tls: true, ca: made.authority, serverSelectionTimeoutMS })
  }
  const mongos = gateways.map(gateway => mongoOf(gateway, 10_000))
  const rounds = (at: number) => mongos[at]!.db('shop').collection<{ _id: string }>('rounds')

  const { database } = await clientOf(gateways[0]!, oldKey).databases.create({ id: 'shop' })
  await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 3600 })
  const carts = (at: number, signer = oldKey) => clientOf(gateways[at]!, signer).database('shop').container('carts')
  await carts(0).items.create({ id: 'first', pk: 'a' })
  assert.equal((await carts(1).item('first', 'a').read()).statusCode, 200, 'the other gateway has it')
  await rounds(0).insertOne({ _id: 'first' })
  for (const gateway of gateways) {
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_store_up'), 1)
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_items_living'), 1)
    assert.deepEqual((await connectionsOf(gateway, oldKey)).states, ['idle', 'busy', 'shared', 'waiting'])
    assert.ok((await connectionsOf(gateway, oldKey)).open > 0)
    assert.equal((await scrape(gateway, key('wrong'))).status, 403, 'a strange Host needs a valid key')
  }

  // PostgreSQL is stopped, and started again.
  const startAgain = await postgres.end('SIGINT')
  for (const gateway of gateways) {
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_store_up'), 0, 'the metrics answer all the same')
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_items_living'), undefined)
    // One that is tried again counts until it is refused.
    while ((await connectionsOf(gateway, oldKey)).open > 0);
  }
  await assert.rejects(carts(0).items.create({ id: 'lost', pk: 'a' }), { code: 503 })
  await assert.rejects(rounds(0).insertOne({ _id: 'lost' }), { code: 91 })
  await using early = mongoOf(gateways[1]!, 5000)
  const tooEarly = { name: 'MongoServerSelectionError' }
  await assert.rejects(early.connect(), tooEarly, 'the Mongo side of the other gateway is not loaded yet')
  await startAgain()
  for (const gateway of gateways) while ((await metricOf(gateway, oldKey, 'mayfly_store_up')) !== 1);
  assert.equal((await carts(0).item('first', 'a').read()).statusCode, 200)
  for (const at of [0, 1]) assert.deepEqual(await rounds(at).find().toArray(), [{ _id: 'first' }])

  // Each gateway is restarted in turn, while a client of each protocol writes through whichever answers.
  let isOver = false
  let at = 0
  const written: string[] = []
  rest.defer(() => {
    isOver = true
  })
  const writing = (async () => {
    for (let n = 0; !isOver; ) {
      const id = `w${n}`
      try {
        await carts(at).items.upsert({ id, pk: 'a' })
        await rounds(at).updateOne({ _id: id }, { $set: { n } }, { upsert: true })
        written.push(id)
        n++
      } catch {
        at = 1 - at
      }
    }
  })()
  const logs: string[] = []
  for (const index of [0, 1]) {
    const enough = written.length + 20
    while (written.length < enough) await new Promise(resolve => setImmediate(resolve))
    const { endpoint, ready } = gateways[index]!
    const { code, stderr } = await gateways[index]!.stop('SIGTERM')
    assert.equal(code, 0, stderr)
    logs.push(stderr)
    gateways[index] = await start(new URL(endpoint).port, new URL(ready.mongoUri).port)
  }
  const enough = written.length + 20
  while (written.length < enough) await new Promise(resolve => setImmediate(resolve))
  isOver = true
  await writing
  const { resources } = await carts(0).items.query('SELECT VALUE c.id FROM c', { partitionKey: 'a' }).fetchAll()
  const inRounds = await rounds(0).distinct('_id')
  for (const present of [new Set(resources), new Set(inRounds)]) {
    const missing = written.filter(id => !present.has(id))
    assert.deepEqual(missing, [], 'every acknowledged write is there')
  }
  for (const log of logs) {
    assert.equal(count(log, 'PostgreSQL does not answer'), 1, log)
    assert.equal(count(log, 'PostgreSQL answers again'), 1, log)
    assert.doesNotMatch(log, /\n\s+at /, 'no stack traces')
  }

  // The key is rotated: both are valid for a while, then the old one is dead.
  const reread = async (lines: readonly string[], isDone: () => Promise<boolean>) => {
    writeFileSync(keys, `${lines.join('\n')}\n`)
    for (const gateway of gateways) gateway.signal('SIGHUP')
    while (!(await isDone()));
  }
  const statuses = (signer: string) => Promise.all(gateways.map(async each => (await scrape(each, signer)).status))
  await reread([newKey, oldKey], async () => (await statuses(newKey)).every(status => status === 200))
  for (const signer of [oldKey, newKey]) {
    for (const index of [0, 1]) assert.equal((await carts(index, signer).item('first', 'a').read()).statusCode, 200)
  }
  await reread([newKey], async () => (await statuses(oldKey)).every(status => status === 403))
  await assert.rejects(carts(0, oldKey).item('first', 'a').read(), { code: 401 })
  assert.equal((await carts(1, newKey).item('first', 'a').read()).statusCode, 200)
  for (const gateway of gateways) assert.equal((await gateway.stop('SIGTERM')).code, 0)
  agent.destroy()
})
