/** Users of databases: how they are made, how they log in, and what their roles allow. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Db, type Document, type MongoClient, UUID } from 'mongodb'
import { failure, startMongo } from './support/fixture.ts'
import { RawClient } from './support/raw-client.ts'

const { client, connect, newDatabase, uri } = await startMongo()

let users = 0

interface Member {
  readonly name: string
  readonly client: MongoClient
}

/** A new user with these roles, logged in with the database as its source. */
async function member(db: Db, roles: readonly unknown[], options: Document = {}): Promise<Member> {
  const name = `user${++users}`
  await db.command({ createUser: name, pwd: 'a password', roles, ...options })
  return { name, client: logIn(db, name) }
}

function logIn(db: Db, name: string, pwd = 'a password', options = ''): MongoClient {
  const address = new URL(uri)
  address.username = encodeURIComponent(name)
  address.password = encodeURIComponent(pwd)
  return connect({}, `${address.toString()}&authSource=${db.databaseName}${options}`)
}

async function refusal(work: Promise<unknown>): Promise<number | undefined> {
  return (await failure(work)).code
}

test('A user logs in with either mechanism and in its own database only', async () => {
  const db = newDatabase()
  const { name } = await member(db, ['read'])
  for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-1']) {
    const asUser = logIn(db, name, 'a password', `&authMechanism=${mechanism}`)
    const { authInfo } = await asUser.db('admin').command({ connectionStatus: 1 })
    assert.deepEqual(authInfo.authenticatedUsers, [{ user: name, db: db.databaseName }])
    assert.deepEqual(authInfo.authenticatedUserRoles, [{ role: 'read', db: db.databaseName }])
  }
  for (const wrong of [logIn(db, name, 'another'), logIn(newDatabase(), name), logIn(db, 'nobody')]) {
    const { code, message } = await failure(wrong.db('admin').command({ ping: 1 }))
    assert.deepEqual({ code, message }, { code: 18, message: 'Authentication failed.' })
  }
})

test('A password is prepared as drivers prepare it', async () => {
  const db = newDatabase()
  for (const [stored, typed] of [
    ['I\u00adX', 'IX'],
    ['\u2168', 'IX'],
    ['naïve\u00a0secret', 'naïve secret'],
  ]) {
    const name = `prepared${++users}`
    await db.command({ createUser: name, pwd: stored, roles: ['read'] })
    for (const pwd of [stored!, typed!])
      await logIn(db, name, pwd, '&authMechanism=SCRAM-SHA-256').db('x').command({ ping: 1 })
  }
  assert.equal(await refusal(db.command({ createUser: 'bell', pwd: 'a\u0007b', roles: [] })), 2)
})

test('A user with one mechanism logs in with that one, also without saying so', async () => {
  const db = newDatabase()
  for (const [mechanism, other] of [
    ['SCRAM-SHA-1', 'SCRAM-SHA-256'],
    ['SCRAM-SHA-256', 'SCRAM-SHA-1'],
  ]) {
    const name = `single${++users}`
    await db.command({ createUser: name, pwd: 'p', roles: ['read'], mechanisms: [mechanism] })
    await logIn(db, name, 'p').db('x').command({ ping: 1 })
    const refused = logIn(db, name, 'p', `&authMechanism=${other}`).db('x').command({ ping: 1 })
    assert.equal(await refusal(refused), 18)
  }
})

test('A stranger cannot tell which users exist', async () => {
  const db = newDatabase()
  await db.command({ createUser: 'ann', pwd: 'p', roles: ['read'] })
  const raw = await RawClient.open(uri)
  const answers = async (user: string) => {
    const start = { mechanism: 'SCRAM-SHA-256', payload: Buffer.from(`n,,n=${user},r=abc`), $db: db.databaseName }
    const texts = []
    for (let round = 0; round < 2; round++) {
      const { payload } = await raw.command({ saslStart: 1, ...start })
      texts.push(
        Buffer.from(payload.buffer)
          .toString()
          .replace(/^r=[^,]*,/, ''),
      )
    }
    assert.equal(texts[0], texts[1])
    const { saslSupportedMechs } = await raw.command({
      hello: 1,
      saslSupportedMechs: `${db.databaseName}.${user}`,
      $db: 'admin',
    })
    return { saslSupportedMechs, saltLength: texts[0]!.length }
  }
  assert.deepEqual(await answers('ann'), await answers('nobody'))
  raw.close()
})

