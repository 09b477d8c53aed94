/** What people see on a terminal: tables, times as ISO and from now, progress bars; and JSON with --json. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { runCli } from '../support/run-cli.ts'
import { newClient, startServer, temporaryDirectory } from '../support/start-server.ts'
import { onTerminal, runOnTerminal, terminalMissing } from '../support/terminal.ts'

const server = await startServer()
const { endpoint, clock } = server.db
const mongo = new MongoClient(server.db.mongoUri!)
after(() => mongo.close())
const name = (what: string) => (terminalMissing === undefined ? what : `${what} (${terminalMissing})`)

async function shown(...args: string[]): Promise<string> {
  const { code, text } = await runOnTerminal([...args, '--endpoint', endpoint])
  assert.equal(code, 0, text)
  return text
}

const iso = (second: number) => new Date(second * 1000).toISOString().replace('.000Z', 'Z')

async function filled(definition: { readonly defaultTtl?: number }, items: readonly object[]) {
  const container = await server.newContainer(definition)
  for (const item of items) await container.items.create({ pk: 'p', ...item })
  return container.database.id
}

test(name('the clock is shown as a time, and with --json as a number'), onTerminal, async () => {
  assert.equal(await shown('clock'), `now   ${iso(clock.now())}\nmode  manual\n`)
  assert.deepEqual(JSON.parse(await shown('clock', '--json')), { now: clock.now(), mode: 'manual' })
  assert.equal(await shown('clock', 'advance', '5s'), `now   ${iso(clock.now())}\nmode  manual\n`)
  assert.equal(JSON.parse(await shown('clock', 'trust', '--json')).now, clock.now())
})

test(name('a doubt about the clock is spelled out'), onTerminal, async () => {
  const now = 1_800_000_000
  const doubt = { kind: 'step', since: now - 60, sure: now - 30, aheadSeconds: 30 }
  const stub = createServer((_, res) => res.end(JSON.stringify({ now, mode: 'system', doubt })))
  await once(stub.listen(0, '127.0.0.1'), 'listening')
  try {
    const { text } = await runOnTerminal([
      'clock',
      '--endpoint',
      `http://127.0.0.1:${(stub.address() as AddressInfo).port}`,
    ])
    assert.equal(
      text,
      `now                 ${iso(now)}\nmode                system\ndoubt kind          step\n` +
        `doubt since         ${iso(now - 60)}\ndoubt sure          ${iso(now - 30)}\ndoubt aheadSeconds  30 s\n`,
    )
  } finally {
    stub.closeAllConnections()
    stub.close()
  }
})

test(name('ttl status, explain, preview and forecast say times and lifespans in words'), onTerminal, async () => {
  const items = [{ id: 'one' }, { id: 'own', ttl: 7200 }, { id: 'never', ttl: -1 }]
  const database = await filled({ defaultTtl: 60 }, items)
  const now = clock.now()
  assert.match(await shown('ttl', 'status', database, 'items'), /^defaultTtl {6}1 m 00 s\nliving {10}3\n/)
  assert.match(
    await shown('ttl', 'explain', database, 'items', 'own', 'p'),
    new RegExp(
      `^state {9}alive\nrule {10}own\nts {12}${iso(now)}\ndefaultTtl {4}1 m 00 s\nttl {11}2 h 00 m\n` +
        `effectiveTtl {2}2 h 00 m\nexpiresAt {5}${iso(now + 7200)}\nsecondsLeft {3}in 2 h 00 m\nexplanation {3}The`,
    ),
  )
  assert.match(
    await shown('ttl', 'explain', database, 'items', 'never', 'p'),
    /\nttl {11}never\neffectiveTtl {2}never\nexpiresAt {5}-\nsecondsLeft {3}-\n/,
  )
  assert.equal(
    await shown('ttl', 'preview', database, 'items', '1h'),
    'DIE          ITEMS\nat once          0\nwithin 1 h       1\nwithin 24 h      1\n' +
      'later            0\nnever            1\n',
  )
  assert.equal(
    await shown('ttl', 'forecast', database, 'items', '--window', '2m', '--buckets', '2'),
    'start                              end                                inherited  own\n' +
      `${iso(now)}               ${iso(now + 60)}, in 1 m 00 s          1    0\n` +
      `${iso(now + 60)}, in 1 m 00 s  ${iso(now + 120)}, in 2 m 00 s          0    0\n` +
      'later  1\nnever  1\n',
  )
  for (const args of [
    ['status', database, 'items'],
    ['explain', database, 'items', 'own', 'p'],
    ['preview', database, 'items', 'off'],
    ['forecast', database, 'items'],
  ]) {
    assert.equal(typeof JSON.parse(await shown('ttl', ...args, '--json')), 'object', args[0])
  }
  const off = await filled({}, [])
  assert.match(await shown('ttl', 'status', off, 'items'), /^defaultTtl {6}off\n/)
})

test(name('a preview of many deaths is a number, not a time'), onTerminal, async () => {
  const counts = { now: 2_000_000, within1h: 0, within24h: 0, later: 0, never: 0 }
  const stub = createServer((_, res) => res.end(JSON.stringify(counts)))
  await once(stub.listen(0, '127.0.0.1'), 'listening')
  try {
    const at = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`
    const { text } = await runOnTerminal(['ttl', 'preview', 'a', 'b', '1h', '--endpoint', at])
    assert.match(text, /^at once {6}2000000$/m)
  } finally {
    stub.closeAllConnections()
    stub.close()
  }
})

test(name('purge tells what it did'), onTerminal, async () => {
  const database = await filled({ defaultTtl: 60 }, [{ id: 'one' }])
  await shown('purge', '--pause')
  await clock.advance('60s')
  assert.equal(await shown('purge', database, 'items'), 'removed    1\nremaining  0\n')
  assert.equal(await shown('purge', '--resume'), 'paused  false\n')
  assert.deepEqual(JSON.parse(await shown('purge', database, '--json')), { removed: 0, remaining: 0 })
})

test(name('ls tells when the next item dies, as a time and from now'), onTerminal, async () => {
  const database = await filled({ defaultTtl: -1 }, [
    { id: 'dead', ttl: 1 },
    { id: 'soon', ttl: 10_900 },
    { id: 'later', ttl: 20_000 },
    { id: 'never' },
  ])
  await clock.advance('100s')
  const dies = clock.now() + 10_800
  assert.match(
    await shown('ls', database),
    new RegExp(
      `^DATABASE +CONTAINER +API +KEY +TTL +ITEMS +DEAD +NEXT DEATH\n${database} +items +nosql +/pk +` +
        `on, no default +3 +\\d +${iso(dies)}, in 3 h 00 m\n$`,
    ),
  )
  assert.equal(JSON.parse(await shown('ls', database, '--json')).containers[0].nextDeath, dies)
  assert.match(await shown('ls', await filled({}, [{ id: 'a', ttl: 5 }])), / off +1 +0 +-\n$/)
})

test(name('query tells times as ISO and from now, and with --json as they are'), onTerminal, async () => {
  const database = await filled({ defaultTtl: 3600 }, [{ id: 'one', n: 1, big: 1 }])
  const wrote = clock.now()
  await clock.advance('60s')
  const query = (text: string, ...more: string[]) =>
    shown('query', text, '--database', database, '--container', 'items', ...more)
  assert.equal(
    await query('SELECT * FROM c'),
    `pk  id   n  big  _ts\np   one  1    1  ${iso(wrote)}, 1 m 00 s ago\n1 row\n`,
  )
  assert.equal(
    await query('SELECT c._ts + 3600 AS expiresAt, c._ts AS deadline, 7 AS _ts FROM c'),
    `expiresAt                           deadline                            _ts\n` +
      `${iso(wrote + 3600)}, in 59 m 00 s  ${iso(wrote)}, 1 m 00 s ago    7\n1 row\n`,
  )
  assert.deepEqual(JSON.parse(await query('SELECT c._ts FROM c', '--json')), [{ _ts: wrote }])
  assert.equal(await query('SELECT c._ts FROM c', '--output', 'jsonl'), `{"_ts":${wrote}}\n`)
  assert.equal(await query('SELECT c._ts FROM c', '--output', 'csv'), `_ts\r\n${wrote}\r\n`)
  assert.equal(await query('SELECT * FROM c WHERE c.n > 1'), '0 rows\n')
})

test(name('query shows the values of documents, not their extended JSON'), onTerminal, async () => {
  const at = new Date((clock.now() + 90) * 1000)
  const text = 'a\u001b[31m\nb'
  await mongo
    .db('docs')
    .collection<object>('all')
    .insertOne({ _id: 7, at, zero: 0, half: 0.5, text, list: [1] } as never)
  assert.equal(
    await shown('query', '{}', '--database', 'docs', '--container', 'all'),
    '_id  at                                 zero  half  text      list\n' +
      `  7  ${iso(clock.now() + 90)}, in 1 m 30 s     0   0.5  a [31m b  [{"$numberInt":"1"}]\n1 row\n`,
  )
})

test(name('an import shows a bar with what is left, and clears it'), onTerminal, async () => {
  const folder = temporaryDirectory()
  const pad = 'x'.repeat(400)
  const file = join(folder, 'rows.jsonl')
  writeFileSync(file, Array.from({ length: 40_000 }, (_, at) => `{"id":"i${at}","pk":"p","pad":"${pad}"}\n`).join(''))
  const into = ['--database', 'shop', '--container', 'rows', '--partition-key', '/pk', '--endpoint', endpoint]
  const { code, raw, text } = await runOnTerminal(['import', file, ...into])
  assert.equal(code, 0, text)
  const bars = raw.split('\r').filter(line => line.startsWith('importing'))
  assert.match(bars[0]!, /^importing \[#{5}\.{19}\] 19 %, 8000 rows, 0\/s {2}\S*rows\.jsonl/)
  assert.ok(bars.length > 1)
  for (const bar of bars.slice(1)) assert.match(bar, /, \d+\/s, (\d+ s|1 m \d\d s) left {2}/)
  for (const bar of bars) assert.ok(bar.endsWith('\u001b[K') && bar.length <= 159 + 3, bar)
  // What is told in the end stands on a line without a bar.
  assert.ok(raw.endsWith(`\r\u001b[K${file}: 40000 created.\r\n`), raw.slice(-200))
})

test(name('an import from another account shows a bar if it tells how many items there are'), onTerminal, async () => {
  await using other = await mayfly({ clock: 'manual' })
  const { database } = await newClient(other).databases.create({ id: 'far' })
  await database.containers.create({ id: 'away', partitionKey: '/pk' })
  const file = join(temporaryDirectory(), 'away.jsonl')
  writeFileSync(file, Array.from({ length: 4000 }, (_, at) => `{"id":"i${at}","pk":"p${at % 9}"}\n`).join(''))
  await runCli(['import', file, '--database', 'far', '--container', 'away', '--endpoint', other.endpoint])
  const barsFrom = async (account: string, container: string) => {
    const into = ['--database', 'far', '--container', container, '--partition-key', '/pk', '--endpoint', endpoint]
    const from = ['--from', `AccountEndpoint=${account};AccountKey=${other.key}`, '--from-container', 'away']
    const { code, raw, text } = await runOnTerminal(['import', ...into, ...from, '--state', temporaryDirectory()])
    assert.equal(code, 0, text)
    return raw.split('\r').filter(line => line.startsWith('importing'))
  }
  const [bar] = await barsFrom(other.endpoint, 'told')
  assert.match(bar!, /^importing \[#{6}\.{18}\] 25 %, 1000 rows, 0\/s {2}far\/away/)
  // Not every emulator tells.
  const untold = createServer(async (req, res) => {
    const answer = await fetch(new URL(req.url!, other.endpoint), { headers: req.headers as Record<string, string> })
    const continuation = answer.headers.get('x-ms-continuation')
    res.writeHead(answer.status, continuation === null ? {} : { 'x-ms-continuation': continuation })
    res.end(await answer.text())
  })
  await once(untold.listen(0, '127.0.0.1'), 'listening')
  const [line] = await barsFrom(`http://127.0.0.1:${(untold.address() as AddressInfo).port}`, 'untold')
  assert.match(line!, /^importing far\/away: 1000 rows, 0\/s/)
  untold.closeAllConnections()
  untold.close()
})
