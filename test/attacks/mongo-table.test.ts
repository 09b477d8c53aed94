/**
 * Attacks over raw sockets on the Mongo port, as a table: what is sent before and after the login, what comes
 * back, and why that is right. After each of them the server answers others, and nothing has changed.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { deflateSync } from 'node:zlib'
import { Binary, type Document, serialize } from 'bson'
import { failure, startMongo } from '../conformance/mongo/support/fixture.ts'
import { RawClient } from '../conformance/mongo/support/raw-client.ts'

const { uri, connect } = await startMongo()
const collection = connect().db('shop').collection('carts')
await collection.insertOne({ _id: 1 as never, v: 1 })

const opcode = { reply: 1, update: 2001, insert: 2002, query: 2004, compressed: 2012, msg: 2013 }

/** A message with this content behind its header; the length may be a lie. */
function message(op: number, content: Buffer, length = content.length + 16): Buffer {
  const head = Buffer.alloc(16)
  head.writeInt32LE(length, 0)
  head.writeInt32LE(7, 4)
  head.writeInt32LE(op, 12)
  return Buffer.concat([head, content])
}

const int32 = (...values: number[]) => {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [at, value] of values.entries()) bytes.writeInt32LE(value, at * 4)
  return bytes
}
const section = (document: Document | Buffer) =>
  Buffer.concat([Buffer.from([0]), Buffer.isBuffer(document) ? document : Buffer.from(serialize(document))])
const msg = (document: Document | Buffer, flags = 0) =>
  message(opcode.msg, Buffer.concat([int32(flags), section(document)]))
const sequence = (name: string, documents: Buffer, bytes?: number) => {
  const content = Buffer.concat([Buffer.from(`${name}\0`), documents])
  return Buffer.concat([Buffer.from([1]), int32(bytes ?? content.length + 4), content])
}
const compressed = (compressor: number, size: number, bytes: Uint8Array, inner = opcode.msg) =>
  message(opcode.compressed, Buffer.concat([int32(inner, size), Buffer.from([compressor]), bytes]))
const broken = (document: Document, change: (bytes: Buffer) => void) => {
  const bytes = Buffer.from(serialize(document))
  change(bytes)
  return bytes
}
const ping = { ping: 1, $db: 'admin' }
const nested = (depth: number) => {
  let document: Document = {}
  for (let at = 0; at < depth; at++) document = { a: document }
  return document
}

/** What is sent; the code of the error that comes back, 0 for success, or `closed`; why. */
type Attack = readonly [name: string, bytes: Buffer, answer: number | 'closed', reason: string]

