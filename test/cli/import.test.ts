/** mayfly import and export as people run them: files in, files out, kills in the middle. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { mayfly } from '../../src/index.ts'
import { type Ended, type Running, runCli, serveCli, startCli } from '../support/run-cli.ts'
import { idsOf, newClient, startServer, temporaryDirectory } from '../support/start-server.ts'

const server = await startServer()
const { endpoint } = server.db
const folder = temporaryDirectory()
const at = ['--endpoint', endpoint]

let count = 0

function fileOf(name: string, content: string | Buffer): string {
  const inside = join(folder, String(++count))
  mkdirSync(inside)
  writeFileSync(join(inside, name), content)
  return join(inside, name)
}

function linesOf(from: number, to: number): string {
  return Array.from(
    { length: to - from },
    (_, index) => `${JSON.stringify({ id: `i${from + index}`, pk: 'p' })}\n`,
  ).join('')
}

async function idsIn(container: string, database = 'shop'): Promise<string[]> {
  const { resources } = await server.client.database(database).container(container).items.readAll().fetchAll()
  return idsOf(resources)
}

const into = (container: string) => ['--database', 'shop', '--container', container, '--partition-key', '/pk', ...at]

test('files of every format are imported, and the container is created', async () => {
  const files = [
    fileOf('a.jsonl', linesOf(0, 3)),
    fileOf('b.json', '[{"id":"j0","pk":"p"},\n{"id":"j1","pk":"p"}]'),
    fileOf('c.csv', 'id,pk,n\r\nc0,p,1\r\n'),
    fileOf('d.jsonl.gz', gzipSync(linesOf(3, 5))),
  ]
  const { code, stdout, stderr } = await runCli(['import', ...files, ...into('formats'), '--ttl', '1h'])
  assert.equal(code, 0, stderr)
  assert.match(
    stdout,
    /a\.jsonl: 3 created\.\n.*json: 2 created\.\n.*csv: 1 created\.\n.*gz: 2 created\.\nall: 8 created\.\n$/,
  )
  assert.deepEqual(await idsIn('formats'), ['c0', 'i0', 'i1', 'i2', 'i3', 'i4', 'j0', 'j1'])
  const { resource } = await server.client.database('shop').container('formats').read()
  assert.equal(resource!.defaultTtl, 3600)
  assert.ok(!existsSync(`${files[0]}.import.json`))
})

test('refused rows are written to a file, by line, and change the exit code', async () => {
  const file = fileOf('a.jsonl', '{"id":"a","pk":"p"}\n{"pk":"p"}\nnonsense\n{"id":"b","pk":"p"}\n')
  const { code, stdout } = await runCli(['import', file, ...into('refusals')])
  assert.equal(code, 2)
  assert.match(stdout, /: 2 created, 2 refused: see .*a\.jsonl\.refused\.jsonl\.\n$/)
  const refused = readFileSync(`${file}.refused.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.deepEqual(
    refused.map(({ line, text }) => [line, text]),
    [
      [2, '{"pk":"p"}'],
      [3, 'nonsense'],
    ],
  )
  assert.match(refused[0].reason, /'id; ' - are missing/)
  assert.match(refused[1].reason, /^a value must come here, not 'nonsense' \(line 3, column 1\)$/)
  const again = await runCli(['import', file, ...into('refusals')])
  const hint = /^Rows were refused because their items exist already: --mode skip leaves them, --mode upsert/
  assert.match(again.stderr, hint)
  const json = await runCli(['import', file, ...into('refusals'), '--mode', 'skip', '--json'])
  assert.equal(json.stderr, '', 'no hint, because these rows need another help')
  assert.equal(json.code, 2)
  const { created, skipped, refused: number, files } = JSON.parse(json.stdout)
  assert.deepEqual([created, skipped, number, files.length], [0, 2, 2, 1])
})

test('a row over several lines is refused at the line of the file, for both APIs', async () => {
  const file = fileOf('a.json', '{"_id": 1}\n{"_id": 2,\n"n": +}\n')
  for (const [container, flags] of [
    ['lines', ['--partition-key', '/pk']],
    ['documents', ['--api', 'mongo']],
  ] as const) {
    await runCli(['import', file, '--format', 'json', '--database', 'shop', '--container', container, ...flags, ...at])
    const lines = readFileSync(`${file}.refused.jsonl`, 'utf8').trim().split('\n')
    const { line, reason } = JSON.parse(lines.at(-1)!)
    assert.equal(line, 2)
    assert.match(reason, /\(line 3, column 6\)$/)
  }
})

test('a broken file is imported up to the damage, and says so', async () => {
  const file = fileOf('a.json', `[${linesOf(0, 2).trim().replaceAll('\n', ',\n')}\n{"id":"x","pk":"p"}]`)
  const { code, stderr } = await runCli(['import', file, ...into('broken')])
  assert.equal(code, 1)
  assert.match(stderr, /Line 3: There must be a comma .* 2 rows before it were imported, and none after it\./)
  assert.deepEqual(await idsIn('broken'), ['i0', 'i1'])
})

test('mistakes in a command are reported before anything is done', async () => {
  const file = fileOf('a.jsonl', linesOf(0, 1))
  for (const [args, message] of [
    [
      [file, '--database', 'shop', '--container', 'absent'],
      /There is no container shop\/absent\. To create it, name its partition key/,
    ],
    [[`${file}x`, ...into('absent')], /^mayfly: \S+a\.jsonlx is not there\.\n$/],
    [
      [file, ...into('absent'), '--partition-key', 'pk'],
      /^mayfly: --partition-key begins with \/: --partition-key \/pk\n$/,
    ],
    [[folder, ...into('absent')], /is a folder\. Name the files in it\./],
    [[file, file, ...into('absent')], /A file is named twice\./],
    [[file, ...into('absent'), '--mode', 'replace'], /--mode takes create, upsert, skip, not 'replace'\./],
    [[file, ...into('absent'), '--keep-ttl', 'yes'], /--keep-ttl takes reset, remaining, absolute, not 'yes'\./],
    [[file, ...into('absent'), '--format', 'xml'], /--format takes jsonl, json, csv, not 'xml'\./],
    [[file, ...into('absent'), '--ttl', 'soon'], /'soon' is not a time to live\./],
    [[file, ...into('absent'), '--ttl', '0'], /'0'|defaultTtl/],
  ] as const) {
    const { code, stderr } = await runCli(['import', ...args, ...at])
    assert.equal(code, 1, args.join(' '))
    assert.match(stderr, message)
  }
  assert.deepEqual(
    await server.client
      .database('shop')
      .containers.readAll()
      .fetchAll()
      .then(({ resources }) => resources.filter(({ id }) => id === 'absent')),
    [],
  )
})

test('an import that is killed continues where it was, and no row is lost or doubled', async () => {
  const data = temporaryDirectory()
  const rows = 12_000
  const pad = 'x'.repeat(300)
  // Every hundredth row is refused; nothing of it may be written twice either.
  const lines = Array.from({ length: rows }, (_, index) =>
    index % 100 === 7 ? 'broken' : JSON.stringify({ id: `i${index}`, pk: `p${index % 50}`, pad }),
  )
  const text = `${lines.join('\n')}\n`
  for (const [name, content] of [
    ['a.jsonl', text],
    ['b.jsonl.gz', gzipSync(text)],
    ['c.json', `[${lines.map(line => (line === 'broken' ? '"broken"' : line)).join(',\n')}]`],
  ] as const) {
    const file = fileOf(name, content)
    const container = `killed-${name[0]}`
    let kills = 0
    for (let round = 0; ; round++) {
      // The server is killed as well, in every other round.
      await using served = await serveCli(['--data', data, '--port', '0', '--json'])
      const args = ['import', file, '--database', 'shop', '--container', container, '--partition-key', '/pk']
      const target = ['--endpoint', served.endpoint]
      const importing = startCli([...args, ...target])
      const ended = await Promise.race([
        importing.ended,
        untilCheckpoint(`${file}.import.json`, round, importing).then(() => undefined),
      ])
      if (ended !== undefined) {
        assert.equal(ended.code, 2, ended.stderr)
        const reasons = readFileSync(`${file}.refused.jsonl`, 'utf8').slice(0, 1000)
        assert.match(ended.stdout, /: 11880 created, 120 refused: see/, `${ended.stdout}${reasons}`)
        break
      }
      kills++
      importing.process.kill('SIGKILL')
      if (round % 2 === 1) await served.stop('SIGKILL')
      await importing.ended
      // It was done, and had only not said so: it keeps its place until then.
      if (!existsSync(`${file}.import.json`)) break
    }
    assert.ok(kills >= 2, `${name} was killed ${kills} times`)
    await using served = await serveCli(['--data', data, '--port', '0', '--json'])
    const client = newClient({ endpoint: served.endpoint, key: wellKnownKey })
    const { resources } = await client
      .database('shop')
      .container(container)
      .items.query('SELECT VALUE c._etag FROM c')
      .fetchAll()
    assert.equal(resources.length, 11_880)
    // A row that was written twice would have a higher version than there are rows.
    const versions = resources.map(etag => Number.parseInt(/-([0-9a-f]{12})"$/.exec(etag)![1]!, 16))
    assert.equal(Math.max(...versions), 11_880)
    const refused = readFileSync(`${file}.refused.jsonl`, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).line)
    assert.deepEqual(
      refused,
      Array.from({ length: 120 }, (_, index) => index * 100 + 8),
    )
  }
})

async function untilCheckpoint(path: string, round: number, importing: Running): Promise<void> {
  const wanted = 2000 * (round + 1)
  while (importing.process.exitCode === null) {
    try {
      if (JSON.parse(readFileSync(path, 'utf8')).place.rows >= wanted) return
    } catch {
      // Not there yet.
    }
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}

test('an interrupt stops after a batch and says how to continue', async () => {
  const file = fileOf('a.jsonl', linesOf(0, 200_000))
  const importing = startCli(['import', file, ...into('interrupted')])
  await untilCheckpoint(`${file}.import.json`, 0, importing)
  importing.process.kill('SIGINT')
  const { code, stderr } = await importing.ended
  assert.equal(code, 130)
  assert.match(stderr, /^Stopping when the next rows are read, or at once if you interrupt again\.\n/)
  const [, rows] = /stopped after row (\d+), at line \d+\. Run the same command to continue there\./.exec(stderr)!
  const { place } = JSON.parse(readFileSync(`${file}.import.json`, 'utf8'))
  assert.equal(place.rows, Number(rows))
  assert.equal((await idsIn('interrupted')).length, Number(rows))
  const other = await runCli(['import', file, ...into('interrupted'), '--mode', 'upsert'])
  assert.equal(other.code, 1)
  assert.match(
    other.stderr,
    /belongs to a different import that was interrupted \(options: create .*To begin again, add --restart\./,
  )
  truncateSync(file, 100)
  const changed = await runCli(['import', file, ...into('interrupted')])
  assert.match(changed.stderr, /a different import that was interrupted \(file: /)
})

test('a container of another account is copied, and its items keep their deadlines', async () => {
  await using other = await mayfly({ clock: 'system', partitions: 3 })
  const { database } = await newClient(other).databases.create({ id: 'far' })
  const { container } = await database.containers.create({ id: 'away', partitionKey: '/pk', defaultTtl: 100_000 })
  const operations = Array.from({ length: 2500 }, (_, index) => ({ id: `i${index}`, pk: `p${index % 7}`, n: index }))
  const lines = operations.map(item => JSON.stringify(item)).join('\n')
  const file = fileOf('far.jsonl', lines)
  await runCli(['import', file, '--database', 'far', '--container', 'away', '--endpoint', other.endpoint])
  await container.items.create({ id: 'own', pk: 'x', ttl: 50_000 })
  const state = temporaryDirectory()
  const args = [
    ...into('copied'),
    '--ttl',
    '-1',
    '--from-database',
    'far',
    '--from-container',
    'away',
    '--state',
    state,
  ]
  const from = ['--from', `AccountEndpoint=${other.endpoint}/;AccountKey=${other.key};`]
  const { code, stdout, stderr } = await runCli(['import', ...args, ...from])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^far\/away: 2501 created\.\n$/)
  const copied = server.client.database('shop').container('copied')
  const { resource: own } = await copied.item('own', 'x').read()
  assert.ok(own.ttl > 49_000 && own.ttl <= 50_000, `${own.ttl}`)
  const { resource: inherited } = await copied.item('i7', 'p0').read()
  assert.ok(inherited.ttl > 99_000 && inherited.ttl <= 100_000, `${inherited.ttl}`)
  const alone = await runCli(['import', 'rows.jsonl', ...into('copied'), '--from-database', 'shop'])
  assert.match(alone.stderr, /--from-database and --from-container need --from/)
  const wrong = await runCli(['import', ...into('copied'), '--from', 'nonsense'])
  assert.match(wrong.stderr, /--from takes a connection string/)
  const gone = await runCli(['import', ...args, '--from', `AccountEndpoint=${other.endpoint}/;AccountKey=AAAA;`])
  assert.equal(gone.code, 1)
  assert.match(gone.stderr, /cannot be read: 401/)
})

test('an import from another account that is killed continues, though items of the account have died', async () => {
  await using other = await mayfly({ clock: 'manual', partitions: 2 })
  const { database } = await newClient(other).databases.create({ id: 'far' })
  const { container: source } = await database.containers.create({ id: 'away', partitionKey: '/pk', defaultTtl: -1 })
  const lines = Array.from({ length: 5500 }, (_, at) => JSON.stringify({ id: `i${at}`, pk: `p${at % 40}` }))
  const file = fileOf('far.jsonl', lines.join('\n'))
  await runCli(['import', file, '--database', 'far', '--container', 'away', '--endpoint', other.endpoint])
  const target = await server.newContainer({ defaultTtl: -1 })
  const into = ['--database', target.database.id, '--container', target.id, '--state', temporaryDirectory()]
  const origin = ['--from', `AccountEndpoint=${other.endpoint}/;AccountKey=${other.key};`]
  const names = ['--from-database', 'far', '--from-container', 'away']
  const itemsIn = async () =>
    (await target.items.readAll<{ id: string; pk: string; _etag: string }>().fetchAll()).resources
  await using proxy = await silentProxy(endpoint)
  let ended: Ended | undefined
  for (let round = 0; ended === undefined; round++) {
    const before = new Set((await itemsIn()).map(({ id }) => id))
    // The first rows are stored, and their answer is never heard; later the second ones.
    const silent = proxy.silenceCall(round === 0 ? 1 : 2)
    const importing = startCli(['import', ...into, ...origin, ...names, '--endpoint', proxy.endpoint])
    ended = await Promise.race([importing.ended, silent.then(() => undefined)])
    if (ended !== undefined) {
      assert.ok(round >= 4, `it was killed ${round} times`)
      break
    }
    importing.process.kill('SIGKILL')
    await importing.ended
    const stored = (await itemsIn()).filter(({ id }) => !before.has(id))
    assert.ok(stored.length > 0)
    for (const { id, pk } of stored.slice(-3)) await source.item(id, pk).delete()
  }
  assert.equal(ended.code, 0, ended.stderr)
  assert.match(ended.stdout, /^far\/away: 5500 created\.\n$/)
  const copied = await itemsIn()
  assert.equal(new Set(copied.map(({ id }) => id)).size, 5500)
  const versions = copied.map(({ _etag }) => Number.parseInt(/-([0-9a-f]{12})"$/.exec(_etag)![1]!, 16))
  assert.equal(Math.max(...versions), 5500)
  assert.deepEqual(readdirSync(into.at(-1)!), [])
})

/** Before a server: of one call with rows it hears the answer, and does not pass it on. */
async function silentProxy(to: string) {
  let callsLeft = 0
  let silent = Promise.withResolvers<void>()
  const proxy = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray())
    const isSilent = req.url!.includes('job=') && --callsLeft === 0
    const answer = await fetch(new URL(req.url!, to), { method: req.method!, ...(body.length > 0 && { body }) })
    const text = await answer.text()
    if (isSilent) silent.resolve()
    else res.writeHead(answer.status).end(text)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    silenceCall(number: number): Promise<void> {
      callsLeft = number
      silent = Promise.withResolvers()
      return silent.promise
    },
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections()
      proxy.close()
    },
  }
}