test('A name that no user can have is unknown, and asks nothing of the store', async () => {
  const raw = await RawClient.open(uri)
  for (const [user, $db] of [
    ['a\0b', 'admin'],
    ['ann', 'a\0b'],
    ['x'.repeat(4000), 'admin'],
    ['ann', 'x'.repeat(4000)],
    ['ann', ''],
  ]) {
    const payload = Buffer.from(`n,,n=${user},r=abc`)
    const start = { mechanism: 'SCRAM-SHA-256', payload }
    assert.equal((await raw.command({ saslStart: 1, ...start, $db })).ok, 1)
    const hello = { hello: 1, saslSupportedMechs: `${$db}.${user}`, speculativeAuthenticate: { ...start, db: $db } }
    assert.equal((await raw.command({ ...hello, $db: 'admin' })).ok, 1)
  }
  raw.close()
})

test('Only salted credentials are stored, with the iterations of MongoDB', async () => {
  const db = newDatabase()
  const { name } = await member(db, ['read'], { customData: { floor: 3 } })
  const { users: found } = await db.command({ usersInfo: name, showCredentials: true })
  const { credentials, customData, mechanisms, _id } = found[0]
  assert.equal(_id, `${db.databaseName}.${name}`)
  assert.deepEqual(customData, { floor: 3 })
  assert.deepEqual(mechanisms.sort(), ['SCRAM-SHA-1', 'SCRAM-SHA-256'])
  assert.equal(credentials['SCRAM-SHA-1'].iterationCount, 10_000)
  assert.equal(credentials['SCRAM-SHA-256'].iterationCount, 15_000)
  assert.ok(!JSON.stringify(found).includes('a password'))
  assert.equal((await db.command({ usersInfo: name })).users[0].credentials, undefined)
})

test('Bad descriptions of users are refused with the codes of MongoDB', async () => {
  const db = newDatabase()
  await db.command({ createUser: 'there', pwd: 'p', roles: [] })
  const cases: [Document, number, string][] = [
    [{ createUser: 'there', pwd: 'p', roles: [] }, 51003, `User "there@${db.databaseName}" already exists`],
    [{ createUser: 'localhost', pwd: 'p', roles: [] }, 51003, `User "localhost@${db.databaseName}" already exists`],
    [{ createUser: 'a', pwd: 'p', roles: ['nothing'] }, 31, `Could not find role: nothing@${db.databaseName}`],
    [{ createUser: 'a', pwd: 'p', roles: ['root'] }, 31, `Could not find role: root@${db.databaseName}`],
    [{ createUser: 'a', pwd: 'p' }, 40414, "BSON field 'createUser.roles' is missing but a required field"],
    [{ createUser: 'a', pwd: 'p', roles: [], mechanisms: [] }, 2, 'mechanisms field must not be empty'],
    [{ createUser: 'a', pwd: 'p', roles: [], mechanisms: ['X'] }, 2, "Unknown auth mechanism 'X'"],
    [
      { createUser: 'a', pwd: 'p', roles: [], digestPassword: false },
      2,
      'Use of SCRAM-SHA-256 requires undigested passwords',
    ],
    [
      { createUser: 'a', roles: [] },
      2,
      "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db",
    ],
    [{ createUser: 'x'.repeat(256), pwd: 'p', roles: [] }, 2, 'User names have at most 255 bytes'],
    [{ createUser: 'a\0b', pwd: 'p', roles: [] }, 2, 'Username cannot contain NULL characters'],
    [{ createUser: 'a', pwd: 'p', roles: [{ role: 'read', db: 'a\0b' }] }, 73, "Invalid database name: 'a\0b'"],
    [{ updateUser: 'there' }, 2, 'Must specify at least one field to update in updateUser'],
    [{ updateUser: 'gone', pwd: 'p' }, 11, `User gone@${db.databaseName} not found`],
    [{ dropUser: 'gone' }, 11, `User 'gone@${db.databaseName}' not found`],
    [{ grantRolesToUser: 'gone', roles: ['read'] }, 11, `User gone@${db.databaseName} not found`],
    [{ grantRolesToUser: 'there', roles: [] }, 2, 'grantRolesToUser command requires a non-empty "roles" array'],
    [
      { usersInfo: 1, showPrivileges: true },
      20,
      'Privilege or restriction details require exact-match usersInfo queries',
    ],
  ]
  for (const [command, code, message] of cases) {
    const { code: given, message: text } = await failure(db.command(command))
    assert.deepEqual({ code: given, message: text }, { code, message }, JSON.stringify(command))
  }
  const tooMuch = { createUser: 'a', pwd: 'p', roles: [], customData: { text: 'x'.repeat(100_000) } }
  assert.equal(await refusal(db.command(tooMuch)), 10334)
})