const strangers: readonly Attack[] = [
  ['a length of 0', int32(0, 1, 0, opcode.msg), 'closed', 'shorter than a header'],
  ['a length of 15', int32(15, 1, 0, opcode.msg), 'closed', 'shorter than a header'],
  ['a negative length', int32(-1, 1, 0, opcode.msg), 'closed', 'not a length'],
  ['a length of 2 GB', int32(2_147_483_647, 1, 0, opcode.msg), 'closed', 'over every limit'],
  ['a length of 1 MB', int32(1_000_000, 1, 0, opcode.msg), 'closed', 'strangers send little'],
  ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'), 'closed', 'another protocol'],
  ['an unknown operation', message(9999, Buffer.alloc(8)), 'closed', 'no such operation'],
  ['an answer', message(opcode.reply, Buffer.alloc(20)), 'closed', 'a server gets no answers'],
  ['an insert of the old protocol', message(opcode.insert, Buffer.alloc(20)), 'closed', 'it is gone since 6.0'],
  ['an update of the old protocol', message(opcode.update, Buffer.alloc(20)), 'closed', 'it is gone since 6.0'],
  ['an empty message', message(opcode.msg, Buffer.alloc(0)), 22, 'no flags'],
  ['flags alone', message(opcode.msg, int32(0)), 40587, 'no document'],
  ['an unknown kind of section', message(opcode.msg, Buffer.concat([int32(0), Buffer.from([7])])), 22, 'no such kind'],
  ['flags that must be understood', msg(ping, 1 << 5), 223, 'required bits'],
  ['half of a document', msg(Buffer.from(serialize(ping)).subarray(0, 10)), 22, 'it ends too early'],
  ['a document with a wrong length', msg(broken(ping, bytes => bytes.writeInt32LE(1000, 0))), 22, 'it ends too early'],
  ['a document without an end', msg(broken(ping, bytes => bytes.writeUInt8(1, bytes.length - 1))), 22, 'not BSON'],
  ['an unknown type in BSON', msg(broken(ping, bytes => bytes.writeUInt8(0x77, 4))), 22, 'not BSON'],
  [
    'a text that is longer than its document',
    msg(broken({ ping: 'x' }, bytes => bytes.writeInt32LE(2 ** 30, 10))),
    22,
    'not BSON',
  ],
  ['an empty command', msg({}), 59, 'no name'],
  ['a command without a database', msg({ ping: 1 }), 40571, '$db is required'],
  ['an unknown command', msg({ frobnicate: 1, $db: 'admin' }), 59, 'no such command'],
  ['the prototype of objects', msg({ __proto__x: 1, $db: 'admin' }), 59, 'no such command'],
  ['a find', msg({ find: 'carts', $db: 'shop' }), 13, 'nobody has logged in'],
  ['an insert', msg({ insert: 'carts', documents: [{}], $db: 'shop' }), 13, 'nobody has logged in'],
  ['the end of the server', msg({ shutdown: 1, $db: 'admin' }), 59, 'there is no such command'],
  ['a user', msg({ createUser: 'u', pwd: 'p', roles: ['root'], $db: 'admin' }), 13, 'nobody has logged in'],
  [
    'a login without a beginning',
    msg({ saslContinue: 1, conversationId: 1, payload: new Binary(Buffer.from('x')), $db: 'admin' }),
    17,
    'no conversation',
  ],
  [
    'a login by an unknown mechanism',
    msg({ saslStart: 1, mechanism: 'PLAIN', payload: new Binary(Buffer.from('x')), $db: 'admin' }),
    18,
    'passwords do not travel',
  ],
  [
    'a login with garbage',
    msg({ saslStart: 1, mechanism: 'SCRAM-SHA-256', payload: new Binary(Buffer.from('garbage')), $db: 'admin' }),
    18,
    'not SCRAM',
  ],
  [
    'a login with a long payload',
    msg({ saslStart: 1, mechanism: 'SCRAM-SHA-256', payload: new Binary(Buffer.alloc(50_000)), $db: 'admin' }),
    18,
    'too long',
  ],
  ['an unknown compressor', compressed(9, 100, Buffer.alloc(10)), 'closed', 'nobody agreed on it'],
  [
    'a bomb of compressed zeros',
    compressed(2, 40_000_000, deflateSync(Buffer.alloc(40_000_000))),
    'closed',
    'strangers send little',
  ],
  [
    'compression inside compression',
    compressed(2, 40, deflateSync(Buffer.alloc(40)), opcode.compressed),
    'closed',
    'once is enough',
  ],
]

