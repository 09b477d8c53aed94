/** Messages as bytes: how they are framed, what they may contain, and what closes a connection. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { deserialize, serialize } from 'bson'
import { crc32c } from '../../../src/mongo/wire/crc32c.ts'
import { startMongo } from './support/fixture.ts'
import { message, opMsg, RawClient, section, sequence } from './support/raw-client.ts'

const { uri, newDatabase } = await startMongo()

const clients: RawClient[] = []
after(() => {
  for (const client of clients) client.close()
})

async function open(): Promise<RawClient> {
  const client = await RawClient.open(uri)
  clients.push(client)
  return client
}

async function logIn(): Promise<RawClient> {
  const client = await RawClient.loggedIn(uri)
  clients.push(client)
  return client
}

const ping = serialize({ ping: 1, $db: 'admin' })

test('Many messages in one chunk are answered one by one, in their order', async () => {
  const client = await open()
  const ids = Array.from({ length: 200 }, (_, index) => index + 1)
  client.send(Buffer.concat(ids.map(requestId => opMsg(ping, { requestId }))))
  for (const id of ids) assert.equal((await client.next())?.responseTo, id)
})

test('A message may come byte by byte', async () => {
  const client = await open()
  for (const byte of opMsg(ping, { requestId: 7 })) client.send(Buffer.of(byte))
  const reply = await client.next()
  assert.equal(reply?.responseTo, 7)
  assert.equal(reply?.body.ok, 1)
})

test('A large message over many chunks is one message', async () => {
  const client = await logIn()
  const body = serialize({ insert: 'large', $db: newDatabase().databaseName })
  const documents = Array.from({ length: 3000 }, (_, _id) => serialize({ _id, text: 'x'.repeat(1000) }))
  const bytes = opMsg(body, { sections: [sequence('documents', documents)] })
  for (let at = 0; at < bytes.length; at += 5000) client.send(bytes.subarray(at, at + 5000))
  assert.equal((await client.next())?.body.n, 3000)
})

test('The old OP_QUERY greeting is answered in the old form', async () => {
  const client = await open()
  const query = Buffer.concat([
    Buffer.alloc(4),
    Buffer.from('admin.$cmd\0'),
    Buffer.from([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
    serialize({ ismaster: 1, helloOk: true }),
  ])
  client.send(message(2004, query, 5))
  const reply = await client.next()
  assert.equal(reply?.opcode, 1)
  assert.equal(reply?.responseTo, 5)
  const { ismaster, helloOk, setName, hosts, me, primary, minWireVersion, maxWireVersion } = reply!.body
  const address = new URL(uri).host
  assert.deepEqual(
    { ismaster, helloOk, setName, hosts, me, primary, minWireVersion, maxWireVersion },
    {
      ismaster: true,
      helloOk: true,
      setName: 'globaldb',
      hosts: [address],
      me: address,
      primary: address,
      minWireVersion: 0,
      maxWireVersion: 21,
    },
  )
})

test('A body and a sequence may stand in either order', async () => {
  const client = await logIn()
  const database = newDatabase().databaseName
  const documents = sequence('documents', [serialize({ _id: 1 }), serialize({ _id: 2 })])
  const body = section(0, serialize({ insert: 'c', $db: database }))
  client.send(message(2013, Buffer.concat([Buffer.alloc(4), documents, body])))
  assert.equal((await client.next())?.body.n, 2)
})

test('A message that wants no answer is executed and gets none', async () => {
  const client = await logIn()
  const database = newDatabase().databaseName
  const insert = serialize({ insert: 'c', documents: [{ _id: 1 }], $db: database })
  client.send(opMsg(insert, { requestId: 1, flags: 2 }))
  client.send(opMsg(serialize({ nonsense: 1, $db: database }), { requestId: 2, flags: 2 }))
  client.send(opMsg(serialize({ count: 'c', $db: database }), { requestId: 3 }))
  const reply = await client.next()
  assert.equal(reply?.responseTo, 3)
  assert.equal(reply?.body.n, 1)
})

test('A checksum is checked', async () => {
  const client = await open()
  const bytes = Buffer.concat([opMsg(ping, { requestId: 1, flags: 1 }), Buffer.alloc(4)])
  bytes.writeInt32LE(bytes.length, 0)
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, -4)), bytes.length - 4)
  client.send(bytes)
  assert.equal((await client.next())?.body.ok, 1)
  bytes[bytes.length - 1]! ^= 1
  client.send(bytes)
  assert.equal((await client.next())?.body.code, 173)
})

test('The checksum of a long message is checked in several turns', async () => {
  const client = await logIn()
  const body = serialize({ ping: 1, comment: 'x'.repeat(3_000_000), $db: 'admin' })
  const bytes = Buffer.concat([opMsg(body, { requestId: 1, flags: 1 }), Buffer.alloc(4)])
  bytes.writeInt32LE(bytes.length, 0)
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, -4)), bytes.length - 4)
  client.send(bytes)
  assert.equal((await client.next())?.body.ok, 1)
  bytes[bytes.length - 9]! ^= 1
  client.send(bytes)
  assert.equal((await client.next())?.body.code, 173)
})

test('CRC-32C has its known values', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283)
  assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa)
  assert.equal(crc32c(Buffer.from('456789'), crc32c(Buffer.from('123'))), 0xe3069283)
})

test('A compressed message gets a compressed answer', async () => {
  const client = await open()
  const plain = opMsg(ping).subarray(16)
  const head = Buffer.alloc(9)
  head.writeInt32LE(2013, 0)
  head.writeInt32LE(plain.length, 4)
  head[8] = 2
  client.send(message(2012, Buffer.concat([head, deflateSync(plain)]), 9))
  const reply = await client.next()
  assert.equal(reply?.opcode, 2012)
  assert.equal(reply?.responseTo, 9)
  assert.equal(reply?.bytes.readInt32LE(16), 2013)
})

/** Errors of one command; the connection stays open. */
const refusedMessages: readonly (readonly [name: string, bytes: () => Buffer, code: number])[] = [
  ['an unknown required flag', () => opMsg(ping, { flags: 4 }), 223],
  ['an unknown section kind', () => opMsg(ping, { sections: [section(7, serialize({}))] }), 40432],
  ['two bodies', () => opMsg(ping, { sections: [section(0, ping)] }), 40430],
  ['no body', () => message(2013, Buffer.concat([Buffer.alloc(4), sequence('documents', [])])), 40587],
  [
    'two sequences of one name',
    () => opMsg(ping, { sections: [sequence('documents', []), sequence('documents', [])] }),
    40431,
  ],
  [
    'thousands of sequences',
    () => opMsg(ping, { sections: Array.from({ length: 5000 }, (_, n) => sequence(`s${n}`, [])) }),
    2,
  ],
  ['a sequence that a field names as well', () => opMsg(ping, { sections: [sequence('ping', [])] }), 40433],
  ['nothing but a header', () => message(2013, Buffer.alloc(0)), 22],
  ['a section that is longer than the message', () => longSection(1_000_000), 22],
  ['a section of negative length', () => longSection(-1), 22],
  ['a section that ends within its length', () => message(2013, Buffer.from([0, 0, 0, 0, 0, 1, 2])), 22],
  ['a document whose length is short', () => mangled(ping, bytes => bytes.writeInt32LE(bytes.length - 2, 0)), 22],
  ['a document without its end', () => mangled(ping, bytes => bytes.writeUInt8(1, bytes.length - 1)), 22],
  ['a name that does not end', () => mangled(ping, bytes => bytes.fill(0x61, 5, bytes.length - 1)), 22],
  ['a type that does not exist', () => mangled(ping, bytes => bytes.writeUInt8(0x55, 4)), 22],
  ['text that is not UTF-8', () => invalidUtf8(), 22],
  ['a command nested 181 deep', () => opMsg(nested(181)), 22],
  ['no command', () => opMsg(serialize({})), 59],
  ['no database', () => opMsg(serialize({ ping: 1 })), 40571],
  ['optional flags', () => opMsg(ping, { flags: 0x7fff0000 }), 0],
]

