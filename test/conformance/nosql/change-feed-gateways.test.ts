/**
 * Consumers of the change feed, killed and resumed at random, with two servers that share a PostgreSQL and
 * restart.
 */

import test, { after, before } from 'node:test'
import { type Mayfly, mayfly } from '../../../src/index.ts'
import { startPostgres, type TestServer } from '../../support/postgres.ts'
import { checkHistory, type Servers } from './change-feed-history.ts'

let postgres: TestServer
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres[Symbol.asyncDispose]())

/** Every call goes to the next server. */
async function startTwo(partitions: number): Promise<Servers> {
  const options = { clock: 'manual', store: await postgres.createDatabase(), partitions } as const
  const servers: Mayfly[] = [await mayfly(options), await mayfly(options)]
  const now = () => Math.max(...servers.map(({ clock }) => clock.now()))
  const set = async (time: number) => {
    for (const { clock } of servers) await clock.set(time)
  }
  await set(now())
  let calls = 0
  return {
    any: () => servers[calls++ % servers.length]!,
    now,
    advance: seconds => set(now() + seconds),
    restart: async () => {
      await servers.shift()!.close()
      servers.push(await mayfly(options))
      await set(now())
    },
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) await server.close()
    },
  }
}

for (const seed of [1, 2]) {
  test(`Nothing is lost, repeated or out of order over two gateways (seed ${seed})`, async () => {
    await using servers = await startTwo(seed)
    await checkHistory(servers, seed, 80)
  })
}