test('usersInfo takes a name, a user of another database, a list, all of a database and all', async () => {
  const [one, other] = [newDatabase(), newDatabase()]
  for (const name of ['ann', 'bob']) await one.command({ createUser: name, pwd: 'p', roles: ['read'] })
  await other.command({ createUser: 'ann', pwd: 'p', roles: ['readWrite'] })
  const ids = async (asked: unknown, options: Document = {}) =>
    (await one.command({ usersInfo: asked, ...options })).users.map(({ _id }: Document) => _id)
  const [a, b] = [one.databaseName, other.databaseName]
  assert.deepEqual(await ids('ann'), [`${a}.ann`])
  assert.deepEqual(await ids({ user: 'ann', db: b }), [`${b}.ann`])
  assert.deepEqual(await ids(['bob', { user: 'ann', db: a }, 'nobody']), [`${a}.ann`, `${a}.bob`])
  assert.deepEqual(await ids(1), [`${a}.ann`, `${a}.bob`])
  assert.deepEqual(await ids(1, { filter: { user: /^b/ } }), [`${a}.bob`])
  const all = await ids({ forAllDBs: true })
  for (const id of [`${a}.ann`, `${a}.bob`, `${b}.ann`]) assert.ok(all.includes(id))
  const { users: shown } = await one.command({ usersInfo: 'ann', showPrivileges: true })
  assert.deepEqual(shown[0].inheritedRoles, [{ role: 'read', db: a }])
  assert.deepEqual(shown[0].inheritedPrivileges[0].resource, { db: a, collection: '' })
  assert.ok(shown[0].inheritedPrivileges[0].actions.includes('find'))
  assert.deepEqual(await one.command({ dropAllUsersFromDatabase: 1 }).then(({ n }) => n), 2)
  assert.deepEqual(await ids(1), [])
})

test('rolesInfo shows the built-in roles', async () => {
  const db = newDatabase()
  const { roles } = await db.command({ rolesInfo: 1, showBuiltinRoles: true })
  assert.deepEqual(
    roles.map(({ role }: Document) => role),
    ['dbAdmin', 'dbOwner', 'enableSharding', 'read', 'readWrite', 'userAdmin'],
  )
  assert.deepEqual((await db.command({ rolesInfo: 1 })).roles, [])
  const owner = (await db.command({ rolesInfo: 'dbOwner', showPrivileges: true })).roles[0]
  assert.equal(owner.isBuiltin, true)
  assert.deepEqual(owner.roles, [])
  assert.ok(owner.privileges[0].actions.includes('createUser'))
  assert.ok(owner.inheritedPrivileges[0].actions.includes('find'))
  const inAdmin = await client.db('admin').command({ rolesInfo: { role: 'clusterMonitor', db: 'admin' } })
  assert.equal(inAdmin.roles[0].role, 'clusterMonitor')
})

