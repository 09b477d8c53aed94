/** mayfly import and export as people run them: files in, files out, kills in the middle. */

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { mayfly } from '../../src/index.ts'
import { type Running, runCli, serveCli, startCli } from '../support/run-cli.ts'
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

test('what is refused stands in a file, by line, and the exit code says so', async () => {
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
  assert.match(refused[1].reason, /^The row is not valid JSON/)
  const json = await runCli(['import', file, ...into('refusals'), '--mode', 'skip', '--json'])
  assert.equal(json.code, 2)
  const { created, skipped, refused: number, files } = JSON.parse(json.stdout)
  assert.deepEqual([created, skipped, number, files.length], [0, 2, 2, 1])
})

test('a broken file is imported up to the damage, and says so', async () => {
  const file = fileOf('a.json', `[${linesOf(0, 2).trim().replaceAll('\n', ',\n')}\n{"id":"x","pk":"p"}]`)
  const { code, stderr } = await runCli(['import', file, ...into('broken')])
  assert.equal(code, 1)
  assert.match(stderr, /Line 3: There must be a comma .* 2 rows before it were imported; nothing behind it was\./)
  assert.deepEqual(await idsIn('broken'), ['i0', 'i1'])
})

test('mistakes in a command are said before anything is done', async () => {
  const file = fileOf('a.jsonl', linesOf(0, 1))
  for (const [args, message] of [
    [
      [file, '--database', 'shop', '--container', 'absent'],
      /There is no container shop\/absent\. To create it, name its partition key/,
    ],
    [[`${file}x`, ...into('absent')], /cannot be read: ENOENT/],
    [[folder, ...into('absent')], /is a folder\. Name the files in it\./],
    [[file, file, ...into('absent')], /A file is named twice\./],
    [[file, ...into('absent'), '--mode', 'replace'], /--mode takes create, upsert, skip, not 'replace'\./],
    [[file, ...into('absent'), '--keep-ttl', 'yes'], /--keep-ttl takes reset, remaining, absolute, not 'yes'\./],
    [[file, ...into('absent'), '--format', 'xml'], /--format takes jsonl, json, csv, not 'xml'\./],
    [[file, ...into('absent'), '--ttl', 'soon'], /'soon' is no time to live\./],
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

test('an import that is killed goes on where it was, and no row is lost or doubled', async () => {
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
        assert.match(ended.stdout, /: 11880 created, 120 refused: see/)
        break
      }
      kills++
      importing.process.kill('SIGKILL')
      if (round % 2 === 1) await served.stop('SIGKILL')
      await importing.ended
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

test('an interrupt stops behind a batch and says how to go on', async () => {
  const file = fileOf('a.jsonl', linesOf(0, 200_000))
  const importing = startCli(['import', file, ...into('interrupted')])
  await untilCheckpoint(`${file}.import.json`, 0, importing)
  importing.process.kill('SIGINT')
  const { code, stderr } = await importing.ended
  assert.equal(code, 130)
  const [, rows] = /stopped behind row (\d+), at line \d+\. The same command goes on there\./.exec(stderr)!
  const { place } = JSON.parse(readFileSync(`${file}.import.json`, 'utf8'))
  assert.equal(place.rows, Number(rows))
  assert.equal((await idsIn('interrupted')).length, Number(rows))
  const other = await runCli(['import', file, ...into('interrupted'), '--mode', 'upsert'])
  assert.equal(other.code, 1)
  assert.match(
    other.stderr,
    /belongs to an interrupted import that was another one \(options: create .*To begin anew, add --restart\./,
  )
  truncateSync(file, 100)
  const changed = await runCli(['import', file, ...into('interrupted')])
  assert.match(changed.stderr, /that was another one \(file: /)
})

test('a container of another account is copied, and its lives go on', async () => {
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
  const wrong = await runCli(['import', ...into('copied'), '--from', 'nonsense'])
  assert.match(wrong.stderr, /--from takes a connection string/)
  const gone = await runCli(['import', ...args, '--from', `AccountEndpoint=${other.endpoint}/;AccountKey=AAAA;`])
  assert.equal(gone.code, 1)
  assert.match(gone.stderr, /cannot be read: 401/)
})
