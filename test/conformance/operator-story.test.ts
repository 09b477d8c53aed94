/**
 * A week of an operator in one test: two gateways over one PostgreSQL with a certificate of their own,
 * watched by Prometheus, through the loss of the database, a rolling restart under load, and the rotation of
 * a key.
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { CosmosClient } from '@azure/cosmos'
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

/** The way to the database, which can be closed and opened again. */
async function gateTo(url: string) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.pipe(upstream).on('close', () => client.destroy())
    upstream.pipe(client).on('close', () => upstream.destroy())
  })
  const open = (port: number) => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  await open(0)
  const { port } = server.address() as AddressInfo
  const own = new URL(url)
  own.host = `127.0.0.1:${port}`
  const close = async () => {
    const closed = new Promise(resolve => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return { url: own.href, close, open: () => open(port), [Symbol.asyncDispose]: close }
}

/** Over https to another address, with the Host that a scraper in a cluster would send. */
function scrape(gateway: Served, bearer: string): Promise<{ status: number; text: string }> {
  const { port } = new URL(gateway.endpoint)
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${bearer}`, host: 'mayfly.monitoring.svc:9090' }
    const options = { host: '127.0.0.2', servername: 'localhost', port, path: '/metrics', headers, agent }
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

const count = (text: string, words: string) => text.split(words).length - 1

test('Two gateways go through the loss of PostgreSQL, a rolling restart and a new key', async () => {
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
  await using gate = await gateTo(url)
  const start = (port = '0') =>
    serveCli(
      ['--store', gate.url, '--host', '0.0.0.0', '--port', port, '--json', '--key-file', keys].concat([
        ...['--tls-cert', certificate, '--tls-key', tlsKey, '--data', join(directory, 'unused')],
      ]),
    )
  const gateways = [await start(), await start()]
  const secure = (gateway: Served) => gateway.endpoint.replace('http:', 'https:').replace('0.0.0.0', 'localhost')
  const clientOf = (gateway: Served, signer: string) =>
    new CosmosClient({
      endpoint: secure(gateway),
      key: signer,
      agent,
      connectionPolicy: { enableEndpointDiscovery: false },
    })

  const { database } = await clientOf(gateways[0]!, oldKey).databases.create({ id: 'shop' })
  await database.containers.create({ id: 'carts', partitionKey: '/pk', defaultTtl: 3600 })
  const carts = (at: number, signer = oldKey) => clientOf(gateways[at]!, signer).database('shop').container('carts')
  await carts(0).items.create({ id: 'first', pk: 'a' })
  assert.equal((await carts(1).item('first', 'a').read()).statusCode, 200, 'the other gateway has it')
  for (const gateway of gateways) {
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_store_up'), 1)
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_items_living'), 1)
    assert.equal((await scrape(gateway, key('wrong'))).status, 403, 'a strange Host needs a valid key')
  }

  // The database goes, and comes back.
  await gate.close()
  for (const gateway of gateways) {
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_store_up'), 0, 'the metrics answer all the same')
    assert.equal(await metricOf(gateway, oldKey, 'mayfly_items_living'), undefined)
  }
  await assert.rejects(carts(0).items.create({ id: 'lost', pk: 'a' }), { code: 503 })
  await gate.open()
  for (const gateway of gateways) while ((await metricOf(gateway, oldKey, 'mayfly_store_up')) !== 1);
  assert.equal((await carts(0).item('first', 'a').read()).statusCode, 200)

  // Each gateway is restarted in turn, while a client writes through whichever answers.
  let isOver = false
  let at = 0
  const written: string[] = []
  const writing = (async () => {
    for (let n = 0; !isOver; n++) {
      const id = `w${n}`
      for (;;) {
        try {
          await carts(at).items.upsert({ id, pk: 'a' })
          break
        } catch {
          at = 1 - at
        }
      }
      written.push(id)
    }
  })()
  const logs: string[] = []
  for (const index of [0, 1]) {
    const enough = written.length + 20
    while (written.length < enough) await new Promise(resolve => setImmediate(resolve))
    const { port } = new URL(gateways[index]!.endpoint)
    const { code, stderr } = await gateways[index]!.stop('SIGTERM')
    assert.equal(code, 0, stderr)
    logs.push(stderr)
    gateways[index] = await start(port)
  }
  const enough = written.length + 20
  while (written.length < enough) await new Promise(resolve => setImmediate(resolve))
  isOver = true
  await writing
  const { resources } = await carts(0).items.query('SELECT VALUE c.id FROM c', { partitionKey: 'a' }).fetchAll()
  const present = new Set(resources)
  assert.deepEqual(
    written.filter(id => !present.has(id)),
    [],
    'every acknowledged write is there',
  )
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