test('an interrupted import is not continued from another account or a new container of the same name', async () => {
  await using other = await mayfly({ clock: 'manual' })
  const { database } = await newClient(other).databases.create({ id: 'far' })
  const made = () => database.containers.createIfNotExists({ id: 'away', partitionKey: '/pk' })
  await (await made()).container.items.create({ id: 'a', pk: 'p' })
  const state = temporaryDirectory()
  const args = [...into('recreated'), '--state', state, '--from-database', 'far', '--from-container', 'away']
  const from = ['--from', `AccountEndpoint=${other.endpoint};AccountKey=${other.key}`]
  await using proxy = await silentProxy(endpoint)
  const silent = proxy.silenceCall(1)
  const importing = startCli(['import', ...args, ...from, '--endpoint', proxy.endpoint])
  await silent
  importing.process.kill('SIGKILL')
  await importing.ended
  await database.container('away').delete()
  await made()
  const { code, stderr } = await runCli(['import', ...args, ...from])
  assert.equal(code, 1)
  assert.match(
    stderr,
    /belongs to a different import that was interrupted \(file: http.* dbs\/far\/colls\/away .*, now/,
  )
  assert.equal((await runCli(['import', ...args, ...from, '--restart', '--mode', 'skip'])).code, 0)
})

test('an account that cannot be read is reported before anything is created', async () => {
  await using other = await mayfly()
  const key = `AccountKey=${other.key}`
  const html = createServer((_, res) => res.end('<html>'))
  await once(html.listen(0, '127.0.0.1'), 'listening')
  const page = `http://127.0.0.1:${(html.address() as AddressInfo).port}`
  const closed = await mayfly()
  await closed.close()
  for (const [from, message] of [
    [`AccountEndpoint=${other.endpoint};${key}`, /\/ cannot be read: 404 [^\n]+\.\n$/],
    [`AccountEndpoint=${other.endpoint};AccountKey=AAAA`, /\/ cannot be read: 401 [^\n]+\.\n$/],
    [`AccountEndpoint=${page};${key}`, /\/ does not answer as an account of Cosmos DB does\.\n$/],
    [`AccountEndpoint=${closed.endpoint};${key}`, /\/ cannot be read: it does not answer \([^\n]+\)\.\n$/],
    [`AccountEndpoint=localhost:1;${key}`, /--from takes a connection string/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['import', ...into('from-nowhere'), '--from', from])
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.match(stderr, message)
  }
  html.closeAllConnections()
  html.close()
  const { resources } = await server.client.database('shop').containers.readAll().fetchAll()
  assert.ok(!resources.some(({ id }) => id === 'from-nowhere'))
})

test('of several files, those that were complete before an interruption are not imported again', async () => {
  const first = fileOf('a.jsonl', `${linesOf(0, 3)}broken\n`)
  const second = fileOf('b.jsonl', linesOf(10, 13))
  await using proxy = await silentProxy(endpoint)
  const silent = proxy.silenceCall(2)
  const importing = startCli(['import', first, second, ...into('several'), '--endpoint', proxy.endpoint])
  await silent
  importing.process.kill('SIGKILL')
  await importing.ended
  const { code, stdout, stderr } = await runCli(['import', first, second, ...into('several')])
  assert.equal(code, 2)
  assert.match(stderr, /a\.jsonl: was imported before the interruption\.\n/)
  assert.match(stdout, /a\.jsonl: 3 created, 1 refused: see .*b\.jsonl: 3 created\.\nall: 6 created, 1 refused\.\n$/s)
  assert.ok(!existsSync(`${first}.import.json`) && !existsSync(`${second}.import.json`))
  // The next command is another one, and does its work.
  assert.match((await runCli(['import', first, ...into('several'), '--mode', 'skip'])).stdout, /3 skipped/)
})

test('the files behind a broken one are named', async () => {
  const files = [fileOf('a.json', '[1 2'), fileOf('b.jsonl', linesOf(0, 1)), fileOf('c.jsonl', linesOf(1, 2))]
  const { code, stderr } = await runCli(['import', ...files, ...into('behind')])
  assert.equal(code, 1)
  assert.match(stderr, /and none after it\. Not begun: \S+b\.jsonl, \S+c\.jsonl\.\n$/)
})

test('an existing container that differs from the flags is refused, and nothing is imported', async () => {
  const container = await server.newContainer({ defaultTtl: 60 })
  const file = fileOf('a.jsonl', linesOf(0, 1))
  const there = [file, '--database', container.database.id, '--container', 'items']
  for (const [flags, message] of [
    [['--partition-key', '/other'], /items is there, and its partition key is \/pk, not \/other\.\n$/],
    [['--api', 'mongo'], /items is there, and is a container of the NoSQL API: leave --api out\.\n$/],
    [['--ttl', '1h'], /items is there, and its default time to live is 1 m 00 s, not 1h: leave --ttl out\.\n$/],
    [['--api', 'mongo', '--ttl', '1h'], /Documents die by a TTL index on _ts, which you create: leave --ttl out\.\n$/],
    [['--partitionkey', '/pk'], /^mayfly: unknown option '--partitionkey'\n\(Did you mean --partition-key\?\)\n$/],
    [['--state', join(folder, 'none')], /a\.jsonl\.import\.json cannot be written \(.*before the first row\./],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['import', ...there, ...flags, ...at])
    assert.deepEqual([code, stdout], [1, ''], flags.join(' '))
    assert.match(stderr, /^mayfly: /)
    assert.match(stderr, message)
  }
  assert.deepEqual((await container.items.readAll().fetchAll()).resources, [])
  const same = ['--partition-key', '/pk', '--api', 'nosql', '--ttl', '60']
  assert.equal((await runCli(['import', ...there, ...same, ...at])).code, 0)
})