test('A role allows its commands on its database and nothing else', async () => {
  const [db, other] = [newDatabase(), newDatabase()]
  for (const each of [db, other]) await each.collection<Document>('items').insertOne({ _id: 1 as never })
  const reader = (await member(db, ['read'])).client
  const writer = (await member(db, ['readWrite'])).client
  const admin = (await member(db, ['dbAdmin'])).client
  const [read, write, manage] = [reader, writer, admin].map(each => each.db(db.databaseName))
  assert.equal(await read!.collection('items').countDocuments(), 1)
  assert.deepEqual(
    await read!
      .listCollections()
      .map(({ name }) => name)
      .toArray(),
    ['items'],
  )
  for (const command of [
    { insert: 'items', documents: [{}] },
    { update: 'items', updates: [{ q: {}, u: { $set: { a: 1 } } }] },
    { delete: 'items', deletes: [{ q: {}, limit: 1 }] },
    { findAndModify: 'items', query: {}, update: { $set: { a: 1 } } },
    { create: 'more' },
    { drop: 'items' },
    { createIndexes: 'items', indexes: [{ key: { a: 1 }, name: 'a' }] },
    { collMod: 'items' },
    { dropDatabase: 1 },
    { createUser: 'x', pwd: 'p', roles: [] },
    { usersInfo: 1 },
    { customAction: 'CreateCollection', collection: 'more' },
  ]) {
    assert.equal(await refusal(read!.command(command)), 13, JSON.stringify(command))
  }
  for (const command of [{ serverStatus: 1 }, { getParameter: '*' }, { currentOp: 1 }, { hostInfo: 1 }]) {
    assert.equal(await refusal(reader.db('admin').command(command)), 13, JSON.stringify(command))
  }
  for (const each of [reader, writer, admin]) {
    assert.equal(await refusal(each.db(other.databaseName).collection('items').findOne()), 13)
  }
  await write!.collection<Document>('items').insertOne({ _id: 2 as never })
  await write!.collection('more').createIndex({ a: 1 })
  assert.equal(await refusal(write!.command({ dropDatabase: 1 })), 13)
  assert.equal(await refusal(manage!.collection('items').findOne()), 13)
  assert.equal((await manage!.command({ validate: 'items' })).ok, 1)
  assert.equal((await manage!.command({ dropDatabase: 1 })).ok, 1)
})

test('Without a role every command is refused, but for those that concern only the user itself', async () => {
  const { client: nobody } = await member(newDatabase(), [])
  const admin = nobody.db('admin')
  const { commands } = await client.db('admin').command({ listCommands: 1 })
  const bodies: Readonly<Record<string, Document>> = {
    aggregate: { aggregate: 'x', pipeline: [], cursor: {} },
    explain: { explain: { find: 'x' } },
    renameCollection: { renameCollection: 'a.b', to: 'a.c' },
    customAction: { customAction: 'GetDatabase' },
    shardCollection: { shardCollection: 'a.b', key: { k: 'hashed' } },
    enableSharding: { enableSharding: 'a' },
    createUser: { createUser: 'x', pwd: 'p', roles: [] },
    updateUser: { updateUser: 'x', pwd: 'p' },
    grantRolesToUser: { grantRolesToUser: 'x', roles: ['read'] },
    revokeRolesFromUser: { revokeRolesFromUser: 'x', roles: ['read'] },
    killOp: { killOp: 1, op: 1 },
    listDatabases: { listDatabases: 1, authorizedDatabases: false },
  }
  const allowed: string[] = []
  for (const [name, { requiresAuth }] of Object.entries<Document>(commands)) {
    if (!requiresAuth) continue
    const answer = await admin.command(bodies[name] ?? { [name]: 'x' }).catch(error => error)
    // Commands that Mayfly does not have are refused to all.
    if (answer.code === 13 || [238, 31082].includes(answer.code)) continue
    allowed.push(name)
    // What reaches the command fails for another reason, or has nothing to do.
    assert.ok(answer.ok === 1 || [2, 14, 251, 40414, 50768].includes(answer.code), `${name} ${answer}`)
  }
  assert.deepEqual(allowed.sort(), [
    'abortTransaction',
    'commitTransaction',
    'endSessions',
    'getLastRequestStatistics',
    'getMore',
    'killCursors',
    'killSessions',
    'listCommands',
    'profile',
    'refreshSessions',
    'startSession',
  ])
})

