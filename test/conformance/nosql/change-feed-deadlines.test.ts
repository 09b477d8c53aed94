/**
 * The change feed of all versions with deaths reported at their deadlines: nobody purges, and still they come
 * in order.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { type ChangeFeedPullModelIterator, ChangeFeedStartFrom, type Container } from '@azure/cosmos'
import { allVersions, type Change, changeFeedPolicy, told as wordsFor } from '../../support/all-versions-feed.ts'
import { drain } from '../../support/drain-feed.ts'
import { startServer } from '../../support/start-server.ts'

const server = await startServer({ feedDeaths: 'deadline' })
await server.admin('POST', 'purge', { pause: true })

const logged = (defaultTtl: number) => server.newContainer({ defaultTtl, changeFeedPolicy })
const changesFromNow = (container: Container) => allVersions(container, ChangeFeedStartFrom.Now())

/** The changes since the last call. */
async function told(iterator: ChangeFeedPullModelIterator<Change>): Promise<string[]> {
  return wordsFor((await drain(iterator)).changes)
}

test('A death is in the feed from its deadline on', async () => {
  const container = await logged(-1)
  const iterator = changesFromNow(container)
  await told(iterator)
  await container.items.create({ id: 'short', pk: 'a', v: 1, ttl: 10 })
  await server.db.clock.advance('9s')
  assert.deepEqual(await told(iterator), ['create short 1'])
  await server.db.clock.advance('1s')
  assert.deepEqual(await told(iterator), ['expire short'])
})

test('Every kind of write comes after all earlier deaths', async () => {
  const container = await logged(-1)
  const iterator = changesFromNow(container)
  await told(iterator)
  const writes = [
    () => container.items.upsert({ id: 'by write', pk: 'a', v: 1 }),
    () => container.items.batch([{ operationType: 'Create', resourceBody: { id: 'by batch', pk: 'a', v: 1 } }], 'a'),
    () => container.item('by write', 'a').patch([{ op: 'incr', path: '/v', value: 1 }]),
    () => container.item('by batch', 'a').delete(),
  ]
  for (const [index, write] of writes.entries()) {
    await container.items.create({ id: `dies ${index}`, pk: 'a', v: 1, ttl: 5 })
    await server.db.clock.advance('5s')
    await write()
  }
  assert.deepEqual(await told(iterator), [
    ...['create dies 0 1', 'expire dies 0', 'create by write 1'],
    ...['create dies 1 1', 'expire dies 1', 'create by batch 1'],
    ...['create dies 2 1', 'expire dies 2', 'replace by write 2'],
    ...['create dies 3 1', 'expire dies 3', 'delete by batch'],
  ])
})

test('All deaths are reported before the write, even if they need several sweeps', async () => {
  const container = await logged(60)
  const iterator = changesFromNow(container)
  await told(iterator)
  const ids = Array.from({ length: 250 }, (_, n) => `many ${n}`)
  for (let from = 0; from < ids.length; from += 50) {
    const creates = ids
      .slice(from, from + 50)
      .map(id => ({ operationType: 'Create' as const, resourceBody: { id, pk: 'a' } }))
    await container.items.batch(creates, 'a')
  }
  await server.db.clock.advance('60s')
  await container.items.create({ id: 'after', pk: 'a', v: 1 })
  const changes = await told(iterator)
  assert.equal(changes.length, 501)
  assert.equal(changes.at(-1), 'create after 1')
  assert.deepEqual(new Set(changes.slice(250, 500)), new Set(ids.map(id => `expire ${id}`)))
})

test('Deaths come in the order of their deadlines, whether the item’s ttl or the default decided', async () => {
  const container = await logged(40)
  const iterator = changesFromNow(container)
  await told(iterator)
  const ttls = [30, undefined, 10, 50, undefined, 20]
  for (const [index, ttl] of ttls.entries()) {
    await container.items.create({ id: String(index), pk: 'a', ...(ttl !== undefined && { ttl }) })
    await server.db.clock.advance('1s')
  }
  await told(iterator)
  await server.db.clock.advance('100s')
  const deaths = ttls.map((ttl, index) => ({ id: index, at: index + (ttl ?? 40) })).sort((a, b) => a.at - b.at)
  assert.deepEqual(
    await told(iterator),
    deaths.map(({ id }) => `expire ${id}`),
  )
})