function longSection(length: number): Buffer {
  const bytes = opMsg(ping)
  bytes.writeInt32LE(length, 21)
  return bytes
}

function mangled(document: Uint8Array, change: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.from(document)
  change(bytes)
  return opMsg(bytes)
}

function invalidUtf8(): Buffer {
  const document = Buffer.from(serialize({ ping: 1, $db: 'adXin' }))
  document[document.indexOf('X')] = 0xff
  return opMsg(document)
}

function nested(depth: number): Uint8Array {
  let inner = serialize({ x: 1 })
  for (let level = 2; level < depth; level++) {
    const outer = Buffer.alloc(inner.length + 8)
    outer.writeInt32LE(outer.length, 0)
    outer.set([3, 0x78, 0], 4)
    outer.set(inner, 7)
    inner = outer
  }
  const database = serialize({ $db: 'admin' })
  const content = Buffer.concat([Buffer.from([3]), Buffer.from('ping\0'), inner, database.subarray(4)])
  const size = Buffer.alloc(4)
  size.writeInt32LE(content.length + 4)
  return Buffer.concat([size, content])
}

for (const [name, bytes, code] of refusedMessages) {
  const outcome = code === 0 ? 'accepted' : `refused with ${code}`
  test(`A message with ${name} is ${outcome}, and the connection stays open`, async () => {
    const client = await open()
    client.send(bytes())
    const { code: answered = 0 } = (await client.next())!.body
    assert.equal(answered, code)
    client.send(opMsg(ping))
    assert.equal((await client.next())?.body.ok, 1)
  })
}