test('The refusal names the database and the command, without passwords', async () => {
  const db = newDatabase()
  const reader = (await member(db, ['read'])).client.db(db.databaseName)
  const raw = await failure(reader.command({ drop: 'items' }))
  assert.equal(raw.codeName, 'Unauthorized')
  assert.match(raw.message, new RegExp(`^not authorized on ${db.databaseName} to execute command \\{ drop: "items", `))
  const { message } = await failure(reader.command({ createUser: 'x', pwd: 'secret', roles: [] }))
  assert.ok(message.includes('pwd: "xxx"') && !message.includes('secret'), message)
})

test('A pipeline needs a privilege for each collection that it reads or writes', async () => {
  const [db, other] = [newDatabase(), newDatabase()]
  await db.collection<Document>('items').insertOne({ _id: 1 as never })
  const reader = (await member(db, ['read'])).client.db(db.databaseName)
  const items = reader.collection('items')
  const foreign = { db: other.databaseName, coll: 'x' }
  for (const stage of [
    { $out: 'copy' },
    { $out: foreign },
    { $merge: 'copy' },
    { $merge: { into: foreign, whenMatched: 'fail' } },
    { $merge: { into: 'copy', whenMatched: 'fail', whenNotMatched: 'discard' } },
  ]) {
    assert.equal(await refusal(items.aggregate([stage]).toArray()), 13, JSON.stringify(stage))
  }
  const stages = [
    { $lookup: { from: 'items', localField: '_id', foreignField: '_id', as: 'j' } },
    { $unionWith: 'items' },
    { $facet: { all: [{ $lookup: { from: 'items', pipeline: [], as: 'j' } }] } },
  ]
  assert.equal((await items.aggregate(stages).toArray()).length, 1)
  for (const command of [
    { aggregate: 1, pipeline: [{ $currentOp: { allUsers: true } }], cursor: {} },
    { aggregate: 1, pipeline: [{ $listLocalSessions: { allUsers: true } }], cursor: {} },
    { aggregate: 1, pipeline: [{ $changeStream: { allChangesForCluster: true } }], cursor: {} },
    { explain: { aggregate: 'items', pipeline: [{ $out: 'x' }], cursor: {} } },
  ]) {
    assert.equal(await refusal(reader.client.db('admin').command(command)), 13, JSON.stringify(command))
  }
  assert.equal(await refusal(items.aggregate([{ $indexStats: {} }]).toArray()), 13)
  // Stages within stages are found as well.
  const writer = (await member(db, ['read', { role: 'readWrite', db: other.databaseName }])).client
  await writer
    .db(db.databaseName)
    .collection('items')
    .aggregate([{ $out: foreign }])
    .toArray()
  assert.equal(await other.collection('x').countDocuments(), 1)
  const inner = [{ $lookup: { from: 'items', pipeline: [], as: 'j' } }]
  const outside = writer.db(other.databaseName).collection('x')
  await outside.aggregate([{ $unionWith: { coll: 'x', pipeline: inner } }]).toArray()
  const stranger = (await member(newDatabase(), ['read'])).client.db(db.databaseName)
  assert.equal(await refusal(stranger.aggregate([{ $documents: [{ a: 1 }] }, { $unionWith: 'items' }]).toArray()), 13)
  assert.deepEqual(await stranger.aggregate([{ $documents: [{ a: 1 }] }]).toArray(), [{ a: 1 }])
})

test('An upsert needs the right to insert, in the body and in a document sequence', async () => {
  // No built-in role allows one without the other, so only that both forms work can be shown.
  const db = newDatabase()
  const writer = (await member(db, ['readWrite'])).client.db(db.databaseName)
  await writer.collection('items').updateOne({ a: 1 }, { $set: { b: 1 } }, { upsert: true })
  await writer.command({ update: 'items', updates: [{ q: { a: 2 }, u: { $set: { b: 1 } }, upsert: true }] })
  assert.equal(await writer.collection('items').countDocuments(), 2)
})

