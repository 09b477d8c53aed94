/**
 * Queries that want more memory than a connection may have, in memory and in the query thread of a server on
 * disk: refused with 413, others are served, and everything is given back.
 */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { TriggerOperation, TriggerType } from '@azure/cosmos'
import { wellKnownKey } from '../../../src/base/account-keys.ts'
import { serveCli } from '../../support/run-cli.ts'
import { eventually } from '../../support/server-with-time.ts'
import { failureOf } from '../../support/service-error.ts'
import { newClient } from '../../support/start-server.ts'

const directory = mkdtempSync(join(tmpdir(), 'mayfly-held-'))

/** The account has 16 MB, a connection 8 MB. */
for (const [where, place] of [
  ['in memory', ['--memory']],
  ['on disk', ['--data', directory]],
] as const) {
  test(`a query that wants more than its share is refused ${where}, and nothing of it stays`, async () => {
    await using small = await serveCli([...place, '--port', '0', '--no-mongo', '--json', '--memory-budget', '32'])
    const client = newClient({ endpoint: small.endpoint, key: wellKnownKey })
    const { database } = await client.databases.create({ id: 'd' })
    const { container } = await database.containers.create({ id: 'c', partitionKey: '/pk' })
    for (let first = 0; first < 1200; first += 100) {
      const operations = Array.from({ length: 100 }, (_, n) => ({
        operationType: 'Create' as const,
        resourceBody: { id: String(first + n), pk: 'a', text: `${first + n}${'x'.repeat(10_000)}` },
      }))
      await container.items.batch(operations, 'a')
    }
    const memory = async () => {
      const status = (await (await fetch(`${small.endpoint}/status`)).json()) as { memory: { heldBytes: number } }
      return status.memory.heldBytes
    }
    for (const text of [
      'SELECT c.text, COUNT(1) AS n FROM c GROUP BY c.text',
      'SELECT DISTINCT c.text, c.id FROM c',
      'SELECT * FROM c ORDER BY c.text',
    ]) {
      const all = container.items.query(text, { partitionKey: 'a', maxItemCount: 1000 })
      assert.equal(await failureOf(all.fetchNext()), 413, text)
      assert.equal((await container.item('7', 'a').read()).resource?.id, '7')
      await eventually(async () => (await memory()) === 0)
    }
    const few = await container.items
      .query('SELECT TOP 5 c.id FROM c ORDER BY c.text', { partitionKey: 'a' })
      .fetchAll()
    assert.equal(few.resources.length, 5)
  })
}

test('what a script writes is counted: one that wants more than its share is refused, and nothing stays', async () => {
  await using small = await serveCli(['--memory', '--port', '0', '--no-mongo', '--json', '--memory-budget', '32'])
  const client = newClient({ endpoint: small.endpoint, key: wellKnownKey })
  const { database } = await client.databases.create({ id: 'd' })
  const { container } = await database.containers.create({ id: 'c', partitionKey: '/pk' })
  const { storedProcedures, triggers } = container.scripts
  const write = (count: string) => `{
    const text = 'x'.repeat(1e6)
    for (let n = 0; n < ${count}; n++) {
      __.createDocument(__.getSelfLink(), { id: 'written' + n, pk: 'a', text }, error => { if (error) throw error })
    }
  }`
  await storedProcedures.create({ id: 'write', body: `count => ${write('count')}` })
  await triggers.create({
    id: 'writes',
    body: `() => ${write('6')}`,
    triggerOperation: TriggerOperation.All,
    triggerType: TriggerType.Post,
  })
  const call = (count: number) => container.scripts.storedProcedure('write').execute('a', [count])
  const refused = /needs more than 8 MB of the server's memory/
  await assert.rejects(call(6), refused)
  await assert.rejects(container.items.create({ id: 'own', pk: 'a' }, { postTriggerInclude: ['writes'] }), refused)
  assert.deepEqual((await container.items.readAll().fetchAll()).resources, [])
  await call(2)
  assert.equal((await container.items.readAll().fetchAll()).resources.length, 2)
  await eventually(async () => {
    const status = (await (await fetch(`${small.endpoint}/status`)).json()) as { memory: { heldBytes: number } }
    return status.memory.heldBytes === 0
  })
})

test.after(() => rmSync(directory, { recursive: true, force: true }))