function compressed(change: (head: Buffer) => void, content = deflateSync(opMsg(ping).subarray(16))): Buffer {
  const head = Buffer.alloc(9)
  head.writeInt32LE(2013, 0)
  head.writeInt32LE(opMsg(ping).length - 16, 4)
  head[8] = 2
  change(head)
  return message(2012, Buffer.concat([head, content]))
}

/** Messages after which the stream cannot be parsed any further. */
const closing: readonly (readonly [name: string, bytes: () => Buffer])[] = [
  ...[0, 15, -1, 48_000_001, 2_147_483_647].map(length => {
    const bytes = Buffer.alloc(16)
    bytes.writeInt32LE(length, 0)
    return [`a length of ${length}`, () => bytes] as const
  }),
  ['an unknown operation', () => message(1234, Buffer.alloc(8))],
  ['an old insert', () => message(2002, Buffer.alloc(32))],
  [
    'an old query that is no command',
    () => message(2004, Buffer.concat([Buffer.alloc(4), Buffer.from('a.b\0'), Buffer.alloc(8), serialize({})])),
  ],
  ['an old query that is cut off', () => message(2004, Buffer.from('xxxxadmin'))],
  ['an unknown compressor', () => compressed(head => head.writeUInt8(9, 8))],
  ['a size that is too small for what comes out', () => compressed(head => head.writeInt32LE(10, 4))],
  ['a size that is too large for what comes out', () => compressed(head => head.writeInt32LE(1000, 4))],
  ['a negative size', () => compressed(head => head.writeInt32LE(-1, 4))],
  ['a size that no message has', () => compressed(head => head.writeInt32LE(48_000_000, 4))],
  ['what is not compressed at all', () => compressed(() => {}, Buffer.from('plain'))],
  ['a bomb', () => compressed(() => {}, deflateSync(Buffer.alloc(20_000_000)))],
  ['compression within compression', () => compressed(head => head.writeInt32LE(2012, 0))],
]

for (const [name, bytes] of closing) {
  test(`A message with ${name} closes the connection, and only that`, async () => {
    const client = await open()
    client.send(bytes())
    assert.equal(await client.next(), undefined)
    const other = await open()
    assert.equal((await other.command({ ping: 1, $db: 'admin' })).ok, 1)
  })
}

test('A client that has not logged in cannot make the server hold a large message', async () => {
  const client = await open()
  const header = Buffer.alloc(16)
  header.writeInt32LE(2_000_000, 0)
  header.writeInt32LE(2013, 12)
  client.send(header)
  assert.equal(await client.next(), undefined)
})

test('Random bytes after a valid beginning never bring the server down', async () => {
  const { default: fc } = await import('fast-check')
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.nat(), async (noise, at) => {
      const client = await RawClient.open(uri)
      const bytes = opMsg(serialize({ hello: 1, client: { a: [1, 'x', { b: null }] }, $db: 'admin' }))
      for (const [offset, byte] of noise.entries()) bytes[16 + ((at + offset) % (bytes.length - 16))] = byte
      client.send(bytes)
      client.send(opMsg(ping))
      await client.next()
      client.close()
    }),
    { numRuns: 200 },
  )
  const client = await open()
  assert.equal((await client.command({ ping: 1, $db: 'admin' })).ok, 1)
})

test('Answers are BSON that the official package reads', async () => {
  const client = await logIn()
  client.send(opMsg(serialize({ serverStatus: 1, $db: 'admin' })))
  const reply = await client.next()
  assert.equal(deserialize(reply!.bytes.subarray(21)).ok, 1)
})