test('A change of roles and the end of a user count from the next request on', async () => {
  const db = newDatabase()
  await db.collection('items').insertMany(Array.from({ length: 10 }, (_, n) => ({ n })))
  const { name, client: asUser } = await member(db, ['read'])
  const items = asUser.db(db.databaseName).collection('items')
  assert.equal(await refusal(items.insertOne({})), 13)
  await db.command({ grantRolesToUser: name, roles: ['readWrite'] })
  await items.insertOne({})
  await db.command({ revokeRolesFromUser: name, roles: ['readWrite'] })
  assert.equal(await refusal(items.insertOne({})), 13)
  const cursor = items.find().batchSize(2)
  await cursor.next()
  await db.command({ updateUser: name, roles: [] })
  assert.equal(await refusal(cursor.toArray()), 13, 'an open cursor ends with the right that it was opened with')
  await db.command({ updateUser: name, roles: ['read'] })
  assert.equal(await items.countDocuments(), 11)
  // A connection that asks for nothing between the two users.
  const quiet = logIn(db, name).db(db.databaseName).collection('items')
  assert.equal(await quiet.countDocuments(), 11)
  await db.command({ dropUser: name })
  const gone = await failure(items.findOne())
  assert.deepEqual(
    { code: gone.code, message: gone.message },
    { code: 13, message: 'Command find requires authentication' },
  )
  await db.command({ createUser: name, pwd: 'a password', roles: ['read'] })
  for (const before of [items, quiet]) {
    assert.equal(await refusal(before.findOne()), 13, 'a new user of the same name is somebody else')
  }
})

test('A new password ends the old one', async () => {
  const db = newDatabase()
  const { name } = await member(db, ['read'])
  await db.command({ updateUser: name, pwd: 'new', customData: { a: 1 } })
  assert.equal(await refusal(logIn(db, name).db('x').command({ ping: 1 })), 18)
  await logIn(db, name, 'new').db('x').command({ ping: 1 })
  await db.command({ updateUser: name, mechanisms: ['SCRAM-SHA-1'] })
  const { users: shown } = await db.command({ usersInfo: name })
  assert.deepEqual(shown[0].mechanisms, ['SCRAM-SHA-1'])
  assert.deepEqual(shown[0].customData, { a: 1 })
})

test('A cursor belongs to the user that opened it', async () => {
  const db = newDatabase()
  await db.collection('items').insertMany(Array.from({ length: 10 }, (_, n) => ({ n })))
  const [ann, bob] = [(await member(db, ['read'])).client, (await member(db, ['read'])).client]
  const raws = await Promise.all([ann, bob].map(each => each.db(db.databaseName)))
  const open = async (on: Db) => (await on.command({ find: 'items', batchSize: 2 })).cursor.id
  const id = await open(raws[0]!)
  const { code, message } = await failure(raws[1]!.command({ getMore: id, collection: 'items' }))
  assert.deepEqual(
    { code, message },
    { code: 13, message: `cursor id ${id} was not created by the authenticated user` },
  )
  assert.equal(await refusal(raws[1]!.command({ killCursors: 'items', cursors: [id] })), 13)
  assert.equal(await refusal(db.command({ getMore: id, collection: 'items' })), 13)
  assert.deepEqual((await raws[0]!.command({ killCursors: 'items', cursors: [id] })).cursorsKilled, [id])
  const again = await open(raws[0]!)
  assert.deepEqual((await db.command({ killCursors: 'items', cursors: [again] })).cursorsKilled, [again])
})

test('A user sees the databases and collections that it may use', async () => {
  const [db, other] = [newDatabase(), newDatabase()]
  for (const each of [db, other]) await each.collection('items').insertOne({})
  const reader = (await member(db, ['read'])).client
  const names = async (of: MongoClient, options: Document = {}) =>
    (await of.db('admin').command({ listDatabases: 1, nameOnly: true, ...options })).databases.map(
      ({ name }: Document) => name,
    )
  assert.deepEqual(await names(reader), [db.databaseName])
  assert.equal(await refusal(names(reader, { authorizedDatabases: false })), 13)
  const everywhere = (await member(client.db('admin'), ['readAnyDatabase'])).client
  const all = await names(everywhere)
  for (const each of [db, other]) assert.ok(all.includes(each.databaseName))
  assert.equal(await refusal(reader.db(other.databaseName).listCollections().toArray()), 13)
  const own = { nameOnly: true, authorizedCollections: true }
  assert.deepEqual(await reader.db(other.databaseName).listCollections({}, own).toArray(), [])
})

