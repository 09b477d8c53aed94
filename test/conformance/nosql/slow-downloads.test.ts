/** Clients that ask for a download and do not read it: they are disconnected, and nothing of it stays. */

import assert from 'node:assert/strict'
import diagnostics from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { connect, Socket } from 'node:net'
import { join } from 'node:path'
import test from 'node:test'
import { unreadMsMax } from '../../../src/base/slow-reader.ts'
import { pathOf, startServer, temporaryDirectory } from '../../support/start-server.ts'
import { storeName } from '../../support/test-store.ts'

const data = temporaryDirectory()
const server = await startServer({ data })
const container = await server.newContainer()
// More than the buffers of both sockets take.
for (let n = 0; n < 24; n++) await container.items.create({ id: `${n}`, pk: 'a', text: 'x'.repeat(1_900_000) })
const { port } = new URL(server.db.endpoint)
const [, , database, , collection] = pathOf(container).split('/')

const { setTimeout } = Socket.prototype
/** Nobody waits for 20 seconds here. */
Socket.prototype.setTimeout = function (ms: number, work?: () => void) {
  return setTimeout.call(this, ms === unreadMsMax ? 300 : ms, work)
}
test.after(() => {
  Socket.prototype.setTimeout = setTimeout
})

const backups = () => readdirSync(data).filter(name => name.includes('backup'))

const item = `/_explorer/api/databases/${database}/containers/${collection}/item?id=0&partitionKey=%5B%22a%22%5D`

const downloads = {
  'an export by the admin API': `GET /_mayfly/export/${database}/${collection}`,
  'an export by the explorer': `GET /_explorer/api/databases/${database}/containers/${collection}/export`,
  // PostgreSQL has its own tools for that.
  ...(storeName !== 'postgres' && { 'a backup': 'POST /_mayfly/backup' }),
  'many items of the explorer, asked for at once': `GET ${item}`,
}

for (const [name, line] of Object.entries(downloads)) {
  test(`a client that does not read ${name} is disconnected`, { timeout: 30_000 }, async () => {
    const accepted = Promise.withResolvers<Socket>()
    const hear = (message: unknown) => accepted.resolve((message as { socket: Socket }).socket)
    diagnostics.subscribe('net.server.socket', hear)
    const client = connect(Number(port), '127.0.0.1')
    client.on('error', () => {})
    const request = `${line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`
    client.write(request.repeat(name.startsWith('many') ? 20 : 1))
    const socket = await accepted.promise
    diagnostics.unsubscribe('net.server.socket', hear)
    const closed = once(socket, 'close')
    await once(client, 'readable')
    assert.match(String(client.read(12)), /^HTTP\/1\.1 200/)
    const [folder] = backups()
    assert.equal(folder !== undefined, name === 'a backup')
    if (folder !== undefined && process.platform !== 'win32') {
      assert.equal(statSync(join(data, folder)).mode & 0o777, 0o700)
      assert.equal(statSync(join(data, folder, 'copy.db')).mode & 0o777, 0o600)
    }
    await closed
    client.destroy()
    // The next request finds that the folder is gone.
    assert.equal((await container.item('0', 'a').read()).statusCode, 200)
    while (backups().length > 0) await new Promise(resolve => setImmediate(resolve))
  })
}