const users: readonly Attack[] = [
  ['a document nested 300 deep', msg({ insert: 'carts', documents: [nested(300)], $db: 'shop' }), 22, 'too deep'],
  ['a filter nested 300 deep', msg({ find: 'carts', filter: nested(300), $db: 'shop' }), 22, 'too deep'],
  [
    'a sequence with a wrong length',
    message(
      opcode.msg,
      Buffer.concat([
        int32(0),
        section({ insert: 'carts', $db: 'shop' }),
        sequence('documents', Buffer.alloc(4), 1_000_000),
      ]),
    ),
    22,
    'it ends too early',
  ],
  [
    'a field and a sequence of the same name',
    message(
      opcode.msg,
      Buffer.concat([
        int32(0),
        section({ insert: 'carts', documents: [], $db: 'shop' }),
        sequence('documents', Buffer.from(serialize({}))),
      ]),
    ),
    40433,
    'which one counts?',
  ],
  [
    'two bodies',
    message(opcode.msg, Buffer.concat([int32(0), section(ping), section(ping)])),
    40430,
    'which one counts?',
  ],
  ['a database with a dot', msg({ find: 'carts', $db: 'a.b' }), 73, 'not a name'],
  ['a collection with a NUL', msg({ find: 'a\0b', $db: 'shop' }), 73, 'not a name'],
  ['a collection of the system', msg({ insert: 'system.users', documents: [{}], $db: 'admin' }), 73, 'not for writing'],
  [
    'the cursor of somebody else',
    msg({ getMore: 4611686018427387903n, collection: 'carts', $db: 'shop' }),
    43,
    'there is none',
  ],
  ['a negative limit of time', msg({ find: 'carts', maxTimeMS: -1, $db: 'shop' }), 2, 'not a time'],
  [
    'an operator that runs code',
    msg({ find: 'carts', filter: { $where: 'while(1){}' }, $db: 'shop' }),
    2,
    'no JavaScript',
  ],
  ['an unknown operator', msg({ find: 'carts', filter: { a: { $frob: 1 } }, $db: 'shop' }), 2, 'no such operator'],
  [
    'an unknown stage',
    msg({ aggregate: 'carts', pipeline: [{ $frob: 1 }], cursor: {}, $db: 'shop' }),
    40324,
    'no such stage',
  ],
  [
    'a pattern that cannot be compiled',
    msg({ find: 'carts', filter: { a: { $regex: '(' } }, $db: 'shop' }),
    51091,
    'not a pattern',
  ],
  [
    'a range of 2^31 numbers',
    msg({
      aggregate: 'carts',
      pipeline: [{ $project: { a: { $range: [0, 2_147_483_647] } } }],
      cursor: {},
      $db: 'shop',
    }),
    146,
    'over the limit of memory',
  ],
  [
    'an update that is none',
    msg({ update: 'carts', updates: [{ q: {}, u: { $frob: { a: 1 } } }], $db: 'shop' }),
    9,
    'no such operator',
  ],
  [
    'a retry without a session',
    msg({ insert: 'carts', documents: [{ _id: 2 }], txnNumber: 1n, $db: 'shop' }),
    72,
    'whose retry?',
  ],
  ['the end of a transaction that is none', msg({ commitTransaction: 1, $db: 'admin' }), 72, 'no session'],
  ['an operation that does not run', msg({ killOp: 1, op: 123_456_789, $db: 'admin' }), 0, 'as MongoDB answers'],
  [
    'a fail point',
    msg({ configureFailPoint: 'failCommand', mode: 'alwaysOn', data: {}, $db: 'admin' }),
    59,
    'off without --enable-test-commands',
  ],
]

async function answerTo(client: RawClient, bytes: Buffer): Promise<number | 'closed'> {
  client.send(bytes)
  const reply = await client.next()
  if (reply === undefined) return 'closed'
  const { ok, code, writeErrors } = reply.body
  if (ok === 1) return writeErrors?.[0]?.code ?? 0
  return code
}

for (const [group, attacks] of Object.entries({ strangers, users })) {
  for (const [name, bytes, answer, reason] of attacks) {
    test(`${group}: ${name} (${reason})`, async () => {
      const client = group === 'users' ? await RawClient.loggedIn(uri) : await RawClient.open(uri)
      assert.equal(await answerTo(client, bytes), answer)
      client.close()
      assert.deepEqual(await collection.find().toArray(), [{ _id: 1, v: 1 }])
    })
  }
}

test('The server is still the one that the first client greeted', async () => {
  assert.equal((await failure(connect().db('shop').command({ frobnicate: 1 }))).code, 59)
})