test('Nobody can give roles in a database where it may not', async () => {
  const [db, other] = [newDatabase(), newDatabase()]
  const { client: asAdmin, name } = await member(db, ['userAdmin'])
  const admin = asAdmin.db(db.databaseName)
  await admin.command({ createUser: 'helper', pwd: 'p', roles: ['read'] })
  assert.equal(
    await refusal(admin.command({ createUser: 'spy', pwd: 'p', roles: [{ role: 'read', db: other.databaseName }] })),
    13,
  )
  const root = [{ role: 'root', db: 'admin' }]
  assert.equal(await refusal(admin.command({ grantRolesToUser: name, roles: root })), 13)
  assert.equal(await refusal(admin.command({ updateUser: name, roles: root })), 13)
  assert.equal(await refusal(asAdmin.db('admin').command({ createUser: 'x', pwd: 'p', roles: [] })), 13)
  const { users: self } = await admin.command({ usersInfo: name })
  assert.equal(self.length, 1)
  const plain = await member(db, ['read'])
  const own = await plain.client.db(db.databaseName).command({ usersInfo: plain.name, showPrivileges: true })
  assert.equal(own.users[0].user, plain.name)
  assert.equal(await refusal(plain.client.db(db.databaseName).command({ usersInfo: 'helper' })), 13)
})

test('root may do everything that the account may', async () => {
  const { client: root } = await member(client.db('admin'), ['root'])
  const db = root.db(newDatabase().databaseName)
  await db.collection('items').insertOne({})
  await db.command({ createUser: 'x', pwd: 'p', roles: ['dbOwner'] })
  for (const command of [{ serverStatus: 1 }, { currentOp: 1 }, { getParameter: '*' }, { listDatabases: 1 }]) {
    assert.equal((await root.db('admin').command(command)).ok, 1)
  }
  const session = root.startSession()
  await session.withTransaction(() => db.collection('items').insertOne({}, { session }))
  await session.endSession()
  assert.equal(await db.collection('items').countDocuments(), 2)
  assert.equal((await db.command({ dropDatabase: 1 })).ok, 1)
})

test('Two users with the same session id have two sessions', async () => {
  const db = newDatabase()
  const [ann, bob] = [await member(db, ['readWrite']), await member(db, ['readWrite'])]
  const lsid = { id: new UUID() }
  for (const [n, { name }] of [ann, bob].entries()) {
    const raw = await RawClient.open(uri)
    await raw.login(name, 'a password', db.databaseName)
    const insert = { insert: 'shared', documents: [{ n }], lsid, txnNumber: 1n, $db: db.databaseName }
    for (let attempt = 0; attempt < 2; attempt++) assert.equal((await raw.command(insert)).n, 1)
    raw.close()
  }
  // Each repeated its own write, and neither got the answer of the other.
  assert.equal(await db.collection('shared').countDocuments(), 2)
})

test('connectionStatus shows the privileges, and logout ends the rights', async () => {
  const db = newDatabase()
  const { name } = await member(db, ['read'])
  const raw = await RawClient.open(uri)
  assert.equal((await raw.login(name, 'a password', db.databaseName)).ok, 1)
  const { authInfo } = await raw.command({ connectionStatus: 1, showPrivileges: true, $db: 'admin' })
  assert.deepEqual(authInfo.authenticatedUserPrivileges[0].resource, { db: db.databaseName, collection: '' })
  assert.equal((await raw.command({ find: 'x', $db: db.databaseName })).ok, 1)
  await raw.command({ logout: 1, $db: db.databaseName })
  assert.equal((await raw.command({ find: 'x', $db: db.databaseName })).code, 13)
  raw.close()
})
